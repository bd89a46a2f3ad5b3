"""`thrifty theory`: bounds of the theorems, and measured growth of regret."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from thrifty.commands.execution import open_session, run_with_progress, with_seeds
from thrifty.commands.figures import check_formats, draw
from thrifty.commands.options import AsJson, ClusterAddress, Fresh, Out, Seeds, Workers
from thrifty.commands.output import new_table, show, show_json
from thrifty.commands.tables import growth_table
from thrifty.environments import nursery
from thrifty.experiments.growth import regret_growths, theorem_bounds
from thrifty.experiments.reproduction import THEORY, up_to
from thrifty.experiments.spec import catalogue
from thrifty.theory import Bound, Setting, recommended_window, regret_bound

PAPER_CHANGES = 7
PAPER_SETTING = Setting(nursery.PROBLEM, horizon=10_000, window=250, delta=0.04)


def theory(
    seeds: Seeds = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    out: Out = Path("results"),
    longest: Annotated[
        int, typer.Option(min=1000, help="Skip horizons with more rounds than this.")
    ] = 1_000_000,
    figures: Annotated[
        str, typer.Option(help="Also draw figures in these formats, such as png,pdf,svg.")
    ] = "",
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Print the theorems' bounds on regret, and measure how regret grows.

    First prints the bound for the paper's experiment, term by term. Then runs every policy for
    1,000 to 1,000,000 rounds in a small environment, without and with changes, and prints the
    expected regret, its slope on a log-log plot, and the bound. The first run takes a few minutes.

    Example: thrifty theory --figures png
    """
    if figures:
        check_formats(figures)
    known = catalogue()
    experiments = [up_to(longest, with_seeds(known[name], seeds)) for name in THEORY]
    with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
        results = run_with_progress(experiments, session)
        if figures:
            draw(results, out, figures, session.figures)
    bound = regret_bound(PAPER_SETTING, changes=PAPER_CHANGES)
    if as_json:
        measured = {
            result.experiment.id: {
                "growth": [asdict(row) for row in regret_growths(result)],
                "bound": theorem_bounds(result),
            }
            for result in results
        }
        show_json({"nursery": {**asdict(bound), "total": bound.total}, **measured})
        return
    show(_bound_title(), _bound_table(bound))
    for result in results:
        show(result.experiment.title, growth_table(result))


def _bound_title() -> str:
    setting = PAPER_SETTING
    return (
        f"Theorem 2 for the paper's experiment: T = {setting.horizon:,}, w = {setting.window}, "
        f"delta = {setting.delta}, {PAPER_CHANGES} changes"
    )


def _bound_table(bound: Bound) -> Table:
    setting = PAPER_SETTING
    table = new_table(["term"], ["at most"])
    for name, value in asdict(bound).items():
        table.add_row(name, f"{value:,.0f}")
    table.add_row("sum", f"{bound.total:,.0f}")
    largest = setting.horizon * (1 + setting.problem.n_features)
    table.add_row("largest possible regret, T (1 + D)", f"{largest:,.0f}")
    window = recommended_window(setting.horizon, PAPER_CHANGES)
    table.add_row("recommended window, (T / changes)^(2/3)", f"{window:,}")
    return table
