"""Choose the set of features to buy, and estimate what each feature is worth."""

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
from thrifty.worth.sets import CrossValidation, SetRewards, evaluate_sets

Floats = NDArray[np.float64]
FeatureSet = tuple[int, ...]
"""Indices of features, free ones included."""

MAX_SEARCHED = 50_000
"""Sets are compared on a sample of this size; the relevant ones are evaluated on all cases."""
Z_95 = 1.96
"""Standard errors to each side of a 95% interval."""
SIGNIFICANCE = 0.025
"""One-sided probability of mistaking noise for a gain."""
MAX_POINTS = 30
MAX_FINALISTS = 8


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% confidence interval.

    Parameters
    ----------
    mean : float
        The mean.
    low, high : float
        Ends of the interval.
    """

    mean: float
    low: float
    high: float

    @property
    def is_below_zero(self) -> bool:
        """True if the whole interval is below 0."""
        return self.high < 0

    @classmethod
    def from_values(cls, values: Floats, simultaneous: int = 1) -> Estimate:
        """Estimate the mean of independent values.

        Parameters
        ----------
        values : ndarray
            One value per case.
        simultaneous : int
            Number of intervals that must all hold with a probability of 95%.

        Returns
        -------
        Estimate
            The mean and its interval.

        Examples
        --------
        >>> Estimate.from_values(np.array([1.0, 3.0, 1.0, 3.0])).mean
        2.0
        """
        mean = float(values.mean())
        margin = _critical_value(simultaneous) * standard_error(values)
        return cls(mean, mean - margin, mean + margin)


def is_significant(differences: Floats, tried: int = 1) -> bool:
    """Return True if a mean is above 0 by more than chance, as the largest of `tried` means.

    >>> even = np.tile([-0.9, 1.1], 200)
    >>> is_significant(even), is_significant(even, tried=1000)
    (True, False)
    """
    return float(differences.mean()) > _critical_value(tried) * standard_error(differences)


def _critical_value(comparisons: int) -> float:
    """Return the normal quantile with Bonferroni's correction."""
    return NormalDist().inv_cdf(1 - SIGNIFICANCE / max(comparisons, 1))


def standard_error(values: Floats) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


