"""`thrifty tune`: the best parameters of a grid, and what they are worth elsewhere."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from thrifty.commands.show import (
    AsJson,
    Out,
    Seeds,
    Workers,
    gains_table,
    run_shown,
    show,
    with_seeds,
)
from thrifty.errors import InvalidParameter
from thrifty.experiments.measures import summaries
from thrifty.experiments.spec import find
from thrifty.experiments.tuning import Choice, choices, evaluation


def tune(
    name: Annotated[str, typer.Argument(help="An experiment whose parameters are lists.")],
    on: Annotated[
        str, typer.Option(help="The experiment on which to compare the choice.")
    ] = "nursery/published",
    seeds: Seeds = None,
    workers: Workers = None,
    out: Out = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Choose each policy's parameters by mean gain, then play them on data not used for it.

    Example: thrifty tune nursery/tuning --on nursery/published
    """
    grid = with_seeds(find(name), seeds)
    evaluated = find(on)
    if evaluated.world == grid.world:
        raise InvalidParameter(
            f"{name} and {on} play the same world, {grid.world}: parameters must be judged on data "
            "that they were not chosen on, so give --on another one."
        )
    chosen = choices(grid, run_shown(grid, out, workers))
    comparison = evaluation(chosen, evaluated)
    rows = summaries(run_shown(comparison, out, workers))
    if as_json:
        plain = {
            "chosen": [asdict(it) for it in chosen],
            "evaluated": [asdict(row) for row in rows],
        }
        typer.echo(json.dumps(plain, indent=2))
        return
    show(_chosen_table(grid.title, chosen))
    show(gains_table(f"{evaluated.title}: own and tuned parameters", rows, {}))


def _chosen_table(title: str, chosen: list[Choice]) -> Table:
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("policy", no_wrap=True)
    table.add_column("chosen")
    for heading in ("gain", "next best", "of"):
        table.add_column(heading, justify="right", no_wrap=True)
    for it in chosen:
        settings = ", ".join(f"{key}={value}" for key, value in it.params.items())
        second = "" if it.runner_up is None else f"{it.runner_up:.1f}"
        table.add_row(it.policy, settings, f"{it.gain:.1f}", second, str(it.candidates))
    return table
