from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from thrifty.environment import Environment
from thrifty.environments import Replay, Schedule, World
from thrifty.environments.streams import seed_sequence, streams
from thrifty.environments.world import clipped_gaussian_mean
from thrifty.errors import InvalidParameter, InvalidTable, OutOfTurn
from thrifty.problem import Problem
from thrifty.rounds import Purchase
from thrifty.seeds import environment_seed, policy_seed

PROBLEM = Problem.anonymous(levels=(2, 3), n_actions=2)
TABLES: dict[str, Any] = {
    "probabilities": [[0.1, 0.2, 0.3], [0.4, 0.0, 0.0]],
    "rewards": [
        [[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]]],
    ],
    "costs": [[0.05, 0.3]],
    "rounds": 200,
}

# A mean of n independent numbers in [0, 1] is farther than this from its expectation with
# probability below 1e-6 (Hoeffding); seeds are fixed, so a test that passes goes on passing.


def far(n: float) -> float:
    return float(np.sqrt(np.log(2e6) / (2 * n)))


def buy(*mask: bool, purpose: int = 0) -> Purchase:
    return Purchase(np.array(mask, dtype=np.bool_), purpose=purpose)


def world(**changed: Any) -> World:
    return World(PROBLEM, **{**TABLES, "seed": 1, **changed})


def assert_same(one: Replay, other: Replay, same: bool = True) -> None:
    assert np.array_equal(one.contexts, other.contexts) is same
    assert np.array_equal(one.rewards, other.rewards) is same
    assert np.array_equal(one.costs, other.costs) is same


