"""Policies that follow or detect changes of coefficients, against facts of their papers."""

import itertools
import math
import os
from typing import Any

import numpy as np
import pytest

import naive_dal
from naive_scout import Stream
from thrifty.environments import Replay, nursery
from thrifty.playing import play
from thrifty.policies import DALNCCUCRL2, POLICIES, AdaptiveTS, DALLinUCB, ParticleLearning
from thrifty.problem import Problem
from thrifty.rounds import Observation, Runs
from thrifty.simulation import simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
needs_compilation = pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
ROUNDS = 10_000 if COMPILED else 100


def assert_same(one: Runs, other: Runs) -> None:
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.rewards, other.rewards)


def test_adaptive_ts_without_detection_and_exploration_is_linucb_without_exploration() -> None:
    runs = simulate(
        "adaptive-ts", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS, alpha=0.0, confidence=1.0
    )
    assert_same(runs, simulate("linucb", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS, alpha=0.0))


def test_adaptive_ts_computes_the_distance_of_the_paper() -> None:
    # Two features that are always 1: A = I + 2 (1 1)', so A^-1 = I - 2/5 (1 1)' in both halves.
    # The means are (4/5 - ...) = (2/5, 2/5) and 0, and (2/5, 2/5) A (2/5, 2/5)' = 8/5.
    policy = AdaptiveTS(Problem.anonymous((1, 1), 1), window=2, every=1, seed=0)
    seen = Observation(codes=[0, 0], costs=[0.0, 0.0])
    for reward in (0.0, 0.0, 1.0, 1.0):
        policy.update(seen, action=0, reward=reward)
    state = policy.get_state()
    assert state["n_distances"].tolist() == [1]
    assert state["distances"][0, 0] == pytest.approx(math.sqrt(8 / 5))
    assert state["thetas"][0] == pytest.approx([2 / 9, 2 / 9])


def test_the_range_of_cumulative_sums_of_a_step_is_largest_in_order() -> None:
    # Deviations of (0, 0, 1, 1) add up to -1/2, -1, -1/2, 0: a range of 1, four times that here.
    # Only (0, 1, 0, 1) and (1, 0, 1, 0) have a smaller one, 1/2: 8 of the 24 orders.
    assert naive_dal.range_of_sums([0.0, 0.0, 1.0, 1.0]) == 4.0
    ranges = [naive_dal.range_of_sums(s) for s in itertools.permutations((0.0, 0.0, 1.0, 1.0))]
    assert sum(r < 4.0 for r in ranges) == 8
    share = naive_dal.share_below([0.0, 0.0, 1.0, 1.0], 10_000, Stream(0.5))
    assert share == pytest.approx(8 / 24, abs=0.02)  # over four standard errors


def test_adaptive_ts_keeps_the_newer_half_after_a_change() -> None:
    policy = AdaptiveTS(Problem.anonymous((1,), 1), window=10, every=1, confidence=0.9, seed=0)
    seen = Observation(codes=[0], costs=[0.0])
    for t in range(200):
        policy.update(seen, action=0, reward=0.0 if t < 100 else 1.0)
        if t > 30 and policy.get_state()["held"][0] == 10:
            break
    # Before the change all distances are 0. It is noticed as soon as they grow.
    assert 100 < t < 115
    kept = t - 99  # rewards of 1 among the last ten
    assert policy.get_state()["thetas"][0, 0] == pytest.approx(min(10, kept) / 11)


@needs_compilation
def test_adaptive_ts_earns_more_than_thompson_sampling_where_rewards_change() -> None:
    # Over 20 seeds the mean rewards are 0.56 to 0.61, and 0.34 to 0.39.
    adapts = simulate("adaptive-ts", nursery.shuffled, seeds=range(3))
    never = simulate("adaptive-ts", nursery.shuffled, seeds=range(3), confidence=1.0)
    assert (adapts.rewards.mean(axis=1) > never.rewards.mean(axis=1) + 0.1).all()


