"""Which set to buy, what each feature is worth, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.seeds import generator
from thrifty.tables.cases import Cases
from thrifty.worth.sets import Folded, Values, values_of

Floats = NDArray[np.float64]
Places = tuple[int, ...]

MOST_SEARCHED = 50_000
"""Sets are compared on so many cases, and those that matter are judged on all of them."""
LEVEL = 1.96
"""Standard errors that a 95 % interval reaches to each side."""
CHANCE = 0.025
"""How likely it may be that noise is taken for something."""
MOST_STEPS = 30
MOST_FINALISTS = 8


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, together: int = 1) -> Estimate:
        """Return the mean of values that are independent of each other.

        Of so many intervals `together`, all hold with a probability of 95 %.

        >>> Estimate.of(np.array([1.0, 3.0, 1.0, 3.0])).mean
        2.0
        """
        mean = float(values.mean())
        reach = _reach(together) * standard_error(values)
        return cls(mean, mean - reach, mean + reach)


def clear(more: Floats, tried: int = 1) -> bool:
    """Whether a mean is above 0 by more than chance, if it is the largest of so many tried.

    >>> even = np.tile([-0.9, 1.1], 200)
    >>> clear(even), clear(even, tried=1000)
    (True, False)
    """
    return float(more.mean()) > _reach(tried) * standard_error(more)


def _reach(tried: int) -> float:
    return NormalDist().inv_cdf(1 - CHANCE / max(tried, 1))


def standard_error(values: Floats) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


@dataclass(eq=False)
class Judge:
    """Compares sets case by case, out of fold; what was worked out once is kept."""

    folded: Folded
    _actions: dict[Places, NDArray[Any]] = field(default_factory=dict)

    @property
    def cases(self) -> Cases:
        """The cases that are judged by."""
        return self.folded.cases

    def actions(self, places: Places) -> NDArray[Any]:
        """Return what is done in every case with these features bought."""
        if places not in self._actions:
            self._actions[places] = self.folded.actions_by_case(places)
        return self._actions[places]

    def rewards(self, places: Places) -> Floats:
        """Return the reward of every case, in money."""
        rewards: Floats = self.cases.rewards.table[self.actions(places), self.cases.outcomes]
        return rewards

    def gains(self, places: Places) -> Floats:
        """Return reward minus price of every case."""
        return self.rewards(places) - self.cases.price_by_case(places)


def places_of(mask: NDArray[np.bool_]) -> Places:
    """Return the places of the features in a mask.

    >>> places_of(np.array([True, False, True]))
    (0, 2)
    """
    return tuple(np.flatnonzero(mask).tolist())


def searched(cases: Cases, seed: int) -> Values:
    """Value sets of features on all cases, or on a sample if there are many."""
    return values_of(Folded.of(sample(cases, seed), seed))


def sample(cases: Cases, seed: int, most: int = MOST_SEARCHED) -> Cases:
    """Return the cases, or as many of them as can be searched, at random and in order."""
    if cases.number <= most:
        return cases
    rows = generator(seed).choice(cases.number, most, replace=False)
    return cases.taken(np.sort(rows))


def choose(values: Values, judge: Judge) -> Places:
    """Return the smallest set that does as well as the best, as far as the cases can tell.

    As well means: case by case the best set gains no more than the best of as many worthless
    additions would by chance, with probability 0.975. So what is bought is bought because it pays,
    and neither noise nor a copy comes along.
    """
    gains = values.gains(judge.cases.mean_prices)
    paid = ~judge.cases.free
    sizes = values.masks[:, paid].sum(axis=1)
    finalists = np.argsort(-gains, kind="stable")[:MOST_FINALISTS]
    best = max(
        (places_of(values.masks[k]) for k in finalists),
        key=lambda it: (float(judge.gains(it).mean()), -len(it)),
    )
    most = int(paid[list(best)].sum())
    for size in range(most):
        same = np.flatnonzero(sizes == size)
        if not same.size:
            continue
        smaller = places_of(values.masks[same[np.argmax(gains[same])]])
        tried = math.comb(int(paid.sum()) - size, most - size)
        if not clear(judge.gains(best) - judge.gains(smaller), tried):
            return smaller
    return best


@dataclass(frozen=True)
class Step:
    """A point of the frontier: no set compared earns more for less."""

    features: Places
    spend: float
    reward: Estimate


def frontier(values: Values, judge: Judge, must: Iterable[Places] = ()) -> list[Step]:
    """Return the best set at every spend, leaving out steps that may be noise."""
    prices = judge.cases.mean_prices
    spends = values.masks @ prices
    kept: list[Places] = []
    for places in _climbing(values, spends):
        if not kept:
            kept.append(places)
            continue
        if clear(judge.rewards(places) - judge.rewards(kept[-1])):
            kept.append(places)
    for places in must:
        if places not in kept:
            kept.append(places)
    kept.sort(key=lambda it: (float(prices[list(it)].sum()), len(it)))
    return [Step(it, float(prices[list(it)].sum()), Estimate.of(judge.rewards(it))) for it in kept]


def _climbing(values: Values, spends: Floats) -> list[Places]:
    """Return the sets that earn more than all cheaper ones, those of the largest steps if many."""
    climbing, steps, highest = [], [], -math.inf
    for k in np.lexsort((-values.rewards, np.round(spends, 12))):
        if values.rewards[k] > highest:
            climbing.append(k)
            steps.append(values.rewards[k] - highest)
            highest = float(values.rewards[k])
    if len(climbing) > MOST_STEPS:
        largest = np.sort(np.argsort(-np.array(steps), kind="stable")[:MOST_STEPS])
        climbing = [climbing[k] for k in largest]
    return [places_of(values.masks[k]) for k in climbing]


@dataclass(frozen=True)
class FeatureWorth:
    """What one feature is worth, given that all others can be bought at their prices."""

    feature: int
    price: float
    estimate: Estimate
    """The price at which the best set with it gains as much as the best set without it."""
    best_with: Places
    best_without: Places

    @property
    def break_even(self) -> float:
        """The estimate, and 0 if the cases cannot show that the feature is worth anything."""
        return self.estimate.mean if self.estimate.low > 0 else 0.0


def feature_worth(values: Values, judge: Judge, i: int) -> FeatureWorth:
    """Compare the best set with feature i, i taken for free, to the best set without it."""
    prices = judge.cases.mean_prices
    having = values.masks[:, i]
    gains = values.gains(prices)
    with_it = _largest(values, np.where(having, gains + prices[i], -np.inf))
    without = _largest(values, np.where(having, -np.inf, gains))
    others = tuple(j for j in with_it if j != i)
    more = judge.rewards(with_it) - judge.cases.price_by_case(others) - judge.gains(without)
    estimate = Estimate.of(more, together=int((~judge.cases.free).sum()))
    return FeatureWorth(i, float(prices[i]), estimate, with_it, without)


def _largest(values: Values, gains: Floats) -> Places:
    """Return the set of the largest gain; of equal ones the smallest."""
    best = np.flatnonzero(gains >= gains.max() - 1e-12)
    sizes = values.masks[best].sum(axis=1)
    return places_of(values.masks[best[np.argmin(sizes)]])


@dataclass(frozen=True)
class Honest:
    """What a set gains that was chosen without looking at the case it is judged by."""

    gain: Estimate
    chosen: tuple[Places, Places]
    """The sets that each half of the cases chooses by itself."""


def honest_gain(judge: Judge, seed: int) -> Honest:
    """Let each half of the cases choose a set, and judge it on the other half."""
    halves = generator(np.random.SeedSequence(seed).spawn(1)[0]).permutation(judge.cases.number) % 2
    gains = np.empty(judge.cases.number)
    chosen: list[Places] = []
    for half in (0, 1):
        mine = judge.cases.taken(np.flatnonzero(halves == half))
        found = values_of(Folded.of(sample(mine, seed, MOST_SEARCHED // 2), seed))
        places = choose(found, Judge(Folded.of(mine, seed)))
        gains[halves != half] = judge.gains(places)[halves != half]
        chosen.append(places)
    return Honest(Estimate.of(gains), (chosen[0], chosen[1]))


def out_of_time(cases: Cases, places: Places) -> Estimate:
    """Return the gain in the later half of the cases, of a rule learnt on the earlier half."""
    later = (np.arange(cases.number) * 2 >= cases.number).astype(np.int8)
    judge = Judge(Folded(cases, later))
    return Estimate.of(judge.gains(places)[later == 1])
