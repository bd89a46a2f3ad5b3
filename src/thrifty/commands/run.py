"""`thrifty run`: one experiment of the catalogue, or of a file, or a folder of the catalogue."""

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
    claims_table,
    gains_table,
    published_gains,
    run_shown,
    show,
    show_json,
    with_seeds,
    working,
)
from thrifty.commands.standings import plain_standings, require_comparable, show_standings
from thrifty.commands.theory import growth_table
from thrifty.commands.tune import choices_table
from thrifty.experiments.claims import judged
from thrifty.experiments.growth import growths
from thrifty.experiments.measures import summaries
from thrifty.experiments.results import TABLE, Results
from thrifty.experiments.spec import find_all
from thrifty.experiments.tuning import choices


def run(
    name: Annotated[
        str,
        typer.Argument(help="An id of `thrifty list`, a folder of them, or a TOML file."),
    ],
    seeds: Seeds = None,
    choosing: Annotated[
        bool, typer.Option("--choosing", help="Play the seeds set aside for choosing constants.")
    ] = False,
    workers: Workers = None,
    cluster: OnCluster = None,
    out: Out = Path("results"),
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and print its policies' total gains.

    What was computed before is found again, so an interrupted run goes on where it was. The
    tidy table of all measures is written to OUT/ID/table.parquet. Of a grid the best parameters
    are printed, of several horizons the growth of regret. Of a folder, such as worlds, all
    experiments are run, and their policies' regrets are printed in one table.

    Example: thrifty run nursery/window --seeds 0:20
    """
    experiments = [with_seeds(it, seeds, choosing=choosing) for it in find_all(name)]
    if len(experiments) > 1:
        require_comparable(experiments)
    with working(workers, out, fresh=fresh, cluster=cluster) as work:
        results = run_shown(experiments, work)
    if len(results) > 1:
        _print_folder(results, out, as_json=as_json)
    elif as_json:
        show_json(_plain(results[0]))
    else:
        show(results[0].experiment.title, _shown(results[0]))
        claims = judged(results[0])
        if claims:
            show("What the experiment asks for", claims_table(claims))
        typer.echo(f"Every measure, block by block: {out / results[0].experiment.id / TABLE}")


def _print_folder(results: list[Results], out: Path, *, as_json: bool) -> None:
    if as_json:
        show_json(plain_standings(results))
        return
    show_standings(results)
    folder = out / Path(results[0].experiment.id).parent
    typer.echo(f"Every measure, block by block: {folder / '*' / TABLE}")


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
