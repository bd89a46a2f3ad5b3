"""Facts from the papers of the policies that buy few features or test for changes."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import naive
import naive_attentive
from thrifty.checks import check_policy
from thrifty.environments import Replay, World
from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.playing import play
from thrifty.policies import TSRC, WTSRC, SeqOOS
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, Run
from thrifty.seeds import environment_seed, generator, policy_seed
from thrifty.simulation import simulate

SMALL = World.random(levels=(2, 3, 2), n_actions=3, rounds=300, reward_changes=(150,), seed=5)
SHORT = World.random(levels=(2, 3, 2), n_actions=3, rounds=120, reward_changes=(60,), seed=6)
statistical = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="thousands of rounds"
)


def assert_same(one: Run | naive.Played, other: Run | naive.Played) -> None:
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.actions, other.actions)


# TSRC and WTSRC.


def relevant(seed: int, feature: Sequence[int], per_period: int) -> Replay:
    """Return rounds in which one of eight features says which of two actions is right.

    `feature` is the relevant one in each period. The right action has a reward with probability
    0.9, the other one with 0.1.
    """
    rng = np.random.default_rng(seed)
    rounds = per_period * len(feature)
    contexts = rng.integers(2, size=(rounds, 8))
    period = np.arange(rounds) // per_period
    right = contexts[np.arange(rounds), np.array(feature)[period]]
    means = np.where(right[:, None] == np.arange(2), 0.9, 0.1)
    rewards = (rng.random((rounds, 2)) < means).astype(float)
    return Replay(contexts, rewards, np.full((rounds, 8), 0.01))


class RandomFeatures(TSRC):
    """Buys as many features as TSRC, at random: the baseline Random-EI of the paper."""

    def _choose_features(self, known: Observation) -> Purchase:
        mask = super()._choose_features(known).mask
        chosen: NDArray[np.bool_] = self.rng.permutation(mask)
        return Purchase(chosen)


def mean_reward(
    policy: type[TSRC | WTSRC], feature: Sequence[int], rounds: int, **more: Any
) -> float:
    def world(seed: int) -> Replay:
        return relevant(seed, feature, rounds // len(feature))

    if policy is not RandomFeatures:
        runs = simulate(policy, world, seeds=range(6), encoding="one-hot", **more)
        return float(runs.rewards.mean())
    found = [  # the compiled loop does not call its hook
        play(policy(replay.problem, seed=0, encoding="one-hot", **more), replay).rewards
        for replay in map(world, range(6))
    ]
    return float(np.mean(found))


@statistical
def test_tsrc_stands_between_random_features_and_all_features() -> None:
    # The order in the paper's tables for stationary data.
    rewards = [
        mean_reward(RandomFeatures, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=8),
    ]
    assert rewards[0] + 0.1 < rewards[1] < rewards[2] - 0.03


@statistical
def test_a_window_helps_if_the_relevant_feature_changes_and_costs_if_not() -> None:
    # The order in the paper's tables: WTSRC before TSRC for nonstationary data only.
    changing, same = [0, 4, 2], [0]
    gained = [
        mean_reward(WTSRC, feature=feature, rounds=3000, max_features=2)
        - mean_reward(TSRC, feature=feature, rounds=3000, max_features=2)
        for feature in (changing, same)
    ]
    assert gained[0] > 0.05
    assert gained[1] < -0.01


def test_wtsrc_with_a_window_as_long_as_the_run_is_tsrc() -> None:
    seeds = range(4)
    one = simulate("tsrc", SMALL, seeds=seeds)
    other = simulate("wtsrc", SMALL, seeds=seeds, window=300)
    assert_same(one, other)
    shorter = simulate("wtsrc", SMALL, seeds=seeds, window=20)
    assert (one.observed != shorter.observed).any()


def test_with_all_features_the_window_does_not_matter() -> None:
    # The baseline Fullfeatures of the paper: contextual Thompson sampling.
    runs = [simulate("wtsrc", SMALL, seeds=range(3), max_features=9, window=w) for w in (5, 300)]
    assert runs[0].observed.all()
    assert_same(*runs)


def test_the_posterior_of_two_rewards_by_hand() -> None:
    policy = TSRC(Problem.anonymous((2, 3), 2), max_features=1)
    for code, reward in ((0, 1.0), (1, 0.25)):
        policy.update(Observation([code, -1], [0.1, np.nan]), 1, reward)
    state = policy.get_state()
    # B = 1 + 1^2 + 2^2 = 6 and g = 1 * 1 + 2 * 0.25 = 1.5 in the first dimension.
    np.testing.assert_allclose(state["inverses"][1], np.diag([1 / 6, 1.0]))
    np.testing.assert_allclose(state["means"][1], [0.25, 0])
    assert (state["chosen"].tolist(), state["gained"].tolist()) == ([2, 0], [1.25, 0])


def test_free_features_are_not_among_the_bought_ones() -> None:
    policy = TSRC(Problem.anonymous((2, 3, 2), 2), max_features=2, seed=1)
    known = Observation.from_free(policy.problem, {0: 1})
    assert policy.choose_features(known).mask.tolist() == [False, True, True]


def test_a_round_leaves_the_window() -> None:
    policy = WTSRC(Problem.anonymous((2, 3), 2), window=2)
    for reward, i in ((0.1, 0), (0.5, 0), (0.25, 1)):
        codes = [0 if i == k else -1 for k in range(2)]
        policy.update(
            Observation(codes, [np.nan if code < 0 else 0.1 for code in codes]), 0, reward
        )
    state = policy.get_state()
    assert (state["chosen"].tolist(), state["gained"].tolist()) == ([1, 1], [0.5, 0.25])


# Seq-OOS.


def branching(seed: int) -> Replay:
    """Return rounds in which the first of three features says which of the others matters."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(2, size=(2500, 3))
    right = np.where(contexts[:, 0] == 0, contexts[:, 1], contexts[:, 2])
    means = np.where(right[:, None] == np.arange(2), 0.95, 0.05)
    rewards = (rng.random((2500, 2)) < means).astype(float)
    return Replay(contexts, rewards, np.full((2500, 3), 0.1))


