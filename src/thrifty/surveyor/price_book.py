"""Everything that can be bought, at the prices paid lately."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import Look, list_looks
from thrifty.problem import Problem

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MEMORY = 0.02
"""Weight of the latest price in the running mean of a feature's price."""


class PriceBook:
    """Looks with their present prices, in money.

    Parameters
    ----------
    problem : Problem
        A problem with list prices.

    Attributes
    ----------
    looks : tuple of Look
        Everything that can be bought.
    free : array of bool, shape (D,), or None
        True for features that are known before buying; None until a case shows which ones.
    paid : array of float, shape (D,)
        Running mean of the prices paid on the policy's scale, nan if a feature was never bought.

    Examples
    --------
    >>> from thrifty.problem import Feature
    >>> features = [Feature("x", ("0", "1")), Feature("y", ("0", "1"))]
    >>> book = PriceBook(Problem(features, ["go", "stop"], prices={"x": 2.0, "y": 3.0}))
    >>> book.price_of_everything
    5.0
    >>> book.add(np.array([4.0, np.nan]))
    >>> book.prices
    {'x': 4.0, 'y': 3.0}
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._span = problem.rewards.span
        self.free: Bools | None = None
        self.looks = list_looks(problem, np.zeros(problem.n_features, np.bool_))
        self.paid = np.full(problem.n_features, np.nan)
        self._total: float | None = None

    def set_free(self, free: Bools) -> None:
        """Note which features are known before buying."""
        self.free = free.copy()
        self.looks = list_looks(self._problem, self.free)
        self._total = None

    def add(self, costs: Floats) -> None:
        """Take in what was paid for each feature in a case, nan where nothing was bought."""
        if np.isnan(costs).all():
            return
        before = self.paid
        later = np.where(np.isnan(before), costs, before + MEMORY * (costs - before))
        self.set_paid(np.where(np.isnan(costs), before, later))

    def set_paid(self, paid: Floats) -> None:
        """Replace the running means of the prices paid."""
        self.paid, self._total = paid, None

    @property
    def prices(self) -> dict[str, float]:
        """Present price of every look, by name."""
        return {look.name: self._price(look) for look in self.looks}

    @property
    def price_of_everything(self) -> float:
        """Present price of all looks together, with the setup fees of their groups."""
        # Kept, because every decision needs it, and it changes only when something was bought.
        if self._total is None:
            listed = self._problem.prices
            assert listed is not None
            fees = {look.group for look in self.looks if look.group >= 0}
            setup = sum(listed.groups[g].setup for g in fees)
            self._total = sum(map(self._price, self.looks)) + setup
        return self._total

    def _price(self, look: Look) -> float:
        """Return the mean price paid lately, or the list price."""
        paid = self.paid[list(look.columns)]
        if np.isnan(paid).any() or look.group >= 0:  # the fee is booked on one of a group
            return look.price
        return float(paid.sum()) * self._span
