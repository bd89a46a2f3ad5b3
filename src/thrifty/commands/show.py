"""What commands have in common: folders, progress, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from thrifty.experiments.cells import cells_of
from thrifty.experiments.measures import Summary
from thrifty.experiments.runner import run
from thrifty.experiments.spec import Experiment, parse_seeds

Seeds = Annotated[
    str | None, typer.Option(help="Seeds instead of the experiment's own: 0:400, or 3,7,12.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")]
Out = Annotated[Path, typer.Option(help="Folder of the results; what is there is used again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def with_seeds(experiment: Experiment, seeds: str | None) -> Experiment:
    """Return the experiment with other seeds, if any are given."""
    return experiment if seeds is None else replace(experiment, seeds=parse_seeds(seeds))


def run_shown(experiment: Experiment, out: Path, workers: int | None) -> pl.DataFrame:
    """Run an experiment in its own folder below `out`, behind a progress bar."""
    folder = out / experiment.id
    try:
        with _bar(experiment) as (bar, task):
            return run(
                experiment,
                folder,
                workers=workers,
                progress=lambda cells: bar.advance(task, cells),
            )
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What was finished is kept in {folder}: run again to go on.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def _bar(experiment: Experiment) -> Iterator[tuple[Progress, Any]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar, bar.add_task(experiment.id, total=len(cells_of(experiment)))


def show(table: Table) -> None:
    """Print a table; a window that is too narrow wraps lines rather than hides numbers."""
    needed = Console(width=1000).measure(table).maximum
    Console(width=max(Console().width, needed)).print(table)


def gains_table(
    title: str, rows: Sequence[Summary], published: dict[str, tuple[float, ...]]
) -> Table:
    """Return the table of total gains, with the means that the authors printed beside them."""
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("policy", no_wrap=True)
    headings = ("gain", "95 %", "min", "max", "reward", "cost", *(["authors"] if published else []))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            row.policy,
            f"{row.gain:.1f}",
            f"{row.low:.0f} .. {row.high:.0f}",
            f"{row.worst:.0f}",
            f"{row.best:.0f}",
            f"{row.reward:.0f}",
            f"{row.cost:.0f}",
        ]
        if published:
            printed = published.get(row.policy, ())
            cells.append(f"{sum(printed) / len(printed):.1f}" if printed else "")
        table.add_row(*cells)
    return table


def published_gains(experiment: Experiment) -> dict[str, tuple[float, ...]]:
    """Return the printed totals by label, of the policies that have any."""
    return {entry.label: entry.published for entry in experiment.entries if entry.published}
