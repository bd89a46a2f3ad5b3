"""Facts from the papers of the policies that buy few features or test for changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.environments import Replay, World
from thrifty.playing import play
from thrifty.policies import TSRC, WTSRC
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, Run
from thrifty.simulation import simulate

SMALL = World.random(levels=(2, 3, 2), n_actions=3, rounds=300, reward_changes=(150,), seed=5)


def assert_same(one: Run, other: Run) -> None:
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
    found = []  # the compiled loop does not call its hook
    for replay in map(world, range(6)):
        found.append(play(policy(replay.problem, seed=0, encoding="one-hot", **more), replay))
    return float(np.mean([run.rewards for run in found]))


def test_tsrc_stands_between_random_features_and_all_features() -> None:
    # The order in the paper's tables for stationary data.
    rewards = [
        mean_reward(RandomFeatures, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=8),
    ]
    assert rewards[0] + 0.1 < rewards[1] < rewards[2] - 0.03


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
