"""`thrifty theory`: what the theorems promise, and how regret grows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from thrifty.commands.figures import draw, formats_of
from thrifty.commands.show import (
    AsJson,
    Fresh,
    OnCluster,
    Out,
    Seeds,
    Workers,
    new_table,
    run_shown,
    show,
    show_json,
    with_seeds,
    working,
)
from thrifty.environments import nursery
from thrifty.experiments.growth import bounds_of, growths, slope_of
from thrifty.experiments.reproduction import THEORY, up_to
from thrifty.experiments.results import Results
from thrifty.experiments.spec import catalogue
from thrifty.theory import Bound, Setting, recommended_window, regret_bound

PAPERS_CHANGES = 7
PAPERS_SETTING = Setting(nursery.PROBLEM, horizon=10_000, window=250, delta=0.04)


def theory(
    seeds: Seeds = None,
    workers: Workers = None,
    cluster: OnCluster = None,
    out: Out = Path("results"),
    longest: Annotated[
        int, typer.Option(min=1000, help="Play no horizon that is longer.")
    ] = 1_000_000,
    figures: Annotated[str, typer.Option(help="Also draw figures: png,pdf,svg.")] = "",
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Print the theorems' bounds with their constants, and measure how regret grows.

    First the bound for the paper's own experiment, term by term; then the
    expected regret of every policy for 1,000 to 1,000,000 rounds in a small
    world, without and with changes, its slope on the log-log plot, and the
    bound above it. The first time it takes a few minutes.

    Example: thrifty theory --figures png
    """
    if figures:
        formats_of(figures)
    bound = regret_bound(PAPERS_SETTING, changes=PAPERS_CHANGES)
    known = catalogue()
    experiments = [up_to(longest, with_seeds(known[name], seeds)) for name in THEORY]
    with working(workers, out, fresh=fresh, cluster=cluster) as work:
        results = run_shown(experiments, work)
        if figures:
            draw(results, out, figures, work.drawings)
    if as_json:
        measured = {
            it.experiment.id: {
                "growth": [asdict(row) for row in growths(it.table)],
                "bound": bounds_of(it),
            }
            for it in results
        }
        plain = {"nursery": {**asdict(bound), "total": bound.total}, **measured}
        show_json(plain)
    else:
        show(_bound_title(), _bound_table(bound))
        for it in results:
            show(it.experiment.title, growth_table(it))


def growth_table(results: Results) -> Table:
    """Return the table of expected regret by horizon, with slopes and the theorem's bound."""
    rows, bounds = growths(results.table), bounds_of(results)
    horizons = sorted(results.experiment.horizons)
    shown = slice(2 if len(horizons) > 1 else 0)  # a single horizon has no slope
    table = new_table(["policy"], [*(f"{t:,}" for t in horizons), *["slope", "95 %"][shown]])
    for row in rows:
        slope = f"{row.slope:.2f}", f"{row.slope_low:.2f} .. {row.slope_high:.2f}"
        regrets = (f"{value:,.0f}" for value in row.regret)
        table.add_row(row.policy, *regrets, *slope[shown])
    if bounds:
        printed = (f"{bounds[t]:,.0f}" for t in horizons)
        table.add_row("bound of the theorem", *printed, *(f"{slope_of(bounds):.2f}", "")[shown])
    return table


def _bound_title() -> str:
    setting = PAPERS_SETTING
    return (
        f"Theorem 2 for the paper's experiment: T = {setting.horizon:,}, w = {setting.window}, "
        f"delta = {setting.delta}, {PAPERS_CHANGES} changes"
    )


def _bound_table(bound: Bound) -> Table:
    setting = PAPERS_SETTING
    table = new_table(["term"], ["at most"])
    for name, value in asdict(bound).items():
        table.add_row(name, f"{value:,.0f}")
    table.add_row("together", f"{bound.total:,.0f}")
    most = setting.horizon * (1 + setting.problem.n_features)
    table.add_row("what can be lost at all, T (1 + D)", f"{most:,.0f}")
    window = recommended_window(setting.horizon, PAPERS_CHANGES)
    table.add_row("recommended window, (T / changes)^(2/3)", f"{window:,}")
    return table
