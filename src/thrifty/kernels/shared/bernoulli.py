"""The relative entropy of Bernoulli distributions, and the upper confidence bound it gives."""

from __future__ import annotations

import math

from thrifty.kernels.runtime.compilation import jit_inner

HALVINGS = 24


@jit_inner
def kl(p: float, q: float) -> float:
    """Return p log(p / q) + (1 - p) log((1 - p) / (1 - q)), for 0 <= p <= 1 and 0 < q < 1."""
    value = 0.0
    if p > 0.0:
        value += p * math.log(p / q)
    if p < 1.0:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@jit_inner
def kl_upper_bound(mean: float, level: float) -> float:
    """Return the largest q with kl(mean, q) <= level, by bisection, to 2^-HALVINGS."""
    low, high = mean, min(1.0, mean + math.sqrt(level / 2))  # by Pinsker's inequality
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if 0.0 < middle < 1.0 and kl(mean, middle) > level:
            high = middle
        else:
            low = middle
    return (low + high) / 2
