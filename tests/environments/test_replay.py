from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.environment import Environment
from thrifty.environments import Replay, Truth
from thrifty.errors import (
    EnvironmentEnded,
    InvalidAction,
    InvalidPurchase,
    InvalidTable,
    OutOfTurn,
)
from thrifty.problem import Feature, Problem
from thrifty.rounds import Purchase

CONTEXTS = [[0, 2], [1, 0], [1, 1]]
REWARDS = [[1.0, 0.0], [0.25, 1.0], [0.0, 0.5]]
COSTS = [[0.1, 0.2], [0.0, 0.3], [0.4, 0.5]]
NAMED = Problem(
    features=(Feature("health", ("poor", "good")), Feature("form", ("a", "b", "c"))),
    actions=("reject", "accept"),
)


def buy(*mask: bool, purpose: int = 0) -> Purchase:
    return Purchase(np.array(mask, dtype=np.bool_), purpose=purpose)


def replay(**changed: Any) -> Replay:
    return Replay(**{"contexts": CONTEXTS, "rewards": REWARDS, "costs": COSTS, **changed})


def test_rounds_by_hand() -> None:
    world = replay()
    seen = world.reveal(buy(True, False, purpose=7))
    assert seen.codes.tolist() == [0, -1]
    assert seen.costs[0] == 0.1
    assert np.isnan(seen.costs[1])
    assert seen.purpose == 7
    assert world.step(0) == 1.0
    assert world.reveal(buy(True, True)).codes.tolist() == [1, 0]
    assert world.step(0) == 0.25
    assert world.reveal(buy(False, False)).total_cost == 0.0
    assert world.step(np.int64(1)) == 0.5  # type: ignore[arg-type]


def test_it_is_an_environment_with_a_horizon() -> None:
    world = replay()
    assert isinstance(world, Environment)
    assert world.horizon == 3
    assert repr(world) == "Replay(3 rounds, 2 features, 2 actions)"


def test_the_problem_is_inferred_from_the_greatest_codes() -> None:
    assert replay().problem.levels.tolist() == [2, 3]
    assert replay().problem.n_actions == 2
    assert replay(problem=NAMED).problem is NAMED


def test_arrays_are_frozen_copies_in_c_order() -> None:
    contexts = np.asfortranarray(np.array(CONTEXTS, dtype=np.int8))
    world = replay(contexts=contexts)
    contexts[0, 0] = 1
    assert world.contexts[0, 0] == 0
    for array, dtype in (
        (world.contexts, np.int64),
        (world.rewards, np.float64),
        (world.costs, np.float64),
    ):
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert not array.flags.writeable


def test_reset_starts_over_and_draws_nothing() -> None:
    world = replay()
    world.reveal(buy(True, True))
    world.reset(seed=5)
    assert world.reveal(buy(True, True)).codes.tolist() == CONTEXTS[0]
    assert world.draw(3) is world


def test_the_price_list_is_of_the_current_round() -> None:
    world = replay()
    assert world.price_list().tolist() == COSTS[0]
    world.reveal(buy(True, False))
    assert world.price_list().tolist() == COSTS[0]
    world.step(0)
    assert world.price_list().tolist() == COSTS[1]


