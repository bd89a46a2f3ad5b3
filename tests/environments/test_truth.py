from __future__ import annotations

from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_play import random_runs
from thrifty.environments import Replay, Schedule, Truth, World
from thrifty.environments.oracle_plan import OraclePlan, best_rewards_of, strides_of
from thrifty.errors import InvalidProblem, InvalidTable
from thrifty.problem import Problem
from thrifty.regret import expected_regret
from thrifty.simulation import simulate

# Two binary features, two actions; the first feature says which action pays.
SIMPLE: dict[str, Any] = {
    "levels": [2, 2],
    "states": [[0, 0], [0, 1], [1, 1]],
    "probabilities": [0.5, 0.25, 0.25],
    "reward_piece": [0, 0],
    "cost_piece": [0, 1],
    "rewards": [[[1.0, 0.8, 0.0], [0.0, 0.4, 1.0]]],
    "within": [[0.5, 0.25, 0.25]],
    "costs": [[0.1, 0.05], [0.6, 0.05]],
}


def test_means_by_hand() -> None:
    truth = Truth(**SIMPLE)
    assert truth.partial_states([False, True]).tolist() == [0, 1, 1]
    assert truth.partial_probabilities([False, True]).tolist() == [0.5, 0.5]
    np.testing.assert_allclose(truth.mean_rewards([False, True]), [[[1.0, 0.4], [0.0, 0.7]]])
    np.testing.assert_allclose(truth.mean_rewards([False, False]), [[[0.7], [0.35]]])
    np.testing.assert_allclose(truth.best_rewards([False, True]), [0.85])


def test_equation_5_by_hand() -> None:
    truth = Truth(**SIMPLE)
    assert truth.best_gain([True, False], 0) == pytest.approx(0.95 - 0.1)
    assert truth.best_gain([True, False], 1) == pytest.approx(0.95 - 0.6)
    assert truth.best_gain([False, True], 1) == pytest.approx(0.85 - 0.05)


def test_plan_by_hand() -> None:
    plan = Truth(**SIMPLE).oracle_plan
    assert plan.plan_of_round.tolist() == [0, 1]
    assert plan.masks.tolist() == [[True, False], [False, True]]
    np.testing.assert_allclose(plan.gains, [0.85, 0.80])
    assert plan.strides.tolist() == [[1, 0], [0, 1]]
    assert plan.offsets.tolist() == [0, 2, 4]
    assert plan.keys.tolist() == [0, 1, 0, 1]
    assert plan.actions.tolist() == [0, 1, 0, 1]
    assert plan.fallback.tolist() == [0, 0]
    assert plan.action(0, [1, 0]) == 1
    assert plan.action(1, [1, 0]) == 0


def test_a_plan_is_made_once_and_is_frozen() -> None:
    truth = Truth(**SIMPLE)
    assert truth.oracle_plan is truth.oracle_plan
    for record in (truth, truth.oracle_plan):
        for field in fields(record):
            array = getattr(record, field.name)
            assert array.flags.c_contiguous, field.name
            assert not array.flags.writeable, field.name


def test_a_state_never_seen_gets_the_best_action_on_the_whole() -> None:
    truth = Truth(
        levels=np.array([3]),
        states=np.array([[0], [2]]),
        probabilities=np.array([0.3, 0.7]),
        reward_piece=np.array([0]),
        cost_piece=np.array([0]),
        rewards=np.array([[[1.0, 0.0], [0.0, 1.0]]]),
        within=np.array([[0.3, 0.7]]),
        costs=np.array([[0.0]]),
    )
    assert truth.oracle_plan.masks.tolist() == [[True]]
    assert [truth.oracle_plan.action(0, [code]) for code in range(3)] == [0, 1, 1]


def test_ties_go_to_the_first_subset_and_the_first_action() -> None:
    truth = Truth(
        **{
            **SIMPLE,
            "costs": np.zeros((2, 2)),
            "rewards": np.full((1, 2, 3), 0.1) + np.array([0, 1e-15, 0]),
        }
    )
    assert truth.oracle_plan.masks.tolist() == [[False, False]] * 2
    assert truth.oracle_plan.actions.tolist() == [0, 0]
    free = {**SIMPLE, "costs": [[0.0, 0.0], [0.9, 0.0]]}
    # With both free, the first feature alone is worth as much as both.
    assert Truth(**free).oracle_plan.masks.tolist() == [[True, False], [False, True]]


def test_hindsight_by_hand() -> None:
    table = Replay(
        contexts=[[0], [1], [0], [0], [1]],
        rewards=[[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]],
        costs=[[0.1], [0.2], [0.3], [0.4], [0.5]],
        reward_changes=(2,),
        cost_changes=(4,),
    )
    truth = Truth.in_hindsight(table)
    assert truth.reward_piece.tolist() == truth.cost_piece.tolist() == [0, 0, 1, 1, 2]
    assert truth.states.tolist() == [[0], [1]]
    np.testing.assert_allclose(truth.probabilities, [0.6, 0.4])
    np.testing.assert_allclose(truth.costs, [[0.15], [0.35], [0.5]])
    np.testing.assert_allclose(truth.within, [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    given_the_state = np.array([[[1, 1], [0, 0]], [[0.5, 0], [0.5, 0]], [[0, 0], [0, 1]]])
    np.testing.assert_allclose(truth.mean_rewards([True]), given_the_state)
    given_nothing = np.array([[[1], [0]], [[0.5], [0.5]], [[0], [1]]])
    np.testing.assert_allclose(truth.mean_rewards([False]), given_nothing)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"probabilities": [0.5, 0.5]}, "ask for"),
        ({"cost_piece": [0]}, "cost_piece have shape"),
        ({"rewards": [0.5]}, "rewards have shape"),
        ({"within": [[0.5, 0.5]]}, "within have shape"),
        ({"costs": [[0.1]] * 2}, "costs have shape"),
        ({"levels": [[2, 2]]}, "levels have shape"),
        ({"probabilities": [0.5, 0.5, 0.5]}, "sum to 1.5"),
        ({"probabilities": [1.5, -0.25, -0.25]}, "at least 0"),
        ({"cost_piece": [0, 2]}, "cost_piece go from 0 to 2"),
        ({"reward_piece": [0, -1]}, "reward_piece go from -1 to 0"),
        ({"states": [[0, 0], [0, 1], [2, 1]]}, "states go from 0 to 2"),
        ({"costs": [[0.1, np.nan], [0.1, 0.1]]}, "costs contain a number"),
        ({"irrelevant": [2]}, "irrelevant go from 2 to 2"),
        ({"irrelevant": [[1]]}, "irrelevant have shape"),
    ],
)
def test_truths_that_contradict_themselves(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTable, match=message):
        Truth(**{**SIMPLE, **changed})


def test_the_oracle_refuses_too_many_features_and_too_many_states() -> None:
    wide = Replay(np.zeros((2, 17), int), np.ones((2, 1)), np.zeros((2, 17)))
    with pytest.raises(InvalidProblem, match=r"2\^17 subsets.*at most 16 features"):
        _ = wide.truth.oracle_plan
    with pytest.raises(InvalidProblem, match="more partial states than can be numbered"):
        strides_of(np.full(16, 16), np.ones(16, dtype=np.bool_))


