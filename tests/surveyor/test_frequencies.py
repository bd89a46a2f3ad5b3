"""Frequencies of outcomes that actions may hide, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.surveyor.frequencies import OutcomeCounts

FIRST, SECOND, THIRD = np.eye(3, dtype=np.bool_)
LENDING = np.array([[10.0, -90.0], [0.0, 0.0]])


def test_weighted_counts_by_hand() -> None:
    counts = OutcomeCounts(2)
    assert counts.frequencies.tolist() == [0.5, 0.5]
    for _ in range(6):
        counts.add(np.array([True, False]))
    counts.add(np.array([False, True]), weight=3.0)
    assert counts.frequencies == pytest.approx([6.5 / 10, 3.5 / 10])
    assert counts.n_effective == pytest.approx(9**2 / (6 + 9))


def test_outcomes_that_stay_possible_are_divided_by_likelihood() -> None:
    """Of two outcomes that one action does not tell apart, another tells that one is rare."""
    counts = OutcomeCounts(3)
    for _ in range(900):
        counts.add(FIRST | SECOND)
    for _ in range(90):
        counts.add(FIRST)
    for _ in range(10):
        counts.add(SECOND)
    assert counts.frequencies == pytest.approx([0.9, 0.1, 0.0], abs=0.01)


def test_probabilities_by_which_the_action_was_chosen_divide_a_case() -> None:
    counts = OutcomeCounts(3)
    counts.add(FIRST | SECOND, 2.0, np.array([0.3, 0.1, 0.6]))
    assert counts.frequencies == pytest.approx(np.array([1.5 + 1 / 3, 0.5 + 1 / 3, 1 / 3]) / 3)


def test_after_a_change_few_cases_count() -> None:
    counts = OutcomeCounts(2)
    for _ in range(100):
        counts.add(np.array([True, False]))
    counts.forget(20.0)
    assert counts.n_effective == pytest.approx(20)
    assert counts.frequencies == pytest.approx([20.5 / 21, 0.5 / 21])
    counts.forget(50.0)
    assert counts.n_effective == pytest.approx(20)


def test_an_action_that_reveals_the_outcome_gets_a_bonus_that_vanishes() -> None:
    """One in eight defaults: approving loses 2.5, with a standard deviation of 33."""
    bonuses = []
    for n in (8, 800):
        counts = OutcomeCounts(2)
        for k in range(n):
            counts.add(np.array([k % 8 > 0, k % 8 == 0]))
        plain = counts.values(LENDING)
        optimistic = counts.optimistic_values(LENDING, np.array([1.0, 0.0]))
        assert optimistic[1] == plain[1] == 0.0
        bonuses.append(float(optimistic[0] - plain[0]))
    p = 100.5 / 801
    assert bonuses[1] == pytest.approx(1.5 * 100 * np.sqrt(p * (1 - p) / 801))
    assert bonuses[0] > 8 * bonuses[1]


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(1, 10)), max_size=30))
def test_frequencies_are_probabilities_and_are_saved_exactly(
    cases: list[tuple[int, float]],
) -> None:
    counts = OutcomeCounts(3)
    for mask, weight in cases:
        counts.add(np.array([mask & 1, mask & 2, mask & 4]) > 0, weight)
    assert counts.frequencies.sum() == pytest.approx(1)
    assert (counts.frequencies > 0).all()
    again = OutcomeCounts.from_dict(json.loads(json.dumps(counts.to_dict())))
    np.testing.assert_array_equal(again.frequencies, counts.frequencies)
    assert again.n_effective == counts.n_effective
