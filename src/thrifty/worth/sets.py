"""Cross-validated reward of every set of features."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.shared import out_of_fold as kernel
from thrifty.seeds import Seed, generator
from thrifty.tables.cases import Cases

Floats = NDArray[np.float64]
Integers = NDArray[Any]

FOLDS = 5
CASES_PER_CELL = 5
"""Cells are not split further once they hold fewer cases than this on average."""
MAX_NUMBERS = 20_000_000
"""Upper limit on the size of the array of counts."""
MAX_EXHAUSTIVE = 12
"""All sets are compared up to this number of priced features; beyond it a search is used."""
BEAM = 12
MAX_PAIRED = 40
"""The search starts from all pairs up to this number of priced features."""


class Node(NamedTuple):
    """The cells of a set of features, with outcome counts and probabilities per cell and fold.

    A cell is a group of cases that agree on all features of the set.
    """

    cells: Integers
    counts: Floats
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Cases assigned to folds; the action of a case is learnt on the other folds only."""

    cases: Cases
    folds: Integers

    @classmethod
    def stratified(cls, cases: Cases, seed: Seed, folds: int = FOLDS) -> CrossValidation:
        """Assign cases to folds at random, with the same share of each outcome in every fold.

        Without stratification, a fold with more of one outcome would leave less of it to learn
        from, and uninformative sets would look worse than they are.
        """
        shuffled = generator(seed).permutation(cases.n_cases)
        shuffled = shuffled[np.argsort(cases.outcomes[shuffled], kind="stable")]
        assigned = np.empty(cases.n_cases, np.int8)
        assigned[shuffled] = np.arange(cases.n_cases) % folds
        return cls(cases, assigned)

    @cached_property
    def _shape(self) -> tuple[int, int]:
        return int(self.folds.max()) + 1, len(self.cases.rewards.outcomes)

    @cached_property
    def max_cells(self) -> int:
        """The largest number of cells that a set may have."""
        n_folds, n_outcomes = self._shape
        by_cases = self.cases.n_cases // CASES_PER_CELL
        return max(min(by_cases, MAX_NUMBERS // (n_folds * n_outcomes)), 2)

    @cached_property
    def order(self) -> list[int]:
        """The features, most informative first.

        A small cell is smoothed towards its parent, so informative features have to come first.
        """
        information = [_information(self.cases, i) for i in range(len(self.cases.features))]
        return sorted(range(len(information)), key=lambda i: -information[i])

    @cached_property
    def root(self) -> Node:
        """The set of all free features."""
        cells = np.zeros(self.cases.n_cases, np.int32)
        counts = self._count(cells, 1)
        # Counts of the other folds, plus one case shared by all outcomes: no probability is 0.
        probabilities = counts.sum(axis=1, keepdims=True) - counts + 1 / counts.shape[2]
        probabilities /= probabilities.sum(axis=2, keepdims=True)
        node = Node(cells, counts, probabilities)
        for i in self.order:
            if self.cases.free[i]:
                node = self.split(node, i) or node
        return node

    def split(self, node: Node, i: int) -> Node | None:
        """Return the node's cells split by feature i, or None if they become too small."""
        cells = np.empty_like(node.cells)
        n_levels = int(self.cases.levels[i])
        parents = kernel.divide(node.cells, self.cases.codes[i], len(node.counts), n_levels, cells)
        # Too few cases per cell: any difference in reward would be noise.
        if len(parents) > self.max_cells:
            return None
        counts = self._count(cells, len(parents))
        probabilities = np.empty_like(counts)
        kernel.estimate(counts, parents, node.counts, node.probabilities, probabilities)
        return Node(cells, counts, probabilities)

    def _count(self, cells: Integers, n_cells: int) -> Floats:
        counts = np.empty((n_cells, *self._shape))
        kernel.count(cells, self.folds, self.cases.outcomes, counts)
        return counts

    def node_for(self, features: Iterable[int]) -> Node:
        """Return the node of a set; features that would make cells too small are ignored."""
        wanted, node = set(features), self.root
        for i in self.order:
            if i in wanted and not self.cases.free[i]:
                node = self.split(node, i) or node
        return node

    def best_actions(self, node: Node) -> Integers:
        """Return the best action of each cell and fold, (cells, folds)."""
        actions = np.empty(node.counts.shape[:2], np.int16)
        kernel.decide(node.probabilities, self.cases.rewards.table, actions)
        return actions

    def reward(self, node: Node) -> float:
        """Return the cross-validated mean reward of acting by the node's cells."""
        table = self.cases.rewards.table
        return kernel.earned(node.counts, self.best_actions(node), table) / self.cases.n_cases

    def actions_by_case(self, features: Iterable[int]) -> Integers:
        """Return the cross-validated action of every case when these features are bought."""
        node = self.node_for(features)
        actions: Integers = self.best_actions(node)[node.cells, self.folds].astype(np.int8)
        return actions


@dataclass(frozen=True, eq=False)
class SetRewards:
    """The sets that were compared, as masks (N, D), and their mean rewards (N,).

    `n_skipped` is the number of sets that were left out because their cells are too small. It is
    None if there are too many sets to try them all, so that only promising ones were compared.
    """

    masks: NDArray[np.bool_]
    rewards: Floats
    n_skipped: int | None

    def gains(self, prices: Floats) -> Floats:
        """Return reward minus price of every set."""
        gains: Floats = self.rewards - self.masks @ prices
        return gains


def evaluate_sets(validation: CrossValidation) -> SetRewards:
    """Evaluate all sets of features, or the promising ones if there are too many."""
    priced = [i for i in validation.order if not validation.cases.free[i]]
    exhaustive = len(priced) <= MAX_EXHAUSTIVE
    rewards = _evaluate_all(validation, priced) if exhaustive else _beam_search(validation, priced)
    masks = np.zeros((len(rewards), len(validation.cases.features)), dtype=np.bool_)
    masks[:, validation.cases.free] = True  # free features belong to every set
    for row, features in zip(masks, rewards, strict=True):
        row[list(features)] = True
    n_skipped = 2 ** len(priced) - len(rewards) if exhaustive else None
    return SetRewards(masks, np.array(list(rewards.values())), n_skipped)


def _evaluate_all(
    validation: CrossValidation, priced: Sequence[int]
) -> dict[frozenset[int], float]:
    """Walk the tree of sets; a child has one more feature, later in the order."""
    rewards: dict[frozenset[int], float] = {frozenset(): validation.reward(validation.root)}

    def visit_children(node: Node, features: frozenset[int], start: int) -> None:
        for k in range(start, len(priced)):
            child = validation.split(node, priced[k])
            if child is not None:
                larger = features | {priced[k]}
                rewards[larger] = validation.reward(child)
                visit(child, larger, k + 1)

    with _Threads() as threads:

        def visit(node: Node, features: frozenset[int], start: int) -> None:
            # Below sets of two features the subtrees are many and small enough to share out.
            if len(features) == 2:
                threads.submit(visit_children, node, features, start)
            else:
                visit_children(node, features, start)

        visit_children(validation.root, frozenset(), 0)
    # Threads finish in any order; sorting makes the result independent of that.
    in_order = sorted(rewards, key=lambda features: (len(features), sorted(features)))
    return {features: rewards[features] for features in in_order}


class _Threads:
    """A pool with one thread per core that raises the first error when it is closed."""

    def __enter__(self) -> _Threads:
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._submitted: list[Future[None]] = []
        return self

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        self._submitted.append(self._pool.submit(function, *arguments))

    def __exit__(self, *error: object) -> None:
        with self._pool:
            for future in self._submitted:
                future.result()


def _beam_search(validation: CrossValidation, priced: Sequence[int]) -> dict[frozenset[int], float]:
    """Try all single features and pairs, then extend the best sets by one feature at a time."""
    prices = validation.cases.mean_prices
    rewards: dict[frozenset[int], float] = {frozenset(): validation.reward(validation.root)}

    def gain(features: frozenset[int]) -> float:
        return rewards[features] - float(prices[list(features)].sum())

    def extend(beam: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        new: list[frozenset[int]] = []
        for features in beam:
            node = validation.node_for(features)
            for i in priced:
                larger = features | {i}
                if larger in rewards:
                    continue
                child = validation.split(node, i)
                if child is not None:
                    rewards[larger] = validation.reward(child)
                    new.append(larger)
        return new

    singles = extend([frozenset()])
    # Starting from pairs finds features that are informative only together.
    tried = extend(singles if len(priced) <= MAX_PAIRED else _best(singles, gain))
    best_before = max(map(gain, rewards))
    # A feature can hurt alone and help with others, so sets are extended until none improves.
    while tried:
        tried = extend(_best(tried, gain))
        best = max(map(gain, rewards))
        if best <= best_before:
            break
        best_before = best
    return rewards


def _best(
    sets: Sequence[frozenset[int]], gain: Callable[[frozenset[int]], float]
) -> list[frozenset[int]]:
    return sorted(sets, key=lambda features: (-gain(features), sorted(features)))[:BEAM]


def _information(cases: Cases, i: int) -> float:
    """Return the mutual information of a feature and the outcome, corrected for chance."""
    n_levels, n_outcomes = int(cases.levels[i]), len(cases.rewards.outcomes)
    keys = cases.codes[i].astype(np.int64) * n_outcomes + cases.outcomes
    joint = np.bincount(keys, minlength=n_levels * n_outcomes).reshape(n_levels, n_outcomes)
    shares = joint / cases.n_cases
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    present = shares > 0
    # Independent columns show some information by chance, more of it the more levels they have.
    information = float((shares[present] * np.log(shares[present] / independent[present])).sum())
    return information - (n_levels - 1) * (n_outcomes - 1) / (2 * cases.n_cases)
