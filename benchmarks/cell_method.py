"""Tables of cells, the way `thrifty worth` chose a set of features up to version 0.9.

Numbers are cut into a few bins of equal size. Cases that agree on all features of a set form a
cell, and the probabilities of a cell are estimated from the other folds, drawn towards those of
the cell without the last feature. All sets are compared, and the smallest one whose gain is not
significantly below the best one's is chosen. It is kept to compare plans with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import Floats, Integers, LookSet, PastCases

FOLDS = 5
MAX_BINS, MAX_LEVELS = 10, 12
CASES_PER_CELL = 5
SIGNIFICANCE = 0.025
MAX_LOOKS = 12


class Node(NamedTuple):
    """Cells of a set: number of each case's cell, counts and chances (cells, folds, outcomes)."""

    cells: Integers
    counts: Floats
    chances: Floats


class Chosen(NamedTuple):
    """The chosen set of looks, and what acting by its cells gains in new cases."""

    looks: LookSet
    gains: Floats


def choose_by_cells(cases: PastCases, new_cases: PastCases, seed: int = 1) -> Chosen:
    """Choose a set of looks on past cases, and act by its cells in new cases."""
    none = cases.subset(np.arange(0))
    past = CellTable(cases, none, seed)
    gains = {looks: past.gains(looks) for looks in past.look_sets()}
    looks = _smallest_good_set(
        {looks: found for looks, found in gains.items() if found is not None}, len(cases.looks)
    )
    found = CellTable(cases, new_cases, seed).gains(looks)
    assert found is not None
    return Chosen(looks, found[cases.n_cases :])


def _smallest_good_set(gains: dict[LookSet, Floats], n_looks: int) -> LookSet:
    """Return the smallest set that is not significantly worse than the best."""
    best = max(gains, key=lambda looks: (float(gains[looks].mean()), -len(looks)))
    for size in range(len(best)):
        same_size = [looks for looks in gains if len(looks) == size]
        smaller = max(same_size, key=lambda looks: float(gains[looks].mean()))
        difference = gains[best] - gains[smaller]
        error = difference.std(ddof=1) / math.sqrt(len(difference))
        tried = math.comb(n_looks - size, len(best) - size)
        if difference.mean() <= NormalDist().inv_cdf(1 - SIGNIFICANCE / tried) * error:
            return smaller
    return best