def waves(seed: int) -> Replay:
    """Return rounds with two actions whose mean rewards are 0.5 plus and minus a slow wave."""
    times = np.arange(ROUNDS)
    wave = 0.4 * np.sin(2 * np.pi * times / 2000)
    means = np.stack([0.5 + wave, 0.5 - wave], axis=1)
    rewards = np.random.default_rng(seed).random(means.shape) < means
    contexts = np.zeros((ROUNDS, 1), dtype=np.int64)
    return Replay(contexts, rewards.astype(float), np.zeros((ROUNDS, 1)))


def test_particle_learning_of_constant_coefficients_is_linucb_without_exploration() -> None:
    constant: dict[str, Any] = {"walk": 0.0, "alpha": 0.0, "particles": 4}
    runs = simulate("particle-learning", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS, **constant)
    greedy = simulate("linucb", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS, alpha=0.0)
    assert_same(runs, greedy)


def test_particle_learning_of_constant_coefficients_by_hand() -> None:
    # A = diag(2, 1) and b = (1, 0) after r = 1 at x = 1: c has mean 1/2 and spread 1/2. The scale
    # of the variance grows by (1 - 1/2)^2 / 2 + (1/2)^2 / 2 = 1/4, from 1.
    policy = ParticleLearning(Problem.anonymous((1,), 1), walk=0.0, particles=3, seed=0)
    policy.update(Observation(codes=[0], costs=[0.0]), action=0, reward=1.0)
    state = policy.get_state()
    np.testing.assert_allclose(state["means"], [[[0.5, 0.0]] * 3])
    np.testing.assert_allclose(state["spreads"], [[[[0.5, 0.0], [0.0, 1.0]]] * 3])
    np.testing.assert_allclose(state["scales"], [[1.25] * 3])


def test_a_particle_takes_the_step_of_a_kalman_filter() -> None:
    # Of an error of 1, half goes to eta: its step and the noise both have a variance of 1.
    particle = naive_dal.ParticleLearning([1], 1).prior(1)
    particle.theta, particle.variance = np.ones(1), 1.0
    mean, variance, gain = particle.prediction(np.ones(1), 1.0)
    assert (mean, variance, gain.tolist()) == (0.0, 2.0, [0.5])
    particle.move(np.ones(1), 1.0, 1.0, Stream(0.5))
    assert particle.eta_mean == pytest.approx([0.5])
    assert particle.eta_spread == pytest.approx(np.array([[0.5]]))


def test_systematic_resampling_takes_particles_by_weight() -> None:
    # The places 0.1, 0.35, 0.6, 0.85 fall to particles 0, 1, 1, 3 of shares 0.2, 0.5, 0, 0.3.
    assert naive_dal.systematic([2.0, 5.0, 0.0, 3.0], 0.4) == [0, 1, 1, 3]


@needs_compilation
def test_particle_learning_follows_a_wave() -> None:
    # Over 20 seeds the mean rewards are 0.73 to 0.76, and 0.49 to 0.58; 0.755 is possible.
    follows = simulate("particle-learning", waves, seeds=range(3))
    constant = simulate("particle-learning", waves, seeds=range(3), walk=0.0)
    assert (follows.rewards.mean(axis=1) > constant.rewards.mean(axis=1) + 0.1).all()


NEVER: dict[str, Any] = {"exploration": 0.0, "false_alarms": 1e-300}
"""Without forced rounds, and with a threshold above 690, which no statistic here exceeds."""


def test_dal_linucb_that_never_detects_is_linucb() -> None:
    runs = simulate("dal-linucb", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS, **NEVER)
    assert_same(runs, simulate("linucb", nursery.shuffled, seeds=[0, 1], rounds=ROUNDS))


@pytest.mark.parametrize("bounds", ["paper", "repaired"])
def test_dal_ncc_ucrl2_that_never_detects_is_ncc_ucrl2(bounds: str) -> None:
    rounds = 3000 if COMPILED else 60
    name = "ncc-ucrl2" if bounds == "paper" else "ncc-ucrl2-repaired"
    learner = simulate(name, nursery.shuffled, seeds=[0, 1], rounds=rounds, window=rounds)
    runs = simulate(
        "dal-ncc-ucrl2", nursery.shuffled, seeds=[0, 1], rounds=rounds, bounds=bounds, **NEVER
    )
    assert_same(runs, learner)


