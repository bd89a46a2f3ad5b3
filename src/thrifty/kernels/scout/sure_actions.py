"""Sure actions: those whose rewards hardly vary, such as declining.

Their rewards tell nothing about the other actions. As predicted as they are, they would outweigh
the evidence of a change in the rewards of the others. So change detection keeps them apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner

MEMORY = 500.0
PRIOR_VARIANCE = 0.05
"""Variance of one imagined reward of every action."""
SURE = 0.3
"""An action is sure if its variance is less than this share of the largest one."""

VARIETY = np.dtype([("seen", np.float64), ("mean", np.float64), ("variance", np.float64)])
Variety = NDArray[np.void]


def initial(n_actions: int) -> Variety:
    """Return no rewards."""
    return np.zeros(n_actions, VARIETY)


@jit_inner
def note_reward(variety: Variety, action: int, reward: float) -> None:
    """Update the running mean and variance of an action's rewards in blind rounds.

    In these the action does not depend on the state. An action that is taken only where it pays
    also has rewards that hardly vary, but it is not sure.
    """
    seen = min(variety[action]["seen"] + 1.0, MEMORY)
    before = reward - variety[action]["mean"]
    variety[action]["seen"] = seen
    variety[action]["mean"] += before / seen
    product = before * (reward - variety[action]["mean"])
    variety[action]["variance"] += (product - variety[action]["variance"]) / seen


@jit_inner
def variance_of(variety: Variety, action: int) -> float:
    """Return the variance of an action's rewards."""
    seen = variety[action]["seen"]
    return (variety[action]["variance"] * seen + PRIOR_VARIANCE) / (seen + 1.0)


@jit_inner
def is_sure(variety: Variety, action: int) -> bool:
    """Return True if the action's rewards vary little beside those of another action."""
    return variance_of(variety, action) < _largest_sure(variety)


@jit_inner
def _largest_sure(variety: Variety) -> float:
    """Return the variance below which an action is sure."""
    largest = 0.0
    for a in range(variety.size):
        largest = max(largest, variance_of(variety, a))
    return SURE * largest


@jit_inner
def share_of_sure(variety: Variety, habits: Floats) -> float:
    """Return how often a sure action was exploited lately."""
    largest = _largest_sure(variety)
    share = 0.0
    for a in range(habits.size):
        share += habits[a] if variance_of(variety, a) < largest else 0.0
    return share


@jit_inner
def convert(variety: Variety, f: float, g: float) -> None:
    """Convert to another scale of rewards, f r + g."""
    for a in range(variety.size):
        if variety[a]["seen"] > 0.0:
            variety[a]["mean"] = f * variety[a]["mean"] + g
            variety[a]["variance"] *= f * f
