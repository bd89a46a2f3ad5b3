"""`thrifty run`: one experiment of the catalogue, or of a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.show import (
    AsJson,
    Out,
    Seeds,
    Workers,
    gains_table,
    published_gains,
    run_shown,
    show,
    with_seeds,
)
from thrifty.experiments.measures import summaries
from thrifty.experiments.runner import TABLE
from thrifty.experiments.spec import find


def run(
    name: Annotated[str, typer.Argument(help="An id of `thrifty list`, or a TOML file.")],
    seeds: Seeds = None,
    workers: Workers = None,
    out: Out = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Run an experiment and print its policies' total gains.

    What was computed before is found again, so an interrupted run goes on where it was. The
    tidy table of all measures is written to OUT/ID/table.parquet.

    Example: thrifty run nursery/window --seeds 0:20
    """
    experiment = with_seeds(find(name), seeds)
    rows = summaries(run_shown(experiment, out, workers))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    show(gains_table(experiment.title, rows, published_gains(experiment)))
    typer.echo(f"Every measure, block by block: {out / experiment.id / TABLE}")
