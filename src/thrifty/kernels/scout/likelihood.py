"""How probable a reward in [0, 1] is under a mean, and how much rewards really vary about it."""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner

LEAST, MOST = 0.02, 0.98
LEAST_DISPERSION = 0.05
RATE = 0.001


@jit_inner
def clipped(p: float) -> float:
    """Return the mean, kept away from certainty."""
    return min(max(p, LEAST), MOST)


@jit_inner
def log_likelihood(reward: float, p: float) -> float:
    """Return r log p + (1 - r) log(1 - p), which for 0 and 1 is the log of the probability."""
    return reward * math.log(p) + (1 - reward) * math.log(1 - p)


@jit_inner
def log_ratio(reward: float, p: float, other: float) -> float:
    """Return by how much mean p explains the reward better than the other one."""
    return log_likelihood(reward, p) - log_likelihood(reward, other)


def initial_spread(n_actions: int) -> Floats:
    """Return running means of (r - p)^2 and p (1 - p), which are alike for rewards of 0 and 1.

    Every action has its own: one may be a safe thing and another a gamble.
    """
    return np.full((n_actions, 2), 0.05)


@jit_inner
def note_spread(spread: Floats, action: int, reward: float, p: float) -> None:
    """Note how far a reward of the action was from its mean."""
    spread[action, 0] += RATE * ((reward - p) ** 2 - spread[action, 0])
    spread[action, 1] += RATE * (p * (1 - p) - spread[action, 1])


@jit_inner
def dispersion(spread: Floats, action: int) -> float:
    """Return phi, the variance of an action's rewards as a part of what it were with 0 and 1.

    A log-likelihood ratio divided by phi, and a number of rewards divided by phi, weigh as much
    as they would with rewards of 0 and 1.
    """
    return min(max(spread[action, 0] / spread[action, 1], LEAST_DISPERSION), 1.0)


@jit_inner
def largest_dispersion(spread: Floats) -> float:
    """Return phi of the action that is most of a gamble."""
    largest = LEAST_DISPERSION
    for a in range(spread.shape[0]):
        largest = max(largest, dispersion(spread, a))
    return largest
