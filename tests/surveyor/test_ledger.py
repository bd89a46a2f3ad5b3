"""Gains compared with those of the best constant action, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.surveyor.ledger import Ledger, PlanRecord


def record(n: int, surplus: float, n_hidden: int = 0) -> PlanRecord:
    kept = PlanRecord()
    for k in range(n):
        kept.add(surplus, is_known=k >= n_hidden)
    return kept


def test_only_cases_of_the_plan_count_for_the_plan() -> None:
    ledger = Ledger.of(2)
    ledger.add(np.array([-3.0, 5.0]), is_known=True, is_plan=False)
    ledger.add(np.array([2.0, -9.0]), is_known=True, is_plan=True)
    ledger.add(np.array([1.0, 0.0]), is_known=False, is_plan=True)
    assert ledger.surplus == 0.0
    assert ledger.record == PlanRecord(n=2, mean=1.5, n_hidden=1, squares=0.5)


@pytest.mark.parametrize(
    ("kept", "is_proved"),
    [
        (record(100, 0.1), True),
        (record(99, 0.1), False),  # too few cases
        (record(100, 0.0), False),  # no gain
        (record(100, 0.1, n_hidden=5), True),
        (record(100, 0.1, n_hidden=6), False),  # too much of it is estimated
    ],
)
def test_when_a_plan_is_proved(kept: PlanRecord, is_proved: bool) -> None:
    assert kept.is_proved == is_proved


def test_the_mean_and_its_error_are_those_of_all_cases() -> None:
    kept = PlanRecord()
    for surplus in (4.0, -1.0, 0.0, 5.0):
        kept.add(surplus, is_known=True)
    assert kept.mean == pytest.approx(2.0)
    assert kept.error == pytest.approx(np.std([4, -1, 0, 5]) / 2)


def alternating(n: int, mean: float) -> PlanRecord:
    """Return the record of cases that deviate by 1 from a mean: an error of 1 / sqrt(n)."""
    kept = PlanRecord()
    for k in range(n):
        kept.add(mean + (1 if k % 2 else -1), is_known=True)
    return kept


@pytest.mark.parametrize(
    ("mean", "is_proved", "is_disproved"),
    [(0.11, True, False), (0.09, False, False), (-0.24, False, False), (-0.26, False, True)],
)
def test_a_record_must_be_clear(mean: float, is_proved: bool, is_disproved: bool) -> None:
    kept = alternating(100, mean)
    assert (kept.is_proved, kept.is_disproved) == (is_proved, is_disproved)


def test_a_plan_that_earns_less_than_half_of_what_was_expected() -> None:
    kept = alternating(100, 0.1)  # at most 0.1 + 2.5 * 0.1 = 0.35
    assert not kept.falls_short(expected=0.69)
    assert kept.falls_short(expected=0.71)
    assert not alternating(98, 0.1).falls_short(expected=5.0)  # too few cases


def test_doubts_come_sooner_than_proofs() -> None:
    assert alternating(36, -0.2).is_doubtful  # an error of 1 / 6
    assert not alternating(36, -0.1).is_doubtful
    assert not alternating(28, -0.5).is_doubtful


def test_a_plan_that_is_dropped_leaves_its_loss() -> None:
    ledger = Ledger([-3.0, 1.0], record=record(3, -1.0))
    ledger.drop_plan()
    assert (ledger.surplus, ledger.record, ledger.n_disproved) == (-3.0, PlanRecord(), 1)


def test_another_baseline_counts_for_all_cases_since_the_last_change() -> None:
    ledger = Ledger.of(2)
    ledger.add(np.array([-3.0, 5.0]), is_known=True, is_plan=True)
    ledger.begin_period()
    assert ledger.record == PlanRecord()
    ledger.add(np.array([1.0, -2.0]), is_known=True, is_plan=True)
    ledger.baseline = 1
    assert ledger.surplus == -3.0 - 2.0


def test_sums_are_saved_exactly() -> None:
    ledger = Ledger([-1 / 3, 0.1], 1, record(3, 0.1, n_hidden=1), 2)
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger
