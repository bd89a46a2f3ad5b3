from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from random_play import random_runs, run_of
from thrifty.environments import Replay, Truth, World
from thrifty.environments.families import many_features
from thrifty.errors import InvalidTable
from thrifty.regret import (
    accuracy_by_observations,
    expected_regret,
    realised_regret,
    value_of_information,
)
from thrifty.rounds import Run
from thrifty.simulation import simulate

TABLE = Replay(
    contexts=[[0, 0], [1, 0], [0, 1], [1, 1]],
    rewards=[[1, 0], [0, 1], [1, 0], [0, 1]],
    costs=[[0.1, 0.2]] * 4,
)


def oracle_run(replay: Replay) -> Run:
    plan = replay.truth.oracle_plan
    actions = [plan.action(t, replay.contexts[t]) for t in range(replay.horizon)]
    return run_of(replay, plan.masks[plan.plan_of_round], np.array(actions))


def test_expected_regret_by_hand() -> None:
    # The oracle buys the first feature: 1 - 0.1 = 0.9 a round.
    observed = np.array([[True, False], [True, True], [False, False], [False, True]])
    run = run_of(TABLE, observed, np.array([0, 0, 0, 1]))
    expected = [0.0, 0.9 - (0 - 0.3), 0.9 - 0.5, 0.9 - (0.5 - 0.2)]
    np.testing.assert_allclose(expected_regret(run, TABLE), expected, atol=1e-12)


def test_the_oracle_has_no_regret_in_expectation() -> None:
    regret = expected_regret(oracle_run(TABLE), TABLE)
    np.testing.assert_allclose(regret, 0, atol=1e-12)


def naive_regret(run: Run, replay: Replay) -> list[float]:
    truth: Truth = replay.truth
    plan, regret = truth.oracle_plan, []
    for t in range(run.rounds):
        mask = run.observed[t]
        agree = (truth.states[:, mask] == replay.contexts[t, mask]).all(axis=1)
        piece = truth.reward_piece[t]
        mean = np.average(
            truth.rewards[piece, run.actions[t], agree], weights=truth.within[piece, agree]
        )
        cost = truth.costs[truth.cost_piece[t], mask].sum()
        regret.append(plan.gains[plan.plan_of_round[t]] - (mean - cost))
    return regret


@pytest.mark.parametrize("hindsight", [False, True])
def test_expected_regret_is_the_naive_one(hindsight: bool) -> None:
    world = World.random(
        levels=(2, 3, 2), rounds=120, reward_changes=(40,), cost_changes=(70,), seed=3
    )
    drawn = world.draw(1)
    if hindsight:
        drawn = Replay(
            drawn.contexts, drawn.rewards, drawn.costs, reward_changes=(40,), cost_changes=(70,)
        )
    runs = random_runs(drawn, (0, 1, 2))
    regret = expected_regret(runs, drawn)
    assert regret.shape == (3, 120)
    for k, run in enumerate(runs):
        np.testing.assert_allclose(regret[k], naive_regret(run, drawn), atol=1e-12)
        assert np.array_equal(expected_regret(run, drawn), regret[k])


def test_sets_are_told_apart_beyond_64_features() -> None:
    world = many_features(1, n_features=100, rounds=200)
    assert (np.flatnonzero(world.truth.relevant) >= 64).sum() == 2
    drawn = world.draw(0)
    rng = np.random.default_rng(0)
    observed = (rng.random((200, 100)) < 0.5) & world.truth.relevant
    run = run_of(drawn, observed, rng.integers(3, size=200))
    np.testing.assert_allclose(expected_regret(run, drawn), naive_regret(run, drawn), atol=1e-12)


def test_the_order_of_the_truths_states_is_no_matter() -> None:
    world = World.random(levels=(3, 2, 4), rounds=90, reward_changes=(30,), seed=4)
    drawn = world.draw(1)
    order = np.random.default_rng(0).permutation(len(drawn.truth.states))
    truth = drawn.truth
    turned = replace(
        truth,
        states=truth.states[order],
        probabilities=truth.probabilities[order],
        rewards=truth.rewards[:, :, order],
        within=truth.within[:, order],
    )
    other = Replay(drawn.contexts, drawn.rewards, drawn.costs, problem=drawn.problem, truth=turned)
    run = random_runs(drawn, (0,))[0]
    np.testing.assert_allclose(expected_regret(run, other), naive_regret(run, drawn), atol=1e-12)


def test_expected_and_realised_regret_agree_on_average() -> None:
    world = World.random(rounds=20_000, reward_changes=(9_000,), cost_noise="bernoulli", seed=5)
    drawn = world.draw(2)
    runs, oracle = random_runs(drawn, (0, 1, 2)), oracle_run(drawn)
    # Both have the same expectation given the past: six standard errors (p < 1e-8).
    gap = realised_regret(runs, oracle) - expected_regret(runs, drawn)
    for difference in gap:
        assert abs(difference.mean()) < 6 * difference.std() / np.sqrt(len(difference))


