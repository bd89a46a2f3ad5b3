"""How often Scout explores and probes, and what it looks at then."""

from __future__ import annotations

import math

from thrifty.kernels.runtime.arrays import Bools
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout import prices, wide_rounds
from thrifty.kernels.scout.state import ScoutState, blind_mean

YOUNG = 30
"""Exploration is not penalised for this many rounds after a restart."""
EPSILON, LEAST_EPSILON, MOST_EPSILON = 0.7, 0.005, 0.5
AMBIGUITY = 6.0
LEAST_MATTERING = 0.1
PROBES = 0.25
HEADROOM, LEAST_LOSS = 0.8, 0.02
GROWING_HEADROOM = 0.4
LOSS = 0.6
YOUNG_LOSS = 0.2
"""What acting blindly is taken to lose while little is known."""
CAUTION, YOUNG_CAUTION = 10, 3
GROWING_LOSS = 0.5
CAMPAIGN, CAMPAIGN_LOSS, CAMPAIGN_DOUBT = 150.0, 1.0, 0.3
GROWING_PROBES = 1.4


@jit_inner
def headroom_of(state: ScoutState) -> float:
    """Return U, how much more than now can be gained at the most."""
    return max(0.0, 1.0 - state.book[0]["value"])


@jit_inner
def fill_explored(state: ScoutState, mask: Bools) -> None:
    """Fill in the features that may pay for themselves, or were never seen."""
    headroom = headroom_of(state)
    for i in range(mask.size):
        price = state.prices[i]
        mask[i] = state.book[0]["age"] <= YOUNG or price["seen"] == 0 or price["mean"] < headroom


@jit_inner
def chance_to_explore(state: ScoutState, explored: Bools) -> float:
    """Return the chance to explore.

    It falls with the age and rises with the doubt which set is the right one. It is less where a
    round that explores loses much and, later, where little can be gained and where rewards hardly
    seem to depend on any feature. How many such rounds it takes to find the features that matter
    hardly depends on how many there are, but what they cost does. So with very many features a
    campaign of them comes first, until it is clear which features matter.
    """
    book = state.book
    age = book[0]["age"]
    if age == 0:
        return 1.0
    doubt = 1 - book[0]["certainty"]
    epsilon = max(LEAST_EPSILON, EPSILON * (1 + AMBIGUITY * doubt) / math.sqrt(age))
    price = _price(state, explored)
    if age <= YOUNG:
        cheap = 1.0 if grows(state) else min(1.0, LOSS / (price + YOUNG_LOSS))
        return min(1.0, epsilon) * cheap**YOUNG_CAUTION
    matters = max(LEAST_MATTERING, 1 - math.exp(state.weights.log[0]))
    loss = book[0]["value"] - blind_mean(state) + price
    scope = _scope(state, loss)
    epsilon = min(MOST_EPSILON, epsilon * matters) * scope * _cheapness(state, loss)
    if grows(state) and doubt > CAMPAIGN_DOUBT:
        campaign = CAMPAIGN * scope * CAMPAIGN_LOSS / max(loss, CAMPAIGN_LOSS)
        if wide_rounds.number(state.wide_rounds) < campaign:
            return MOST_EPSILON
    return epsilon


@jit_inner
def _scope(state: ScoutState, loss: float) -> float:
    """Return how much can be gained beside what a round that explores loses, at most 1."""
    enough = HEADROOM * max(loss, LEAST_LOSS)
    if grows(state):
        enough = min(enough, GROWING_HEADROOM)
    return min(1.0, headroom_of(state) / enough)


@jit_inner
def _cheapness(state: ScoutState, loss: float) -> float:
    """Return what is left of exploring if such a round loses so much.

    With very many features it is dear at all times, and there is more to be found.
    """
    if grows(state):
        return GROWING_LOSS / max(loss, GROWING_LOSS)
    return (LOSS / max(loss, LOSS)) ** CAUTION


@jit_inner
def _price(state: ScoutState, explored: Bools) -> float:
    """Return what a round that explores costs, within the limit on the number of features."""
    features = 0
    for i in range(explored.size):
        features += explored[i]
    kept = min(1.0, state.limits.features / max(1, features))
    return kept * prices.total(state.prices, explored)


@jit_inner
def grows(state: ScoutState) -> bool:
    """Whether there are too many features for tables of all sets."""
    return state.subsets.masks.size > state.subsets.order.size


@jit_inner
def chance_to_probe(state: ScoutState, epsilon: float) -> float:
    """Return the chance to probe.

    Of many features more are likely to be missing in the set in use, and a probe loses less than a
    round that explores: so there are more probes, the more that is left to be gained.
    """
    age = state.book[0]["age"]
    if age <= YOUNG or not grows(state):
        return PROBES * epsilon
    headroom = min(1.0, headroom_of(state) / GROWING_HEADROOM)
    return max(PROBES * epsilon, GROWING_PROBES * headroom**2 / math.sqrt(age))