@dataclass(eq=False)
class Evaluator:
    """Cross-validated rewards and gains of sets, case by case; actions are cached."""

    validation: CrossValidation
    _actions: dict[FeatureSet, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def stratified(cls, cases: Cases, seed: int) -> Evaluator:
        """Return an evaluator with stratified random folds."""
        return cls(CrossValidation.stratified(cases, seed))

    @property
    def cases(self) -> Cases:
        """The cases to evaluate on."""
        return self.validation.cases

    def actions(self, features: FeatureSet) -> NDArray[Any]:
        """Return the action of every case when these features are bought."""
        if features not in self._actions:
            self._actions[features] = self.validation.actions_by_case(features)
        return self._actions[features]

    def rewards(self, features: FeatureSet) -> Floats:
        """Return the reward of every case, in money."""
        rewards: Floats = self.cases.rewards.table[self.actions(features), self.cases.outcomes]
        return rewards

    def gains(self, features: FeatureSet) -> Floats:
        """Return reward minus price of every case."""
        return self.rewards(features) - self.cases.total_price(features)


def indices_of(mask: NDArray[np.bool_]) -> FeatureSet:
    """Return the indices of the features in a mask.

    >>> indices_of(np.array([True, False, True]))
    (0, 2)
    """
    return tuple(np.flatnonzero(mask).tolist())


def search_sets(cases: Cases, seed: int, max_cases: int = MAX_SEARCHED) -> SetRewards:
    """Evaluate sets of features on all cases, or on a random sample if there are many."""
    return evaluate_sets(CrossValidation.stratified(_sample(cases, seed, max_cases), seed))


def _sample(cases: Cases, seed: int, max_cases: int) -> Cases:
    if cases.n_cases <= max_cases:
        return cases
    rows = generator(seed).choice(cases.n_cases, max_cases, replace=False)
    return cases.subset(np.sort(rows))


def choose_set(sets: SetRewards, evaluator: Evaluator) -> FeatureSet:
    """Return the smallest set whose gain is not significantly below the best one's.

    The threshold is the gain that the best of as many worthless additions would show by chance,
    with probability 0.975. This keeps out noise and copies of other features.
    """
    gains = sets.gains(evaluator.cases.mean_prices)
    priced = ~evaluator.cases.free
    sizes = sets.masks[:, priced].sum(axis=1)
    # The search may have used a sample, so the few best sets are compared again on all cases.
    finalists = np.argsort(-gains, kind="stable")[:MAX_FINALISTS]
    best = max(
        (indices_of(sets.masks[k]) for k in finalists),
        key=lambda features: (float(evaluator.gains(features).mean()), -len(features)),
    )
    best_size = int(priced[list(best)].sum())
    for size in range(best_size):
        same_size = np.flatnonzero(sizes == size)
        if not same_size.size:
            continue
        smaller = indices_of(sets.masks[same_size[np.argmax(gains[same_size])]])
        # The number of ways to extend the smaller set: the best set may be the luckiest of them.
        tried = math.comb(int(priced.sum()) - size, best_size - size)
        if not is_significant(evaluator.gains(best) - evaluator.gains(smaller), tried):
            return smaller
    return best


@dataclass(frozen=True)
class FrontierPoint:
    """A set of features that earns more than every cheaper set that was compared."""

    features: FeatureSet
    spend: float
    reward: Estimate


def frontier(
    sets: SetRewards, evaluator: Evaluator, include: Iterable[FeatureSet] = ()
) -> list[FrontierPoint]:
    """Return the best set at every spend, without steps that may be noise.

    The sets in `include` are part of the result in any case.
    """
    prices = evaluator.cases.mean_prices
    kept: list[FeatureSet] = []
    # Each set is compared with the last one kept, so that many small steps can add up to one.
    for features in _improving_sets(sets, sets.masks @ prices):
        improves = not kept or is_significant(
            evaluator.rewards(features) - evaluator.rewards(kept[-1])
        )
        if improves:
            kept.append(features)
    for features in include:
        if features not in kept:
            kept.append(features)

    def spend(features: FeatureSet) -> float:
        return float(prices[list(features)].sum())

    kept.sort(key=lambda features: (spend(features), len(features)))
    return [
        FrontierPoint(features, spend(features), Estimate.from_values(evaluator.rewards(features)))
        for features in kept
    ]


def _improving_sets(sets: SetRewards, spends: Floats) -> list[FeatureSet]:
    """Return sets that earn more than all cheaper ones; the largest steps if there are many."""
    improving, steps, highest = [], [], -math.inf
    # Sums of equal prices differ in their last digits, so spends are rounded before sorting.
    for k in np.lexsort((-sets.rewards, np.round(spends, 12))):
        if sets.rewards[k] > highest:
            improving.append(k)
            steps.append(sets.rewards[k] - highest)
            highest = float(sets.rewards[k])
    if len(improving) > MAX_POINTS:
        largest = np.sort(np.argsort(-np.array(steps), kind="stable")[:MAX_POINTS])
        improving = [improving[k] for k in largest]
    return [indices_of(sets.masks[k]) for k in improving]


@dataclass(frozen=True)
class FeatureWorth:
    """What one feature is worth if all others can be bought at their prices.

    Parameters
    ----------
    feature : int
        Index of the feature.
    price : float
        Its mean price.
    estimate : Estimate
        Price at which the best set with the feature gains as much as the best set without it.
    best_with, best_without : tuple of int
        The two sets that are compared.
    """

    feature: int
    price: float
    estimate: Estimate
    best_with: FeatureSet
    best_without: FeatureSet

    @property
    def is_measurable(self) -> bool:
        """True if the feature is worth something, beyond chance."""
        return self.estimate.low > 0

    @property
    def break_even(self) -> float:
        """The estimated worth, or 0 if it is not measurable."""
        return self.estimate.mean if self.is_measurable else 0.0


def feature_worth(sets: SetRewards, evaluator: Evaluator, i: int) -> FeatureWorth:
    """Compare the best set with feature i, at no price for i, with the best set without it."""
    prices = evaluator.cases.mean_prices
    has_feature = sets.masks[:, i]
    gains = sets.gains(prices)
    best_with = _best_set(sets, np.where(has_feature, gains + prices[i], -np.inf))
    best_without = _best_set(sets, np.where(has_feature, -np.inf, gains))
    others = tuple(j for j in best_with if j != i)
    gains_with = evaluator.rewards(best_with) - evaluator.cases.total_price(others)
    estimate = Estimate.from_values(
        gains_with - evaluator.gains(best_without),
        simultaneous=int((~evaluator.cases.free).sum()),
    )
    return FeatureWorth(i, float(prices[i]), estimate, best_with, best_without)


def _best_set(sets: SetRewards, gains: Floats) -> FeatureSet:
    """Return the set of the largest gain; the smallest one on a tie."""
    # A column of noise can leave the reward unchanged up to rounding, which counts as a tie.
    best = np.flatnonzero(gains >= gains.max() - 1e-12)
    sizes = sets.masks[best].sum(axis=1)
    return indices_of(sets.masks[best[np.argmin(sizes)]])


@dataclass(frozen=True)
class SplitHalfGain:
    """Gain of sets chosen on one half of the cases and tested on the other half.

    `chosen` has the set that each half chooses.
    """

    gain: Estimate
    chosen: tuple[FeatureSet, FeatureSet]


def split_half_gain(evaluator: Evaluator, seed: int) -> SplitHalfGain:
    """Choose a set on each half of the cases, and test it on the other half."""
    cases = evaluator.cases
    # A spawned seed keeps the halves independent of the folds, which use `seed` itself.
    halves = generator(np.random.SeedSequence(seed).spawn(1)[0]).permutation(cases.n_cases) % 2
    gains = np.empty(cases.n_cases)
    chosen: list[FeatureSet] = []
    for half in (0, 1):
        own_cases = cases.subset(np.flatnonzero(halves == half))
        sets = search_sets(own_cases, seed, MAX_SEARCHED // 2)
        features = choose_set(sets, Evaluator.stratified(own_cases, seed))
        gains[halves != half] = evaluator.gains(features)[halves != half]
        chosen.append(features)
    return SplitHalfGain(Estimate.from_values(gains), (chosen[0], chosen[1]))


def out_of_time_gain(cases: Cases, features: FeatureSet) -> Estimate:
    """Return the gain in the later half of the cases of rules learnt on the earlier half."""
    # Two folds, earlier and later half: each learns on the other, and only the later one is used.
    later = (np.arange(cases.n_cases) * 2 >= cases.n_cases).astype(np.int8)
    evaluator = Evaluator(CrossValidation(cases, later))
    return Estimate.from_values(evaluator.gains(features)[later == 1])
