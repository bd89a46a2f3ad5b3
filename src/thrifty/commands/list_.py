"""`thrifty list`: the experiments that come with Thrifty."""

from __future__ import annotations

import json

import typer

from thrifty.commands.options import AsJson
from thrifty.experiments.spec import catalogue


def list_(as_json: AsJson = False) -> None:
    """List the experiments that come with Thrifty.

    Example: thrifty list
    """
    experiments = catalogue()
    if as_json:
        titles = {name: experiment.title for name, experiment in experiments.items()}
        typer.echo(json.dumps(titles, indent=2))
        return
    width = max(map(len, experiments))
    for name, experiment in experiments.items():
        typer.echo(f"{name:{width}}  {experiment.title}")
