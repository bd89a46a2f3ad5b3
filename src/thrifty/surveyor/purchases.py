"""How the next purchase of a case is chosen: nothing, everything, or what a plan asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.steps import Step
from thrifty.rounds import Observation, Purchase
from thrifty.surveyor.baseline import Baseline
from thrifty.surveyor.budget import Account
from thrifty.surveyor.plans_in_use import PlansInUse
from thrifty.surveyor.price_book import PriceBook
from thrifty.surveyor.purposes import CAUTION, EXPLORE, place_of, purpose_of

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NextPurchase:
    """What can be carried out in a case.

    Parameters
    ----------
    plans : PlansInUse or None
        The plans that were learnt.
    baseline : Baseline or None
        A given plan; without one the baseline is a constant action, which buys nothing.
    prefers_baseline : bool
        True if new cases carry out the given plan.
    account : Account or None
        What was spent, if there is a budget.
    book : PriceBook
        Everything that can be bought.
    """

    plans: PlansInUse | None
    baseline: Baseline | None
    prefers_baseline: bool
    account: Account | None
    book: PriceBook

    def choose(self, known: Observation, rate: float | None, draw: Callable[[], float]) -> Purchase:
        """Choose the next purchase.

        Parameters
        ----------
        known : Observation
            What is known about the case.
        rate : float or None
            The probability of looking at everything in a new case; None if a new case must not
            lose anything against the baseline.
        draw : callable
            Returns a random number in [0, 1).

        Returns
        -------
        Purchase
            The purchase; an empty one if the case is ready for its action.
        """
        is_first = is_new(known)
        if is_first and rate is not None:
            exploring = self._everything(known)
            if exploring.mask.any() and draw() < rate:
                return exploring
        if known.purpose == CAUTION or (is_first and (rate is None or self.prefers_baseline)):
            return self._safe(known)
        if self.plans is None or known.purpose == EXPLORE:
            return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), known.purpose)
        if known.purpose:
            return _next_of_plan(self.plans, known, known.purpose)
        place = self.plans.choose(self.account, draw)
        return _next_of_plan(self.plans, known, purpose_of(place))

    def chances(self, known: Observation, rate: float | None) -> list[tuple[Purchase, float]]:
        """Return the results of `choose`, each with its probability."""
        is_first, explore, exploring = is_new(known), 0.0, self._everything(known)
        if is_first and rate is not None and exploring.mask.any():
            explore = min(1.0, rate)
        if known.purpose == CAUTION or (is_first and (rate is None or self.prefers_baseline)):
            going_on = [(self._safe(known), 1.0)]
        elif self.plans is None or known.purpose == EXPLORE:
            nothing = np.zeros(known.codes.size, np.bool_)
            going_on = [(Purchase.unchecked(nothing, known.purpose), 1.0)]
        else:
            follow = [(known.purpose, 1.0)]
            if not known.purpose:
                places = self.plans.chances(self.account)
                follow = [(purpose_of(place), chance) for place, chance in places]
            going_on = [(_next_of_plan(self.plans, known, z), p) for z, p in follow]
        return [(exploring, explore), *((bought, (1 - explore) * p) for bought, p in going_on)]

    def _everything(self, known: Observation) -> Purchase:
        """Return the purchase of all features that can still be bought."""
        free = known.free if self.book.free is None else self.book.free
        unknown: Bools = ~known.settled & ~free
        return Purchase.unchecked(unknown, EXPLORE)

    def _safe(self, known: Observation) -> Purchase:
        """Return the purchase by which the baseline goes on."""
        if self.baseline is None:
            return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), CAUTION)
        return _follow(self.baseline.step, known, CAUTION)


def is_new(known: Observation) -> bool:
    """Return True if nothing was bought in the case."""
    return bool(np.isnan(known.costs).all())


def _next_of_plan(plans: PlansInUse, known: Observation, purpose: int) -> Purchase:
    return _follow(plans.at(place_of(purpose))[1], known, purpose)


def _follow(step: Step, known: Observation, purpose: int) -> Purchase:
    mask = np.zeros(known.codes.size, np.bool_)
    mask[list(step.follow(known)[1])] = True
    return Purchase.unchecked(mask, purpose)
