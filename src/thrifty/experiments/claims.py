"""What the paper claims of its experiment, measured: functions of the tables of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.experiments.curves import (
    accuracy_draws,
    distance_from,
    policies_of,
    resampled_means,
)
from thrifty.experiments.measures import longest, totals
from thrifty.experiments.results import Results

Floats = NDArray[np.float64]
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
PROGRAM, TEXT = "NCC-UCRL2, program", "NCC-UCRL2, text"
"""The authors' program, and the paper's text."""
LATER, OURS = "SW-UCB", "Scout"
"""Policies that the paper does not compare: one that its authors added later, and Thrifty's own."""


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured for it with its 95 % interval over seeds, and the verdict."""

    claim: str
    measured: str
    value: float
    low: float
    high: float
    verdict: str

    @property
    def interval(self) -> str:
        """The interval in words."""
        return f"{self.shown(self.low)} to {self.shown(self.high)}"

    def shown(self, value: float) -> str:
        """Return a value with as many decimals as its interval deserves.

        >>> Claim("", "", 0.2, 0.1, 0.3, "").shown(0.2), Claim("", "", 70, 60, 80, "").shown(70)
        ('0.200', '70.0')
        """
        largest = max(abs(self.low), abs(self.high))
        decimals = 3 if largest < 1 else 1 if largest < 1000 else 0
        return f"{value:,.{decimals}f}"


def claims(published: pl.DataFrame, windows: pl.DataFrame, changes: Sequence[int]) -> list[Claim]:
    """Return the paper's claims, measured on the published arrays and on the table of windows."""
    table = published
    gains, rewards = (_by_seed(table, measure) for measure in ("gain", "reward"))
    rivals = [it for it in gains if not it.startswith(("NCC-UCRL2", "Oracle", LATER, OURS))]
    best, second, *_ = sorted(rivals, key=lambda it: -gains[it].mean())
    return [
        _positive(
            "NCC-UCRL2 has the highest gain among the paper's benchmarks",
            f"its gain minus that of the best of them, {best}",
            gains[PROGRAM] - gains[best],
        ),
        _positive(
            f"NCC-UCRL2 gains more than {LATER}, which the authors added to their program later",
            f"its gain minus that of {LATER}",
            gains[PROGRAM] - gains[LATER],
        ),
        _within(
            "PS-LinUCB receives 0.1 % less reward than NCC-UCRL2, almost the same",
            "its reward minus NCC-UCRL2's, in % of the latter",
            *_relative(rewards["PS-LinUCB"], rewards[PROGRAM]),
            allowed=(-0.1, 0.1),
        ),
        _within(
            "PS-LinUCB gains 20 % less",
            "its gain minus NCC-UCRL2's, in % of the latter",
            *_relative(gains["PS-LinUCB"], gains[PROGRAM]),
            allowed=(-np.inf, -20.0),
        ),
        _positive(
            "UCB1 has the second highest gain among the benchmarks",
            "its gain minus that of the best other benchmark, "
            f"{second if best == 'UCB1' else best}",
            gains["UCB1"] - gains[second if best == "UCB1" else best],
        ),
        _positive(
            "Windows around 300 are much better than those above 700",
            "gain with w = 300 minus the mean gain with windows above 700",
            _window_gains(windows),
        ),
        _accuracy_in_the_end(table),
        _accuracy_as_it_grows(table),
        _positive(
            "NCC-UCRL2 follows the oracle's choices of actions more closely than UCB1",
            "UCB1's distance from the oracle minus NCC-UCRL2's (total variation, mean of periods)",
            distance_from(table, "UCB1", "Oracle", changes)
            - distance_from(table, PROGRAM, "Oracle", changes),
        ),
        _positive(
            "The algorithm as the text has it beats acting at random",
            "its gain minus Uniform's",
            gains[TEXT] - gains["Uniform"],
        ),
    ]


def judged(results: Results) -> list[Claim]:
    """Return what has become of the experiment's targets; seeds are paired."""
    measure = f"{results.experiment.regret}_regret"
    regrets = _by_seed(longest(results.table), measure) if results.experiment.targets else {}
    return [
        _within(
            f"{it.policy} has at most {it.regret_at_most:g} of the regret of {it.against}",
            "its mean regret divided by the other's",
            regrets[it.policy].mean() / regrets[it.against].mean(),
            resampled_means(regrets[it.policy]) / resampled_means(regrets[it.against]),
            allowed=(-np.inf, it.regret_at_most),
        )
        for it in results.experiment.targets
    ]


def share_of_means(values: Floats, *, runs: int, least: float) -> float:
    """Return which share of the means of so many runs, drawn from the values, reach `least`.

    >>> share_of_means(np.array([1.0, 3.0]), runs=1, least=3.0) > 0.45
    True
    """
    drawn = np.random.default_rng(0).choice(values, size=(100_000, runs))
    return float((drawn.mean(axis=1) >= least).mean())


def _by_seed(table: pl.DataFrame, measure: str) -> dict[str, Floats]:
    rows = totals(table)
    return {
        it: rows.filter(pl.col("policy") == it)[measure].to_numpy() for it in policies_of(table)
    }


def _positive(claim: str, measured: str, values: Floats) -> Claim:
    return _within(claim, measured, values.mean(), resampled_means(values), allowed=(0.0, np.inf))


def _within(
    claim: str, measured: str, value: float, draws: Floats, *, allowed: tuple[float, float]
) -> Claim:
    """Judge by the interval: all of it inside what the claim allows, none of it, or neither."""
    low, high = np.quantile(draws, [0.025, 0.975])
    if low > allowed[0] and high <= allowed[1]:
        verdict = HOLDS
    elif high < allowed[0] or low > allowed[1]:
        verdict = FAILS
    else:
        verdict = UNDECIDED
    return Claim(claim, measured, float(value), float(low), float(high), verdict)


def _relative(ours: Floats, theirs: Floats) -> tuple[float, Floats]:
    """Return by how many per cent the means differ, and the same for every resample."""
    ratios = resampled_means(ours) / resampled_means(theirs)
    return 100 * (ours.mean() / theirs.mean() - 1), 100 * (ratios - 1)


def _window_gains(windows: pl.DataFrame) -> Floats:
    gains = _by_seed(windows, "gain")
    long = [values for label, values in gains.items() if int(label.removeprefix("w = ")) > 700]
    more: Floats = gains["w = 300"] - np.mean(long, axis=0)
    return more


def _accuracy_in_the_end(table: pl.DataFrame) -> Claim:
    value, draws = _accuracy_lead(table)
    return _within(
        "NCC-UCRL2 is more accurate than Sim-OOS with many observations",
        "its accuracy minus Sim-OOS's, all observations, in percentage points",
        100 * value[-1],
        100 * draws[:, -1],
        allowed=(0.0, np.inf),
    )


def _accuracy_as_it_grows(table: pl.DataFrame) -> Claim:
    value, draws = _accuracy_lead(table)
    return _within(
        "With few observations the accuracy of Sim-OOS is closer to that of NCC-UCRL2",
        "NCC-UCRL2's lead with all observations minus that with at most one, in percentage points",
        100 * (value[-1] - value[1]),
        100 * (draws[:, -1] - draws[:, 1]),
        allowed=(0.0, np.inf),
    )


def _accuracy_lead(table: pl.DataFrame) -> tuple[Floats, Floats]:
    (ours, our_draws), (theirs, their_draws) = (
        accuracy_draws(table, label) for label in (PROGRAM, "Sim-OOS")
    )
    return ours - theirs, our_draws - their_draws
