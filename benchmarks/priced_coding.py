"""Shared by the peers on priced tables: levels as ranks, folds, marginal prices, grown trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.features import Feature
from thrifty.plans.cases import Bools, Floats, Integers, PastCases
from thrifty.plans.tree import ActionRule, Codes, Leaf, Node, PlanTree, Split

LARGE = 2000
"""Number of cases from which on fewer folds and copies are enough."""
PRIOR_WEIGHT = 5.0
T = TypeVar("T")


class RankCoding:
    """Levels as ranks from 1; 0 is a missing value.

    Numbers keep their order. Categories are ordered by their share of the most frequent outcome in
    these cases, shrunk towards the mean.
    """

    def __init__(self, cases: PastCases) -> None:
        is_major = cases.outcomes == np.bincount(cases.outcomes).argmax()
        self.ranks = [
            _ranks(feature, cases.codes[:, j], is_major)
            for j, feature in enumerate(cases.problem.features)
        ]
        self.scale: Floats = np.maximum(self(cases.codes).std(axis=0), 1e-9)

    def __call__(self, codes: Codes) -> Integers:
        """Return ranks, (n, D), of codes."""
        columns = [ranks[codes[:, j]] for j, ranks in enumerate(self.ranks)]
        return np.stack(columns, axis=1)

    def numbers(self, codes: Codes) -> Floats:
        """Return ranks as floats, with NaN for missing values."""
        ranks = self(codes).astype(float)
        return np.where(ranks == 0, np.nan, ranks)


def _ranks(feature: Feature, codes: Codes, is_major: Bools) -> Integers:
    n_levels = len(feature.levels)
    position = np.arange(n_levels, dtype=float)
    if not feature.ordered:
        counts = np.bincount(codes, minlength=n_levels)
        hits = np.bincount(codes, weights=is_major, minlength=n_levels)
        position = (hits + PRIOR_WEIGHT * is_major.mean()) / (counts + PRIOR_WEIGHT)
    is_missing = np.array([level == feature.missing for level in feature.levels])
    ranks = np.zeros(n_levels + 1, np.int64)  # the last entry is for values that are not available
    present = np.flatnonzero(~is_missing)
    ranks[present[np.argsort(position[present], kind="stable")]] = 1 + np.arange(len(present))
    return ranks


def fold_numbers(outcomes: Integers, seed: int, n_folds: int | None = None) -> Integers:
    """Return a fold for each case, the outcomes spread evenly over the folds."""
    count = n_folds or (5 if len(outcomes) < LARGE else 3)
    rng = np.random.default_rng(seed)
    folds = np.empty(len(outcomes), np.int64)
    start = 0
    for outcome in np.unique(outcomes):
        rows = rng.permutation(np.flatnonzero(outcomes == outcome))
        folds[rows] = (start + np.arange(len(rows))) % count
        start += len(rows)
    return folds


class Prices:
    """What a look adds to the costs of those that were bought before."""

    def __init__(self, cases: PastCases) -> None:
        self.cases = cases.subset(np.arange(1))  # list prices are the same in every case
        self.look_of = np.full(cases.problem.n_features, -1)
        for k, look in enumerate(cases.looks):
            self.look_of[list(look.columns)] = k
        self._totals: dict[frozenset[int], float] = {}

    def total(self, looks: Iterable[int]) -> float:
        """Return the price of buying these looks together."""
        key = frozenset(looks)
        if key not in self._totals:
            self._totals[key] = float(self.cases.cost(sorted(key))[0])
        return self._totals[key]

    def marginal(self, look: int, bought: frozenset[int]) -> float:
        """Return the price of one more look; -1 stands for a free feature."""
        return 0.0 if look < 0 else self.total({*bought, look}) - self.total(bought)

    def by_feature(self, bought: frozenset[int]) -> Floats:
        """Return what it costs to know each feature now, (D,)."""
        return np.array([self.marginal(int(look), bought) for look in self.look_of])


@dataclass(frozen=True, eq=False)
class GrownNode:
    """A node of a tree on ranks: cases with a rank of at most the threshold go low.

    `counts` are the outcomes of the training cases at the node. A leaf has no branches.
    """

    counts: Floats
    feature: int = -1
    threshold: float = 0.0
    branches: tuple[GrownNode, GrownNode] | None = None


def prune(
    node: GrownNode,
    rewards: Floats,
    prices: Prices,
    penalty: float,
    bought: frozenset[int] = frozenset(),
) -> tuple[GrownNode, float]:
    """Return the tree that gains most in its training cases, minus a penalty for each split.

    The second result is that gain, in money.
    """
    as_leaf = float((rewards @ node.counts).max())
    if node.branches is None:
        return node, as_leaf
    look = int(prices.look_of[node.feature])
    owned = bought | ({look} if look >= 0 else set())
    low, low_gain = prune(node.branches[0], rewards, prices, penalty, owned)
    high, high_gain = prune(node.branches[1], rewards, prices, penalty, owned)
    spend = prices.marginal(look, bought) * float(node.counts.sum())
    gain = low_gain + high_gain - spend - penalty
    if gain <= as_leaf:
        return GrownNode(node.counts), as_leaf
    return replace(node, branches=(low, high)), gain


def to_plan(root: GrownNode, cases: PastCases, coding: RankCoding, prices: Prices) -> PlanTree:
    """Return the tree as a plan that buys a feature at the first node that needs it."""

    def convert(node: GrownNode, bought: frozenset[int]) -> Node:
        if node.branches is None:
            values = cases.rewards @ node.counts / max(float(node.counts.sum()), 1.0)
            return Leaf((), ActionRule(int(values.argmax()), values))
        look = int(prices.look_of[node.feature])
        new = () if look < 0 or look in bought else (look,)
        owned = bought | frozenset(new)
        low, high = (convert(branch, owned) for branch in node.branches)
        return Split(new, node.feature, coding.ranks[node.feature] <= node.threshold, low, high)

    return PlanTree(cases.problem, cases.free, convert(root, frozenset()))


def mean_gain(plan: PlanTree, cases: PastCases) -> float:
    """Return the mean gain of a plan in these cases."""
    return float(plan.decide(cases.codes).gains(cases).mean())


def best_setting(settings: Sequence[T], n_folds: int, gain: Callable[[T, int], float]) -> T:
    """Return the setting with the highest mean of `gain(setting, fold)`; the first of equals."""
    means = [np.mean([gain(setting, fold) for fold in range(n_folds)]) for setting in settings]
    return settings[int(np.argmax(means))]


def unique_rows(rows: NDArray[np.generic]) -> tuple[Integers, Integers]:
    """Return the position of the first of each kind of row, and the kind of every row."""
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, kind.ravel()