def test_looking_is_worth_what_the_oracle_gains_more_than_the_best_action() -> None:
    world = World.random(
        levels=(3, 2), n_actions=3, rounds=60, reward_changes=(20,), cost_changes=(40,), seed=6
    )
    value, truth = value_of_information(world.draw(0)), world.truth
    for t in (0, 19, 20, 40, 59):
        means = truth.rewards[truth.reward_piece[t]] @ truth.probabilities
        best = max(truth.best_gain(mask, t) for mask in product([False, True], repeat=2))
        assert value[t] == pytest.approx(best - means.max(), abs=1e-12)
    assert value.min() >= -1e-12
    assert value.max() > 0.01


def test_a_shorter_run_is_compared_with_its_rounds() -> None:
    run = run_of(TABLE, np.array([[True, False]] * 2), np.array([0, 0]))
    np.testing.assert_allclose(expected_regret(run, TABLE), [0, 1], atol=1e-12)


def test_runs_of_another_table_are_refused() -> None:
    long = Run(np.zeros((5, 2), bool), np.zeros(5, int), np.zeros(5), np.zeros(5))
    with pytest.raises(InvalidTable, match="a run of 5 rounds and 2 features on a table of 4"):
        expected_regret(long, TABLE)
    narrow = Run(np.zeros((4, 1), bool), np.zeros(4, int), np.zeros(4), np.zeros(4))
    with pytest.raises(InvalidTable, match="give the table that was played"):
        expected_regret(narrow, TABLE)


def test_a_truth_must_know_every_state() -> None:
    partial = Replay([[0, 0]] * 3 + [[0, 1]], TABLE.rewards, TABLE.costs, problem=TABLE.problem)
    stranger = Replay(
        TABLE.contexts, TABLE.rewards, TABLE.costs, problem=TABLE.problem, truth=partial.truth
    )
    run = run_of(TABLE, np.zeros((4, 2), bool), np.zeros(4, int))
    with pytest.raises(InvalidTable, match=r"round 1 has the state \[1, 0\]"):
        expected_regret(run, stranger)
    # The unknown state is before, between or after all known ones.
    for known, unknown in (([0, 1], [0, 0]), ([0, 0], [1, 1]), ([0, 0], [0, 1])):
        rows = [known, known, [1, 0], unknown]
        known_only = Replay(
            [known, known, [1, 0], known], TABLE.rewards, TABLE.costs, problem=TABLE.problem
        )
        other = Replay(
            rows, TABLE.rewards, TABLE.costs, problem=TABLE.problem, truth=known_only.truth
        )
        with pytest.raises(InvalidTable, match="round 3 has the state"):
            expected_regret(run, other)


def test_realised_regret_by_hand() -> None:
    oracle = oracle_run(TABLE)
    np.testing.assert_allclose(oracle.gains, 0.9)
    runs = random_runs(TABLE, (0, 1))
    np.testing.assert_allclose(realised_regret(runs, oracle), 0.9 - runs.gains)
    np.testing.assert_allclose(realised_regret(runs, runs), 0)
    np.testing.assert_allclose(realised_regret(runs[0], oracle), 0.9 - runs[0].gains)


def test_realised_regret_needs_the_same_rounds() -> None:
    oracle = oracle_run(TABLE)
    short = run_of(TABLE, np.zeros((2, 2), bool), np.array([0, 0]))
    with pytest.raises(InvalidTable, match="the same rounds and seeds"):
        realised_regret(short, oracle)
    with pytest.raises(InvalidTable, match="the same rounds and seeds"):
        realised_regret(oracle, random_runs(TABLE, (0, 1)))


def test_accuracy_by_hand() -> None:
    observed = np.array([[True, False], [True, True], [False, True], [True, True]])
    run = Run(observed, np.zeros(4, int), np.array([1.0, 0.0, 0.5, 1.0]), np.zeros(4))
    accuracy = accuracy_by_observations(run)
    assert np.isnan(accuracy[0])
    assert accuracy[1:].tolist() == [0.75, 0.625]


def test_accuracy_of_many_runs_is_that_of_each() -> None:
    runs = random_runs(TABLE, (0, 1, 2))
    each = [accuracy_by_observations(run) for run in runs]
    np.testing.assert_array_equal(accuracy_by_observations(runs), each)


def test_a_function_that_makes_worlds_is_a_world_too() -> None:
    def made(seed: int) -> World:
        return World.random(rounds=50, seed=seed)

    runs = simulate("ucb1", made, seeds=[3, 4], workers=1)
    each = [expected_regret(runs[k], made(seed).draw(seed)) for k, seed in enumerate((3, 4))]
    assert np.array_equal(expected_regret(runs, made), np.stack(each))
