"""Choosing among actions by their index, with numbers to check by hand."""

import numba
import numpy as np
import pytest

from thrifty.kernels.runtime import choice

# Compiled functions call each other; Python calls them through one that is compiled here.
first_maximum = numba.njit(lambda values, available: choice.first_maximum(values, available))
uniform = numba.njit(lambda available, draw: choice.uniform(available, draw))
random_maximum = numba.njit(
    lambda values, available, draw: choice.random_maximum(values, available, draw)
)
last_maximum_unless_all_tie = numba.njit(
    lambda values, available, draw: choice.last_maximum_unless_all_tie(values, available, draw)
)

VALUES = np.array([0.5, 2.0, 1.0, 2.0])
ALL = np.ones(4, np.bool_)
NOT_THE_BEST = np.array([True, False, True, False])
BEST_OR_FIRST = np.array([True, True, False, True])
ALMOST_1 = np.nextafter(1.0, 0.0)


def test_first_maximum() -> None:
    assert first_maximum(VALUES, ALL) == 1
    assert first_maximum(VALUES, NOT_THE_BEST) == 2
    assert first_maximum(np.array([-np.inf, -np.inf]), np.array([False, True])) == 1
    assert first_maximum(np.array([0.0, np.inf, np.inf]), np.ones(3, np.bool_)) == 1


@pytest.mark.parametrize(("draw", "action"), [(0.0, 0), (0.49, 0), (0.5, 2), (ALMOST_1, 2)])
def test_uniform_counts_the_available_actions_only(draw: float, action: int) -> None:
    assert uniform(NOT_THE_BEST, draw) == action


def test_without_any_action_there_is_none() -> None:
    assert uniform(np.zeros(3, np.bool_), 0.3) == -1


@pytest.mark.parametrize(("draw", "action"), [(0.0, 1), (0.49, 1), (0.5, 3), (ALMOST_1, 3)])
def test_random_maximum(draw: float, action: int) -> None:
    assert random_maximum(VALUES, ALL, draw) == action
    assert random_maximum(VALUES, BEST_OR_FIRST, draw) == action
    assert random_maximum(VALUES, NOT_THE_BEST, draw) == 2


@pytest.mark.parametrize("draw", [0.0, 0.5, ALMOST_1])
def test_the_last_maximum_unless_all_tie(draw: float) -> None:
    assert last_maximum_unless_all_tie(VALUES, ALL, draw) == 3
    assert last_maximum_unless_all_tie(VALUES, NOT_THE_BEST, draw) == 2


@pytest.mark.parametrize(("draw", "action"), [(0.0, 1), (0.5, 3)])
def test_any_action_if_all_that_are_available_tie(draw: float, action: int) -> None:
    available = np.array([False, True, False, True])
    assert last_maximum_unless_all_tie(VALUES, available, draw) == action
