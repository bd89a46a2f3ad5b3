"""Gains compared with those of the best constant action, by hand."""

from __future__ import annotations

import json

import pytest

from thrifty.surveyor.ledger import Ledger, PlanRecord


def record(n: int, surplus: float, n_hidden: int = 0) -> PlanRecord:
    kept = PlanRecord()
    for k in range(n):
        kept.add(surplus, is_known=k >= n_hidden)
    return kept


def test_only_cases_of_the_plan_count_for_the_plan() -> None:
    ledger = Ledger()
    ledger.add(-3.0, is_known=True, is_plan=False)
    ledger.add(2.0, is_known=True, is_plan=True)
    ledger.add(1.0, is_known=False, is_plan=True)
    assert ledger.surplus == 0.0
    assert ledger.record == PlanRecord(n=2, mean=1.5, n_hidden=1)


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


def test_the_mean_is_that_of_all_cases() -> None:
    kept = PlanRecord()
    for surplus in (4.0, -1.0, 0.0, 5.0):
        kept.add(surplus, is_known=True)
    assert kept.mean == pytest.approx(2.0)


def test_sums_are_saved_exactly() -> None:
    ledger = Ledger(-1 / 3, record(3, 0.1, n_hidden=1))
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger
