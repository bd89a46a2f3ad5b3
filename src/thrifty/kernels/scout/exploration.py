"""Chances to explore and to probe, and the features that such rounds buy."""

from __future__ import annotations

import math

from thrifty.kernels.runtime.arrays import Bools
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout import prices, reward_scale, sure_actions, wide_rounds
from thrifty.kernels.scout.reward_scale import SPAN
from thrifty.kernels.scout.state import ScoutState, blind_mean

YOUNG = 30
"""Exploration is not penalised for this many rounds after a restart."""
EPSILON, MIN_EPSILON, MAX_EPSILON = 0.7, 0.005, 0.5
AMBIGUITY = 6.0
MIN_MATTERING, CAREFUL = 0.1, 0.25
PROBES = 0.25
UNSEEN = 0.25
"""Rewards larger than any so far by this share of their range are possible, if declared."""
HEADROOM, MIN_LOSS = 0.8, 0.02
GROWING_HEADROOM = 0.4
LOSS = 0.6
YOUNG_LOSS = 0.2
"""Assumed loss of a blind action in the first rounds after a restart."""
CAUTION, YOUNG_CAUTION = 10, 3
GROWING_LOSS = 0.5
CAMPAIGN, CAMPAIGN_LOSS, CAMPAIGN_DOUBT = 150.0, 1.0, 0.3
GROWING_PROBES = 1.4
ASLEEP = 0.9
"""Share of sure actions among those exploited lately from which nothing else is learnt."""
MUCH, MAX_HAZARD = 0.55, 0.001
"""Smallest headroom for which it may pay to look at everything again, and the largest hazard."""
TESTS, HAZARD_ROUNDS, MAX_RECALL = 6.0, 1_000.0, 0.1
"""Number of tests that a former regime needs to be recognised, rounds that are added to the age
when the hazard of changes is estimated, and the largest chance of such a test."""


@jit_inner
def headroom_of(state: ScoutState) -> float:
    """Return U, the largest possible improvement over the present value.

    If the declared range goes further than the rewards seen, the largest one may not have been
    seen yet. A sure action may even be the best of all so far.
    """
    least = 0.0 if reward_scale.is_top_declared(state.scale) else UNSEEN
    return max(least, 1.0 - state.book[0]["value"])


@jit_inner
def fill_explored(state: ScoutState, mask: Bools) -> None:
    """Fill the mask with the features that may pay for themselves or were never bought."""
    headroom = headroom_of(state) * state.scale[SPAN]
    for i in range(mask.size):
        price = state.prices[i]
        mask[i] = state.book[0]["age"] <= YOUNG or price["seen"] == 0 or price["mean"] < headroom


@jit_inner
def chance_to_explore(state: ScoutState, explored: Bools) -> float:
    """Return the chance to explore.

    It falls with the age, and rises with the doubt about the right set. It is lower where an
    explore round loses much and, later, where little can be gained or rewards hardly depend on any
    feature. The number of explore rounds needed to find the features that matter hardly depends on
    the number of features, but their cost does. So with very many features a campaign of explore
    rounds comes first, until it is clear which features matter.

    While hardly anything but sure actions is exploited, the sets with the largest weights agree on
    the action. Which of them is right does not matter, so this doubt does not count.
    """
    book = state.book
    age = book[0]["age"]
    if age == 0:
        return 1.0
    doubt = 1 - book[0]["certainty"]
    if is_asleep(state) and not grows(state):
        doubt = 0.0
    epsilon = max(MIN_EPSILON, EPSILON * (1 + AMBIGUITY * doubt) / math.sqrt(age))
    price = _price(state, explored)
    if age <= YOUNG:
        cheap = 1.0 if grows(state) else min(1.0, LOSS / (price + YOUNG_LOSS))
        return min(1.0, epsilon) * cheap**YOUNG_CAUTION
    matters = _mattering(state)
    loss = book[0]["value"] - blind_mean(state) + price
    scope = _scope(state, loss)
    epsilon = min(MAX_EPSILON, epsilon * matters) * scope * _cheapness(state, loss)
    if grows(state) and doubt > CAMPAIGN_DOUBT:
        campaign = CAMPAIGN * scope * CAMPAIGN_LOSS / max(loss, CAMPAIGN_LOSS)
        if wide_rounds.number(state.wide_rounds) < campaign:
            return MAX_EPSILON
    return epsilon


