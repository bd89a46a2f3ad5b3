"""Likelihood of a reward in [0, 1] given its mean, and the dispersion of rewards."""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner

MIN_MEAN, MAX_MEAN = 0.02, 0.98
MIN_DISPERSION = 0.05
RATE = 0.001


@jit_inner
def clip_mean(p: float) -> float:
    """Return the mean, kept away from 0 and 1."""
    return min(max(p, MIN_MEAN), MAX_MEAN)


@jit_inner
def log_likelihood(reward: float, p: float) -> float:
    """Return r log p + (1 - r) log(1 - p), which for 0 and 1 is the log of the probability."""
    return reward * math.log(p) + (1 - reward) * math.log(1 - p)


@jit_inner
def log_ratio(reward: float, p: float, other: float) -> float:
    """Return the log-likelihood ratio of mean p and the other mean."""
    return log_likelihood(reward, p) - log_likelihood(reward, other)


def initial_spread(n_actions: int) -> Floats:
    """Return running means of (r - p)^2 and p (1 - p), which are equal for rewards of 0 and 1.

    Each action has its own, because rewards of one may vary more than those of another.
    """
    return np.full((n_actions, 2), 0.05)


@jit_inner
def note_spread(spread: Floats, action: int, reward: float, p: float) -> None:
    """Update the running means of the action."""
    spread[action, 0] += RATE * ((reward - p) ** 2 - spread[action, 0])
    spread[action, 1] += RATE * (p * (1 - p) - spread[action, 1])


@jit_inner
def dispersion(spread: Floats, action: int) -> float:
    """Return phi, the variance of an action's rewards relative to rewards of 0 and 1.

    Log-likelihood ratios and numbers of rewards are divided by phi, so that they count as much as
    with rewards of 0 and 1.
    """
    return min(max(spread[action, 0] / spread[action, 1], MIN_DISPERSION), 1.0)


@jit_inner
def largest_dispersion(spread: Floats) -> float:
    """Return the largest phi of all actions."""
    largest = MIN_DISPERSION
    for a in range(spread.shape[0]):
        largest = max(largest, dispersion(spread, a))
    return largest
