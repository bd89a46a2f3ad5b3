"""`thrifty reproduce`: the paper's policies on the paper's data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console

from thrifty.commands.show import (
    AsJson,
    Out,
    Seeds,
    Workers,
    gains_table,
    published_gains,
    run_shown,
    with_seeds,
)
from thrifty.experiments.measures import summaries
from thrifty.experiments.spec import catalogue

EXPERIMENTS = ("nursery/published", "nursery/shuffled")


def reproduce(
    seeds: Seeds = None,
    workers: Workers = None,
    out: Out = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Play every policy of the paper on its data, and print the authors' numbers beside ours.

    Example: thrifty reproduce --seeds 0:400
    """
    experiments = [with_seeds(catalogue()[name], seeds) for name in EXPERIMENTS]
    results = [(it, summaries(run_shown(it, out, workers))) for it in experiments]
    if as_json:
        plain = {it.id: [asdict(row) for row in rows] for it, rows in results}
        typer.echo(json.dumps(plain, indent=2))
        return
    console = Console()
    for it, rows in results:
        console.print(gains_table(it.title, rows, published_gains(it)))
    console.print(
        "Gain: reward - cost of 10,000 rounds, mean over the seeds with its bootstrap"
        "\ninterval, worst and best seed. Authors: mean of the totals that they printed."
        "\nNCC-UCRL2 as in the authors' program; the same with q in the simplex and the"
        "\npaper's window and ties; as the paper's text alone has it."
    )
