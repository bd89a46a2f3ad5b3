"""`thrifty run priced`: the benchmark of priced tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich.table import Table

from thrifty.commands.execution import Session
from thrifty.commands.output import new_table, progress_bar, show, show_json
from thrifty.errors import UnknownName
from thrifty.experiments.priced import (
    SPLITS,
    TrialCache,
    all_trials,
    count_results,
    run_priced,
)
from thrifty.experiments.priced_methods import OWN, method_sources
from thrifty.experiments.priced_summary import (
    FOLDER,
    MethodSummary,
    PairedDifference,
    summarise,
    write_table,
)
from thrifty.experiments.priced_tables import TURNEY, require_folder
from thrifty.experiments.spec import parse_seeds

TITLE = "Cost of a case in percent of the standard cost"


def is_priced(name: str) -> bool:
    """Return True for `priced` and `priced/TABLE`."""
    return name.rstrip("/").partition("/")[0] == FOLDER


def run_benchmark(
    name: str,
    *,
    data: Path | None,
    methods: Sequence[str],
    splits: str | None,
    session: Session,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the benchmark, write its table to OUT/priced/priced.parquet, and print the summary."""
    folder = require_folder(data).resolve()
    trials = all_trials(
        folder,
        _tables(name),
        [*OWN, *method_sources(methods)],
        SPLITS if splits is None else parse_seeds(splits),
    )
    out = session.cache.out / FOLDER
    with progress_bar("results", count_results(trials)) as advance:
        cache = TrialCache(out, fresh=fresh)
        table = run_priced(trials, cache, executor=session.runs, progress=advance)
    path = write_table(table, out)
    summaries = summarise(table)
    if as_json:
        show_json([asdict(summary) for summary in summaries])
        return
    show_summaries(summaries)
    typer.echo(f"All results: {path}")


def _tables(name: str) -> tuple[str, ...]:
    table = name.rstrip("/").partition("/")[2]
    if table and table not in TURNEY:
        raise UnknownName(
            f"there is no priced table {table!r} in the benchmark: use one of {', '.join(TURNEY)}."
        )
    return (table,) if table else TURNEY


def show_summaries(summaries: Sequence[MethodSummary]) -> None:
    """Print means by table, differences from the plan, and means by error cost."""
    show(TITLE, _means_table(summaries))
    show("Difference from the plan, with its standard error (above 0 is worse)", _paired(summaries))
    show("Mean over tables by cost of an error", _error_cost_table(summaries))


def _means_table(summaries: Sequence[MethodSummary]) -> Table:
    tables = list(summaries[0].by_table)
    table = new_table(["method"], ["mean", *tables, "seconds"])
    for row in summaries:
        means = (f"{row.by_table[name]:.1f}" for name in tables)
        table.add_row(row.method, f"{row.percent:.1f}", *means, f"{row.seconds:.2f}")
    return table


def _paired(summaries: Sequence[MethodSummary]) -> Table:
    tables = list(summaries[0].by_table)
    table = new_table(["method"], ["mean", *tables])
    for row in summaries:
        parts = (row.differences[name] for name in tables)
        table.add_row(row.method, *map(_format_difference, (row.difference, *parts)))
    return table


def _error_cost_table(summaries: Sequence[MethodSummary]) -> Table:
    costs = list(summaries[0].by_error_cost)
    table = new_table(["method"], [f"{cost:,.0f}" for cost in costs])
    for row in summaries:
        table.add_row(row.method, *(f"{row.by_error_cost[cost]:.1f}" for cost in costs))
    return table


def _format_difference(difference: PairedDifference) -> str:
    if difference.mean == 0 and not difference.error > 0:
        return ""
    return f"{difference.mean:+.1f} ± {difference.error:.1f}"
