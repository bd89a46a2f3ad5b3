"""Plans that spend less: grown from the same models, as if prices were higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, PastCases
from thrifty.plans.cross_fitting import cross_fitted_gains
from thrifty.plans.files import plan_from_dict, plan_to_dict
from thrifty.plans.growth import Grown, Tip
from thrifty.plans.learning import Learnt
from thrifty.plans.tree import PlanTree

FACTOR_RATIO = 1.25
"""Each price factor is this many times the one before."""
MAX_FACTOR = 1_000.0
NEIGHBOURS = 2
"""Number of plans that are kept on each side of what is allowed."""


@dataclass(frozen=True, eq=False)
class Rung:
    """A plan that spends less than the best one.

    Parameters
    ----------
    plan : PlanTree
        The plan.
    leaf_frequencies : tuple of array
        Frequencies of the outcomes in each leaf, in the order of `walk`.
    gain : float
        Expected gain of a case at real prices, in money.
    spend : float
        Mean price of what it buys.
    price_factor : float
        The smallest factor found at which it is the best plan if all prices are multiplied by it.
    """

    plan: PlanTree
    leaf_frequencies: tuple[Floats, ...]
    gain: float
    spend: float
    price_factor: float

    @property
    def shadow_price(self) -> float:
        """What a unit of spend gains in which the next dearer plan differs from this one.

        The dearer plan is still the best one if a unit has to earn itself back f times, and no
        longer at the next factor. The factor between them says what its last units earn.
        """
        return self.price_factor / math.sqrt(FACTOR_RATIO) - 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "plan": plan_to_dict(self.plan),
            "leaf_frequencies": [row.tolist() for row in self.leaf_frequencies],
            "gain": self.gain,
            "spend": self.spend,
            "price_factor": self.price_factor,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Rung:
        """Return what `to_dict` described."""
        return cls(
            plan=plan_from_dict(plain["plan"]),
            leaf_frequencies=tuple(map(np.array, plain["leaf_frequencies"])),
            gain=plain["gain"],
            spend=plain["spend"],
            price_factor=plain["price_factor"],
        )


def learn_ladder(
    bank: Bank, spend: float, *, budget: float | None = None, one_purchase: bool = False
) -> tuple[Rung, ...]:
    """Return plans that spend less than the best plan: the best ones at higher prices.

    Models are not fitted again for the comparison: their probabilities do not depend on prices.
    Plans are not chosen by their estimated gains. A plan that is best at higher prices gains most
    among the plans that spend as much, and estimates are noisier than the choice itself.

    Parameters
    ----------
    bank : Bank
        A bank that was searched.
    spend : float
        What the best plan spends per case.
    budget : float, optional
        Average spend that is allowed. Only the plans around it are kept, and the cheapest one.
    one_purchase : bool
        True if a plan may buy only once per case.

    Returns
    -------
    tuple of Rung
        Plans by increasing spend; the first buys nothing.
    """
    found: list[tuple[float, Learnt]] = []
    for learnt in _dearer_plans(bank, one_purchase):
        lower = mean_spend(learnt.grown, bank.cases)
        if lower < min([spend, *(other for other, _ in found)]):
            found.append((lower, learnt))
    found.reverse()
    if budget is not None and found:
        first = sum(other <= budget for other, _ in found)
        near = found[max(first - NEIGHBOURS, 1) : first + NEIGHBOURS]
        found = [found[0], *near]
    return tuple(_rung(learnt, lower) for lower, learnt in found)


def _dearer_plans(bank: Bank, one_purchase: bool) -> Iterator[Learnt]:
    """Yield plans grown for higher and higher prices, the last of which buys nothing."""
    factor, buys = FACTOR_RATIO, True
    while buys and factor < MAX_FACTOR:
        learnt = Learnt(bank, one_purchase, price_factor=factor)
        yield learnt
        buys = mean_spend(learnt.grown, bank.cases) > 0
        factor *= FACTOR_RATIO


def _rung(learnt: Learnt, spend: float) -> Rung:
    bank, factor = learnt.bank, learnt.price_factor
    frequencies = tuple(_frequencies(tip.rows, bank.cases) for tip in _tips(learnt.grown))
    gains = cross_fitted_gains(
        bank, bank.cases.costs, one_purchase=learnt.one_purchase, price_factor=factor
    )
    return Rung(learnt.plan, frequencies, float(gains.mean()), spend, factor)


def mean_spend(grown: Grown, cases: PastCases) -> float:
    """Return the mean price of what a grown plan buys in the cases that it was grown on."""
    costs = [cases.costs.total(tip.option.looks)[tip.rows] for tip in _tips(grown)]
    return float(np.concatenate(costs).mean())


def _tips(grown: Grown) -> Iterator[Tip]:
    """Yield the ends of a grown plan, low values first."""
    if isinstance(grown, Tip):
        yield grown
        return
    yield from _tips(grown.low)
    yield from _tips(grown.high)


def _frequencies(rows: NDArray[np.int64], cases: PastCases) -> Floats:
    counts = np.bincount(cases.outcomes[rows], minlength=cases.rewards.shape[1])
    frequencies: Floats = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
    return frequencies
