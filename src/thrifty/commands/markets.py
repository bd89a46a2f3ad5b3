"""`thrifty run markets`: the benchmark of markets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import typer
from rich.table import Table

from thrifty.commands.execution import Session
from thrifty.commands.output import new_table, progress_bar, show, show_json
from thrifty.commands.ranking_tables import show_ranking
from thrifty.environments.markets import FAMILIES
from thrifty.experiments.market_strategies import strategies_named
from thrifty.experiments.market_summary import (
    FOLDER,
    FamilySummary,
    MeanShare,
    StrategySummary,
    market_scores,
    summarise,
    summarise_families,
    write_table,
)
from thrifty.experiments.markets import (
    CHOOSING_SEEDS,
    REPORTING_SEEDS,
    MarketCache,
    all_trials,
    run_markets,
)
from thrifty.experiments.ranking import rank
from thrifty.experiments.spec import parse_seeds

TITLE = "Share of the way from the best constant action (0) to the best stepwise plan (1)"
SCALE = "0 is the best constant action, 1 the best stepwise plan"
NOTE = "Where there is nothing to gain (*), minus the loss as a share of the headroom."


def is_markets(name: str) -> bool:
    """Return True for `markets` and `markets/FAMILY`."""
    return name.rstrip("/").partition("/")[0] == FOLDER


def run_market_benchmark(
    name: str,
    *,
    policies: Sequence[str],
    seeds: str | None,
    choosing: bool,
    session: Session,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the benchmark, write its table to OUT/markets/markets.parquet, and print the summary."""
    family = name.rstrip("/").partition("/")[2]
    default = CHOOSING_SEEDS if choosing else REPORTING_SEEDS
    trials = all_trials(
        (family,) if family else FAMILIES,
        strategies_named(policies),
        default if seeds is None else parse_seeds(seeds),
    )
    out = session.cache.out / FOLDER
    with progress_bar("results", len(trials)) as advance:
        cache = MarketCache(out, fresh=fresh)
        table = run_markets(trials, cache, executor=session.runs, progress=advance)
    path = write_table(table, out)
    summaries, families = summarise(table), summarise_families(table)
    ranking = rank(market_scores(table))
    if as_json:
        show_json(
            {
                "strategies": [asdict(summary) for summary in summaries],
                "families": [asdict(known) for known in families],
                "ranking": [asdict(row) for row in ranking],
            }
        )
        return
    show_market_summaries(summaries, families)
    show_ranking(ranking, what="families", scale=SCALE)
    typer.echo(f"All results: {path}")


def show_market_summaries(
    summaries: Sequence[StrategySummary], families: Sequence[FamilySummary]
) -> None:
    """Print the shares of all strategies by family."""
    show(f"{TITLE}\n{NOTE}", _shares_table(summaries, families))


def _shares_table(summaries: Sequence[StrategySummary], families: Sequence[FamilySummary]) -> Table:
    table = new_table(["strategy"], ["mean", *map(_heading, families), "seconds"])
    for row in summaries:
        shares = (row.share, *(row.by_family[known.family] for known in families))
        table.add_row(row.strategy, *map(_format_share, shares), f"{row.seconds:.2f}")
    return table


def _heading(family: FamilySummary) -> str:
    """Return the name of a family on two lines, if it has two words."""
    mark = "" if family.truth.has_something_to_gain else "*"
    return f"{family.family}{mark}".replace("-", "-\n")


def _format_share(share: MeanShare | None) -> str:
    """Return the mean with half the width of its interval; one seed gives no interval."""
    if share is None:
        return ""
    half = (share.high - share.low) / 2
    return f"{share.mean:.2f}±{half:.2f}" if half > 0 else f"{share.mean:.2f}"