@jit_inner
def chance_to_recall(state: ScoutState, former: int, mask: Bools) -> float:
    """Return the chance to act as in a former, better regime, in case it is back.

    While a sure action is exploited, its rewards cannot tell that another one pays again. A test
    loses c. If tests have the chance e per round, and k of them are needed, a return is noticed k/e
    rounds late, and each of these rounds loses the stake s, the difference of the values. With h
    changes per round, e c + h s k / e is smallest at e = sqrt(k h s / c).
    """
    book = state.book
    stake = state.regimes.values[former] - book[0]["value"]
    if stake <= 0.0:
        return 0.0
    loss = max(book[0]["value"] - blind_mean(state) + _price(state, mask), MIN_LOSS)
    return min(MAX_RECALL, math.sqrt(TESTS * _hazard(state) * stake / loss))


@jit_inner
def _hazard(state: ScoutState) -> float:
    """Return the estimated number of changes per round."""
    return (state.book[0]["restarts"] + 0.5) / (state.book[0]["round"] + HAZARD_ROUNDS)


@jit_inner
def much_to_gain(state: ScoutState) -> bool:
    """Return True if so much could be gained that it pays to look at everything again.

    Where changes are frequent, what is found is outdated too soon.
    """
    if headroom_of(state) < MUCH or _hazard(state) > MAX_HAZARD:
        return False
    everything = 0.0
    for i in range(state.prices.size):
        everything += state.prices[i]["mean"] / state.scale[SPAN]
    loss = state.book[0]["value"] - blind_mean(state) + everything
    return headroom_of(state) >= HEADROOM * loss


@jit_inner
def is_asleep(state: ScoutState) -> bool:
    """Return True if hardly anything but sure actions is exploited."""
    return sure_actions.share_of_sure(state.variety, state.habits) > ASLEEP


@jit_inner
def _mattering(state: ScoutState) -> float:
    """Return the factor by which exploration is reduced if features do not seem to matter.

    With few rewards per cell the tables predict badly, so that this may seem so by chance. The
    more could be gained, the more careful the conclusion.
    """
    mattering = max(0.0, 1 - math.exp(state.weights.log[0]))
    doubted = min(1.0, max(0.0, headroom_of(state) / CAREFUL - 1))
    if grows(state) or is_asleep(state):
        doubted = 0.0
    return max(MIN_MATTERING, mattering ** (1 - 0.5 * doubted))


@jit_inner
def _scope(state: ScoutState, loss: float) -> float:
    """Return the possible improvement relative to the loss of an explore round, at most 1."""
    enough = HEADROOM * max(loss, MIN_LOSS)
    if grows(state):
        enough = min(enough, GROWING_HEADROOM)
    return min(1.0, headroom_of(state) / enough)


@jit_inner
def _cheapness(state: ScoutState, loss: float) -> float:
    """Return the factor by which the loss of an explore round reduces exploration.

    With very many features the factor is milder: exploration is always expensive there, and there
    is more to find.
    """
    if grows(state):
        return GROWING_LOSS / max(loss, GROWING_LOSS)
    return (LOSS / max(loss, LOSS)) ** CAUTION


@jit_inner
def _price(state: ScoutState, explored: Bools) -> float:
    """Return the expected price of an explore round, given the limit on its features."""
    features = 0
    for i in range(explored.size):
        features += explored[i]
    kept = min(1.0, state.limits.features / max(1, features))
    return kept * prices.total(state.prices, explored) / state.scale[SPAN]


@jit_inner
def grows(state: ScoutState) -> bool:
    """Return True if there are too many features for tables of all sets."""
    return state.subsets.masks.size > state.subsets.order.size


@jit_inner
def chance_to_probe(state: ScoutState, epsilon: float) -> float:
    """Return the chance to probe.

    With many features the set in use is more likely to lack some that matter, and a probe loses
    less than an explore round. So there are more probes, the more can still be gained.
    """
    age = state.book[0]["age"]
    if age <= YOUNG or not grows(state):
        return PROBES * epsilon
    headroom = min(1.0, headroom_of(state) / GROWING_HEADROOM)
    return max(PROBES * epsilon, GROWING_PROBES * headroom**2 / math.sqrt(age))
