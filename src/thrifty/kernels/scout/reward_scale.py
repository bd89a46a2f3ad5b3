"""The scale of rewards: Scout learns on the range of the rewards seen, not on the declared range.

A declared range may be far too wide, and what is worth exploring must not depend on that. So all
tables hold (r - low) / span of the rewards seen so far. A reward outside that range changes the
scale, and the tables are converted: a sum of n rewards s becomes f s + g n. Prices stay as they
are and are divided by the span where they are compared with rewards.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner

MIN_REWARDS = 10
"""With fewer rewards than that, the declared range is used."""
MIN_SPAN, MAX_SPAN = 1e-6, 0.8
"""Spans of the rewards seen, as shares of the declared one, for which the declared range is used:
less than the first, which is only rounding, or more than the second."""
LOW, SPAN, LEAST, LARGEST, SEEN = 0, 1, 2, 3, 4


def initial() -> Floats:
    """Return the scale of the declared range: low, span, least and largest reward, number seen."""
    return np.array([0.0, 1.0, np.inf, -np.inf, 0.0])


@jit_inner
def scaled(scale: Floats, reward: float) -> float:
    """Return a reward on the learnt scale."""
    return (reward - scale[LOW]) / scale[SPAN]


@jit_inner
def declared(scale: Floats, value: float) -> float:
    """Return a value of the learnt scale on the declared one."""
    return scale[LOW] + scale[SPAN] * value


@jit_inner
def is_top_declared(scale: Floats) -> bool:
    """Return True if the learnt range ends where the declared one does."""
    return scale[LOW] + scale[SPAN] >= 1.0 - MIN_SPAN


@jit_inner
def note_reward(scale: Floats, reward: float) -> tuple[float, float]:
    """Extend the range; return f and g, with which f r + g converts rewards to the new scale."""
    scale[SEEN] += 1.0
    scale[LEAST] = min(scale[LEAST], reward)
    scale[LARGEST] = max(scale[LARGEST], reward)
    span = scale[LARGEST] - scale[LEAST]
    if scale[SEEN] < MIN_REWARDS or span < MIN_SPAN:
        return 1.0, 0.0
    low = scale[LEAST]
    if span > MAX_SPAN:
        low, span = 0.0, 1.0
    f = scale[SPAN] / span
    g = (scale[LOW] - low) / span
    scale[LOW] = low
    scale[SPAN] = span
    return f, g


@jit_inner
def convert(sums: Floats, pulls: Floats, f: float, g: float) -> None:
    """Convert sums of rewards, which may have any shape."""
    flat, counts = sums.ravel(), pulls.ravel()
    for k in range(flat.size):
        flat[k] = f * flat[k] + g * counts[k]
