"""Chance of each of several independent normal variates to be the largest one, by quadrature.

Variate a is the largest with probability integral f_a(s) prod_b F_b(s) ds over all b but a, with
densities f and distribution functions F. The integral has panels that begin at fixed numbers of
standard deviations from each mean, with Gauss-Legendre nodes in each. It begins where one of the
variates is nearly certain to be larger. A variate without width has its mean as its value. Of
several such variates with the same value the first one counts as the largest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import legendre

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.shared.variates import normal

ERROR = 1e-9
"""Bound on the error of each chance, as the tests check it."""
REACH = 8.0
"""Standard deviations from the mean beyond which a variate is not expected."""
STEPS = np.array([-REACH, -6.0, -4.5, -3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 6.0, REACH])
"""Beginnings of panels, in standard deviations from each mean."""
NODES, WEIGHTS = legendre.leggauss(12)
DENSITY = 1 / math.sqrt(2 * math.pi)


@jit_inner
def draw_largest(means: Floats, widths: Floats, available: Bools, stream: Ints) -> int:
    """Return the first of the largest variates, drawn in order."""
    values = np.empty(means.size)
    for a in range(means.size):
        values[a] = means[a] + widths[a] * normal(stream)
    return first_maximum(values, available)


@jit
def chances_of_largest(means: Floats, widths: Floats, available: Bools, chances: Floats) -> None:
    """Fill `chances` for variates with these parameters; those not available have none."""
    fill_chances(means, widths, available, chances)


@jit_inner
def fill_chances(means: Floats, widths: Floats, available: Bools, chances: Floats) -> None:
    """Fill `chances`, for other compiled functions."""
    chances[:] = 0.0
    below = np.ones(means.size)
    fixed = _largest_fixed(means, widths, available)
    if fixed >= 0:
        chances[fixed] = _chance_below(means, widths, available, means[fixed], below)
    edges = _edges(means, widths, available)
    for k in range(edges.size - 1):
        half = (edges[k + 1] - edges[k]) / 2
        if half == 0.0:
            continue
        for i in range(NODES.size):
            s = edges[k] + half * (1 + NODES[i])
            all_below = _chance_below(means, widths, available, s, below)
            for a in range(means.size):
                if available[a] and widths[a] > 0.0:
                    z = (s - means[a]) / widths[a]
                    density = DENSITY * math.exp(-z * z / 2) / widths[a]
                    chances[a] += half * WEIGHTS[i] * density * (all_below / below[a])


@jit_inner
def _largest_fixed(means: Floats, widths: Floats, available: Bools) -> int:
    """Return the first of the largest variates without width, -1 if there are none."""
    best = -1
    for a in range(means.size):
        if available[a] and widths[a] == 0.0 and (best < 0 or means[a] > means[best]):
            best = a
    return best


@jit_inner
def _edges(means: Floats, widths: Floats, available: Bools) -> Floats:
    """Return the limits of the panels, from the lowest value that the largest variate may have."""
    low = -np.inf
    for a in range(means.size):
        if available[a]:
            low = max(low, means[a] - REACH * widths[a])
    edges = np.full(means.size * STEPS.size + 1, low)
    for a in range(means.size):
        if available[a] and widths[a] > 0.0:
            for k in range(STEPS.size):
                edges[a * STEPS.size + k] = max(low, means[a] + STEPS[k] * widths[a])
    return np.sort(edges)


@jit_inner
def _chance_below(
    means: Floats, widths: Floats, available: Bools, s: float, below: Floats
) -> float:
    """Return the chance that no variate is above s; fill `below` with the chance for each."""
    product = 1.0
    for a in range(means.size):
        if available[a] and widths[a] > 0.0:
            below[a] = math.erfc((means[a] - s) / widths[a] / math.sqrt(2.0)) / 2
            product *= below[a]
    return product
