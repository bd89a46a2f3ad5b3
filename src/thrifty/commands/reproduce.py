"""`thrifty reproduce`: the paper's policies on the paper's data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.figures import draw
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
from thrifty.experiments.spec import catalogue

EXPERIMENTS = ("nursery/published", "nursery/shuffled")


def reproduce(
    seeds: Seeds = None,
    workers: Workers = None,
    out: Out = Path("results"),
    figures: Annotated[
        str, typer.Option(help="Also draw figures, in these formats, and a report: png,pdf,svg.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Play every policy of the paper on its data, and print the authors' numbers beside ours.

    Example: thrifty reproduce --seeds 0:400
    """
    results = {}
    for name in EXPERIMENTS:
        experiment = with_seeds(catalogue()[name], seeds)
        table = run_shown(experiment, out, workers)
        rows = summaries(table)
        results[name] = [asdict(row) for row in rows]
        if not as_json:
            show(gains_table(experiment.title, rows, published_gains(experiment)))
        if figures:
            draw(out / name, experiment, table, figures, report=True)
    if as_json:
        typer.echo(json.dumps(results, indent=2))
        return
    typer.echo(
        "Gain: reward - cost of 10,000 rounds, mean over the seeds with its bootstrap"
        "\ninterval, worst and best seed. Authors: mean of the totals that they printed."
        "\nNCC-UCRL2 as in the authors' program; the same with q in the simplex and the"
        "\npaper's window and ties; as the paper's text alone has it."
    )
    if figures:
        typer.echo(f"Figures and an interactive report: {out}/nursery/*/report.html")
