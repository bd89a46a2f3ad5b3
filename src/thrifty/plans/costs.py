"""What looks cost in every case, with setup fees paid once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Costs:
    """Prices of L looks in T cases.

    Parameters
    ----------
    prices : tuple
        Price of each look: a number, or one per case, (T,).
    groups : tuple of int
        Position of each look's group, or -1.
    fees : tuple of float
        Setup fee of each group.
    n_cases : int
        T, the number of cases.

    Examples
    --------
    >>> costs = Costs((2.0, 3.0), groups=(0, 0), fees=(1.0,), n_cases=1)
    >>> costs.total([0]).tolist(), costs.total([0, 1]).tolist()
    ([3.0], [6.0])
    """

    prices: tuple[float | Floats, ...]
    groups: tuple[int, ...]
    fees: tuple[float, ...]
    n_cases: int

    def total(self, looks: Iterable[int]) -> Floats:
        """Return what these looks cost in every case when they are bought together.

        Parameters
        ----------
        looks : iterable of int
            Positions of looks.

        Returns
        -------
        array of float, shape (T,)
            Costs in money.
        """
        bought = list(looks)
        groups = {self.groups[k] for k in bought if self.groups[k] >= 0}
        total = np.full(self.n_cases, float(sum(self.fees[g] for g in groups)))
        for k in bought:
            total += self.prices[k]
        return total

    def scaled(self, factor: float) -> Costs:
        """Return the costs with all prices and fees multiplied by a factor.

        Parameters
        ----------
        factor : float
            At least 0.

        Returns
        -------
        Costs
            The other costs.
        """
        return replace(
            self,
            prices=tuple(factor * price for price in self.prices),
            fees=tuple(factor * fee for fee in self.fees),
        )

    def without_price(self, look: int) -> Costs:
        """Return the costs if one look cost nothing, not even a setup fee.

        Parameters
        ----------
        look : int
            Position of the look.

        Returns
        -------
        Costs
            The other costs.
        """
        others = range(len(self.prices))
        return replace(
            self,
            prices=tuple(0.0 if k == look else self.prices[k] for k in others),
            groups=tuple(-1 if k == look else self.groups[k] for k in others),
        )

    def subset(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Costs:
        """Return the costs of some of the cases.

        Parameters
        ----------
        rows : array of int or bool
            Positions of the cases, or True for each case to keep.

        Returns
        -------
        Costs
            The same prices with fewer cases.
        """
        return replace(
            self,
            prices=tuple(
                price[rows] if isinstance(price, np.ndarray) else price for price in self.prices
            ),
            n_cases=len(np.arange(self.n_cases)[rows]),
        )