def naive_plan(truth: Truth, round_: int) -> tuple[tuple[bool, ...], float, dict[Any, int]]:
    """Find the oracle's plan by dictionaries alone."""
    piece, price = truth.reward_piece[round_], truth.costs[truth.cost_piece[round_]]
    n_actions = truth.rewards.shape[1]
    best: tuple[tuple[bool, ...], float, dict[Any, int]] | None = None
    for mask in product((False, True), repeat=len(truth.levels)):
        p: dict[Any, float] = {}
        mass: dict[Any, float] = {}
        total: dict[Any, list[float]] = {}
        for s, state in enumerate(truth.states.tolist()):
            psi = tuple(code for code, bought in zip(state, mask, strict=True) if bought)
            p[psi] = p.get(psi, 0.0) + truth.probabilities[s]
            mass[psi] = mass.get(psi, 0.0) + truth.within[piece, s]
            sums = total.setdefault(psi, [0.0] * n_actions)
            for a in range(n_actions):
                sums[a] += truth.within[piece, s] * truth.rewards[piece, a, s]
        mean = {psi: [x / mass[psi] if mass[psi] > 0 else 0.0 for x in total[psi]] for psi in p}
        gain = sum(p[psi] * max(mean[psi]) for psi in p)
        gain -= sum(c for c, bought in zip(price, mask, strict=True) if bought)
        if best is None or gain > best[1] + 1e-12:
            action = {
                psi: next(a for a in range(n_actions) if mean[psi][a] >= max(mean[psi]) - 1e-12)
                for psi in p
            }
            best = mask, gain, action
    assert best is not None
    return best


def assert_plan_is_the_naive_one(truth: Truth) -> None:
    plan = truth.oracle_plan
    for t in {int(np.argmax(plan.plan_of_round == k)) for k in range(len(plan.gains))}:
        mask, gain, action = naive_plan(truth, t)
        k = plan.plan_of_round[t]
        assert tuple(plan.masks[k]) == mask
        assert plan.gains[k] == pytest.approx(gain, abs=1e-12)
        assert plan.offsets[k + 1] - plan.offsets[k] == len(action)
        assert (np.diff(plan.keys[plan.offsets[k] : plan.offsets[k + 1]]) > 0).all()
        for state in truth.states:
            assert plan.action(t, state) == action[tuple(state[list(mask)].tolist())]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    levels=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    n_actions=st.integers(1, 3),
    seed=st.integers(0, 2**32),
    joint=st.booleans(),
    hindsight=st.booleans(),
)
def test_the_plan_is_the_naive_one(
    levels: list[int], n_actions: int, seed: int, joint: bool, hindsight: bool
) -> None:
    world = World.random(
        levels=levels,
        n_actions=n_actions,
        rounds=30,
        reward_changes=(10,),
        cost_changes=(10, 20),
        prices=(0.0, 0.2),
        joint=joint,
        seed=seed,
    )
    drawn = world.draw(seed)
    truth = Truth.in_hindsight(drawn) if hindsight else world.truth
    assert_plan_is_the_naive_one(truth)
    subsets = list(product((False, True), repeat=len(levels)))
    expected = [truth.best_rewards(mask) for mask in subsets]
    np.testing.assert_allclose(best_rewards_of(truth), expected, atol=1e-12)


def test_a_plan_only_for_what_occurs() -> None:
    world = World.random(rounds=40, reward_changes=(10, 30), cost_changes=(10,), seed=4)
    assert isinstance(world.truth.oracle_plan, OraclePlan)
    assert world.truth.oracle_plan.plan_of_round.tolist() == [0] * 10 + [1] * 20 + [2] * 10


def test_an_irrelevant_feature_tells_nothing_by_hand() -> None:
    first_only = {
        **SIMPLE,
        "states": [[0, 0], [1, 0]],
        "probabilities": [0.75, 0.25],
        "rewards": [[[0.9, 0.0], [0.1, 1.0]]],
        "within": [[0.75, 0.25]],
        "irrelevant": [1],
    }
    truth = Truth(**first_only)
    assert truth.relevant.tolist() == [True, False]
    for second in (False, True):
        assert truth.partial_states([True, second]).tolist() == [0, 1]
        np.testing.assert_allclose(truth.mean_rewards([False, second]), [[[0.675], [0.325]]])
    # 0.75 * 0.9 + 0.25 * 1 - 0.1 - 0.05: its price is paid for nothing.
    assert truth.best_gain([True, True], 0) == pytest.approx(0.775)
    plan = truth.oracle_plan
    assert plan.masks.tolist() == [[True, False], [False, False]]
    np.testing.assert_allclose(plan.gains, [0.825, 0.675])


