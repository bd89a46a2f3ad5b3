"""How probable a reward in [0, 1] is under a mean, and how much rewards really vary about it."""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.arrays import Floats
from thrifty.kernels.compile import inner

LEAST, MOST = 0.02, 0.98
LEAST_DISPERSION = 0.05
RATE = 0.001


@inner
def clipped(p: float) -> float:
    """Return the mean, kept away from certainty."""
    return min(max(p, LEAST), MOST)


@inner
def log_likelihood(reward: float, p: float) -> float:
    """Return r log p + (1 - r) log(1 - p), which for 0 and 1 is the log of the probability."""
    return reward * math.log(p) + (1 - reward) * math.log(1 - p)


@inner
def log_ratio(reward: float, p: float, other: float) -> float:
    """Return by how much mean p explains the reward better than the other one."""
    return log_likelihood(reward, p) - log_likelihood(reward, other)


def initial_spread() -> Floats:
    """Return running means of (r - p)^2 and p (1 - p), which are alike for rewards of 0 and 1."""
    return np.full(2, 0.05)


@inner
def note_spread(spread: Floats, reward: float, p: float) -> None:
    """Note how far a reward was from its mean."""
    spread[0] += RATE * ((reward - p) ** 2 - spread[0])
    spread[1] += RATE * (p * (1 - p) - spread[1])


@inner
def dispersion(spread: Floats) -> float:
    """Return phi, the variance of rewards as a part of what it would be if they were 0 or 1.

    A log-likelihood ratio divided by phi, and a number of rewards divided by phi, weigh as much
    as they would with rewards of 0 and 1.
    """
    return min(max(spread[0] / spread[1], LEAST_DISPERSION), 1.0)
