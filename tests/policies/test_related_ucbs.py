"""Facts from the papers of the policies that buy nothing and expect changes.

Runs have fixed seeds. Where a statement holds with some probability only, it is written there.
"""

import itertools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import naive
import naive_ucbs
from naive_scout import Stream
from thrifty.checks import check_policy
from thrifty.environments import Replay, World, nursery
from thrifty.errors import InvalidParameter
from thrifty.playing import play
from thrifty.policies import CUSUMUCB, DUCB, GLRKLUCB, MASTER, MUCB, POLICIES, DiscountedTS
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Runs
from thrifty.seeds import generator, policy_seed
from thrifty.simulation import simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS = 2000 if COMPILED else 200
SEEDS = range(5) if COMPILED else range(2)
NAMES = tuple(naive_ucbs.TWINS)
statistical = pytest.mark.skipif(not COMPILED, reason="thousands of rounds")
PROBLEM = Problem.anonymous(levels=(2,), n_actions=2)
NOTHING = Observation(codes=[-1], costs=[math.nan])
WORLD = World.random(
    levels=(2, 3), n_actions=3, rounds=ROUNDS, reward_changes=(ROUNDS // 2,), seed=4
)


def bandit(means: Sequence[Sequence[float]], lengths: Sequence[int]) -> Callable[[int], Replay]:
    """Return Bernoulli rewards with these means in periods of these lengths, and no context."""

    def make(seed: int) -> Replay:
        table = np.repeat(np.array(means), lengths, axis=0)
        rewards = np.random.default_rng(seed).random(table.shape) < table
        rounds = len(table)
        return Replay(np.zeros((rounds, 1), int), rewards.astype(float), np.zeros((rounds, 1)))

    return make


def learn(policy: Policy, action: int, rewards: Sequence[float]) -> None:
    for reward in rewards:
        policy.update(NOTHING, action=action, reward=reward)


def assert_same(one: Runs, other: Runs) -> None:
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.rewards, other.rewards)


def run_of(name: str, environment: Any = WORLD, **parameters: Any) -> Runs:
    return simulate(name, environment, seeds=SEEDS, rounds=ROUNDS, **parameters)


def total(name: str, environment: Any, seeds: int = 10, **parameters: Any) -> float:
    """Return the mean sum of rewards."""
    return float(
        simulate(name, environment, seeds=range(seeds), **parameters).rewards.sum(1).mean()
    )


def assert_like_the_twin(name: str, replay: Replay, **parameters: Any) -> None:
    draws = generator(policy_seed(0)).random((replay.horizon, {"cusum-ucb": 2}.get(name, 1)))
    twin = naive_ucbs.TWINS[name](
        replay.problem.levels.tolist(), replay.problem.n_actions, **parameters
    )
    played = naive.run(twin, replay.contexts, replay.rewards, replay.costs, draws)
    run = simulate(name, replay, seeds=[0], **parameters)[0]
    np.testing.assert_array_equal(run.actions, played.actions)


# All of them.


@pytest.mark.parametrize("name", NAMES)
def test_they_keep_the_promises_of_a_policy_and_buy_nothing(name: str) -> None:
    check_policy(name)
    assert not run_of(name).observed.any()


@pytest.mark.parametrize("name", NAMES)
def test_the_grid_has_the_defaults_and_few_combinations(name: str) -> None:
    policy = POLICIES[name](PROBLEM)
    combinations = list(itertools.product(*policy.grid.values()))
    assert 3 <= len(combinations) <= 12
    assert tuple(policy.parameters[key] for key in policy.grid) in combinations
    for values in combinations:
        POLICIES[name](PROBLEM, **dict(zip(policy.grid, values, strict=True)))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cusum-ucb", {"samples": 5}),
        ("d-ucb", {"first_count": 2.0, "gamma": 0.9}),
        ("discounted-ts", {"gamma": 0.8, "optimistic": True}),
        ("glr-klucb", {"delta": 0.9, "every": 1, "restart": "global"}),
        ("m-ucb", {"window": 8, "b": 2.5}),
        ("master", {"alpha": 0.02, "scale": 0.0002}),
    ],
)
def test_other_parameters_like_the_twin(name: str, parameters: dict[str, Any]) -> None:
    replay = bandit([(0.2, 0.8), (0.8, 0.3)], (60, 90))(0)
    if name in ("cusum-ucb", "d-ucb", "glr-klucb", "m-ucb", "master"):
        parameters = {"horizon": 150, **parameters}
    assert_like_the_twin(name, replay, **parameters)


