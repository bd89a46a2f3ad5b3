"""Gradient boosting as one would write it on a blackboard: slow, obvious, no histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def members(sets: Array, n_outcomes: int) -> Array:
    """True for each outcome that is in the bit set of a case, (n, O)."""
    return np.array([[bool(s >> k & 1) for k in range(n_outcomes)] for s in sets.tolist()])


def first_scores(sets: Array, n_outcomes: int) -> Array:
    """Known cases and half a case each; unsure ones divided equally, and then by frequency."""
    possible = members(sets, n_outcomes)
    sizes = possible.sum(axis=1)
    known, unsure = possible[sizes == 1], possible[(sizes > 1) & (sizes < n_outcomes)]
    counts = np.ones(n_outcomes)
    for _ in range(2):
        shares = unsure * counts / (unsure * counts).sum(axis=1, keepdims=True)
        counts = 0.5 + known.sum(axis=0) + shares.sum(axis=0)
    if n_outcomes == 2:
        return np.array([np.log(counts[1] / counts[0])])
    scores: Array = np.log(counts / counts.sum())
    return scores


def probabilities(scores: Array) -> Array:
    """Probabilities of all outcomes from scores (n, K)."""
    if scores.shape[1] == 1:
        p = 1 / (1 + np.exp(-scores[:, 0]))
        return np.stack([1 - p, p], axis=1)
    weights = np.exp(scores)
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


class NaiveTrees:
    """The same model as `thrifty.kernels.boosting.trees.fit`, case by case."""

    def __init__(
        self,
        codes: Array,
        sets: Array,
        n_outcomes: int,
        bags: Array,
        used: Array,
        *,
        depth: int,
        rate: float,
        penalty: float,
        min_cases: int,
    ) -> None:
        self.depth, self.rate, self.penalty, self.min_cases = depth, rate, penalty, min_cases
        self.first = first_scores(sets, n_outcomes)
        possible = members(sets, n_outcomes)
        tells = ~possible.all(axis=1)
        self.trees: list[list[Any]] = []
        scores = np.tile(self.first, (len(codes), 1))
        for r, bag in enumerate(bags):
            p = probabilities(scores)
            q = p * possible / (p * possible).sum(axis=1, keepdims=True)
            trees = []
            for k in range(len(self.first)):
                outcome = 1 if n_outcomes == 2 else k
                slope = np.where(tells, p[:, outcome] - q[:, outcome], 0.0)
                curvature = np.where(tells, p[:, outcome] * (1 - p[:, outcome]), 0.0)
                columns = np.flatnonzero(used[r, k]).tolist()
                trees.append(self.grow(codes, bag, slope, curvature, columns, depth))
            for k, tree in enumerate(trees):
                scores[:, k] += [self.value(tree, row) for row in codes]
            self.trees.append(trees)

    def grow(
        self, codes: Array, rows: Array, slope: Array, curvature: Array, columns: Any, depth: int
    ) -> Any:
        leaf = -self.rate * slope[rows].sum() / (curvature[rows].sum() + self.penalty)
        if depth == 0:
            return leaf
        best: tuple[float, Any] = (1e-9, None)
        for f in columns:
            for threshold in np.unique(codes[rows, f])[:-1].tolist():
                low, high = rows[codes[rows, f] <= threshold], rows[codes[rows, f] > threshold]
                if min(len(low), len(high)) < self.min_cases:
                    continue
                gain = sum(self.score(part, slope, curvature) for part in (low, high))
                gain -= self.score(rows, slope, curvature)
                if gain > best[0] * (1 + 1e-9):
                    best = gain, (f, threshold, low, high)
        if best[1] is None:
            return self.grow(codes, rows, slope, curvature, [], 0)
        f, threshold, low, high = best[1]
        below = [
            self.grow(codes, part, slope, curvature, columns, depth - 1) for part in (low, high)
        ]
        return f, threshold, *below

    def score(self, rows: Array, slope: Array, curvature: Array) -> float:
        return float(slope[rows].sum() ** 2 / (curvature[rows].sum() + self.penalty))

    def value(self, tree: Any, row: Array) -> float:
        while isinstance(tree, tuple):
            f, threshold, low, high = tree
            tree = low if row[f] <= threshold else high
        return float(tree)

    def predict(self, codes: Array) -> Array:
        scores = np.tile(self.first, (len(codes), 1))
        for trees in self.trees:
            for k, tree in enumerate(trees):
                scores[:, k] += [self.value(tree, row) for row in codes]
        return probabilities(scores)
