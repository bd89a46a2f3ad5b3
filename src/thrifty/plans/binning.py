"""From codes of features to the bins that models compare with thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.features import Feature
from thrifty.plans.cases import PastCases

Bins = NDArray[np.uint8]
MAX_BINS = 256
PRIOR_CASES = 5.0
"""Number of average cases that are added to every level before levels are ordered."""


@dataclass(frozen=True, eq=False)
class Binning:
    """The bin of every level of every feature.

    A number keeps its order, with missing values below all others. The levels of a category are
    ordered by how much the best constant action gains in them, so that one threshold separates
    good levels from bad ones.

    Parameters
    ----------
    lookups : tuple of array
        For each feature the bin of every level, (levels + 1,). The last entry is for a value that
        could not be obtained (code -1).
    n_bins : array of int, shape (D,)
        Number of bins of each feature.
    """

    lookups: tuple[Bins, ...]
    n_bins: NDArray[np.int64]

    @classmethod
    def learn(cls, cases: PastCases, *, fewest: int = 0) -> Binning:
        """Order the levels of categories by what past cases gained in them.

        Parameters
        ----------
        cases : PastCases
            Cases to learn from.
        fewest : int
            Levels of a category with fewer cases share one bin. The order of the levels depends on
            the outcomes of all cases, so models of rare levels would have seen every outcome.

        Returns
        -------
        Binning
            The bins of every feature.
        """
        advantage = _advantage(cases)
        lookups = tuple(
            _ordered_lookup(feature, cases.codes[:, i])
            if feature.ordered
            else _category_lookup(feature, cases.codes[:, i], advantage, fewest)
            for i, feature in enumerate(cases.problem.features)
        )
        n_bins = np.array([int(lookup.max()) + 1 for lookup in lookups])
        return cls(lookups, n_bins)

    def apply(self, codes: NDArray[np.int16]) -> Bins:
        """Return the bin of every code.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of all features; -1 where a value could not be obtained.

        Returns
        -------
        array of int, shape (n, D)
            Bins.
        """
        bins = np.empty(codes.shape, np.uint8)
        for i, lookup in enumerate(self.lookups):
            bins[:, i] = lookup[codes[:, i]]
        return bins


def _advantage(cases: PastCases) -> NDArray[np.float64]:
    """Return how much better the best constant action is than the best other one, by case."""
    rewards = cases.action_rewards.T
    best = int(rewards.mean(axis=1).argmax())
    advantage: NDArray[np.float64] = rewards[best] - np.delete(rewards, best, axis=0).max(axis=0)
    return advantage


def _ordered_lookup(feature: Feature, codes: NDArray[np.int16]) -> Bins:
    n_intervals = len(feature.edges) + 1
    bins = np.zeros(len(feature.levels) + 1, np.uint8)
    bins[:n_intervals] = np.arange(1, n_intervals + 1)
    # A value that could not be had is like a missing one, if past cases have such values.
    if not ((codes >= n_intervals) | (codes < 0)).any() and codes.size:
        bins[-1] = bins[int(np.median(codes))]
    return bins


def _category_lookup(
    feature: Feature, codes: NDArray[np.int16], advantage: NDArray[np.float64], fewest: int
) -> Bins:
    n_levels = len(feature.levels)
    known = codes >= 0
    counts = np.bincount(codes[known], minlength=n_levels)
    sums = np.bincount(codes[known], advantage[known], minlength=n_levels)
    mean = float(advantage.mean()) if advantage.size else 0.0
    rare = counts < fewest
    counts[rare], sums[rare] = counts[rare].sum(), sums[rare].sum()
    score = (sums + PRIOR_CASES * mean) / (counts + PRIOR_CASES)
    order = np.argsort(score, kind="stable")
    bins = np.empty(n_levels + 1, np.uint8)
    bins[order] = np.arange(n_levels) * min(MAX_BINS, n_levels) // n_levels
    if rare.any():
        bins[:-1][rare] = bins[:-1][rare].min()
    if feature.missing is not None:
        bins[-1] = bins[feature.levels.index(feature.missing)]
    else:
        bins[-1] = bins[order[min(int((score < mean).sum()), n_levels - 1)]]
    return bins
