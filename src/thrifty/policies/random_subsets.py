"""Probability of a purchase that is a random subset, such as Scout's with `max_features`."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]


def chance_of_subset(
    sought: Bools, candidates: Bools, kept: Bools, most: int, bundles: NDArray[np.int64]
) -> float:
    """Return the probability that a random subset of the candidates is sold as the sought mask.

    All of `kept` are bought, and of the other candidates as many as `most` features allow, each
    combination equally likely. A bundle is sold as a whole if any of its features is bought.

    Parameters
    ----------
    sought : array of bool, shape (D,)
        Features that are sold.
    candidates, kept : array of bool, shape (D,)
        Features to choose from, and features that are bought in any case.
    most : int
        Largest number of features that are chosen.
    bundles : array of int, shape (D,)
        Number of each feature's bundle, or -1.

    Returns
    -------
    float
        The probability.

    Examples
    --------
    Two of three features are chosen, none of which belongs to a bundle:

    >>> three, none = np.ones(3, np.bool_), np.zeros(3, np.bool_)
    >>> alone = np.full(3, -1)
    >>> chance = chance_of_subset(np.array([True, True, False]), three, none, 2, alone)
    >>> round(chance, 4)
    0.3333

    The first two are sold together, so two of three combinations lead to all three features:

    >>> round(chance_of_subset(three, three, none, 2, np.array([0, 0, -1])), 4)
    0.6667
    """
    others = candidates & ~kept
    number = int(others.sum())
    chosen = min(number, max(0, most - int(kept.sum())))
    ways = [1] + [0] * chosen
    left = sought.copy()
    for unit in _units(others | kept, bundles):
        left[unit] = False
        n, has_kept = int(others[unit].sum()), bool(kept[unit].any())
        if not sought[unit].any():
            if has_kept:
                return 0.0
            continue
        fewest = 0 if has_kept else 1
        ways = [
            sum(ways[k - r] * comb(n, r) for r in range(fewest, min(n, k) + 1))
            for k in range(chosen + 1)
        ]
    return 0.0 if left.any() else ways[chosen] / comb(number, chosen)


def _units(features: Bools, bundles: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the positions of features that are sold together."""
    alone = [np.array([i]) for i in np.flatnonzero(features & (bundles < 0))]
    numbers = np.unique(bundles[features & (bundles >= 0)])
    return alone + [np.flatnonzero(bundles == k) for k in numbers]
