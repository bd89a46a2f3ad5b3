"""Worlds with a safe action: their rewards in money, and what is refused."""

import numpy as np
import pytest

from thrifty.environments import World
from thrifty.environments.safe_families import (
    rare_outcomes,
    safe_action,
    safe_action_wandering,
    winter,
)
from thrifty.errors import InvalidParameter, InvalidTable
from thrifty.problem import Problem


def money(world: World) -> np.ndarray:
    """Return the rewards that are drawn, in money, (T, A)."""
    scale = world.problem.rewards
    return (scale.low + scale.span * world.draw(1).rewards).round(6)


@pytest.mark.parametrize("placement", [(-90.0, 60.0), (-5_000.0, 5_000.0)])
def test_declining_pays_nothing_and_approving_one_of_two_amounts(
    placement: tuple[float, float],
) -> None:
    world = safe_action(1, low=placement[0], high=placement[1], rounds=500)
    rewards = money(world)
    assert (rewards[:, 0] == 0).all()
    assert set(rewards[:, 1]) == {-90, 60}
    assert world.truth.costs[0] * world.problem.rewards.span == pytest.approx([0.4, 1.5, 0])
    assert world.free.tolist() == [False, False, True]


def test_the_oracle_gains_45_where_the_level_is_good() -> None:
    world = safe_action(2, turns=0, rounds=500)
    good = world.truth.probabilities[world.truth.rewards[0, 1].argmax()]
    gain = world.problem.rewards.low + world.problem.rewards.span * world.truth.oracle_plan.gains[0]
    assert gain == pytest.approx(45 * good - 1.5)


def test_a_noisy_safe_action() -> None:
    rewards = money(safe_action(1, noise=15.0, rounds=500))
    assert set(rewards[:, 0]) == {-15, 15}
    assert rewards[:, 0].mean() == pytest.approx(0, abs=4 * 15 / np.sqrt(500))


def test_the_good_level_is_another_one_after_every_turn() -> None:
    tables = safe_action_wandering(3, turns=9, rounds=500).truth.rewards[:, 1]
    good = tables.argmax(axis=1)
    assert (good[1:] != good[:-1]).all()


@pytest.mark.parametrize("wanders", [False, True])
def test_nothing_pays_in_winter(wanders: bool) -> None:
    tables = winter(1, turns=5, wanders=wanders, rounds=600).truth.rewards[:, 1] * 150 - 90
    assert tables[::2].max(axis=1) == pytest.approx(45)
    assert (tables[1::2] < 0).all()
    assert (len(set(tables[::2].argmax(axis=1).tolist())) == 1) != wanders


def test_fraud_is_rare_and_expensive() -> None:
    rewards = money(rare_outcomes(1, turns=0, rounds=20_000))
    assert set(rewards[:, 0]) == {-1}
    assert set(rewards[:, 1]) == {-120, 5}
    assert 0.015 < (rewards[:, 1] == -120).mean() < 0.05


def test_a_range_that_does_not_contain_the_rewards_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="give a range that contains them"):
        safe_action(0, low=-50.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, 1]], "for each of the 2 actions"),
        ([[0, 1], [0.6, 1]], "between which all means"),
        ([[0, 1], [0, 0.4]], "between which all means"),
    ],
)
def test_wrong_pairs_of_rewards(values: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidTable, match=message):
        World(
            Problem.anonymous((2,), 2),
            probabilities=[0.5, 0.5],
            rewards=[[[0.5, 0.5], [0.5, 0.5]]],
            costs=[[0.1]],
            rounds=10,
            reward_values=values,
        )
