"""How features are sold: setup fees of groups, and bundles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Problem
from thrifty.rounds import Observation

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Sales(NamedTuple):
    """The groups and bundles of a problem, as arrays for the compiled loop.

    `groups` and `bundles` hold for each feature the number of its group and of its bundle, or -1;
    `fees` are the setup fees of the groups on the policy's scale.
    """

    groups: NDArray[np.int64]
    fees: Floats
    bundles: NDArray[np.int64]

    @classmethod
    def from_problem(cls, problem: Problem) -> Sales:
        """Return the sales of a problem; without a price list every feature is sold alone."""
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

    def sold(self, mask: Bools, known: Observation) -> Bools:
        """Return what a purchase reveals: whole bundles, and nothing that is known already."""
        bundles = np.unique(self.bundles[mask & (self.bundles >= 0) & ~known.mask])
        sold: Bools = (mask | np.isin(self.bundles, bundles)) & ~known.mask
        return sold

    def costs(self, sold: Bools, known: Observation, prices: Floats) -> Floats:
        """Return the prices with each new group's setup fee added to the first of its features."""
        costs = prices.copy()
        for k, fee in enumerate(self.fees.tolist()):
            members = self.groups == k
            if (sold & members).any() and not (known.bought & members).any():
                costs[np.argmax(sold & members)] += fee
        return costs