# D-UCB.


@pytest.mark.parametrize("environment", [WORLD, nursery.shuffled])
def test_d_ucb_with_discount_1_is_ucb1(environment: Any) -> None:
    ucb1 = run_of("ucb1", environment, alpha=0.6)
    assert_same(run_of("d-ucb", environment, gamma=1.0, xi=0.15, first_count=1.0), ucb1)


def test_d_ucb_defaults() -> None:
    # 1 - sqrt(4 / 10000) / 4, and after one round n = 1 and every weight is 1.
    policy = DUCB(PROBLEM, changes=4)
    learn(policy, 0, [1.0])
    learn(policy, 1, [0.0])
    gamma = 0.995
    values = policy.action_values(NOTHING)
    log = math.log(2 + gamma)
    first = 1 + 2 * math.sqrt(0.6 * math.log(1 + gamma + 1) / gamma)
    assert values == pytest.approx([first, 2 * math.sqrt(0.6 * log)])


@statistical
def test_d_ucb_leaves_an_arm_that_has_become_worse_as_in_the_papers_first_experiment() -> None:
    # Three arms, T = 10000; the third is the best one in rounds 3000 to 5000 only.
    means = [(0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4)]
    switching = bandit(means, (3000, 2000, 5000))
    discounted = simulate("d-ucb", switching, seeds=range(10), gamma=1 - 1 / 400)
    plain = simulate("d-ucb", switching, seeds=range(10), gamma=1.0)
    after = slice(5000, 7000)
    stays = (plain.actions[:, after] == 2).mean(axis=1)
    leaves = (discounted.actions[:, after] == 2).mean(axis=1)
    assert (stays > 0.9).all()
    assert (leaves < 0.5).all()


# Discounted Thompson sampling.


