"""Chance of each of several independent beta variates to be the largest one, by quadrature.

Let s = log(x / (1 - x)). The density of a beta variate in s is g(s) = e^(one s) / (1 + e^s)^(one +
other) / B(one, other): smooth, with one peak and exponential tails. Variate a is the largest with
probability integral g_a(s) prod_b F_b(s) ds over all b but a. The integral runs from above through
panels that are narrow where any density changes fast, with Gauss-Legendre nodes in each. The
distribution functions F are integrated at the same nodes. It stops as soon as all variates are
above s, but for a negligible chance, which is prod_b F_b(s).

`variates.beta` computes in double precision: values above 1 - 2^-53 are 1, those below the smallest
number are 0, and of several equal values the first one counts as the largest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import legendre

from thrifty.kernels.runtime.arrays import Bools, Floats
from thrifty.kernels.runtime.compilation import jit, jit_inner

TOP, BOTTOM = 53.5 * math.log(2.0), -1074 * math.log(2.0)
"""Beyond these s a variate is 1 or 0."""
ERROR = 1e-6
"""Bound on the error of each chance, as the tests check it."""
NEGLIGIBLE = 1e-8
FIRST_WIDTH, GROWTH, LARGEST_WIDTH = 1.6, 0.25, 3.0
"""Width of a panel at the peak, in standard deviations; how it grows with the distance; and the
largest width, in lengths over which a tail falls by the factor e."""
SHARE_OF_BEND = 0.6
"""Largest width as a share of the distance from the singularity of log(1 + e^s) at i pi."""
DEEPEST = -26.0
"""Logarithm of a density, relative to the peak, beyond which it counts as 0."""
N_NODES = 8

NODES, WEIGHTS = legendre.leggauss(N_NODES)


def _integrals_above() -> Floats:
    """Return the matrix that maps values at the nodes to their integrals from each node to 1."""
    values = legendre.legvander(NODES, N_NODES)
    below = np.empty((N_NODES, N_NODES))
    below[:, 0] = NODES + 1
    for k in range(1, N_NODES):
        below[:, k] = (values[:, k + 1] - values[:, k - 1]) / (2 * k + 1)
    to_coefficients = values[:, :N_NODES].T * WEIGHTS * (np.arange(N_NODES)[:, None] + 0.5)
    integrals: Floats = WEIGHTS - below @ to_coefficients
    return integrals


ABOVE = _integrals_above()


@jit
def chances_of_largest(ones: Floats, others: Floats, available: Bools, chances: Floats) -> None:
    """Fill `chances` for variates with these parameters; those not available have none."""
    fill_chances(ones, others, available, chances)


@jit_inner
def fill_chances(ones: Floats, others: Floats, available: Bools, chances: Floats) -> None:
    """Fill `chances`, for other compiled functions."""
    n = ones.size
    above = np.zeros(n)
    tops = np.empty(n)
    logs = np.empty(n)
    _begin(ones, others, available, logs, tops, above, chances)
    densities = np.zeros((n, N_NODES))
    below = np.ones((n, N_NODES))
    high = BOTTOM
    for a in range(n):
        if available[a]:
            high = max(high, min(tops[a], TOP))
    left = 1.0
    while high > BOTTOM and left > NEGLIGIBLE:
        low = max(BOTTOM, high - _width(ones, others, available, tops, high))
        half = (high - low) / 2
        for i in range(N_NODES):
            s = low + half * (1 + NODES[i])
            soft = _softplus(s)
            for a in range(n):
                if available[a] and low < tops[a]:
                    densities[a, i] = math.exp(ones[a] * s - (ones[a] + others[a]) * soft - logs[a])
        left = _add_panel(densities, below, above, available, half, chances)
        high = low
    for a in range(n):
        if available[a]:
            chances[a] += left
            break


@jit_inner
def _softplus(s: float) -> float:
    """Return log(1 + e^s)."""
    return s + math.log1p(math.exp(-s)) if s > 0.0 else math.log1p(math.exp(s))


@jit_inner
def _begin(
    ones: Floats,
    others: Floats,
    available: Bools,
    logs: Floats,
    tops: Floats,
    above: Floats,
    chances: Floats,
) -> None:
    """Fill log B, where each density begins, the chances of values of 1, and who wins by them."""
    none_before = 1.0
    for a in range(ones.size):
        chances[a] = 0.0
        logs[a] = math.lgamma(ones[a]) + math.lgamma(others[a]) - math.lgamma(ones[a] + others[a])
        tops[a] = _end(ones[a], others[a])
        if available[a] and tops[a] >= TOP:
            above[a] = min(1.0, math.exp(-others[a] * TOP - logs[a]) / others[a])
            chances[a] = none_before * above[a]
            none_before *= 1 - above[a]


@jit_inner
def _depth(one: float, other: float, s: float) -> float:
    """Return the logarithm of the density at s, relative to the peak."""
    peak = math.log(one / other)
    return one * (s - peak) - (one + other) * (_softplus(s) - _softplus(peak))


@jit_inner
def _local_width(one: float, other: float, s: float) -> float:
    """Return the width of a panel below s that is narrow enough for one density."""
    spread = math.sqrt(1 / one + 1 / other)
    distance = s - math.log(one / other)
    decay = other if distance > 0.0 else one
    width = min(
        FIRST_WIDTH * spread + GROWTH * abs(distance), SHARE_OF_BEND * math.hypot(s, math.pi)
    )
    return min(width, max(spread, LARGEST_WIDTH / decay))


@jit_inner
def _width(ones: Floats, others: Floats, available: Bools, tops: Floats, high: float) -> float:
    """Return the width of a panel below `high` that is narrow enough for all densities."""
    width = high - BOTTOM
    for a in range(ones.size):
        if available[a]:
            start = min(high, tops[a])
            width = min(width, high - start + _local_width(ones[a], others[a], start))
    return width


@jit_inner
def _end(one: float, other: float) -> float:
    """Return the s above which the density counts as 0."""
    s = math.log(one / other)
    while s < TOP and _depth(one, other, s) > DEEPEST:
        s += _local_width(one, other, s)
    return s


@jit_inner
def _add_panel(
    densities: Floats, below: Floats, above: Floats, available: Bools, half: float, chances: Floats
) -> float:
    """Add what a panel contributes to the chances; return the chance that all are below it.

    `above` are the chances of values above the panel, and are updated to those above its low edge.
    """
    n = above.size
    for a in range(n):
        for i in range(N_NODES):
            tail = 0.0
            for j in range(N_NODES):
                tail += ABOVE[i, j] * densities[a, j]
            below[a, i] = max(0.0, 1 - above[a] - half * tail) if available[a] else 1.0
    for i in range(N_NODES):
        _add_node(densities, below, i, half * WEIGHTS[i], chances)
    left = 1.0
    for a in range(n):
        for i in range(N_NODES):
            above[a] += half * WEIGHTS[i] * densities[a, i]
        left *= max(0.0, 1 - above[a])
    return left


@jit_inner
def _add_node(densities: Floats, below: Floats, i: int, weight: float, chances: Floats) -> None:
    """Add what a node contributes: each density times the chances that all others are below."""
    n = chances.size
    product = 1.0
    zeros = 0
    for a in range(n):
        if below[a, i] > 0.0:
            product *= below[a, i]
        else:
            zeros += 1
    for a in range(n):
        if zeros == 0:
            chances[a] += weight * densities[a, i] * (product / below[a, i])
        elif zeros == 1 and below[a, i] <= 0.0:
            chances[a] += weight * densities[a, i] * product
