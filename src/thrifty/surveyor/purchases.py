"""The purchases of a case: nothing, everything, or what a plan asks for next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.rounds import Observation, Purchase
from thrifty.surveyor.plans_in_use import PlansInUse
from thrifty.surveyor.price_book import PriceBook
from thrifty.surveyor.purposes import EXPLORE, place_of

Bools = NDArray[np.bool_]


def is_new(known: Observation) -> bool:
    """Return True if nothing was bought in the case."""
    return bool(np.isnan(known.costs).all())


def nothing(known: Observation, purpose: int) -> Purchase:
    """Return the empty purchase."""
    return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), purpose)


def everything(known: Observation, book: PriceBook) -> Purchase:
    """Return the purchase of all features that can still be bought."""
    free = known.free if book.free is None else book.free
    unknown: Bools = ~known.settled & ~free
    return Purchase.unchecked(unknown, EXPLORE)


def next_of_plan(plans: PlansInUse, known: Observation, purpose: int) -> Purchase:
    """Return the purchase by which a plan goes on."""
    mask = np.zeros(known.codes.size, np.bool_)
    mask[list(plans.at(place_of(purpose))[1].follow(known)[1])] = True
    return Purchase.unchecked(mask, purpose)
