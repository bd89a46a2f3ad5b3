"""Peers on priced tables that are trees: EG2, CS-ID3, IDX, scikit-learn's and pystreed's.

EG2, CS-ID3 and IDX are the baselines of Turney (JAIR 2, 1995): trees that are grown by a measure of
information and price, and then pruned. Here they are pruned by gain in money, with a penalty for
each split that cross-validation chooses, which is kinder to them than the pruning of C4.5, which
ignores prices.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any, ClassVar

import numpy as np

from benchmarks.priced_coding import (
    LARGE,
    GrownNode,
    Prices,
    RankCoding,
    best_setting,
    fold_numbers,
    mean_gain,
    prune,
    to_plan,
)
from thrifty.experiments.priced_methods import FittedMethod, Method
from thrifty.plans.cases import Floats, Integers, PastCases
from thrifty.plans.tree import PlanTree

MIN_LEAF = 2
MAX_DEPTH = 10
PENALTIES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Errors that a split has to save in the training cases, besides its price."""
MIN_PRICE = 1.0
"""Smallest price that CS-ID3 and IDX divide by: Turney's cheapest test."""
N_ALPHAS = 20
SECONDS = 60.0
"""Time limit of pystreed for one tree, far more than it needs: its tuning of the size, which is
included, ends the process if the limit is reached."""
CODING = ("benchmarks.priced_coding",)


@dataclass(eq=False)
class _Part:
    """Cases to grow a tree from, and cases to choose among its prunings."""

    learning: PastCases
    validation: PastCases
    coding: RankCoding


def _parts(cases: PastCases, seed: int) -> list[_Part]:
    """Return the parts of a cross-validation."""
    folds = fold_numbers(cases.outcomes, seed)
    parts = []
    for fold in range(int(folds.max()) + 1):
        learning = cases.subset(folds != fold)
        parts.append(_Part(learning, cases.subset(folds == fold), RankCoding(learning)))
    return parts


