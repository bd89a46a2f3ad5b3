"""`thrifty run`: one experiment of the catalogue, or of a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from thrifty.commands.show import (
    AsJson,
    Fresh,
    OnCluster,
    Out,
    Seeds,
    Workers,
    gains_table,
    published_gains,
    run_shown,
    show,
    show_json,
    with_seeds,
    working,
)
from thrifty.commands.theory import growth_table
from thrifty.commands.tune import choices_table
from thrifty.experiments.growth import growths
from thrifty.experiments.measures import summaries
from thrifty.experiments.results import TABLE, Results
from thrifty.experiments.spec import find
from thrifty.experiments.tuning import choices


def run(
    name: Annotated[str, typer.Argument(help="An id of `thrifty list`, or a TOML file.")],
    seeds: Seeds = None,
    workers: Workers = None,
    cluster: OnCluster = None,
    out: Out = Path("results"),
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and print its policies' total gains.

    What was computed before is found again, so an interrupted run goes on where it was. The
    tidy table of all measures is written to OUT/ID/table.parquet. Of a grid the best parameters
    are printed, of several horizons the growth of regret.

    Example: thrifty run nursery/window --seeds 0:20
    """
    experiment = with_seeds(find(name), seeds)
    with working(workers, out, fresh=fresh, cluster=cluster) as work:
        (results,) = run_shown([experiment], work)
    if as_json:
        show_json(_plain(results))
        return
    show(results.experiment.title, _shown(results))
    typer.echo(f"Every measure, block by block: {out / results.experiment.id / TABLE}")


def _plain(results: Results) -> list[dict[str, Any]]:
    if len(results.experiment.horizons) > 1:
        return [asdict(it) for it in growths(results.table)]
    return [asdict(row) for row in summaries(results.table)]


def _shown(results: Results) -> Table:
    experiment = results.experiment
    if experiment.is_grid:
        return choices_table(choices([results]))
    if len(experiment.horizons) > 1:
        return growth_table(results)
    return gains_table(summaries(results.table), published_gains(experiment))
