"""Likelihoods of rewards and their dispersion, with numbers to check by hand."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.scout import likelihood

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

clip_mean = numba.njit(lambda p: likelihood.clip_mean(p))
log_likelihood = numba.njit(lambda reward, p: likelihood.log_likelihood(reward, p))
log_ratio = numba.njit(lambda reward, p, other: likelihood.log_ratio(reward, p, other))
note_spread = numba.njit(lambda spread, reward, p: likelihood.note_spread(spread, 1, reward, p))
dispersion = numba.njit(lambda spread: likelihood.dispersion(spread, 1))
largest_dispersion = numba.njit(lambda spread: likelihood.largest_dispersion(spread))

CHANCES = st.floats(likelihood.MIN_MEAN, likelihood.MAX_MEAN)
REWARDS = st.floats(0, 1)


def test_the_likelihood_of_a_coin() -> None:
    assert log_likelihood(1.0, 0.25) == pytest.approx(math.log(0.25))
    assert log_likelihood(0.0, 0.25) == pytest.approx(math.log(0.75))
    assert log_likelihood(0.5, 0.25) == pytest.approx(math.log(0.25 * 0.75) / 2)
    assert log_ratio(1.0, 0.5, 0.25) == pytest.approx(math.log(2))


def test_means_are_kept_away_from_certainty() -> None:
    assert clip_mean(0.0) == likelihood.MIN_MEAN
    assert clip_mean(1.0) == likelihood.MAX_MEAN
    assert clip_mean(0.3) == 0.3


@repeatable
@given(REWARDS, CHANCES, CHANCES)
def test_like_the_twin(reward: float, p: float, other: float) -> None:
    assert clip_mean(p) == naive_scout.clip(p)
    ratio = naive_scout.log_likelihood(reward, p) - naive_scout.log_likelihood(reward, other)
    assert log_ratio(reward, p, other) == pytest.approx(ratio, abs=1e-12)
    assert log_ratio(reward, p, other) == pytest.approx(-log_ratio(reward, other, p), abs=1e-12)


@repeatable
@given(REWARDS, CHANCES)
def test_no_mean_explains_a_reward_better_than_itself(reward: float, p: float) -> None:
    assert (
        log_ratio(reward, p, naive_scout.clip(reward))
        < 1e-12 + abs(reward - naive_scout.clip(reward)) * 50
    )


def spread_of(rewards: list[float], p: float) -> float:
    spread = likelihood.initial_spread(2)
    for reward in rewards:
        note_spread(spread, reward, p)
    return float(dispersion(spread))


def test_rewards_of_0_and_1_at_their_mean_have_a_dispersion_of_1() -> None:
    assert dispersion(likelihood.initial_spread(2)) == 1.0
    assert spread_of([0.0, 1.0] * 200, 0.5) == pytest.approx(1.0)


def test_the_running_means_fade_at_their_rate() -> None:
    # Rewards that are always exactly as predicted: (r - p)^2 = 0, p (1 - p) = 1/4.
    start, rounds = likelihood.initial_spread(2)[1], 300
    kept = (1 - likelihood.RATE) ** rounds
    expected = kept * start[0] / (kept * start[1] + (1 - kept) / 4)
    found = spread_of([0.5] * rounds, 0.5)
    assert found == pytest.approx(max(expected, likelihood.MIN_DISPERSION))


def test_the_dispersion_stays_within_its_bounds() -> None:
    def of(real: float, binary: float) -> float:
        return float(dispersion(np.array([[0.05, 0.05], [real, binary]])))

    assert of(0.0, 0.2) == likelihood.MIN_DISPERSION
    assert of(0.3, 0.2) == 1.0
    assert of(0.1, 0.2) == 0.5


def test_every_action_has_its_own_dispersion() -> None:
    spread = likelihood.initial_spread(2)
    for _ in range(300):
        note_spread(spread, 0.5, 0.5)
    assert spread[0].tolist() == [0.05, 0.05]
    assert dispersion(spread) < largest_dispersion(spread) == 1.0


def test_the_dispersion_is_the_share_of_the_variance() -> None:
    # Beta(2, 2) rewards: variance 1/20 about 1/2, a fifth of a coin's 1/4. After 10,000 rounds the
    # running mean rests on about 2,000 rewards: 0.03 is more than 6 standard errors.
    rewards = np.random.default_rng(0).beta(2, 2, size=10_000)
    assert spread_of(rewards.tolist(), 0.5) == pytest.approx(0.2, abs=0.03)
