"""Tables of experiments for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from thrifty.commands.output import new_table
from thrifty.experiments.claims import Claim
from thrifty.experiments.comparison import GainComparison
from thrifty.experiments.grid_tuning import GridChoice
from thrifty.experiments.growth import log_log_slope, regret_growths, theorem_bounds
from thrifty.experiments.measures import Difference, summaries
from thrifty.experiments.results import Results
from thrifty.experiments.tuning import TunedParameters, best_parameters, gains_from_tuning


def results_table(results: Results) -> Table:
    """Return the table that fits the experiment: tuned parameters, growth of regret, or gains."""
    if results.experiment.is_grid:
        return tuning_table(best_parameters([results]))
    if len(results.experiment.horizons) > 1:
        return growth_table(results)
    return gains_table(results)


def gains_table(results: Results) -> Table:
    """Return the table of total gains, with the means that the authors printed."""
    published = results.experiment.published_gains
    headings = ("gain", "95 %", "min", "max", "reward", "cost", *(["authors"] if published else []))
    table = new_table(["policy"], headings)
    for row in summaries(results):
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


def comparison_table(comparison: GainComparison) -> Table:
    """Return the table of paired differences in gain."""
    table = new_table(["policy"], ["mean", "95 %", "p", "seeds", "wins"])
    for row, pair in zip(comparison.others, comparison.differences, strict=True):
        table.add_row(
            pair.policy,
            f"{pair.mean:+.1f}",
            f"{pair.low:+.0f} .. {pair.high:+.0f}",
            f"{pair.p_value:.4f}",
            str(pair.seeds),
            f"{row.wins:.0%}",
        )
    return table


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return the table of claims: measured value, interval, verdict."""
    table = new_table(["claim"], ["value", "95 %", "verdict"], wrap=True)
    for claim in claims:
        table.add_row(claim.claim, claim.format(claim.value), claim.interval, claim.verdict)
    return table


def tuning_table(tuned: Sequence[TunedParameters], evaluated: Results | None = None) -> Table:
    """Return the table of tuned parameters, and their gain in other data if it was measured."""
    changes = {} if evaluated is None else gains_from_tuning(evaluated)
    numbers = ("gain", "next", "of", *(["change", "95 %"] if evaluated else []))
    table = new_table(["policy", "tuned", "paper"], numbers)
    for item in tuned:
        table.add_row(
            item.policy,
            _format_params(item.chosen),
            _format_params(item.reported),
            f"{item.gain:.1f}",
            "" if item.runner_up is None else f"{item.runner_up:.1f}",
            str(item.candidates),
            *(_format_change(changes.get(item.policy)) if evaluated else ()),
        )
    return table


def choices_table(choices: Sequence[GridChoice]) -> Table:
    """Return the table of parameters that were chosen over several worlds."""
    table = new_table(["policy", "chosen"], ["score", "95 %", "next", "own", "of", "worlds"])
    for choice in choices:
        score = choice.score
        others = (choice.runner_up, choice.own_score)
        table.add_row(
            choice.entry.label,
            _format_params(choice.chosen),
            f"{score.value:.3f}",
            f"{score.low:.3f} .. {score.high:.3f}",
            *("" if other is None else f"{other:.3f}" for other in others),
            str(choice.candidates),
            str(choice.worlds),
        )
    return table


def _format_change(change: Difference | None) -> tuple[str, str]:
    if change is None:
        return "", ""
    return f"{change.mean:+.1f}", f"{change.low:+.0f} .. {change.high:+.0f}"


def _format_params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in params.items())


def growth_table(results: Results) -> Table:
    """Return the table of expected regret by horizon, with slopes and the bound of the theorem."""
    bounds, horizons = theorem_bounds(results), sorted(results.experiment.horizons)
    shown = slice(2 if len(horizons) > 1 else 0)  # a single horizon has no slope
    table = new_table(["policy"], [*(f"{t:,}" for t in horizons), *["slope", "95 %"][shown]])
    for row in regret_growths(results):
        slope = f"{row.slope:.2f}", f"{row.slope_low:.2f} .. {row.slope_high:.2f}"
        regrets = (f"{value:,.0f}" for value in row.regret)
        table.add_row(row.policy, *regrets, *slope[shown])
    if bounds:
        printed = (f"{bounds[t]:,.0f}" for t in horizons)
        table.add_row(
            "bound of the theorem", *printed, *(f"{log_log_slope(bounds):.2f}", "")[shown]
        )
    return table