def trigger_a_restart(policy: DALLinUCB | DALNCCUCRL2) -> None:
    """Let 40 rewards of 0 be followed by rewards of 1 until the policy restarts."""
    problem = policy.problem
    bought = [np.zeros(problem.n_features, dtype=np.int64), problem.levels - 1]
    for t in range(200):
        codes = np.where(np.arange(problem.n_features) < 1 + t % 4, bought[t % 2], -1)
        costs = np.where(codes >= 0, 0.01 * t, np.nan)
        seen = Observation(codes=codes, costs=costs)
        policy.update(seen, action=0, reward=0.0 if t < 40 else 1.0)
        if policy.restarts:
            return
    raise AssertionError("there was no restart")


@pytest.mark.parametrize("name", ["dal-linucb", "dal-ncc-ucrl2"])
def test_a_restart_forgets_everything(name: str) -> None:
    world = nursery.shuffled(1)
    rounds = 1500 if COMPILED else 40
    parameters = {"horizon": 10_000, "exploration": 0.0, "every": 1}
    policies = [POLICIES[name](world.problem, seed=3, **parameters) for _ in range(2)]
    assert isinstance(policies[0], DALLinUCB | DALNCCUCRL2)
    trigger_a_restart(policies[0])
    runs = [play(policy, world, rounds=rounds) for policy in policies]
    np.testing.assert_array_equal(runs[0].observed, runs[1].observed)
    np.testing.assert_array_equal(runs[0].actions, runs[1].actions)


@pytest.mark.parametrize("name", ["dal-linucb", "dal-ncc-ucrl2"])
def test_every_action_is_forced_once_in_each_period(name: str) -> None:
    # alpha = sqrt(3 log(10,000) / 10,000) = 0.0526 and 3 / 0.0526 = 57.07: a period has 58 rounds.
    # After a restart alpha is sqrt(2) times as large, and a period has 41 rounds.
    problem = Problem.anonymous((2, 2), 3)
    policy = POLICIES[name](problem, seed=0, horizon=10_000, every=1)
    assert isinstance(policy, DALLinUCB | DALNCCUCRL2)
    for restarts, period in enumerate((58, 41)):
        forced: list[int] = []
        while policy.restarts == restarts and len(forced) < 2 * period:
            purchase = policy.choose_features()
            nothing = Observation([-1, -1], [np.nan, np.nan], purpose=purchase.purpose)
            forced.append(policy.choose_action(nothing) if purchase.purpose >= 16 else -1)
            policy.update(nothing, action=2, reward=0.0)
        assert forced == 2 * [*[-1] * (period - 3), 0, 1, 2]
        while policy.restarts == restarts:
            policy.update(Observation.nothing(problem), action=2, reward=1.0)


def test_a_forced_action_that_is_not_available_is_left_to_the_learner() -> None:
    policy = DALLinUCB(Problem.anonymous((2,), 2))
    for purpose in (16, 2**31, -1):
        seen = Observation(codes=[-1], costs=[np.nan], purpose=purpose)
        assert policy.choose_action(seen, available=[False, True]) == 1


@needs_compilation
def test_dal_linucb_restarts_after_changes_only() -> None:
    # Without changes 2 of 20 seeds have a false alarm, none of them among the first three.
    runs = simulate("dal-linucb", nursery.stationary, seeds=range(3), exploration=0.0)
    assert_same(runs, simulate("linucb", nursery.stationary, seeds=range(3)))
    # With changes the mean rewards of 20 seeds are 0.59 to 0.61, and 0.34 to 0.41 without restarts.
    adapts = simulate("dal-linucb", nursery.shuffled, seeds=range(3))
    never = simulate("linucb", nursery.shuffled, seeds=range(3))
    assert (adapts.rewards.mean(axis=1) > never.rewards.mean(axis=1) + 0.1).all()
