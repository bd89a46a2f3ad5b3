"""What commands have in common: options, progress, tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from thrifty.experiments.cells import cells_of
from thrifty.experiments.claims import Claim
from thrifty.experiments.engines import Engine, engine_of
from thrifty.experiments.measures import Summary
from thrifty.experiments.results import Results
from thrifty.experiments.runner import Store, run_all
from thrifty.experiments.spec import Experiment, for_choosing, parse_seeds
from thrifty.json_values import to_json_value

Seeds = Annotated[
    str | None, typer.Option(help="Seeds instead of the experiment's own: 0:400, or 3,7,12.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")]
OnCluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Run on the workers of a Dask scheduler: tcp://HOST:8786."),
]
Out = Annotated[Path, typer.Option(help="Folder of the results; what is there is used again.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

SECONDS_BETWEEN_LINES = 20.0
_COMPILING = "compiling, once on a machine"


class Work(NamedTuple):
    """Where results are kept, what does the runs, and what draws: never a cluster."""

    store: Store
    runs: Engine
    drawings: Engine


def with_seeds(experiment: Experiment, seeds: str | None, *, choosing: bool = False) -> Experiment:
    """Return the experiment with other seeds, if any are given, or with those for choosing."""
    given = None if seeds is None else parse_seeds(seeds)
    if choosing:
        return for_choosing(experiment, given)
    return experiment if given is None else replace(experiment, seeds=given)


def run_shown(experiments: Sequence[Experiment], work: Work) -> list[Results]:
    """Run experiments behind a progress bar."""
    cells = {cell for experiment in experiments for cell in cells_of(experiment).values()}
    with progress_bar("runs", len(cells), at_first=_COMPILING) as advance:
        return run_all(experiments, work.store, engine=work.runs, progress=advance)


@contextmanager
def working(
    workers: int | None, out: Path, *, fresh: bool, cluster: str | None = None
) -> Iterator[Work]:
    """Open a store and engines; turn an interrupt into a line that says what is kept."""
    try:
        with ExitStack() as opened:
            local = opened.enter_context(engine_of(workers))
            runs = local if cluster is None else opened.enter_context(engine_of(None, cluster))
            yield Work(Store(out, fresh=fresh), runs, local)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What was finished is kept in {out}: run again to go on.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress_bar(what: str, total: int, *, at_first: str | None = None) -> Iterator[Any]:
    """Show how much is done and what time is left; gives what to call with every step.

    Until the first of them it says `at_first`, if that is given. Where no bar can be drawn, in the
    log of a build for instance, it says a line now and then.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _in_lines(what, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(at_first or what, total=total)
        yield lambda steps: bar.update(task, advance=steps, description=what)


def _in_lines(what: str, total: int) -> Callable[[int], None]:
    done, said = 0, monotonic()

    def advance(steps: int) -> None:
        nonlocal done, said
        done += steps
        if monotonic() - said >= SECONDS_BETWEEN_LINES:
            typer.echo(f"{what}: {done} of {total}", err=True)
            said = monotonic()

    return advance


def show_json(value: Any) -> None:
    """Print JSON; NaN and infinity become null."""
    typer.echo(json.dumps(to_json_value(value), indent=2))


def show(title: str, table: Table) -> None:
    """Print a table; a window that is too narrow wraps lines rather than hides numbers."""
    width = Console(width=1000, markup=False).measure(table)
    wraps = any(not column.no_wrap for column in table.columns)
    needed = width.minimum if wraps else width.maximum
    typer.echo(title)
    Console(width=max(Console().width, needed), markup=False).print(table)


def new_table(words: Sequence[str], numbers: Sequence[str], *, wrap: bool = False) -> Table:
    """Return an empty table: columns of words, wrapped or not, then columns of numbers."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in words:
        table.add_column(heading, no_wrap=not wrap)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def gains_table(rows: Sequence[Summary], published: dict[str, tuple[float, ...]]) -> Table:
    """Return the table of total gains, with the means that the authors printed beside them."""
    headings = ("gain", "95 %", "min", "max", "reward", "cost", *(["authors"] if published else []))
    table = new_table(["policy"], headings)
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


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return the table of claims: what was measured, its interval, the verdict."""
    table = new_table(["claim"], ["ours", "95 %", "verdict"], wrap=True)
    for it in claims:
        table.add_row(it.claim, it.shown(it.value), it.interval, it.verdict)
    return table


def published_gains(experiment: Experiment) -> dict[str, tuple[float, ...]]:
    """Return the printed totals by label, of the policies that have any."""
    return {entry.label: entry.published for entry in experiment.entries if entry.published}
