"""The first rounds of the authors' program: every subset is bought once, in counting order."""

from __future__ import annotations

SWEEP = 1
"""The purpose of a purchase made in the sweep."""


def sweep_rounds(n_features: int) -> int:
    """Return how many rounds a sweep takes: 2^D, or more than anyone will play.

    >>> sweep_rounds(5)
    32
    """
    return 2 ** min(n_features, 62)
