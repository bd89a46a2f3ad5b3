"""Claims of the paper about its experiment, and targets of experiments, with verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec
from thrifty.experiments.measures import longest, totals
from thrifty.experiments.results import Results
from thrifty.experiments.roles import Role
from thrifty.experiments.series import (
    accuracy_draws,
    action_distance,
    policy_labels,
    resampled_means,
)
from thrifty.experiments.spec import Entry

Floats = NDArray[np.float64]
GOOD_WINDOW, LONG_WINDOW = 300, 700
"""Window that the paper recommends, and the length above which it finds windows too long."""


class Verdict(StrEnum):
    """Verdict on a claim, by its 95 % interval."""

    HOLDS = "holds"
    """The whole interval agrees with the claim."""
    FAILS = "does not hold"
    """The whole interval contradicts the claim."""
    UNDECIDED = "undecided"
    """Only part of the interval agrees with the claim."""


@dataclass(frozen=True)
class Claim:
    """A claim, the measured value with its 95 % interval over seeds, and the verdict."""

    claim: str
    measured: str
    value: float
    low: float
    high: float
    verdict: Verdict

    @property
    def interval(self) -> str:
        """The interval as text."""
        return f"{self.format(self.low)} to {self.format(self.high)}"

    def format(self, value: float) -> str:
        """Return a value with a number of decimals that fits the interval.

        >>> Claim("", "", 0.2, 0.1, 0.3, Verdict.HOLDS).format(0.2)
        '0.200'
        >>> Claim("", "", 70, 60, 80, Verdict.HOLDS).format(70)
        '70.0'
        """
        largest = max(abs(self.low), abs(self.high))
        decimals = 3 if largest < 1 else 1 if largest < 1000 else 0
        return f"{value:,.{decimals}f}"


class _Published:
    """Results on the published arrays, with the policies that the claims are about."""

    def __init__(self, results: Results) -> None:
        experiment = results.experiment
        self.table = results.table
        self.gains, self.rewards = (
            _totals_by_seed(results.table, measure) for measure in ("gain", "reward")
        )
        self.program, self.text, self.later = (
            experiment.with_role(role) for role in (Role.PROGRAM, Role.TEXT, Role.LATER_BENCHMARK)
        )
        self.oracle = self._policy(experiment.entries, "oracle")
        benchmarks = [entry for entry in experiment.entries if entry.role is Role.BENCHMARK]
        self.ucb1, self.ps_linucb, self.sim_oos, self.uniform = (
            self._policy(benchmarks, name) for name in ("ucb1", "ps-linucb", "sim-oos", "uniform")
        )
        ordered = sorted(benchmarks, key=lambda entry: -self.gains[entry.label].mean())
        self.best, second, *_ = ordered
        self.best_but_ucb1 = second if self.best is self.ucb1 else self.best

    @staticmethod
    def _policy(entries: Sequence[Entry], policy: str) -> Entry:
        for entry in entries:
            if entry.policy == policy:
                return entry
        raise InvalidSpec(
            f"the paper's claims need the policy {policy!r}: use results of nursery/published."
        )

    def gain(self, entry: Entry) -> Floats:
        return self.gains[entry.label]

    def reward(self, entry: Entry) -> Floats:
        return self.rewards[entry.label]


def check_claims(published: Results, windows: Results, changes: Sequence[int]) -> list[Claim]:
    """Return the paper's claims with the values measured for them.

    `published` are results on the published arrays, `windows` those of the experiment with several
    windows, and `changes` the rounds in which mean rewards or costs change.
    """
    run = _Published(published)
    return [
        _positive(
            "NCC-UCRL2 has the highest gain among the paper's benchmarks",
            f"its gain minus that of the best of them, {run.best.label}",
            run.gain(run.program) - run.gain(run.best),
        ),
        _positive(
            f"NCC-UCRL2 gains more than {run.later.label}, which the authors added to their "
            "program later",
            f"its gain minus that of {run.later.label}",
            run.gain(run.program) - run.gain(run.later),
        ),
        _within(
            "PS-LinUCB receives 0.1 % less reward than NCC-UCRL2, almost the same",
            "its reward minus NCC-UCRL2's, in % of the latter",
            *_relative(run.reward(run.ps_linucb), run.reward(run.program)),
            allowed=(-0.1, 0.1),
        ),
        _within(
            "PS-LinUCB gains 20 % less than NCC-UCRL2",
            "its gain minus NCC-UCRL2's, in % of the latter",
            *_relative(run.gain(run.ps_linucb), run.gain(run.program)),
            allowed=(-np.inf, -20.0),
        ),
        _positive(
            "UCB1 has the second highest gain among the benchmarks",
            f"its gain minus that of the best other benchmark, {run.best_but_ucb1.label}",
            run.gain(run.ucb1) - run.gain(run.best_but_ucb1),
        ),
        _positive(
            f"Windows around {GOOD_WINDOW} are much better than those above {LONG_WINDOW}",
            f"gain with w = {GOOD_WINDOW} minus the mean gain with windows above {LONG_WINDOW}",
            _window_gains(windows),
        ),
        _final_accuracy(run),
        _accuracy_growth(run),
        _positive(
            "NCC-UCRL2 follows the oracle's choices of actions more closely than UCB1",
            "UCB1's distance from the oracle minus NCC-UCRL2's (total variation, mean of periods)",
            _oracle_distance(run, run.ucb1, changes) - _oracle_distance(run, run.program, changes),
        ),
        _positive(
            "The algorithm as described in the text gains more than acting at random",
            "its gain minus Uniform's",
            run.gain(run.text) - run.gain(run.uniform),
        ),
    ]


def check_targets(results: Results) -> list[Claim]:
    """Return the experiment's targets with verdicts; seeds are paired."""
    experiment = results.experiment
    if not experiment.targets:
        return []
    regrets = _totals_by_seed(longest(results.table), f"{experiment.regret}_regret")
    return [
        _within(
            f"{target.policy} has at most {target.regret_at_most:g} of the regret of "
            f"{target.against}",
            "its mean regret divided by the other's",
            regrets[target.policy].mean() / regrets[target.against].mean(),
            resampled_means(regrets[target.policy]) / resampled_means(regrets[target.against]),
            allowed=(-np.inf, target.regret_at_most),
        )
        for target in experiment.targets
    ]


