"""Random folds in which every outcome is as frequent as in all cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stratified_folds(
    outcomes: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of every case.

    Parameters
    ----------
    outcomes : array of int, shape (T,)
        Outcome of every case.
    n_folds : int
        Number of folds.
    rng : Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (T,)
        Folds, counted from 0. Each has the same number of cases of every outcome, up to one.

    Examples
    --------
    >>> folds = stratified_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(1))
    >>> sorted(folds[:2].tolist()), sorted(folds[2:].tolist())
    ([0, 1], [0, 1])
    """
    order = rng.permutation(len(outcomes))
    by_outcome = order[np.argsort(outcomes[order], kind="stable")]
    folds = np.empty(len(outcomes), np.int64)
    # Dealt like cards, outcome after outcome, so that the sizes of folds differ by at most one.
    folds[by_outcome] = np.arange(len(outcomes)) % n_folds
    return folds
