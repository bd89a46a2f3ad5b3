"""Probability of a purchase that is a random subset, such as Scout's with `max_features`.

Sets of features are whole numbers, one bit for each feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import comb


def sold(bought: int, bundles: Iterable[int]) -> int:
    """Return what is sold: a bundle as a whole if any of its features is bought.

    >>> bin(sold(0b001, [0b011]))
    '0b11'
    """
    for bundle in bundles:
        if bought & bundle:
            bought |= bundle
    return bought


def chance_of_subset(
    sought: int, candidates: int, kept: int, most: int, bundles: Iterable[int] = ()
) -> float:
    """Return the probability that a random subset of the candidates is sold as the sought set.

    All of `kept` are bought, and of the other candidates as many as `most` features allow, each
    combination equally likely.

    Parameters
    ----------
    sought : int
        Features that are sold.
    candidates, kept : int
        Features to choose from, and features that are bought in any case.
    most : int
        Largest number of features that are chosen.
    bundles : iterable of int
        The bundles, without features that cannot be bought any more.

    Returns
    -------
    float
        The probability.

    Examples
    --------
    Two of three features are chosen, none of which belongs to a bundle:

    >>> round(chance_of_subset(0b110, 0b111, 0, 2), 4)
    0.3333

    The first two are sold together, so two of three combinations lead to all three features:

    >>> round(chance_of_subset(0b111, 0b111, 0, 2, [0b110]), 4)
    0.6667
    """
    others = candidates & ~kept
    number = others.bit_count()
    chosen = min(number, max(0, most - kept.bit_count()))
    if sought & ~sold(candidates | kept, bundles):
        return 0.0
    ways = [1] + [0] * chosen
    for unit in _units(candidates | kept, bundles):
        if unit & sought not in (0, unit) or (not unit & sought and unit & kept):
            return 0.0
        if unit & sought:
            ways = _with_unit(ways, (others & unit).bit_count(), 0 if unit & kept else 1)
    return ways[chosen] / comb(number, chosen)


def _with_unit(ways: list[int], size: int, fewest: int) -> list[int]:
    """Return the numbers of combinations, by size, with `fewest` or more features of a unit."""
    return [
        sum(ways[k - r] * comb(size, r) for r in range(fewest, min(size, k) + 1))
        for k in range(len(ways))
    ]


def _units(features: int, bundles: Iterable[int]) -> Iterator[int]:
    """Yield the sets of features that are sold together."""
    for bundle in bundles:
        if features & bundle:
            yield bundle
            features &= ~bundle
    while features:
        yield features & -features
        features &= features - 1
