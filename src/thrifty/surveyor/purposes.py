"""Why something was bought, as the number that `Purchase.purpose` carries through a case."""

from __future__ import annotations

from thrifty.surveyor.plans_in_use import Place

FOLLOW, EXPLORE, CAUTION, FOLLOW_CHEAPER = 1, 2, 3, 4
"""Purposes of purchases: carry out the plan, look at everything, or lose nothing more.

From `FOLLOW_CHEAPER` on: carry out one of the plans that spend less, counted from 0.
"""


def purpose_of(place: Place) -> int:
    """Return the purpose of purchases by which a plan is carried out."""
    return FOLLOW if place is None else FOLLOW_CHEAPER + place


def place_of(purpose: int) -> Place:
    """Return the place of the plan that purchases of this purpose carry out."""
    return None if purpose < FOLLOW_CHEAPER else purpose - FOLLOW_CHEAPER


def is_plan(purpose: int) -> bool:
    """Return True if a plan that buys something was carried out."""
    return purpose == FOLLOW or purpose > FOLLOW_CHEAPER