class _GreedyTree(Method):
    """A tree grown by information and price, with its penalty (and weight) from the training part.

    Trees do not depend on rewards, so they are grown once for all error costs.
    """

    shares_error_costs = True
    sources = CODING
    weights: ClassVar[tuple[float, ...]] = (1.0,)

    def __init__(self) -> None:
        self._trees: dict[tuple[float, int], GrownNode] = {}

    @abstractmethod
    def criterion(self, information: Floats, price: Floats, weight: float) -> Floats:
        """Return the measure that a split maximises, by feature."""

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Grow, prune, and choose weight and penalty by cross-validated gain."""
        parts, prices = _parts(cases, seed), Prices(cases)
        error_cost = float(np.ptp(cases.rewards))

        def plan(part: _Part, number: int, setting: tuple[float, float]) -> PlanTree:
            weight, penalty = setting
            tree = self._grown(weight, number, part, prices)
            rewards = part.learning.rewards
            pruned, _ = prune(tree, rewards, prices, penalty * error_cost)
            return to_plan(pruned, part.learning, part.coding, prices)

        def gain(setting: tuple[float, float], fold: int) -> float:
            return mean_gain(plan(parts[fold], fold, setting), parts[fold].validation)

        settings = list(product(self.weights, PENALTIES))
        whole = _Part(cases, cases, RankCoding(cases))
        chosen = best_setting(settings, len(parts), gain)
        return {self.labels[0]: plan(whole, -1, chosen)}

    def _grown(self, weight: float, number: int, part: _Part, prices: Prices) -> GrownNode:
        if (weight, number) not in self._trees:
            ranks = part.coding(part.learning.codes)
            growing = _Growing(self, weight, ranks, part.learning, prices)
            self._trees[weight, number] = growing.grow(np.arange(len(ranks)), frozenset(), 0)
        return self._trees[weight, number]


class EG2(_GreedyTree):
    """Núñez (1991): (2^I - 1) / (C + 1)^w, with w from the training part; Turney used 1."""

    labels = ("EG2",)
    weights = (0.0, 0.25, 0.5, 1.0)

    def criterion(self, information: Floats, price: Floats, weight: float) -> Floats:
        """Return the information cost function."""
        return (2.0**information - 1) / (price + 1) ** weight


class CSID3(_GreedyTree):
    """Tan and Schlimmer (1989): I^2 / C."""

    labels = ("CS-ID3",)

    def criterion(self, information: Floats, price: Floats, weight: float) -> Floats:  # noqa: ARG002
        """Return information squared per money."""
        return information**2 / np.maximum(price, MIN_PRICE)


class IDX(_GreedyTree):
    """Norton (1989): I / C."""

    labels = ("IDX",)

    def criterion(self, information: Floats, price: Floats, weight: float) -> Floats:  # noqa: ARG002
        """Return information per money."""
        return information / np.maximum(price, MIN_PRICE)


class _Growing:
    """Grows one tree."""

    def __init__(
        self, method: _GreedyTree, weight: float, ranks: Integers, cases: PastCases, prices: Prices
    ) -> None:
        self.method, self.weight, self.prices = method, weight, prices
        self.outcomes, self.n_outcomes = cases.outcomes, cases.rewards.shape[1]
        self.n_ranks = int(ranks.max()) + 1
        offsets = np.arange(ranks.shape[1]) * self.n_ranks
        # Cell of every value in a histogram of feature x rank x outcome.
        self.cells = (ranks + offsets) * self.n_outcomes + self.outcomes[:, None]
        self.ranks = ranks

    def grow(self, rows: Integers, bought: frozenset[int], depth: int) -> GrownNode:
        """Return the tree of these rows."""
        counts = np.bincount(self.outcomes[rows], minlength=self.n_outcomes).astype(float)
        if depth == MAX_DEPTH or len(rows) < 2 * MIN_LEAF or counts.max() == len(rows):
            return GrownNode(counts)
        information, thresholds = self._best_thresholds(rows, counts)
        price = self.prices.by_feature(bought)
        useful = information > 1e-9
        if not useful.any():
            return GrownNode(counts)
        measure = self.method.criterion(np.maximum(information, 0.0), price, self.weight)
        feature = int(np.where(useful, measure, -np.inf).argmax())
        threshold = float(thresholds[feature])
        look = int(self.prices.look_of[feature])
        owned = bought | ({look} if look >= 0 else set())
        is_low = self.ranks[rows, feature] <= threshold
        branches = tuple(self.grow(rows[side], owned, depth + 1) for side in (is_low, ~is_low))
        return GrownNode(counts, feature, threshold, (branches[0], branches[1]))

    def _best_thresholds(self, rows: Integers, counts: Floats) -> tuple[Floats, Integers]:
        """Return the information of the best split of each feature, in bits, and its threshold."""
        shape = (self.ranks.shape[1], self.n_ranks, self.n_outcomes)
        flat = np.bincount(self.cells[rows].ravel(), minlength=int(np.prod(shape)))
        low = flat.reshape(shape).cumsum(axis=1)[:, :-1].astype(float)
        high = counts - low
        n_low, n_high = low.sum(axis=2), high.sum(axis=2)
        after = (_weighted_entropy(low) + _weighted_entropy(high)) / len(rows)
        information = _weighted_entropy(counts) / len(rows) - after
        allowed = (n_low >= MIN_LEAF) & (n_high >= MIN_LEAF)
        information = np.where(allowed, information, -np.inf)
        best = information.argmax(axis=1)
        return information[np.arange(len(best)), best], best


def _weighted_entropy(counts: Floats) -> Floats:
    """Return entropy in bits times the number of cases, over the last axis."""
    total = counts.sum(axis=-1)
    logs = np.log2(np.maximum(counts, 1.0))
    whole: Floats = total * np.log2(np.maximum(total, 1.0)) - (counts * logs).sum(axis=-1)
    return whole


class CostComplexityTree(Method):
    """scikit-learn's tree with cost-complexity pruning; it pays for the features on a case's path.

    `ccp_alpha` is the one with the highest cross-validated gain, purchases included.
    """

    labels = ("cost-complexity tree",)
    shares_error_costs = True
    sources = CODING

    def __init__(self) -> None:
        self._trees: dict[tuple[float, int], GrownNode] = {}
        self._alphas: list[float] = []

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Choose the pruning and fit."""
        parts, prices = _parts(cases, seed), Prices(cases)
        whole = _Part(cases, cases, RankCoding(cases))
        alphas = self._alphas = self._alphas or _alphas(whole, seed)

        def plan(part: _Part, number: int, alpha: float) -> PlanTree:
            if (alpha, number) not in self._trees:
                self._trees[alpha, number] = _fit_sklearn(part, alpha, seed)
            return to_plan(self._trees[alpha, number], part.learning, part.coding, prices)

        def gain(alpha: float, fold: int) -> float:
            return mean_gain(plan(parts[fold], fold, alpha), parts[fold].validation)

        chosen = best_setting(alphas, len(parts), gain)
        return {self.labels[0]: plan(whole, -1, chosen)}


def _sklearn_tree(seed: int, **options: Any) -> Any:
    make = import_module("sklearn.tree").DecisionTreeClassifier
    return make(random_state=seed % 2**31, min_samples_leaf=MIN_LEAF, **options)


def _alphas(part: _Part, seed: int) -> list[float]:
    """Return prunings from the strongest to none: a sample of those that give different trees."""
    ranks = part.coding(part.learning.codes)
    path = _sklearn_tree(seed).cost_complexity_pruning_path(ranks, part.learning.outcomes)
    alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))[::-1]
    places = np.unique(np.linspace(0, len(alphas) - 1, N_ALPHAS).round().astype(int))
    # Slightly above the largest, nothing but the root is left.
    return [float(alphas[0]) * 1.01 + 1e-9, *alphas[places].tolist()]


