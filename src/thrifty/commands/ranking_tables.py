"""The ranking of policies over many worlds, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.table import Table

from thrifty.commands.output import new_table, show
from thrifty.experiments.aggregates import BootstrapEstimate
from thrifty.experiments.ranking import Ranked
from thrifty.experiments.until_clear import PairDecisions

UNIFORM_TO_ORACLE = "0 is the uniform choice of an action, 1 the oracle"
NOTES = """\
score: mean of the middle half of all runs (interquartile mean). mean: mean over all runs.
gap: mean distance from 1, where no run counts as more than 1 (optimality gap).
beaten: probability that a run of the first policy scores higher in the same world.
rank: median of the ranks by mean score."""
SHARE_NOTE = "share: mean over worlds of the gain as a share of the oracle's gain."
PARTLY_NOTE = "Policies without a place do not play every world."


def show_ranking(
    ranking: Sequence[Ranked], *, what: str = "worlds", scale: str = UNIFORM_TO_ORACLE
) -> None:
    """Print the ranking, if there are at least two worlds."""
    worlds = max((row.worlds for row in ranking), default=0)
    if worlds < 2:
        return
    show(f"Ranking over {worlds} {what} ({scale})", ranking_table(ranking))
    typer.echo(NOTES)
    if any(row.share is not None for row in ranking):
        typer.echo(SHARE_NOTE)
    if any(row.worlds < worlds for row in ranking):
        typer.echo(PARTLY_NOTE)
    typer.echo()


def show_decisions(decisions: PairDecisions | None) -> None:
    """Print which pairs of policies are clear, if seeds were played in groups."""
    if decisions is None:
        return
    table = new_table(["policy"], ["seeds", "clearly better than", "clearly worse than", "open"])
    for label, seeds in decisions.seeds.items():
        better = sum(pair.better == label for pair in decisions.closed)
        worse = sum(pair.worse == label for pair in decisions.closed)
        unclear = sum(label in pair for pair in decisions.open)
        if better + worse + unclear:
            table.add_row(label, str(seeds), str(better), str(worse), str(unclear))
    show("Comparisons of mean scores, with a family-wise error of 5 %", table)
    for first, second in decisions.open:
        typer.echo(f"Not clear: {first} and {second}.")
    typer.echo()


def ranking_table(ranking: Sequence[Ranked]) -> Table:
    """Return the table of the ranking."""
    worlds = max(row.worlds for row in ranking)
    has_shares = any(row.share is not None for row in ranking)
    last = [*(["share"] if has_shares else []), "worlds", "seeds"]
    numbers = ["score", "95 %", "mean", "gap", "95 %", "beaten", "95 %", "rank", *last]
    table = new_table(["", "policy"], numbers)
    for place, row in enumerate(ranking, start=1):
        beaten = row.first_beats_it
        shares = ["" if row.share is None else f"{row.share:.0%}"] if has_shares else []
        table.add_row(
            str(place) if row.worlds == worlds else "",
            row.label,
            f"{row.interquartile_mean.value:.3f}",
            _interval(row.interquartile_mean),
            f"{row.mean:.3f}",
            f"{row.optimality_gap.value:.3f}",
            _interval(row.optimality_gap),
            "" if beaten is None else f"{beaten.value:.2f}",
            "" if beaten is None else _interval(beaten, 2),
            f"{row.median_rank:g}",
            *shares,
            str(row.worlds),
            str(row.seeds),
        )
    return table


def _interval(estimate: BootstrapEstimate, digits: int = 3) -> str:
    # Adding 0 turns -0 into 0.
    low, high = (round(end, digits) + 0.0 for end in (estimate.low, estimate.high))
    return f"{low:.{digits}f} .. {high:.{digits}f}"
