"""Which partial cases a model may learn from, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from surveyor_cases import SCREENING, drawn_cases
from thrifty.plans.bank import Bank
from thrifty.plans.cases import LookSet
from thrifty.surveyor.partial_bank import EFFORT, PartialBank, PartialCases

BOUGHT = [[False, False], [True, False], [False, True], [True, True], [False, True]]


@pytest.mark.parametrize(
    ("looks", "selected", "otherwise"),
    [
        ((), [0], [0, 1, 2, 3, 4]),
        ((0,), [1], [1, 3]),
        ((1,), [2, 4], [2, 3, 4]),
        ((0, 1), [3], [3]),
    ],
)
def test_usable_cases(looks: LookSet, selected: list[int], otherwise: list[int]) -> None:
    """If the action hides outcomes, only cases with exactly these looks are a fair sample."""
    for is_selected, expected in ((True, selected), (False, otherwise)):
        partial = PartialCases(
            np.zeros((5, 2), np.int16), np.zeros(5, np.int64), np.array(BOUGHT), is_selected
        )
        assert partial.usable(looks).tolist() == expected


def partial_cases(n: int, *, is_selected: bool) -> PartialCases:
    """Return cases with a bought test that has turned round."""
    turned = drawn_cases(SCREENING, n, 2, chances=(0.1, 0.9))
    codes = turned.codes.copy()
    codes[:, 0] = -1
    return PartialCases(codes, turned.outcomes, np.tile([False, True], (n, 1)), is_selected)


def test_models_also_learn_from_partial_cases() -> None:
    cases = drawn_cases(SCREENING, 60, 1)
    codes = np.array([[0, 0], [0, 1]], np.int16)
    few, many = (
        PartialBank(cases, partial_cases(n, is_selected=True)).rule((1,)).probabilities(codes)
        for n in (0, 600)
    )
    np.testing.assert_allclose(few[:, 1], [0.9, 0.1], atol=0.15)
    # 60 complete cases and 600 that say the opposite: (0.9 + 10 * 0.1) / 11.
    np.testing.assert_allclose(many[:, 1], [0.17, 0.83], atol=0.06)


def test_without_usable_cases_models_are_those_of_a_bank() -> None:
    cases = drawn_cases(SCREENING, 60, 1)
    plain = Bank(cases, seed=3, effort=EFFORT)
    bank = PartialBank(cases, partial_cases(600, is_selected=True), seed=3)
    for looks in ((), (0,), (0, 1)):
        one, other = (every.rule(looks).probabilities(cases.codes) for every in (plain, bank))
        np.testing.assert_array_equal(one, other)


def test_gains_are_those_of_complete_cases() -> None:
    cases = drawn_cases(SCREENING, 60, 1)
    bank = PartialBank(cases, partial_cases(600, is_selected=False))
    assert bank.rewards((1,)).shape == (60,)
    assert bank.rewards((1,)).mean() < 0  # the partial cases teach the opposite