class Thompson(naive.Twin):
    """Thompson sampling as Thompson had it: successes and failures, nothing forgotten."""

    def choose_action(
        self, codes: naive.Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        stream, thetas = Stream(draws[0]), []
        for a in range(self.n_actions):
            rewards = self.rewards_of(a)
            thetas.append(stream.beta(1 + sum(rewards), 1 + len(rewards) - sum(rewards)))
        return naive.maxima(thetas, available)[0]


def test_discounted_ts_with_discount_1_is_thompson_sampling() -> None:
    replay = bandit([(0.3, 0.5, 0.6)], (300 if COMPILED else 100,))(1)
    draws = generator(policy_seed(0)).random((replay.horizon, 1))
    played = naive.run(Thompson([1], 3), replay.contexts, replay.rewards, replay.costs, draws)
    run = simulate("discounted-ts", replay, seeds=[0], gamma=1.0)[0]
    np.testing.assert_array_equal(run.actions, played.actions)


def test_discounted_ts_remembers_one_round_with_discount_0() -> None:
    # P(Beta(2, 1) > Beta(1, 1)) is the mean of Beta(2, 1), which is 2 / 3.
    policy = DiscountedTS(PROBLEM, gamma=0.0)
    learn(policy, 1, [1.0, 0.0, 1.0])
    chosen = policy.propensity(NOTHING, 1)
    assert chosen is not None
    assert chosen.probability == pytest.approx(2 / 3, abs=1e-6)


def test_an_action_that_is_not_taken_returns_to_the_uniform_prior() -> None:
    policy = DiscountedTS(PROBLEM, gamma=0.9)
    learn(policy, 0, [1.0] * 20)
    learn(policy, 1, [0.5] * 200)
    values = policy.action_values(NOTHING)
    assert values == pytest.approx([0.5, 0.5], abs=1e-8)
    state = policy.get_state()
    assert state["gained"][1] == pytest.approx(0.5 / (1 - 0.9))  # the sum of all weights is 10


@statistical
def test_discounted_ts_follows_changes_and_thompson_sampling_does_not() -> None:
    switching = bandit([(0.9, 0.1), (0.1, 0.9), (0.9, 0.1)], (500, 500, 500))
    discounted = total("discounted-ts", switching, gamma=0.9)
    assert discounted > total("discounted-ts", switching, gamma=1.0) + 125


def test_an_optimistic_number_is_at_least_the_mean() -> None:
    # Beta(1, 1) is above 1 / 2 in half of all cases; else both numbers are 1 / 2: first action.
    policy = DiscountedTS(PROBLEM, optimistic=True, seed=0)
    chosen = policy.propensity(NOTHING, 0, seed=0)
    assert chosen is not None
    # P(first wins) = 1 / 4 (both below) + 1 / 4 + 1 / 8 = 5 / 8; six standard errors.
    assert chosen.probability == pytest.approx(5 / 8, abs=6 * chosen.error / 1.96 + 0.01)


# CUSUM-UCB.


@pytest.mark.parametrize("environment", [WORLD, nursery.shuffled])
def test_cusum_ucb_that_never_restarts_is_ucb(environment: Any) -> None:
    never = run_of("cusum-ucb", environment, h=1e9, exploration=0.0, xi=0.6)
    assert_same(never, run_of("d-ucb", environment, gamma=1.0, xi=0.15))


def test_the_delay_of_the_cusum_test() -> None:
    # From 0 to 1, each reward adds 1 - epsilon: h / (1 - epsilon) rewards, rounded up.
    for h, rewards in ((0.5, 1), (1.7, 2), (3.5, 4), (9.0, 10)):
        policy = CUSUMUCB(PROBLEM, samples=30, epsilon=0.1, h=h)
        learn(policy, 1, [0.0] * 50 + [1.0] * (rewards - 1))
        assert policy.restarts == 0
        learn(policy, 1, [1.0])
        assert policy.restarts == 1


def test_only_the_action_that_changed_restarts() -> None:
    policy = CUSUMUCB(PROBLEM, samples=5, h=2.0)
    learn(policy, 0, [1.0] * 20)
    learn(policy, 1, [0.0] * 10 + [1.0] * 3)
    values = policy.action_values(NOTHING)
    assert values is not None
    assert policy.restarts == 1
    assert math.isinf(values[1])
    assert values[0] == pytest.approx(1 + math.sqrt(math.log(21) / 20))


def test_cusum_ucb_explores_with_its_probability() -> None:
    policy = CUSUMUCB(PROBLEM, exploration=0.2)
    learn(policy, 0, [1.0] * 9)
    learn(policy, 1, [0.0] * 9)
    chances = [policy.propensity(NOTHING, a) for a in (0, 1)]
    assert [chance.probability for chance in chances if chance] == pytest.approx([0.9, 0.1])


# M-UCB.


@pytest.mark.parametrize("environment", [WORLD, nursery.shuffled])
def test_m_ucb_that_never_restarts_is_ucb(environment: Any) -> None:
    never = run_of("m-ucb", environment, b=1e9, gamma=0.0)
    assert_same(never, run_of("d-ucb", environment, gamma=1.0, xi=0.5))


def test_m_ucb_takes_every_action_often_enough() -> None:
    run = run_of("m-ucb", bandit([(0.9, 0.1, 0.1)], (ROUNDS,)), b=1e9, gamma=0.3)
    for actions in run.actions:
        assert (np.bincount(actions, minlength=3) >= ROUNDS // 10).all()


def test_m_ucb_has_few_false_alarms() -> None:
    # By Hoeffding's inequality a test is wrong with probability 1 / (K T^2) at most, and there are
    # T tests: for 5 seeds of 2000 rounds one of all is wrong with probability 1 / 1200.
    for seed in SEEDS:
        replay = bandit([(0.5, 0.5, 0.5)], (ROUNDS,))(seed)
        policy = MUCB(replay.problem, horizon=ROUNDS, window=50)
        play(policy, replay)
        assert policy.restarts == 0


def test_m_ucb_detects_a_large_change_within_half_a_window() -> None:
    # The paper's condition on the size of a change, for K = 2 and T = 2000, is
    # 2 sqrt(log(2 K T^2) / w) + 2 sqrt(log(2 T) / w) = 0.69. A detection then fails to come within
    # w / 2 rewards with probability 1 / T at most.
    policy = MUCB(PROBLEM, horizon=2000, window=400)
    rng = np.random.default_rng(0)
    learn(policy, 0, (rng.random(400) < 0.1).astype(float).tolist())
    assert policy.restarts == 0
    learn(policy, 0, (rng.random(200) < 0.9).astype(float).tolist())
    assert policy.restarts == 1


def test_m_ucb_wants_an_even_window() -> None:
    with pytest.raises(InvalidParameter, match="even"):
        MUCB(PROBLEM, window=5)


# GLR-klUCB.


class KLUCB(naive.Twin):
    """kl-UCB, as in Cappe et al. (2013), with the index of Besson et al. (2022)."""

    def values(self, codes: naive.Codes) -> list[float]:
        values = []
        for a in range(self.n_actions):
            rewards = self.rewards_of(a)
            n, t = len(rewards), len(self.history) + 1
            mean = sum(rewards) / max(1, n)
            bound = naive_ucbs.kl_upper_bound(mean, math.log(t) / max(1, n))
            values.append(bound if n else math.inf)
        return values


@pytest.mark.parametrize("restart", ["local", "global"])
def test_glr_klucb_that_never_restarts_is_klucb(restart: str) -> None:
    replay = bandit([(0.3, 0.5, 0.6), (0.6, 0.5, 0.3)], (150, 150) if COMPILED else (40, 40))(1)
    draws = np.zeros((replay.horizon, 1))
    played = naive.run(KLUCB([1], 3), replay.contexts, replay.rewards, replay.costs, draws)
    run = simulate("glr-klucb", replay, seeds=[0], restart=restart, exploration=0.0, every=10**8)[0]
    np.testing.assert_array_equal(run.actions, played.actions)


def test_a_local_restart_forgets_one_action_and_a_global_one_all() -> None:
    for restart, left in (("local", 20), ("global", 0)):
        policy = GLRKLUCB(PROBLEM, restart=restart)
        learn(policy, 0, [1.0] * 20)
        learn(policy, 1, [0.0] * 50 + [1.0] * 50)
        assert policy.restarts >= 1
        counts = policy.get_state()["streams.counts"]
        assert counts[0] == left
        assert counts[1] < 100


def test_exploration_grows_with_the_number_of_restarts() -> None:
    # Turns come every floor(K / (alpha sqrt(k + 1))) rounds: alpha = 0.2 gives 10, then 7 rounds.
    horizon = 1000
    rate = math.sqrt(2 * math.log(horizon) / horizon)
    policy = GLRKLUCB(PROBLEM, horizon=horizon, exploration=0.2 / rate)
    learn(policy, 0, [1.0] * 10)
    learn(policy, 1, [0.0])
    turns = []
    for _ in range(40):
        turns.append(policy.choose_action(NOTHING))
        learn(policy, 0, [1.0])
    rounds = np.flatnonzero(turns) + 11
    assert (rounds % 10 == 1).sum() == 4  # the second action has its turn in rounds 11, 21, ...


@statistical
def test_glr_klucb_gains_from_its_restarts() -> None:
    # The order in the experiments of the paper: kl-UCB is far behind both variants.
    switching = bandit([(0.9, 0.1), (0.1, 0.9), (0.9, 0.1)], (1000, 1000, 1000))
    never = total("glr-klucb", switching, every=10**8)
    for restart in ("local", "global"):
        assert total("glr-klucb", switching, restart=restart) > never + 250


# MASTER.


def test_the_tests_of_master_cannot_fail_in_a_run_of_practical_length() -> None:
    # Both compare numbers in [0, 1] with 3 rho^(t) or more, and rho^(t) falls in t. For K = 2 it is
    # above 1 / 3 up to T = 10^10, as in Gerogiannis et al. (2024).
    horizon = 10**10
    log = math.log(horizon / 0.05)
    x = 2 * log / horizon
    assert 6 * (math.log2(horizon) + 1) * log * (math.sqrt(x) + x) > 1 / 3
    assert_same(run_of("master"), run_of("master", scale=1e9))


def test_a_test_that_fails_begins_again_with_a_block_of_one_round() -> None:
    policy = MASTER(PROBLEM, scale=1e9)
    learn(policy, 0, [0.5] * 7)  # blocks of 1, 2 and 4 rounds
    assert int(policy.get_state()["order"][0]) == 3
    strict = MASTER(PROBLEM, scale=0.0)
    learn(strict, 0, [0.5] * 7)
    assert int(strict.get_state()["order"][0]) == 0
    assert strict.restarts == 7


def test_instances_begin_as_often_as_the_paper_says() -> None:
    # Each frequency is off by more than 5 standard errors with probability 6e-7.
    policy = MASTER(PROBLEM, horizon=1000, seed=1)
    learn(policy, 0, [0.5] * 63)  # the block of order 6 begins
    number = 2000
    purposes = np.array([policy.choose_features().purpose for _ in range(number)])
    x = 2 * math.log(1000 / 0.05)

    def rho(t: int) -> float:
        return math.sqrt(x / t) + x / t

    for m in range(7):
        expected = rho(64) / rho(2**m)
        found = ((purposes >> m) & 1).mean()
        assert abs(found - expected) <= 5 * math.sqrt(expected * (1 - expected) / number)
    learn(policy, 0, [0.5])  # in the next round only instances of order 0 may begin
    assert {policy.choose_features().purpose for _ in range(50)} == {0, 1}


def test_the_probability_of_an_action_of_master_is_that_of_a_beginning() -> None:
    """Only the instance that runs has tried action 0, so a new one takes it and the old one not."""
    policy = MASTER(PROBLEM, horizon=1000, scale=1e9)
    learn(policy, 0, [0.0] * 3)  # the block of order 2 begins
    learn(policy, 0, [1.0] * 2)  # in its third round instances of orders 0 and 1 may begin
    x = 2 * math.log(1000 / 0.05)
    longest, *shorter = [math.sqrt(x / t) + x / t for t in (4, 1, 2)]
    first, second = (longest / rho for rho in shorter)
    bought = policy.propensity(NOTHING, [False])
    assert bought is not None
    assert (bought.probability, bought.error) == (1, 0)
    expected = {1: first, 2: (1 - first) * second, 0: (1 - first) * (1 - second)}
    assert bought.notes == pytest.approx(expected)
    acted = [policy.propensity(NOTHING, action, notes=bought.notes) for action in range(2)]
    stated = [propensity.probability for propensity in acted if propensity is not None]
    assert stated == pytest.approx([1 - expected[0], expected[0]])


def test_an_instance_that_begins_forgets_and_the_longer_one_does_not() -> None:
    policy = MASTER(PROBLEM, scale=1e9)
    learn(policy, 0, [0.0] * 3)  # the block of order 2 begins
    learn(policy, 0, [1.0, 1.0])
    values = policy.action_values(NOTHING)
    assert values is not None
    assert np.isfinite(values[0])
    assert math.isinf(values[1])
    fresh = Observation(codes=[-1], costs=[math.nan], purpose=1)  # order 0 begins
    assert policy.choose_action(NOTHING) == 1
    assert policy.choose_action(fresh) == 0


def test_an_instance_that_gains_more_than_was_thought_possible_fails_the_first_test() -> None:
    # With alpha = 0 optimistic values are means: 0.65. An instance of order 3 that gains 1 in each
    # of its rounds is above 0.65 + 9 rho^(8), which is 0.65 + 9 / 110 * 4.05 = 0.98. The second
    # test does not fail: an action not yet taken has the value 1, which is 0.35 too much in two
    # rounds of a block, and 0.35 is below 3 / 110 rho(2).
    log = math.log(1000 / 0.05)
    factor = 6 * (math.log2(1000) + 1) * log
    assert math.sqrt(2 * log / 8) + 2 * log / 8 == pytest.approx(4.05, abs=0.01)
    for purpose, restarts in ((8, 1), (0, 0)):
        policy = MASTER(PROBLEM, horizon=1000, alpha=0.0, scale=1 / 110 / factor)
        for order in range(5):
            learn(policy, 0, [0.65])
            learn(policy, 1, [0.65] * (2**order - 1))
        learn(policy, 0, [0.65])
        learn(policy, 1, [0.65] * 7)  # the ninth round of the block of order 5 comes next
        seen = Observation(codes=[-1], costs=[math.nan], purpose=purpose)
        policy.update(seen, action=0, reward=1.0)
        learn(policy, 0, [1.0] * 6)
        assert policy.restarts == 0
        learn(policy, 0, [1.0])
        assert policy.restarts == restarts


def test_gaining_less_than_was_thought_possible_fails_the_second_test() -> None:
    # The optimistic value is 1 as long as an action was not taken, and rewards are 0, so the mean
    # difference is 1 in every round: it fails where 3 / 50 rho(t) is at most 1.
    log = math.log(1000 / 0.05)
    factor = 6 * (math.log2(1000) + 1) * log

    def rho(t: int) -> float:
        return math.sqrt(2 * log / t) + 2 * log / t

    assert 3 / 50 * rho(2) < 1 < 3 / 50 * rho(1)
    policy = MASTER(PROBLEM, horizon=1000, scale=1 / 50 / factor)
    learn(policy, 0, [0.0, 0.0])  # the block of order 0, and the first round of the next one
    assert policy.restarts == 0
    learn(policy, 0, [0.0])
    assert policy.restarts == 1
