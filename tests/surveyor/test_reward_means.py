"""Means of rewards and the frequencies that follow from them, by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.surveyor.reward_means import RewardMeans

WINS = np.array([[False, False], [False, True], [True, False], [True, True]])
LEVELS = np.array([[-10.0, 10.0], [0.0, 4.0]])
REWARDS = np.where(WINS.T, LEVELS[:, 1:], LEVELS[:, :1])


def test_frequencies_by_hand() -> None:
    means = RewardMeans(WINS, LEVELS)
    assert means.frequencies.tolist() == [0.25] * 4
    for reward in (10.0, 10.0, -10.0):
        means.add(0, reward)
    means.add(1, 1.0)
    # With one more case in the middle: 10 / 4 = 2.5 and (1 + 2) / 2 = 1.5, so 5/8 and 3/8.
    assert means.frequencies.tolist() == [15 / 64, 9 / 64, 25 / 64, 15 / 64]
    assert means.values(REWARDS).tolist() == [2.5, 1.5]
    assert means.n_effective == 4


def test_weights_correct_for_how_often_an_action_is_taken() -> None:
    """The action is taken in three of four good cases, and in one of four bad ones."""
    rng, means = np.random.default_rng(3), RewardMeans(WINS, LEVELS)
    good = rng.random(20_000) < 0.3
    chances = np.where(good, 0.75, 0.25)
    for is_good, chance, draw in zip(good, chances, rng.random(20_000), strict=True):
        if draw < chance:
            means.add(0, 10.0 if is_good else -10.0, 1 / chance)
    # Standard error about 0.12; this fails by chance in one of ten thousand seeds.
    assert means.values(REWARDS)[0] == pytest.approx(-4.0, abs=0.5)


def test_an_action_that_always_pays_the_same_counts_as_paying_its_upper_bound() -> None:
    means = RewardMeans(WINS, np.array([[-10.0, 10.0], [3.0, 3.0]]))
    means.add(1, 3.0)
    assert means.frequencies.tolist() == [0.0, 0.5, 0.0, 0.5]


def test_other_bounds_keep_the_means() -> None:
    means = RewardMeans(WINS, np.array([[-100.0, 100.0], [0.0, 4.0]]))
    for _ in range(9_999):
        means.add(0, 5.0)
    means.rescale(LEVELS)
    assert means.values(REWARDS)[0] == pytest.approx(5.0, abs=0.001)


def test_forgetting_keeps_means_and_reduces_their_number() -> None:
    means = RewardMeans(WINS, LEVELS)
    for _ in range(100):
        means.add(0, 6.0)
    means.forget(20.0)
    assert means.n_effective == pytest.approx(20)
    assert means.values(REWARDS)[0] == pytest.approx(6 * 20 / 21)


def test_the_bonus_vanishes_with_the_number_of_rewards() -> None:
    means, information = RewardMeans(WINS, LEVELS), np.zeros(2)
    bonuses = []
    for n in (10, 100, 10_000):
        while means._weights[0] < n:
            means.add(0, float(10 * (-1) ** int(means._weights[0])))
        bonuses.append((means.optimistic_values(REWARDS, information) - means.values(REWARDS))[0])
    # 1.5 standard deviations of 10, divided by the square root of n + 1.
    assert bonuses == pytest.approx([15 / np.sqrt(n + 1) for n in (10, 100, 10_000)], rel=0.01)


def test_the_error_of_a_distance_is_that_of_both_means() -> None:
    means = RewardMeans(WINS, LEVELS)
    for k in range(99):
        means.add(0, float(10 * (-1) ** k))
    for k in range(24):
        means.add(1, float(4 * (k % 2)))
    # Standard deviations of 10 and 2, in 100 and 25 cases with the one in the middle.
    assert means.gap_errors(REWARDS, 1) == pytest.approx([np.sqrt(1 + 4 / 25), 0.0], rel=0.01)
    assert means.plausible(REWARDS, 2.0).tolist() == [True, True]
    assert means.plausible(REWARDS, 1.0).tolist() == [False, True]


def test_saved_sums_are_restored() -> None:
    means, restored = RewardMeans(WINS, LEVELS), RewardMeans(WINS, LEVELS)
    for k in range(5):
        means.add(k % 2, float(k), 1 + k / 2)
    restored.restore(means.to_dict())
    assert restored.to_dict() == means.to_dict()
    assert restored.frequencies.tolist() == means.frequencies.tolist()
