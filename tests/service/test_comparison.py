"""The estimated gain of a shadow: numbers checked by hand, and no bias."""

import numpy as np
import pytest

from thrifty import Problem
from thrifty.problem import RewardRange
from thrifty.service.comparison import (
    BY_COVERAGE,
    BY_LOT,
    Result,
    ShadowComparison,
    ShadowResult,
    max_cost,
)

OUTCOMES = {"treat": {"ill": 50, "well": -20}, "wait": {"ill": -60, "well": 0}}


def problem(*, outcomes: bool = True, priced: bool = True) -> Problem:
    features = Problem.anonymous((2, 2), 2).features
    return Problem(
        features,
        ("treat", "wait"),
        outcomes=OUTCOMES if outcomes else None,
        prices={"x1": 2.0, "x2": 3.0} if priced else None,
        rewards=None if outcomes else RewardRange(-60, 50),
    )


def test_the_range_of_what_a_case_counts() -> None:
    """Rewards span 110 and all features cost 5, so two gains differ by 115 at most."""
    assert max_cost(problem()) == 5
    assert max_cost(problem(priced=False)) == 110
    whole = ShadowComparison.start(problem(), 0.0)
    assert (whole.method, whole.sequence.low, whole.sequence.high) == (BY_COVERAGE, -115, 115)
    weighted = ShadowComparison.start(problem(outcomes=False), 0.0)  # weights up to 1 / 0.2
    assert (weighted.sequence.low, weighted.sequence.high) == (-460, 460)
    drawn = ShadowComparison.start(problem(), 0.1)
    assert drawn.method == BY_LOT
    assert drawn.sequence.high == pytest.approx(1150)


def test_by_lot_by_hand() -> None:
    """The first case, with a gain of 10, only starts the average m.

    Then m = 10: a gain of 30 of the shadow counts (30 - 10) / 0.25 = 80. Then m = 20: a gain of 8
    of the acting policy counts -(8 - 20) / 0.75 = 16.
    """
    comparison = ShadowComparison.start(problem(), 0.25)
    comparison.add_by_lot(Result(12.0, 2.0), decided=False)
    assert comparison.view()["difference"] is None
    comparison.add_by_lot(Result(30.0, 0.0), decided=True)
    assert comparison.sequence.total == pytest.approx(80)
    comparison.add_by_lot(Result(10.0, 2.0), decided=False)
    assert comparison.sequence.total == pytest.approx(80 + 16)
    assert (comparison.cases, comparison.compared) == (3, 2)
    assert comparison.view()["difference"] == pytest.approx(48)
    assert ShadowComparison.from_dict(comparison.to_dict()) == comparison


def test_by_coverage_with_outcomes_by_hand() -> None:
    """The acting policy pays 5 and gets 0; the shadow would have paid 2 and got 50: 53 more."""
    comparison = ShadowComparison.start(problem(), 0.0)
    comparison.add_by_coverage(Result(0.0, 5.0), ShadowResult(2.0, 50.0), same=False)
    comparison.add_by_coverage(Result(0.0, 5.0), ShadowResult(2.0, None), same=False)
    comparison.add_by_coverage(Result(0.0, 5.0), None, same=False)
    view = comparison.view()
    assert (view["cases"], view["compared"], view["difference"]) == (3, 1, 53)


def test_by_coverage_without_outcomes_by_hand() -> None:
    """With p = 0.5 and m = 10, the same action with a reward of 30 counts (2 - 1) · 20 + 3 = 23.

    Then m = 20, and another action with a reward of 30 counts (0 - 1) · 10 + 3 = -7. An action that
    the acting policy hardly ever takes does not count.
    """
    comparison = ShadowComparison.start(problem(outcomes=False), 0.0)
    comparison.add_by_coverage(Result(10.0, 5.0), ShadowResult(2.0, 10.0, 0.5), same=True)
    assert comparison.compared == 0
    comparison.add_by_coverage(Result(30.0, 5.0), ShadowResult(2.0, 30.0, 0.5), same=True)
    assert comparison.sequence.total == pytest.approx(23)
    comparison.add_by_coverage(Result(30.0, 5.0), ShadowResult(2.0, None, 0.5), same=False)
    assert comparison.sequence.total == pytest.approx(16)
    comparison.add_by_coverage(Result(30.0, 5.0), ShadowResult(2.0, None, 0.1), same=False)
    assert (comparison.cases, comparison.compared) == (4, 2)


def test_by_lot_is_unbiased() -> None:
    """Gains have means 3 and 8: the average of 200 estimates is 5 within 5 standard errors.

    A false alarm has a probability of 6e-7.
    """
    rng, estimates = np.random.default_rng(1), []
    for _ in range(200):
        comparison = ShadowComparison.start(problem(), 0.2)
        for _ in range(200):
            decided = bool(rng.random() < 0.2)
            gain = float(rng.normal(8 if decided else 3, 10))
            comparison.add_by_lot(Result(gain, 0.0), decided=decided)
        estimates.append(comparison.sequence.mean)
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - 5) < 5 * error


def test_by_coverage_with_chances_is_unbiased() -> None:
    """The acting policy takes an action with probability 0.4, the shadow always: 6 instead of 3.6.

    The actions pay 6 and 2, so the difference is 6 - (0.4 · 6 + 0.6 · 2) = 2.4. A false alarm has a
    probability of 6e-7.
    """
    rng, estimates = np.random.default_rng(2), []
    for _ in range(200):
        comparison = ShadowComparison.start(problem(outcomes=False), 0.0)
        for _ in range(200):
            same = bool(rng.random() < 0.4)
            reward = float(rng.normal(6 if same else 2, 5))
            shadow = ShadowResult(0.0, reward if same else None, 0.4)
            comparison.add_by_coverage(Result(reward, 0.0), shadow, same=same)
        estimates.append(comparison.sequence.mean)
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - 2.4) < 5 * error