def test_the_truth_is_the_tables() -> None:
    truth = world(cost_noise="constant").truth
    assert truth.states.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    np.testing.assert_allclose(truth.probabilities, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(truth.rewards, [[[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6]]])
    np.testing.assert_allclose(truth.costs, [[0.05, 0.3]])


def test_constant_noise_gives_the_means() -> None:
    drawn = world(cost_noise="constant", reward_noise="constant").draw(2)
    means = np.array(TABLES["rewards"])[0][:, drawn.contexts[:, 0], drawn.contexts[:, 1]].T
    assert np.array_equal(drawn.rewards, means)
    assert np.array_equal(drawn.costs, np.tile([0.05, 0.3], (200, 1)))


def test_contexts_have_their_probabilities() -> None:
    drawn = world(rounds=40_000).draw(3)
    for (i, j), p in np.ndenumerate(np.array(TABLES["probabilities"])):
        share = (drawn.contexts == [i, j]).all(axis=1).mean()
        assert abs(share - p) <= (far(40_000) if p else 0)


def test_rewards_have_their_means_in_every_state_and_piece() -> None:
    rewards = np.array(TABLES["rewards"])
    both = world(
        rounds=80_000,
        rewards=np.concatenate([rewards, 1 - rewards]),
        reward_schedule=Schedule((40_000,)),
    )
    drawn, truth = both.draw(4), both.truth
    assert drawn.reward_changes == (40_000,)
    assert set(np.unique(drawn.rewards)) == {0.0, 1.0}
    for piece, (s, state) in ((k, x) for k in (0, 1) for x in enumerate(truth.states)):
        rows = (truth.reward_piece == piece) & (drawn.contexts == state).all(axis=1)
        gap = drawn.rewards[rows].mean(axis=0) - truth.rewards[piece, :, s]
        assert np.abs(gap).max() <= far(rows.sum())


@pytest.mark.parametrize("concentration", [0.1, 4.0, 100.0])
def test_beta_rewards_have_their_means_and_variances(concentration: float) -> None:
    means = [0.0, 0.01, 0.5, 0.9, 1.0]
    graded = World(
        Problem.anonymous((1,), 5),
        probabilities=[1.0],
        rewards=[[[m] for m in means]],
        costs=[[0.1]],
        rounds=40_000,
        reward_noise="beta",
        reward_concentration=concentration,
    )
    rewards = graded.draw(6).rewards
    assert (rewards[:, [0, 4]] == [0, 1]).all()
    assert np.abs(rewards.mean(axis=0) - means).max() <= far(40_000)
    expected = [m * (1 - m) / (concentration + 1) for m in means]
    assert np.abs(rewards.var(axis=0) - expected).max() <= 3 * far(40_000)


def test_irrelevant_features_are_drawn_and_have_no_axes() -> None:
    wide = World(
        Problem.anonymous((3, 2, 4), 2),
        probabilities=[0.25, 0.75],
        rewards=[[[1.0, 0.0], [0.0, 1.0]]],
        costs=[[0.1, 0.1, 0.1]],
        rounds=40_000,
        irrelevant={2: [0.1, 0.2, 0.3, 0.4], 0: [0.0, 0.5, 0.5]},
    )
    assert wide.truth.irrelevant.tolist() == [0, 2]
    assert wide.truth.states.tolist() == [[0, 0, 0], [0, 1, 0]]
    contexts = wide.draw(7).contexts
    for i, p in enumerate([[0, 0.5, 0.5], [0.25, 0.75], [0.1, 0.2, 0.3, 0.4]]):
        shares = np.bincount(contexts[:, i], minlength=len(p)) / len(contexts)
        assert np.abs(shares - p).max() <= far(40_000)
    assert np.abs(np.corrcoef(contexts.T) - np.eye(3)).max() < 0.03  # six standard errors


def test_a_world_of_irrelevant_features_alone() -> None:
    empty = World(
        Problem.anonymous((2,), 2),
        probabilities=1.0,
        rewards=[[0.2, 0.7]],
        costs=[[0.0]],
        rounds=10,
        irrelevant={0: [0.5, 0.5]},
    )
    assert empty.truth.oracle_plan.masks.tolist() == [[False]]
    assert empty.truth.oracle_plan.gains.tolist() == pytest.approx([0.7])
    assert set(empty.draw(1).contexts.ravel().tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("noise", "sd"),
    [("gaussian", 0.001), ("gaussian", 0.1), ("gaussian", 2.0), ("bernoulli", 0.0)],
)
def test_costs_have_their_means(noise: str, sd: float) -> None:
    settings = {"cost_noise": noise, "cost_sd": sd, "costs": [[0.05, 0.3], [0.9, 0.02]]}
    drifting = world(**settings, rounds=100_000, cost_schedule=Schedule((50_000,)))
    drawn = drifting.draw(5)
    assert drawn.costs.min() >= 0
    assert drawn.costs.max() <= 1
    for piece in (0, 1):
        costs = drawn.costs[drifting.truth.cost_piece == piece]
        # Six standard errors: with 50,000 numbers a false alarm has probability below 1e-8.
        allowed = 6 * costs.std(axis=0) / np.sqrt(len(costs))
        assert (np.abs(costs.mean(axis=0) - drifting.truth.costs[piece]) <= allowed).all()


@pytest.mark.parametrize("mean", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("sd", [0.001, 0.1, 3.0])
def test_the_mean_of_a_clipped_gaussian_is_the_integral_of_its_tail(mean: float, sd: float) -> None:
    grid = (np.arange(200_000) + 0.5) / 200_000
    assert clipped_gaussian_mean(mean, sd) == pytest.approx(
        norm.sf(grid, mean, sd).mean(), abs=1e-6
    )


def test_clipping_is_negligible_for_small_noise_and_not_for_large() -> None:
    assert clipped_gaussian_mean(0.05, 0.001) == pytest.approx(0.05, abs=1e-15)
    assert clipped_gaussian_mean(0.05, 0.1) > 0.06
    assert clipped_gaussian_mean(0.05, 0.0) == 0.05


def test_gradual_changes_reach_the_truth() -> None:
    ramp = world(
        costs=[[0.0, 0.2], [0.4, 0.2]],
        cost_noise="constant",
        rounds=6,
        cost_schedule=Schedule((2,), ramp=3),
    )
    np.testing.assert_allclose(ramp.draw(0).costs[:, 0], [0, 0, 0.1, 0.2, 0.3, 0.4])
    assert ramp.draw(0).cost_changes == (2, 3, 4, 5)
    assert ramp.draw(0).reward_changes == ()
    np.testing.assert_allclose(ramp.truth.costs[:, 0], [0, 0.1, 0.2, 0.3, 0.4])


def test_draws_depend_on_the_seed_alone() -> None:
    drift, sequence = world(), np.random.SeedSequence(9)
    assert_same(drift.draw(7), world(seed=99).draw(7))
    assert_same(drift.draw(sequence), drift.draw(sequence))
    assert_same(drift.draw(7), drift.draw(environment_seed(7)))
    assert_same(drift.draw(7), drift.draw(8), same=False)
    assert drift.draw(7).truth is drift.truth
    assert drift.draw(7) is not drift.draw(7)


def test_a_generator_gives_a_new_draw_each_time() -> None:
    rng = np.random.default_rng(1)
    first = world().draw(rng)
    assert_same(first, world().draw(rng), same=False)
    assert_same(first, world().draw(np.random.default_rng(1)))


def test_no_seed_is_no_fixed_seed() -> None:
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


def test_streams_are_independent_of_each_other_and_of_the_policy() -> None:
    numbers = {tuple(s.random(4)) for s in (*streams(0, 4), *streams(1, 4))}
    others = (np.random.default_rng(0), np.random.default_rng(policy_seed(0)))
    assert len(numbers | {tuple(rng.random(4)) for rng in others}) == 10


def test_noise_leaves_the_other_streams_alone() -> None:
    one, other = world().draw(3), world(cost_noise="bernoulli", reward_noise="constant").draw(3)
    assert np.array_equal(one.contexts, other.contexts)
    one, other = world().draw(3), world(reward_noise="constant").draw(3)
    assert np.array_equal(one.costs, other.costs)


def test_it_is_an_environment_that_plays_its_draw() -> None:
    played = world()
    assert isinstance(played, Environment)
    assert played.horizon == 200
    drawn = world().draw(1)
    assert played.price_list().tolist() == drawn.costs[0].tolist()
    for t in range(3):
        assert played.reveal(buy(True, True)).codes.tolist() == drawn.contexts[t].tolist()
        assert played.step(1) == drawn.rewards[t, 1]
    with pytest.raises(OutOfTurn):
        played.step(0)


def test_reset_replays_and_a_seed_redraws() -> None:
    played = world()
    first = played.replay
    played.reveal(buy(True, True))
    played.reset()
    assert played.replay is first
    played.reveal(buy(True, True))
    played.reset(seed=2)
    assert_same(played.replay, world().draw(2))
    played.reset()
    assert_same(played.replay, world().draw(2))
    with pytest.raises(InvalidParameter):
        played.reset(seed=-1)
    assert_same(played.replay, world().draw(2))


@pytest.mark.parametrize("joint", [False, True])
def test_random_worlds(joint: bool) -> None:
    made = World.random(
        levels=(2, 4), rounds=90, reward_changes=(30,), cost_changes=(50,), joint=joint, seed=3
    )
    again = World.random(
        levels=(2, 4), rounds=90, reward_changes=(30,), cost_changes=(50,), joint=joint, seed=3
    )
    assert_same(made.replay, again.replay)
    truth = made.truth
    assert truth.rewards.shape == (2, 3, 8)
    assert truth.costs.shape == (2, 2)
    assert ((truth.costs > 0.0299) & (truth.costs < 0.0801)).all()
    p = truth.probabilities.reshape(2, 4)
    independent = np.allclose(p, np.outer(p.sum(axis=1), p.sum(axis=0)))
    assert independent is not joint
    assert made.draw(1).reward_changes == (30,)
    assert repr(made) == "World(90 rounds, 2 features, 3 actions)"


def test_a_random_world_needs_no_seed() -> None:
    one, other = World.random(rounds=5), World.random(rounds=5)
    assert not np.array_equal(one.truth.rewards, other.truth.rewards)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"probabilities": [0.5, 0.5]}, "probabilities of shape .* one axis per feature"),
        ({"probabilities": np.full((2, 3), 0.5)}, "sum 3.0"),
        ({"probabilities": np.full((2, 3), np.nan)}, "sum nan"),
        ({"probabilities": [[1.5, 0, 0], [-0.5, 0, 0]]}, "minimum -0.5"),
        ({"rewards": np.zeros((2, 2, 3))}, r"rewards of shape \(2, 2, 3\)"),
        ({"rewards": 0.5}, "one table of shape"),
        ({"rewards": np.full((1, 2, 2, 3), 1.1)}, r"rewards contain a mean outside \[0, 1\]"),
        ({"rewards": np.full((1, 2, 2, 3), np.nan)}, r"outside \[0, 1\]"),
        ({"rewards": np.zeros((2, 2, 2, 3))}, "2 tables of means for 0 changes"),
        ({"costs": [[0.1, -0.1]]}, "costs contain a mean"),
        ({"costs": [[0.1]]}, "costs of shape"),
        ({"costs": [["a", "b"]]}, "not a table of numbers"),
        ({"irrelevant": {0: [0.5, 0.5]}}, "probabilities of shape"),
        ({"irrelevant": {0: [0.5, 0.4]}}, "irrelevant feature 0 have .* sum 0.9"),
        ({"irrelevant": {1: [0.5, 0.5]}}, "irrelevant feature 1 of shape"),
    ],
)
def test_tables_that_make_no_world(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTable, match=message):
        world(**changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rounds": 0}, "World's rounds is 0"),
        ({"cost_noise": "poisson"}, "World's cost_noise is 'poisson'.*one of 'gaussian'"),
        ({"reward_noise": "gaussian"}, "World's reward_noise"),
        ({"cost_sd": -0.1}, "World's cost_sd"),
        ({"reward_concentration": 0}, "World's reward_concentration"),
        ({"irrelevant": {2: [1.0]}}, "World's irrelevant is 2"),
        ({"irrelevant": {-1: [1.0]}}, "World's irrelevant is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"cost_schedule": Schedule((500,)), "costs": [[0.1, 0.1]] * 2}, "last change"),
    ],
)
def test_parameters_that_make_no_world(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        world(**changed)


@pytest.mark.parametrize("prices", [(0.08, 0.03), (-0.1, 0.5), (0.5, 1.5)])
def test_prices_that_make_no_world(prices: tuple[float, float]) -> None:
    with pytest.raises(InvalidParameter, match=r"World\.random's prices"):
        World.random(prices=prices, seed=1)