def late_gain(policy: str, **parameters: Any) -> float:
    runs = simulate(policy, branching, seeds=range(8), **parameters)
    return float(runs.gains[:, -1000:].mean())


@statistical
def test_sequential_purchases_gain_more_than_simultaneous_ones() -> None:
    # The order in the paper's experiments.
    assert late_gain("seq-oos") > late_gain("sim-oos") + 0.02


@statistical
def test_seq_oos_learns_a_plan_that_beats_every_fixed_set() -> None:
    # Fixed sets gain at most 0.95 - 0.3: two features tell the right action in 3 cases of 4.
    assert late_gain("seq-oos", reward_scale=0.2, probability_scale=0.0) > 0.69


@statistical
def test_for_a_single_feature_seq_oos_is_sim_oos() -> None:
    world = World.random(levels=(3,), n_actions=3, rounds=1500, reward_changes=(500,), seed=5)
    one, other = (simulate(name, world, seeds=range(4)) for name in ("sim-oos", "seq-oos"))
    assert_same(one, other)
    assert 0.01 < one.observed.mean() < 0.99


@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.1, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("free", [(False, False, False), (False, True, False)])
def test_the_twin_of_seq_oos(scales: tuple[float, float], free: tuple[bool, ...]) -> None:
    more: dict[str, Any] = {"reward_scale": scales[0], "probability_scale": scales[1]}
    for seed in range(2):
        drawn = SHORT.draw(environment_seed(seed))
        replay = Replay(drawn.contexts, drawn.rewards, drawn.costs, free, problem=drawn.problem)
        run = simulate("seq-oos", replay, seeds=[seed], **more)[0]
        twin = naive_attentive.SeqOOS(replay.problem.levels.tolist(), 3, **more)
        draws = generator(policy_seed(seed)).random(replay.horizon)
        other = naive_attentive.run_in_steps(twin, replay, draws)
        assert_same(run, other)
        np.testing.assert_array_equal(run.costs, other.costs)


def test_the_value_of_a_feature_by_hand() -> None:
    policy = SeqOOS(Problem.anonymous((2,), 2), reward_scale=0.0, probability_scale=0.0)
    policy.read_price_list([0.25])
    nothing, low, high = (
        Observation([-1], [np.nan], 1),
        Observation([0], [0.25], 1),
        Observation([1], [0.25], 1),
    )
    for reward in (0.5, 0.25):  # 0.375 without the feature, for either action
        for action in range(2):
            policy.update(nothing, action, reward)
    for seen, rewards in ((low, (1.0, 0.0)), (high, (0.5, 0.75)), (high, (0.5, 0.75))):
        for action, reward in enumerate(rewards):
            policy.update(seen, action, reward)
    # Two rounds with the low value and four with the high one: (1 + 2 * 0.75) / 3 - 0.25.
    assert policy.choose_features().mask.tolist() == [True]
    np.testing.assert_allclose(policy.get_state()["gains"][0], [2.5 / 3 - 0.25])
    bought = [Observation([code], [0.25]) for code in range(2)]
    assert [policy.choose_action(seen) for seen in bought] == [0, 1]


def test_seq_oos_remembers_the_order_of_purchases() -> None:
    policy = SeqOOS(Problem.anonymous((2, 2), 1))
    order = (2 << 4 | 1) << 1  # feature 2 first, then feature 1
    policy.update(Observation([1, 0], [0.1, 0.1], order), 0, 1.0)
    moves = policy.get_state()["moves"]
    # Partial states are numbered (code of x1 + 1) + 3 (code of x2 + 1).
    assert np.argwhere(moves).tolist() == [[3, 1], [5, 0]]


def test_a_problem_with_too_many_partial_states_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"at most 20000 .* about 5\.9e\+04 partial states"):
        SeqOOS(Problem.anonymous((2,) * 10, 2))
    with pytest.raises(InvalidParameter, match="15 features"):
        SeqOOS(Problem.anonymous((1,) * 15, 2))


def test_a_state_of_another_problem_is_refused() -> None:
    policy, other = (SeqOOS(Problem.anonymous(levels, 2)) for levels in ((2, 2), (2, 3)))
    with pytest.raises(DamagedFile, match="SeqOOS has"):
        policy.set_state(other.get_state())


def test_seq_oos_keeps_its_promises_with_other_radii() -> None:
    check_policy("seq-oos", reward_scale=0.2, probability_scale=0.0)
