"""Probabilities of actions where random numbers break ties, as in `kernels.runtime.choice`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.propensities import one_hot

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def equal_chances(allowed: Bools) -> Floats:
    """Return the same probability for each of the allowed actions.

    >>> equal_chances(np.array([True, False, True])).tolist()
    [0.5, 0.0, 0.5]
    """
    chances: Floats = allowed * (1 / np.count_nonzero(allowed))
    return chances


def chances_of_maximum(values: Floats, available: Bools) -> Floats:
    """Return the same probability for each of the available actions with the largest value.

    >>> chances_of_maximum(np.array([3.0, 7.0, 7.0]), np.array([True, True, True])).tolist()
    [0.0, 0.5, 0.5]
    """
    return equal_chances(_best(values, available))


def chances_of_last_maximum(values: Floats, available: Bools) -> Floats:
    """Return 1 for the last of the best actions, or equal probabilities if all of them tie.

    >>> chances_of_last_maximum(np.array([3.0, 7.0, 7.0]), np.array([True, True, True])).tolist()
    [0.0, 0.0, 1.0]
    """
    best = _best(values, available)
    if np.count_nonzero(best) == np.count_nonzero(available):
        return equal_chances(available)
    return one_hot(values.size, int(np.flatnonzero(best)[-1]))


def chances_of_untried_or_last(values: Floats, available: Bools) -> Floats:
    """Return 1 for the first infinite value, or else `chances_of_last_maximum`.

    >>> everything = np.array([True, True, True])
    >>> chances_of_untried_or_last(np.array([3.0, np.inf, np.inf]), everything).tolist()
    [0.0, 1.0, 0.0]
    """
    first = int(np.where(available, values, -np.inf).argmax())
    if np.isinf(values[first]):
        return one_hot(values.size, first)
    return chances_of_last_maximum(values, available)


def _best(values: Floats, available: Bools) -> Bools:
    best: Bools = available & (values == np.where(available, values, -np.inf).max())
    return best
