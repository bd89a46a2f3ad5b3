"""What a look is worth: the price at which buying it no longer pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from thrifty.plans.bank import Bank
from thrifty.plans.cross_fitting import cross_fitted_gains

SHOWN_FROM = 2.0
"""Number of standard errors from which a worth is called shown."""


@dataclass(frozen=True)
class BreakEven:
    """What one look is worth if all others can be bought at their prices.

    Parameters
    ----------
    look : int
        Position of the look.
    price : float
        Its mean price, with the setup fee of its group.
    value : float
        Gain of the best plan if the look were free, minus the gain of the best plan without it;
        at least 0.
    standard_error : float
        Standard error of `value`.
    """

    look: int
    price: float
    value: float
    standard_error: float

    @property
    def is_shown(self) -> bool:
        """True if the cases show that the look is worth something."""
        return self.value > SHOWN_FROM * self.standard_error


def break_even(
    bank: Bank,
    looks: Iterable[int] | None = None,
    *,
    on_look: Callable[[], None] = lambda: None,
) -> tuple[BreakEven, ...]:
    """Return the break-even price of looks.

    Parameters
    ----------
    bank : Bank
        A bank that was searched.
    looks : iterable of int, optional
        The looks; all of them by default.
    on_look : callable
        Called after every look, to show progress.

    Returns
    -------
    tuple of BreakEven
        One for each look, in the same order.
    """
    found = []
    for look in range(len(bank.cases.looks)) if looks is None else looks:
        found.append(_of_look(bank, look))
        on_look()
    return tuple(found)


def _of_look(bank: Bank, look: int) -> BreakEven:
    costs = bank.cases.costs
    free = cross_fitted_gains(bank, costs.without_price(look))
    never = cross_fitted_gains(bank, costs, without=look)
    added = free - never
    error = float(added.std(ddof=1)) / np.sqrt(len(added))
    price = float(costs.total([look]).mean())
    return BreakEven(look, price, max(float(added.mean()), 0.0), error)
