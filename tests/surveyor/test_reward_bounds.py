"""Bounds of each action's rewards, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.problem import RewardRange
from thrifty.surveyor.reward_bounds import FEWEST_REWARDS, FEWEST_TRIES, RewardBounds

SCALE = RewardRange(-900.0, 100.0)


def after(rewards: list[float]) -> RewardBounds:
    """Return the bounds of two actions after rewards of the first one."""
    bounds = RewardBounds(SCALE, n_actions=2)
    for reward in rewards:
        bounds.add(0, reward)
    return bounds


def test_the_declared_range_counts_until_there_are_enough_rewards() -> None:
    assert after([5.0] * (FEWEST_REWARDS - 1)).levels.tolist() == [[-900, 100], [-900, 100]]
    assert after([5.0] * FEWEST_REWARDS).levels.tolist() == [[5, 5], [-900, 100]]
    assert after([5.0, -20.0] * FEWEST_REWARDS).levels[0].tolist() == [-20, 5]


def test_a_bound_moves_by_more_than_a_hundredth_of_the_range() -> None:
    bounds = after([0.0] * FEWEST_REWARDS)
    assert not bounds.add(0, 9.0)
    assert bounds.levels[0].tolist() == [0, 0]
    assert bounds.add(0, 11.0)
    assert not bounds.add(0, 12.0)
    assert bounds.add(0, -900.0)
    assert bounds.levels[0].tolist() == [-900, 11]


def test_an_action_is_untried_until_it_has_some_rewards() -> None:
    assert after([0.0] * (FEWEST_TRIES - 1)).untried.tolist() == [True, True]
    assert after([0.0] * FEWEST_TRIES).untried.tolist() == [False, True]


@given(st.lists(st.floats(-900, 100), max_size=80))
def test_rewards_lie_within_the_bounds_but_for_the_margin(rewards: list[float]) -> None:
    bounds = RewardBounds(SCALE, n_actions=1)
    before = bounds.levels
    for reward in rewards:
        moved = bounds.add(0, reward)
        assert moved == (bounds.levels != before).any()
        before = bounds.levels
    low, high = before[0]
    assert all(low - 10.001 <= reward <= high + 10.001 for reward in rewards)


@pytest.mark.parametrize("n", [0, 3, 40])
def test_saved_bounds_are_restored(n: int) -> None:
    bounds, restored = after([float(k) for k in range(n)]), RewardBounds(SCALE, n_actions=2)
    restored.restore(bounds.to_dict())
    assert restored.to_dict() == bounds.to_dict()
    assert restored.add(0, -100.0) == bounds.add(0, -100.0)
    assert restored.levels.tolist() == bounds.levels.tolist()
