"""Setup fees and bundles as arrays. `PriceList` explains the rules.

`kernels.runtime.sales` applies the same rules inside the compiled loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Problem
from thrifty.rounds import Observation

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Sales(NamedTuple):
    """The groups and bundles of a problem, by position.

    Parameters
    ----------
    groups : array of int, shape (D,)
        Number of each feature's group, or -1.
    fees : array of float
        Setup fee of each group, on the policy's scale.
    bundles : array of int, shape (D,)
        Number of each feature's bundle, or -1.
    """

    groups: NDArray[np.int64]
    fees: Floats
    bundles: NDArray[np.int64]

    @classmethod
    def from_problem(cls, problem: Problem) -> Sales:
        """Return the groups and bundles of a problem's price list; there may be none."""
        n, prices = problem.n_features, problem.prices
        groups, bundles = np.full(n, -1), np.full(n, -1)
        if prices is None:
            return cls(groups, np.zeros(0), bundles)
        for k, group in enumerate(prices.groups):
            groups[[problem.feature_index(name) for name in group.features]] = k
        for k, bundle in enumerate(prices.bundles):
            bundles[[problem.feature_index(name) for name in bundle.features]] = k
        fees = [problem.rewards.scaled_cost(group.setup) for group in prices.groups]
        return cls(groups, np.array(fees), bundles)

    def sold(self, mask: Bools, settled: Bools) -> Bools:
        """Return the features that a purchase delivers: whole bundles, without settled features."""
        sold = mask & ~settled
        bundles = self.bundles[sold & (self.bundles >= 0)]
        if bundles.size:
            sold |= np.isin(self.bundles, bundles) & ~settled
        return sold

    def costs(self, sold: Bools, known: Observation, prices: Floats) -> Floats:
        """Return the prices, with each setup fee that is due added to the group's first feature."""
        costs = prices.copy()
        for k, fee in enumerate(self.fees.tolist()):
            members = self.groups == k
            if (sold & members).any() and not (known.bought & members).any():
                costs[np.argmax(sold & members)] += fee
        return costs

    def fee_of_feature(self) -> Floats:
        """Return the setup fee of each feature's group, 0 without a group, shape (D,)."""
        return np.array([self.fees[k] if k >= 0 else 0.0 for k in self.groups.tolist()])