def test_rejected_calls_change_nothing() -> None:
    world = replay()
    for _ in range(world.horizon):
        with pytest.raises(OutOfTurn, match="call reveal first"):
            world.step(0)
        with pytest.raises(InvalidPurchase, match="2 features"):
            world.reveal(buy(True))
        codes = world.reveal(buy(True, True)).codes.tolist()
        assert world.reveal(buy(True, True)).total_cost == world.known().total_cost
        for action in (2, -1, True, 0.0, "0"):
            with pytest.raises(InvalidAction, match="from 0 to 1"):
                world.step(action)  # type: ignore[arg-type]
        t = CONTEXTS.index(codes)
        assert world.step(1) == REWARDS[t][1]
    for _ in range(2):
        with pytest.raises(EnvironmentEnded, match="all 3 rounds"):
            world.reveal(buy(True, True))
        with pytest.raises(EnvironmentEnded):
            world.price_list()
        with pytest.raises(OutOfTurn):
            world.step(0)
    world.reset()
    assert world.reveal(buy(True, True)).codes.tolist() == CONTEXTS[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contexts": [], "rewards": [], "costs": []}, "at least one round"),
        ({"contexts": np.zeros((3, 0), int)}, "at least one round, one feature"),
        ({"rewards": np.zeros((3, 0))}, "one action"),
        ({"contexts": [0, 1, 1]}, "contexts have 1 dimensions"),
        ({"rewards": [[[1.0]]]}, "rewards have 3 dimensions"),
        ({"costs": [0.1, 0.2, 0.3]}, "costs have 1 dimensions"),
        ({"contexts": [[0], [1, 2]]}, "rows of equal length"),
        ({"rewards": [["a", "b"]] * 3}, "not a table of numbers"),
        ({"rewards": REWARDS[:2]}, "3 rows of contexts, 2 of rewards and 3 of costs"),
        ({"costs": COSTS[:2]}, "the same number"),
        ({"costs": [[0.1]] * 3}, "2 features with costs of 1"),
        ({"contexts": [[0.0, 2.0]] * 3}, "Missing values need a level of their own"),
        ({"contexts": [[np.nan, 2.0]] * 3}, "Missing values need a level of their own"),
        ({"contexts": [[None, 2]] * 3}, "Missing values need a level of their own"),
        ({"contexts": [[0, 1], [0, -1], [0, 0]]}, "round 1, feature 1.*Missing values"),
        ({"contexts": [[True, False]] * 3}, "dtype bool"),
        ({"contexts": [[0, 10**12]] * 3}, "looks like an identifier"),
        ({"costs": [[0.1, np.nan]] * 3}, "costs hold nan in round 0, feature 1"),
        ({"costs": [[0.1, np.inf]] * 3}, "costs hold inf"),
        ({"costs": [[-0.1, 0.1]] * 3}, "costs hold -0.1"),
        ({"rewards": [[0, 1.5]] * 3}, r"rewards hold 1.5 in round 0, action 1.*\[0, 1\]"),
        ({"rewards": [[0, -0.5]] * 3}, "rewards hold -0.5"),
        ({"rewards": [[0, np.nan]] * 3}, "rewards hold nan"),
        ({"reward_changes": (0,)}, "reward_changes are .*from 1 to 2"),
        ({"reward_changes": (3,)}, "from 1 to 2"),
        ({"cost_changes": (2, 1)}, "cost_changes are .*strictly increasing"),
        ({"cost_changes": (1, 1)}, "strictly increasing"),
        ({"cost_changes": (1.0,)}, "whole numbers"),
        ({"cost_changes": (True,)}, "whole numbers"),
        ({"problem": Problem.anonymous((2,), 2)}, "2 features and 2 actions .* of 1 and 2"),
        ({"problem": Problem.anonymous((2, 3), 3)}, "of 2 and 3"),
        ({"contexts": [[2, 0]] * 3, "problem": NAMED}, "code 2 in round 0 for feature 'health'"),
    ],
)
def test_tables_that_cannot_be_replayed(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTable, match=message):
        replay(**changed)


def test_change_points_are_tuples_of_ints() -> None:
    world = replay(reward_changes=np.array([1, 2]), cost_changes=[2])
    assert world.reward_changes == (1, 2)
    assert world.cost_changes == (2,)
    assert all(type(point) is int for point in world.reward_changes)


def test_a_given_truth_is_kept_and_must_fit() -> None:
    world = replay()
    truth = world.truth
    assert isinstance(truth, Truth)
    assert world.truth is truth
    assert replay(truth=truth).truth is truth
    with pytest.raises(InvalidTable, match="truth about"):
        Replay(CONTEXTS[:2], REWARDS[:2], COSTS[:2], truth=truth)


@settings(deadline=None, derandomize=True)
@given(st.data())
def test_nothing_of_an_unbought_feature_is_shown(data: st.DataObject) -> None:
    world = replay()
    for t in range(world.horizon):
        mask = data.draw(st.lists(st.booleans(), min_size=2, max_size=2))
        seen = world.reveal(buy(*mask))
        assert seen.mask.tolist() == mask
        assert seen.codes[mask].tolist() == world.contexts[t][mask].tolist()
        assert seen.costs[mask].tolist() == world.costs[t][mask].tolist()
        world.step(0)
