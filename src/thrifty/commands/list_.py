"""`thrifty list`: the experiments that come with Thrifty."""

from __future__ import annotations

import json

import typer

from thrifty.commands.show import AsJson
from thrifty.experiments.spec import catalogue


def list_(as_json: AsJson = False) -> None:
    """List the experiments of the catalogue.

    Example: thrifty list
    """
    experiments = catalogue()
    if as_json:
        typer.echo(json.dumps({name: it.title for name, it in experiments.items()}, indent=2))
        return
    width = max(map(len, experiments))
    for name, experiment in experiments.items():
        typer.echo(f"{name:{width}}  {experiment.title}")
