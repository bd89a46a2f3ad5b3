"""`thrifty list`: the experiments and the policies that come with Thrifty."""

from __future__ import annotations

import inspect
import json
from enum import StrEnum
from typing import Annotated

import typer

from thrifty.commands.options import AsJson
from thrifty.experiments.spec import catalogue
from thrifty.policies import POLICIES


class _Contents(StrEnum):
    EXPERIMENTS = "experiments"
    POLICIES = "policies"


def list_(
    what: Annotated[_Contents, typer.Argument(help="What to list.")] = _Contents.EXPERIMENTS,
    as_json: AsJson = False,
) -> None:
    """List the experiments or the policies that come with Thrifty.

    Example: thrifty list policies
    """
    titles = _policies() if what is _Contents.POLICIES else _experiments()
    if as_json:
        typer.echo(json.dumps(titles, indent=2))
        return
    width = max(map(len, titles))
    for name, title in titles.items():
        typer.echo(f"{name:{width}}  {title}")


def _experiments() -> dict[str, str]:
    return {name: experiment.title for name, experiment in catalogue().items()}


def _policies() -> dict[str, str]:
    return {name: (inspect.getdoc(make) or "").split("\n")[0] for name, make in POLICIES.items()}