def _fit_sklearn(part: _Part, alpha: float, seed: int) -> GrownNode:
    ranks, outcomes = part.coding(part.learning.codes), part.learning.outcomes
    tree = _sklearn_tree(seed, ccp_alpha=alpha).fit(ranks, outcomes).tree_
    n_outcomes = part.learning.rewards.shape[1]

    def convert(k: int, rows: Integers) -> GrownNode:
        counts = np.bincount(outcomes[rows], minlength=n_outcomes).astype(float)
        feature = int(tree.feature[k])
        if feature < 0:
            return GrownNode(counts)
        threshold = float(tree.threshold[k])
        is_low = ranks[rows, feature] <= threshold
        low = convert(int(tree.children_left[k]), rows[is_low])
        high = convert(int(tree.children_right[k]), rows[~is_low])
        return GrownNode(counts, feature, threshold, (low, high))

    return convert(0, np.arange(len(ranks)))


class OptimalTree(Method):
    """pystreed: the cost-sensitive tree that is optimal on the training part, within a time limit.

    The depth is at most 4. Below 2,000 cases it tunes the size by its own cross-validation, and a
    column has at most 5 thresholds (above 12), chosen by a tree on that column alone.
    """

    labels = ("pystreed",)
    sources = CODING

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Solve for the optimal tree."""
        streed = import_module("pystreed")
        is_large = cases.n_cases >= LARGE
        coding, prices = RankCoding(cases), Prices(cases)
        ranks = coding(cases.codes)
        thresholds = [
            _column_thresholds(ranks[:, j], cases.outcomes, 12 if is_large else 5)
            for j in range(ranks.shape[1])
        ]
        owners = [j for j, cuts in enumerate(thresholds) for _ in cuts]
        cuts = [float(cut) for cuts in thresholds for cut in cuts]
        binary = np.stack(
            [ranks[:, j] <= cut for j, cut in zip(owners, cuts, strict=True)], axis=1
        ).astype(np.int32)
        # Label k means the best action of outcome k: pystreed takes no other matrix.
        best = cases.rewards.argmax(axis=0)
        solver = streed.STreeDCostSensitiveClassifier(
            max_depth=4,
            min_leaf_node_size=10 if is_large else max(5, cases.n_cases // 100),
            time_limit=SECONDS,
            hyper_tune=not is_large,
            random_seed=seed % 10_000,
        )
        losses = cases.rewards.max(axis=0) - cases.rewards[best]
        specifier = streed.CostSpecifier(losses.T.tolist(), _feature_costs(owners, cases, prices))
        solver.fit(binary, cases.outcomes, specifier)
        root = _convert_streed(solver.tree_, binary, cases, owners, cuts, np.arange(len(ranks)))
        return {self.labels[0]: to_plan(root, cases, coding, prices)}


def _column_thresholds(column: Integers, outcomes: Integers, count: int) -> Floats:
    distinct = np.unique(column)
    if len(distinct) <= count + 1:
        return (distinct[1:] + distinct[:-1]) / 2
    make = import_module("sklearn.tree").DecisionTreeClassifier
    min_leaf = max(3, len(outcomes) // 200)
    options = {"max_leaf_nodes": count + 1, "min_samples_leaf": min_leaf, "random_state": 0}
    tree = make(**options).fit(column[:, None], outcomes).tree_
    found: Floats = np.sort(tree.threshold[tree.feature >= 0])
    return found


def _feature_costs(owners: list[int], cases: PastCases, prices: Prices) -> list[Any]:
    """Return the price of every feature: alone, and after another member of its group."""
    make = import_module("pystreed").FeatureCostSpecifier
    specifiers = []
    for feature in dict.fromkeys(owners):
        first = owners.index(feature)
        last = first + owners.count(feature) - 1
        look = int(prices.look_of[feature])
        price = 0.0 if look < 0 else cases.looks[look].price
        group = -1 if look < 0 else cases.looks[look].group
        name = f"group {group}" if group >= 0 else f"feature {feature}"
        alone = prices.marginal(look, frozenset())
        specifiers.append(make(alone, price, name, first, last))
    return specifiers


def _convert_streed(
    node: Any,
    binary: Any,
    cases: PastCases,
    owners: list[int],
    cuts: list[float],
    rows: Integers,
) -> GrownNode:
    counts = np.bincount(cases.outcomes[rows], minlength=cases.rewards.shape[1]).astype(float)
    if node.is_leaf_node():
        return GrownNode(counts)
    # The right child is the one where the binary feature is true.
    is_true = binary[rows, node.feature] == 1
    low, high = (
        _convert_streed(child, binary, cases, owners, cuts, rows[side])
        for child, side in ((node.right_child, is_true), (node.left_child, ~is_true))
    )
    return GrownNode(counts, owners[node.feature], cuts[node.feature], (low, high))