class CellTable:
    """Past cases in folds, followed by new cases as one more fold that is never learnt from."""

    def __init__(self, cases: PastCases, new_cases: PastCases, seed: int) -> None:
        self.cases, self.new_cases = cases, new_cases
        n_past, n_new = cases.n_cases, new_cases.n_cases
        self.outcomes = np.concatenate((cases.outcomes, new_cases.outcomes))
        self.folds = np.full(n_past + n_new, FOLDS)
        self.folds[:n_past] = _stratified_folds(cases.outcomes, seed)
        self.weights = np.repeat([1.0, 0.0], [n_past, n_new])
        codes = np.concatenate((cases.codes, new_cases.codes)).astype(np.int64)
        self.codes = np.stack(
            [_coarse(cases, i)[codes[:, i]] for i in range(codes.shape[1])], axis=1
        )
        information = [self._information(i) for i in range(codes.shape[1])]
        self.order = sorted(range(len(information)), key=lambda i: -information[i])

    def look_sets(self) -> Iterator[LookSet]:
        """Yield all sets of looks, small ones first."""
        n_looks = len(self.cases.looks)
        assert n_looks <= MAX_LOOKS, "the search through larger numbers of sets is not kept"
        for size in range(n_looks + 1):
            yield from combinations(range(n_looks), size)

    def gains(self, looks: LookSet) -> Floats | None:
        """Return reward minus price of every case, or None if cells would become too small."""
        node: Node | None = self._root()
        columns = self.cases.columns(looks)
        for i in self.order:
            if i in columns and node is not None:
                node = self._split(node, i)
        if node is None:
            return None
        actions = (node.chances @ self.cases.rewards.T).argmax(axis=2)[node.cells, self.folds]
        costs = np.concatenate((self.cases.cost(looks), self.new_cases.cost(looks)))
        return np.asarray(self.cases.rewards[actions, self.outcomes] - costs)

    def _root(self) -> Node:
        cells = np.zeros(len(self.outcomes), np.int64)
        counts = self._count(cells, 1)
        chances = counts.sum(axis=1, keepdims=True) - counts + 1 / counts.shape[2]
        return Node(cells, counts, chances / chances.sum(axis=2, keepdims=True))

    def _split(self, node: Node, i: int) -> Node | None:
        n_levels = int(self.codes[:, i].max()) + 1
        keys, cells = np.unique(node.cells * n_levels + self.codes[:, i], return_inverse=True)
        n_seen = np.unique(cells[: self.cases.n_cases]).size
        if n_seen > self.cases.n_cases // CASES_PER_CELL:
            return None
        counts = self._count(cells, len(keys))
        return Node(cells, counts, _shrunk_chances(counts, keys // n_levels, node))

    def _count(self, cells: Integers, n_cells: int) -> Floats:
        shape = (n_cells, FOLDS + 1, self.cases.rewards.shape[1])
        places = np.ravel_multi_index((cells, self.folds, self.outcomes), shape)
        counts: Floats = np.bincount(places, self.weights, math.prod(shape))  # type: ignore[assignment]
        return counts.reshape(shape)

    def _information(self, i: int) -> float:
        """Return the mutual information of a feature and the outcome, corrected for chance."""
        n_outcomes, n_past = self.cases.rewards.shape[1], self.cases.n_cases
        n_levels = int(self.codes[:, i].max()) + 1
        keys = self.codes[:n_past, i] * n_outcomes + self.cases.outcomes
        shares = np.bincount(keys, minlength=n_levels * n_outcomes).reshape(n_levels, -1) / n_past
        independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        seen = shares > 0
        found = float((shares[seen] * np.log(shares[seen] / independent[seen])).sum())
        return found - float((n_levels - 1) * (n_outcomes - 1)) / (2 * n_past)


def _shrunk_chances(counts: Floats, parents: Integers, parent: Node) -> Floats:
    """Return chances (cells, folds, outcomes), each without its fold's own cases.

    They are drawn towards the parent's, the more so the less the cells of one parent differ beyond
    what chance would make them.
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    whole = (parent.counts.sum(axis=1, keepdims=True) - parent.counts)[parents]
    n, n_whole = others.sum(axis=2), whole.sum(axis=2)
    share = whole / np.maximum(n_whole, 1)[..., None]
    rest = np.where((n > 0) & (n < n_whole), 1 - n / np.maximum(n_whole, 1), 0)
    variance = share * (1 - share) * rest[..., None]
    excess = np.where(rest > 0, ((others - n[..., None] * share) ** 2).sum(axis=2), 0)
    beyond = (excess - n * variance.sum(axis=2)).sum(axis=0)
    scale = ((n * (n - 1))[..., None] * variance).sum(axis=(0, 2))
    rho = np.clip(beyond / np.where(scale > 0, scale, np.inf), 1e-7, 0.9)
    strength = ((1 - rho) / rho)[:, None]
    return np.asarray((others + strength * parent.chances[parents]) / (n[..., None] + strength))


def _stratified_folds(outcomes: Integers, seed: int) -> Integers:
    shuffled = np.random.default_rng(seed).permutation(len(outcomes))
    shuffled = shuffled[np.argsort(outcomes[shuffled], kind="stable")]
    folds = np.empty(len(outcomes), np.int64)
    folds[shuffled] = np.arange(len(outcomes)) % FOLDS
    return folds


def _coarse(cases: PastCases, i: int) -> NDArray[np.int64]:
    """Return a coarse level for each fine code: bins of equal size, rare names grouped."""
    feature = cases.problem.features[i]
    counts = np.bincount(cases.codes[:, i], minlength=len(feature.levels))
    if not feature.ordered:
        names = np.argsort(-counts, kind="stable")
        rank = np.empty_like(names)
        rank[names] = np.arange(len(names))
        return rank if len(names) <= MAX_LEVELS else np.minimum(rank, MAX_LEVELS - 1)
    n_intervals = len(feature.edges) + 1
    if n_intervals <= MAX_LEVELS:
        return np.arange(len(counts))
    n_bins = int(min(max(round(cases.n_cases ** (1 / 3) / 3), 2), MAX_BINS))
    present = counts[:n_intervals]
    middles = (present.cumsum() - present / 2) / present.sum()
    bins = np.minimum((middles * n_bins).astype(np.int64), n_bins - 1)
    missing = np.full(len(counts) - n_intervals, n_bins)
    return np.concatenate((bins, missing))
