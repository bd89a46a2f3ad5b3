"""The reward of acting by a set of features, out of fold, for one set or for all of them."""

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
"""A set is not divided further than into cells of so many cases on average: less is no basis."""
MOST_NUMBERS = 20_000_000
MOST_EXHAUSTIVE = 12
"""Of so many features all sets are compared; of more, a search looks at the promising ones."""
BEAM = 12
MOST_PAIRED = 40
"""Of so many features all pairs begin the search."""


class Node(NamedTuple):
    """A set of features with its cells: who is in which, outcomes counted, and their chances."""

    cells: Integers
    counts: Floats
    chances: Floats


@dataclass(frozen=True, eq=False)
class Folded:
    """Cases dealt into folds, ready to be divided into cells."""

    cases: Cases
    folds: Integers

    @classmethod
    def of(cls, cases: Cases, seed: Seed, folds: int = FOLDS) -> Folded:
        """Deal the cases into folds at random, so that outcomes are as frequent in each.

        Otherwise a fold with more of one outcome would leave less of it to learn from, and what
        knows nothing would seem worse than it is.
        """
        shuffled = generator(seed).permutation(cases.number)
        shuffled = shuffled[np.argsort(cases.outcomes[shuffled], kind="stable")]
        dealt = np.empty(cases.number, np.int8)
        dealt[shuffled] = np.arange(cases.number) % folds
        return cls(cases, dealt)

    @cached_property
    def _shape(self) -> tuple[int, int]:
        return int(self.folds.max()) + 1, len(self.cases.rewards.outcomes)

    @cached_property
    def most_cells(self) -> int:
        """How finely cases may be divided."""
        n_folds, n_outcomes = self._shape
        fine = min(self.cases.number // CASES_PER_CELL, MOST_NUMBERS // (n_folds * n_outcomes))
        return max(fine, 2)

    @cached_property
    def order(self) -> list[int]:
        """The features, the most telling first, so that rare cells borrow from telling ones."""
        told = [_information(self.cases, i) for i in range(len(self.cases.features))]
        return sorted(range(len(told)), key=lambda i: -told[i])

    @cached_property
    def root(self) -> Node:
        """The set of all free features."""
        cells = np.zeros(self.cases.number, np.int32)
        counts = self._counted(cells, 1)
        chances = counts.sum(axis=1, keepdims=True) - counts + 1 / counts.shape[2]
        chances /= chances.sum(axis=2, keepdims=True)
        node = Node(cells, counts, chances)
        for i in self.order:
            if self.cases.free[i]:
                node = self.divided(node, i) or node
        return node

    def divided(self, node: Node, i: int) -> Node | None:
        """Return the node's cells divided by feature i, or None if they become too small."""
        cells = np.empty_like(node.cells)
        n_levels = int(self.cases.levels[i])
        parents = kernel.divide(node.cells, self.cases.codes[i], len(node.counts), n_levels, cells)
        if len(parents) > self.most_cells:
            return None
        counts = self._counted(cells, len(parents))
        chances = np.empty_like(counts)
        kernel.estimate(counts, parents, node.counts, node.chances, chances)
        return Node(cells, counts, chances)

    def _counted(self, cells: Integers, n_cells: int) -> Floats:
        counts = np.empty((n_cells, *self._shape))
        kernel.count(cells, self.folds, self.cases.outcomes, counts)
        return counts

    def node_of(self, places: Iterable[int]) -> Node:
        """Return the node of a set; features that would divide too finely are not looked at."""
        wanted, node = set(places), self.root
        for i in self.order:
            if i in wanted and not self.cases.free[i]:
                node = self.divided(node, i) or node
        return node

    def decided(self, node: Node) -> Integers:
        """Return the best action (cells, folds)."""
        actions = np.empty(node.counts.shape[:2], np.int16)
        kernel.decide(node.chances, self.cases.rewards.table, actions)
        return actions

    def reward(self, node: Node) -> float:
        """Return the mean reward of acting by the node, out of fold."""
        table = self.cases.rewards.table
        return kernel.earned(node.counts, self.decided(node), table) / self.cases.number

    def actions_by_case(self, places: Iterable[int]) -> Integers:
        """Return the action of every case, out of fold, when these features are bought."""
        node = self.node_of(places)
        actions: Integers = self.decided(node)[node.cells, self.folds].astype(np.int8)
        return actions


@dataclass(frozen=True, eq=False)
class Values:
    """The sets that were compared, as masks (N, D), and their mean rewards."""

    masks: NDArray[np.bool_]
    rewards: Floats
    all_sets: bool
    """Whether these are all sets that the cases can tell anything about."""

    def gains(self, prices: Floats) -> Floats:
        """Return reward minus price of every set."""
        gains: Floats = self.rewards - self.masks @ prices
        return gains


def values_of(folded: Folded) -> Values:
    """Value all sets of features, or those that a search finds if there are too many."""
    paid = [i for i in folded.order if not folded.cases.free[i]]
    if len(paid) <= MOST_EXHAUSTIVE:
        return _values(folded, _all_sets(folded, paid), all_sets=True)
    return _values(folded, _searched(folded, paid), all_sets=False)


def _values(folded: Folded, found: dict[frozenset[int], float], *, all_sets: bool) -> Values:
    masks = np.zeros((len(found), len(folded.cases.features)), dtype=np.bool_)
    masks[:, folded.cases.free] = True
    for row, places in zip(masks, found, strict=True):
        row[list(places)] = True
    return Values(masks, np.array(list(found.values())), all_sets)


def _all_sets(folded: Folded, paid: Sequence[int]) -> dict[frozenset[int], float]:
    """Go down the tree of sets: a child has one feature more, later in the order."""
    found: dict[frozenset[int], float] = {frozenset(): folded.reward(folded.root)}

    def below(node: Node, places: frozenset[int], start: int) -> None:
        for k in range(start, len(paid)):
            child = folded.divided(node, paid[k])
            if child is not None:
                named = places | {paid[k]}
                found[named] = folded.reward(child)
                descend(child, named, k + 1)

    with _spread() as spread:

        def descend(node: Node, places: frozenset[int], start: int) -> None:
            if len(places) == 2:
                spread.later(below, node, places, start)
            else:
                below(node, places, start)

        below(folded.root, frozenset(), 0)
    ordered = sorted(found, key=lambda it: (len(it), sorted(it)))
    return {places: found[places] for places in ordered}


class _spread:  # noqa: N801 (used like a function)
    """Does things in as many threads as there are cores; the first error comes out at the end."""

    def __enter__(self) -> _spread:
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._waiting: list[Future[None]] = []
        return self

    def later(self, function: Callable[..., None], *arguments: Any) -> None:
        self._waiting.append(self._pool.submit(function, *arguments))

    def __exit__(self, *error: object) -> None:
        with self._pool:
            for it in self._waiting:
                it.result()


def _searched(folded: Folded, paid: Sequence[int]) -> dict[frozenset[int], float]:
    """Try all single features and pairs, then add to the best sets, one feature at a time."""
    prices = folded.cases.mean_prices
    found: dict[frozenset[int], float] = {frozenset(): folded.reward(folded.root)}

    def gain(places: frozenset[int]) -> float:
        return found[places] - float(prices[list(places)].sum())

    def extend(beam: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        new: list[frozenset[int]] = []
        for places in beam:
            node = folded.node_of(places)
            for i in paid:
                larger = places | {i}
                if larger in found:
                    continue
                child = folded.divided(node, i)
                if child is not None:
                    found[larger] = folded.reward(child)
                    new.append(larger)
        return new

    singles = extend([frozenset()])
    tried = extend(singles if len(paid) <= MOST_PAIRED else _best(singles, gain))
    best_before = max(map(gain, found))
    while tried:
        tried = extend(_best(tried, gain))
        best = max(map(gain, found))
        if best <= best_before:
            break
        best_before = best
    return found


def _best(
    sets: Sequence[frozenset[int]], gain: Callable[[frozenset[int]], float]
) -> list[frozenset[int]]:
    return sorted(sets, key=lambda it: (-gain(it), sorted(it)))[:BEAM]


def _information(cases: Cases, i: int) -> float:
    """Return what a feature alone tells about the outcome, less what chance would make of it."""
    n_levels, n_outcomes = int(cases.levels[i]), len(cases.rewards.outcomes)
    keys = cases.codes[i].astype(np.int64) * n_outcomes + cases.outcomes
    joint = np.bincount(keys, minlength=n_levels * n_outcomes).reshape(n_levels, n_outcomes)
    shares = joint / cases.number
    apart = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    known = shares > 0
    told = float((shares[known] * np.log(shares[known] / apart[known])).sum())
    return told - (n_levels - 1) * (n_outcomes - 1) / (2 * cases.number)
