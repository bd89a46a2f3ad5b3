"""How the gain of a plan depends on the level of prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.plans.bank import Bank
from thrifty.plans.costs import Costs
from thrifty.plans.cross_fitting import cross_fitted_gains
from thrifty.plans.options import Options

FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class PricePoint:
    """Mean gains per case at one level of prices, in money.

    Parameters
    ----------
    factor : float
        What all prices and setup fees are multiplied by.
    plan : float
        Gain of the plan that is best at these prices.
    fixed : float
        Gain of the best fixed set of looks at these prices.
    nothing : float
        Gain without buying.
    """

    factor: float
    plan: float
    fixed: float
    nothing: float


def price_curve(
    bank: Bank,
    factors: Sequence[float] = FACTORS,
    *,
    on_point: Callable[[], None] = lambda: None,
) -> tuple[PricePoint, ...]:
    """Return what plans gain if all prices are multiplied by a factor.

    Models are not fitted again: their probabilities do not depend on prices.

    Parameters
    ----------
    bank : Bank
        A bank that was searched.
    factors : sequence of float
        Levels of prices; 1 means the real prices.
    on_point : callable
        Called after every point, to show progress.

    Returns
    -------
    tuple of PricePoint
        One for each factor.
    """
    points = []
    for factor in factors:
        costs = bank.cases.costs.scaled(factor)
        points.append(
            PricePoint(
                factor,
                plan=float(cross_fitted_gains(bank, costs).mean()),
                fixed=_single(bank, costs, bank.informative_sets),
                nothing=_single(bank, costs, ((),)),
            )
        )
        on_point()
    return tuple(points)


def _single(bank: Bank, costs: Costs, sets: Sequence[tuple[int, ...]]) -> float:
    options = Options.from_bank(bank, costs, sets)
    rows = np.arange(bank.cases.n_cases)
    option = options.choose((), rows, np.arange(options.n_sets))
    return float(options.gains_of(option, rows).mean())