def share_of_means(values: Floats, *, runs: int, least: float) -> float:
    """Return the share of means of `runs` values, drawn with replacement, that reach `least`.

    >>> share_of_means(np.array([1.0, 3.0]), runs=1, least=3.0) > 0.45
    True
    """
    drawn = np.random.default_rng(0).choice(values, size=(100_000, runs))
    return float((drawn.mean(axis=1) >= least).mean())


def _totals_by_seed(table: pl.DataFrame, measure: str) -> dict[str, Floats]:
    rows = totals(table)
    return {
        label: rows.filter(pl.col("policy") == label)[measure].to_numpy()
        for label in policy_labels(table)
    }


def _positive(claim: str, measured: str, values: Floats) -> Claim:
    return _within(claim, measured, values.mean(), resampled_means(values), allowed=(0.0, np.inf))


def _within(
    claim: str, measured: str, value: float, draws: Floats, *, allowed: tuple[float, float]
) -> Claim:
    """Return the claim that the value lies in the allowed range, with its verdict."""
    low, high = np.quantile(draws, [0.025, 0.975])
    if low > allowed[0] and high <= allowed[1]:
        verdict = Verdict.HOLDS
    elif high < allowed[0] or low > allowed[1]:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.UNDECIDED
    return Claim(claim, measured, float(value), float(low), float(high), verdict)


def _relative(values: Floats, reference: Floats) -> tuple[float, Floats]:
    """Return the difference of the means in per cent, and the same for every resample."""
    ratios = resampled_means(values) / resampled_means(reference)
    return 100 * (values.mean() / reference.mean() - 1), 100 * (ratios - 1)


def _window_gains(windows: Results) -> Floats:
    gains = _totals_by_seed(windows.table, "gain")
    by_window = {window: gains[label] for label, window in windows.experiment.windows.items()}
    long = [values for window, values in by_window.items() if window > LONG_WINDOW]
    differences: Floats = by_window[GOOD_WINDOW] - np.mean(long, axis=0)
    return differences


def _oracle_distance(run: _Published, entry: Entry, changes: Sequence[int]) -> Floats:
    return action_distance(run.table, entry.label, run.oracle.label, changes)


def _final_accuracy(run: _Published) -> Claim:
    value, draws = _accuracy_lead(run)
    return _within(
        "NCC-UCRL2 is more accurate than Sim-OOS with many observations",
        "its accuracy minus Sim-OOS's, all observations, in percentage points",
        100 * value[-1],
        100 * draws[:, -1],
        allowed=(0.0, np.inf),
    )


def _accuracy_growth(run: _Published) -> Claim:
    value, draws = _accuracy_lead(run)
    return _within(
        "With few observations the accuracy of Sim-OOS is closer to that of NCC-UCRL2",
        "NCC-UCRL2's lead with all observations minus that with at most one, in percentage points",
        100 * (value[-1] - value[1]),
        100 * (draws[:, -1] - draws[:, 1]),
        allowed=(0.0, np.inf),
    )


def _accuracy_lead(run: _Published) -> tuple[Floats, Floats]:
    (program, program_draws), (sim_oos, sim_oos_draws) = (
        accuracy_draws(run.table, entry.label) for entry in (run.program, run.sim_oos)
    )
    return program - sim_oos, program_draws - sim_oos_draws
