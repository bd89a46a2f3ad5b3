"""Plans that spend less: grown from the same models, as if prices were higher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, PastCases
from thrifty.plans.cross_fitting import cross_fitted_gains
from thrifty.plans.files import plan_from_dict, plan_to_dict
from thrifty.plans.frontier import Point, upper_hull
from thrifty.plans.growth import Grown, Tip
from thrifty.plans.learning import Learnt
from thrifty.plans.tree import PlanTree

FACTOR_RATIO = 1.25
"""Each price factor is this many times the one before."""
MAX_FACTOR = 1_000.0


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
        It is the best plan if all prices are multiplied by this.
    """

    plan: PlanTree
    leaf_frequencies: tuple[Floats, ...]
    gain: float
    spend: float
    price_factor: float

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
    bank: Bank, *, nothing_gain: float, plan: Point, one_purchase: bool = False
) -> tuple[Rung, ...]:
    """Return the plans between buying nothing and the best plan that are worth mixing.

    Models are not fitted again for the comparison: their probabilities do not depend on prices.

    Parameters
    ----------
    bank : Bank
        A bank that was searched.
    nothing_gain : float
        Expected gain of acting without buying.
    plan : Point
        Spend and gain of the best plan.
    one_purchase : bool
        True if a plan may buy only once per case.

    Returns
    -------
    tuple of Rung
        Plans by increasing spend. With the two ends they form a concave curve of spend and gain.
    """
    found: dict[Point, Learnt] = {}
    for learnt in _dearer_plans(bank, one_purchase):
        costs = bank.cases.costs
        factor = learnt.price_factor
        gains = cross_fitted_gains(bank, costs, one_purchase=one_purchase, price_factor=factor)
        # More than the best plan is luck. Without luck the curve ends at the best plan.
        gain = min(float(gains.mean()), plan.gain)
        found.setdefault(Point(mean_spend(learnt.grown, bank.cases), gain), learnt)
    points = [Point(0.0, nothing_gain), *found, plan]
    chosen = [points[k] for k in upper_hull(points) if points[k] in found]
    return tuple(_rung(found[p], p) for p in chosen if 0 < p.spend < plan.spend)


def _dearer_plans(bank: Bank, one_purchase: bool) -> Iterator[Learnt]:
    """Yield plans grown for higher and higher prices, until nothing is bought."""
    factor = FACTOR_RATIO
    while factor < MAX_FACTOR:
        learnt = Learnt(bank, one_purchase, price_factor=factor)
        if not any(tip.option.looks for tip in _tips(learnt.grown)):
            return
        yield learnt
        factor *= FACTOR_RATIO


def _rung(learnt: Learnt, point: Point) -> Rung:
    cases = learnt.bank.cases
    frequencies = [_frequencies(tip.rows, cases) for tip in _tips(learnt.grown)]
    return Rung(learnt.plan, tuple(frequencies), point.gain, point.spend, learnt.price_factor)


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
