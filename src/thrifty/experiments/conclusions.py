"""Conclusions of the reproduction in plain words, with every number taken from the tables."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from thrifty.experiments.claims import Claim, Verdict, share_of_means
from thrifty.experiments.growth import (
    RegretGrowth,
    log_log_slope,
    regret_growths,
    theorem_bounds,
)
from thrifty.experiments.measures import Summary, summaries, totals
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results
from thrifty.experiments.roles import Role
from thrifty.experiments.spec import Entry
from thrifty.experiments.tuning import gains_from_tuning

TOLERANCE = 1e-6
"""Largest difference from a printed total that counts as rounding."""


@dataclass(frozen=True)
class Conclusion:
    """One or two sentences, and True if they confirm the paper."""

    confirms: bool
    text: str


def draw_conclusions(paper: Reproduction) -> list[Conclusion]:
    """Return everything that confirms the paper, or does not."""
    return [
        _printed_totals(paper),
        _printed_runs(paper),
        *(Conclusion(claim.verdict is Verdict.HOLDS, _claim_text(claim)) for claim in paper.claims),
        _text_alone(paper),
        _row_order(paper),
        _tuning(paper),
        _bounds(paper),
        _growth(paper),
    ]


def _printed_totals(paper: Reproduction) -> Conclusion:
    rows = _summaries_by_label(paper.published)
    deterministic = [
        entry
        for entry in paper.published.experiment.entries
        if len(entry.published) == 1 and rows[entry.label].worst == rows[entry.label].best
    ]
    gap = max(abs(rows[entry.label].gain - entry.published[0]) for entry in deterministic)
    confirms = gap < TOLERANCE
    labels = ", ".join(entry.label for entry in deterministic)
    return Conclusion(
        confirms,
        f"For the policies of the authors' program without random numbers ({labels}), the printed "
        f"totals are {'' if confirms else 'not '}reproduced: the largest difference is {gap:.1e}.",
    )


def _printed_runs(paper: Reproduction) -> Conclusion:
    program = paper.published.experiment.with_role(Role.PROGRAM)
    row = _summaries_by_label(paper.published)[program.label]
    printed = program.published
    mean = sum(printed) / len(printed)
    table = totals(paper.published.table).filter(pl.col("policy") == program.label)
    share = share_of_means(table["gain"].to_numpy(), runs=len(printed), least=mean)
    return Conclusion(
        share > 0.05,
        f"The {len(printed)} printed runs of NCC-UCRL2 have a mean of {mean:,.0f}. Over "
        f"{row.seeds} seeds the same program has a mean of {row.gain:,.0f} ({row.low:,.0f} to "
        f"{row.high:,.0f}), and single seeds range from {row.worst:,.0f} to {row.best:,.0f}: the "
        f"features that it settles on depend on chance. Means of {len(printed)} seeds reach the "
        f"printed mean in {share:.1%} of random draws.",
    )


def _claim_text(claim: Claim) -> str:
    value = f"{claim.format(claim.value)} ({claim.interval})"
    return f"{claim.claim}: {claim.verdict}. Measured: {claim.measured}, {value}."


def _text_alone(paper: Reproduction) -> Conclusion:
    experiment, rows = paper.published.experiment, _summaries_by_label(paper.published)
    text, simplex = (rows[experiment.with_role(role).label] for role in (Role.TEXT, Role.SIMPLEX))
    uniform = rows[_policy(experiment.entries, "uniform").label]
    return Conclusion(
        text.gain > uniform.gain,
        f"The algorithm as described in the text gains {text.gain:,.0f}, and acting at random "
        f"gains {uniform.gain:,.0f}. The bonus for unknown costs is far above any cost, so it pays "
        f"{text.cost:,.0f} for features. The program knows the range of the costs and first buys "
        "every feature set once. With both, and with probabilities that are not negative, the "
        f"algorithm gains {simplex.gain:,.0f}.",
    )


def _row_order(paper: Reproduction) -> Conclusion:
    experiment, rows = paper.shuffled.experiment, _summaries_by_label(paper.shuffled)
    program, later = (
        rows[experiment.with_role(role).label] for role in (Role.PROGRAM, Role.LATER_BENCHMARK)
    )
    oracle = rows[_policy(experiment.entries, "oracle").label]
    return Conclusion(
        program.low > later.high,
        "The published rows are not in random order. They have the order of the data set, except "
        "for some that were exchanged between periods, so one action is right most of the time in "
        "each period, and no feature is needed to find it. With the rows shuffled, as described in "
        f"the text, NCC-UCRL2 (the program) gains {program.gain:,.0f} ({program.low:,.0f} to "
        f"{program.high:,.0f}), {later.policy} without features gains {later.gain:,.0f}, and the "
        f"oracle gains {oracle.gain:,.0f}.",
    )


def _tuning(paper: Reproduction) -> Conclusion:
    program = paper.published.experiment.with_role(Role.PROGRAM)
    tuned = next(item for item in paper.tuned_parameters if item.policy == program.policy)
    change = gains_from_tuning(paper.tuned)[tuned.policy]
    chosen = ", ".join(f"{name} = {value}" for name, value in tuned.chosen.items())
    reported = ", ".join(f"{name} = {value}" for name, value in tuned.reported.items())
    return Conclusion(
        dict(tuned.params).items() >= dict(tuned.reported).items(),
        f"Tuning on the rows reserved for it gives NCC-UCRL2 {chosen}; the paper has {reported}. "
        f"On the published arrays the tuned parameters change the gain by {change.mean:+,.0f} "
        f"({change.low:+,.0f} to {change.high:+,.0f}).",
    )


def _bounds(paper: Reproduction) -> Conclusion:
    below = all(
        high < theorem_bounds(results)[horizon]
        for results in paper.theory
        for growth in [_text_growth(results)]
        for horizon, high in zip(growth.horizons, growth.high, strict=True)
    )
    longest = max(paper.theory[0].experiment.horizons)
    return Conclusion(
        below,
        f"The expected regret of the text's algorithm {'stays below' if below else 'exceeds'} the "
        "bounds of Theorems 1 and 2 (with the constants of the proofs) "
        f"{'at every horizon' if below else 'at some horizon'} up to {longest:,} rounds.",
    )


def _growth(paper: Reproduction) -> Conclusion:
    growths = [(results, _text_growth(results)) for results in paper.theory]
    parts = [
        f"{growth.slope:.2f} ({growth.slope_low:.2f} to {growth.slope_high:.2f}) in "
        f"{results.experiment.id}, where the bound has {log_log_slope(theorem_bounds(results)):.2f}"
        for results, growth in growths
    ]
    return Conclusion(
        max(growth.slope_high for _, growth in growths) < 1,
        "The regret of the text's algorithm should grow less than linearly. Its slope on the "
        f"log-log plot is {'; '.join(parts)}.",
    )


def _text_growth(results: Results) -> RegretGrowth:
    label = results.experiment.with_role(Role.TEXT).label
    return next(growth for growth in regret_growths(results) if growth.policy == label)


def _policy(entries: tuple[Entry, ...], policy: str) -> Entry:
    return next(entry for entry in entries if entry.policy == policy)


def _summaries_by_label(results: Results) -> dict[str, Summary]:
    return {row.policy: row for row in summaries(results)}