def told_apart(
    levels: tuple[int, ...], irrelevant: tuple[int, ...], n_actions: int, seed: int
) -> tuple[World, World]:
    """Return a world that is told which features are irrelevant, and one that enumerates all."""
    rng = np.random.default_rng(seed)
    relevant = [i for i in range(len(levels)) if i not in irrelevant]
    inner = tuple(levels[i] for i in relevant)
    joint = rng.dirichlet(np.ones(max(1, int(np.prod(inner))))).reshape(inner)
    marginals = {i: rng.dirichlet(np.ones(levels[i])) for i in irrelevant}
    rewards = rng.random((2, n_actions, *inner))
    table, means = joint, rewards
    for i in sorted(irrelevant):
        table = np.moveaxis(np.multiply.outer(table, marginals[i]), -1, i)
        means = np.repeat(np.expand_dims(means, i + 2), levels[i], axis=i + 2)
    problem = Problem.anonymous(levels, n_actions)
    shared: dict[str, Any] = {
        "costs": rng.uniform(0, 0.2, size=(2, len(levels))) * (rng.random(len(levels)) < 0.8),
        "rounds": 60,
        "reward_schedule": Schedule((20,)),
        "cost_schedule": Schedule((40,)),
        "cost_noise": "constant",
    }
    short = World(problem, probabilities=joint, rewards=rewards, irrelevant=marginals, **shared)
    return short, World(problem, probabilities=table, rewards=means, **shared)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    levels=st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple),
    n_actions=st.integers(1, 3),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_irrelevant_features_change_nothing_but_the_work(
    levels: tuple[int, ...], n_actions: int, seed: int, data: st.DataObject
) -> None:
    places = st.sets(st.integers(0, len(levels) - 1))
    short, full = told_apart(levels, tuple(data.draw(places)), n_actions, seed)
    one, other = short.truth.oracle_plan, full.truth.oracle_plan
    np.testing.assert_allclose(one.gains, other.gains, atol=1e-12)
    assert np.array_equal(one.masks, other.masks)
    for t in (0, 20, 40):
        for state in full.truth.states:
            assert one.action(t, state) == other.action(t, state)
    for mask in product((False, True), repeat=len(levels)):
        for t in (0, 20, 40):
            gain = full.truth.best_gain(mask, t)
            assert short.truth.best_gain(mask, t) == pytest.approx(gain, abs=1e-12)
    played = short.draw(seed)
    again = Replay(
        played.contexts, played.rewards, played.costs, problem=full.problem, truth=full.truth
    )
    runs = random_runs(played, (0, 1))
    np.testing.assert_allclose(
        expected_regret(runs, played), expected_regret(runs, again), atol=1e-12
    )


def test_forty_features_of_which_two_are_relevant() -> None:
    problem = Problem.anonymous((2,) * 40, 2)
    coins = {i: [0.5, 0.5] for i in range(40) if i not in (7, 31)}
    same = np.eye(2)
    world = World(
        problem,
        probabilities=np.full((2, 2), 0.25),
        rewards=np.stack([same, 1 - same])[None],
        costs=np.full((1, 40), 0.1),
        rounds=300,
        cost_noise="constant",
        irrelevant=coins,
        seed=1,
    )
    plan = world.truth.oracle_plan
    assert np.flatnonzero(plan.masks[0]).tolist() == [7, 31]
    assert plan.gains.tolist() == pytest.approx([0.8])
    drawn = world.draw(1)
    assert drawn.contexts.mean() == pytest.approx(0.5, abs=0.03)  # 12,000 coins: six deviations
    oracle = simulate("oracle", world, seeds=[3], workers=1)
    assert (oracle.rewards == 1).all()
    np.testing.assert_allclose(expected_regret(oracle, world), 0, atol=1e-12)
