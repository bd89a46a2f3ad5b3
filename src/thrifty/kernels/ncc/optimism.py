"""Problem (17) without a solver: the largest mean over an L1 ball around an estimate."""

from __future__ import annotations

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit, jit_inner


@jit
def optimistic_mean(
    values: Floats, masses: Floats, radius: float, surplus: float, simplex: bool
) -> float:
    """Return max <q, values> over all q with sum 1 and |q - masses|_1 <= radius; shuffles both.

    `masses` sum to 1 + `surplus`, surplus >= 0. Mass `up` goes to the best state, and up + surplus
    is taken away, from the worst states upward if q must be a distribution (`simplex`), and all of
    it from the worst one if q may be negative. If no q is that near, the nearest ones count. If
    all masses are 0 nothing is known, and every q is feasible.
    """
    best = worst = values[0]
    for value in values:
        best, worst = max(best, value), min(worst, value)
    total = 0.0
    at_best = 0.0
    mean = 0.0
    for k in range(values.size):
        total += masses[k]
        mean += masses[k] * values[k]
        if values[k] == best:
            at_best += masses[k]
    if total == 0.0:
        return best
    up = max(0.0, (radius - surplus) / 2)
    if not simplex:
        return mean + up * best - (up + surplus) * worst
    up = min(up, max(0.0, 1.0 - at_best))
    return mean + up * best - lowest(values, masses, up + surplus)


@jit_inner
def lowest(values: Floats, masses: Floats, amount: float) -> float:
    """Return the sum of mass times value over the `amount` of mass with the lowest values.

    Like quickselect, it sorts only as far as needed: linear time on average.
    """
    low, high = 0, values.size
    total = 0.0
    while low < high and amount > 0.0:
        pivot = values[(low + high) // 2]
        less, more = _partition(values, masses, low, high, pivot)
        mass = _total(masses, low, less)
        if mass >= amount:
            high = less
            continue
        for k in range(low, less):
            total += masses[k] * values[k]
        amount -= mass
        equal = min(amount, _total(masses, less, more))
        total += equal * pivot
        amount -= equal
        low = more
    return total


@jit_inner
def _partition(
    values: Floats, masses: Floats, low: int, high: int, pivot: float
) -> tuple[int, int]:
    """Sort [low, high) into below, at and above the pivot; return where the last two begin."""
    less, k, more = low, low, high
    while k < more:
        if values[k] < pivot:
            _swap(values, masses, k, less)
            less += 1
            k += 1
        elif values[k] > pivot:
            more -= 1
            _swap(values, masses, k, more)
        else:
            k += 1
    return less, more


@jit_inner
def _total(masses: Floats, low: int, high: int) -> float:
    total = 0.0
    for k in range(low, high):
        total += masses[k]
    return total


@jit_inner
def _swap(values: Floats, masses: Floats, j: int, k: int) -> None:
    values[j], values[k] = values[k], values[j]
    masses[j], masses[k] = masses[k], masses[j]
