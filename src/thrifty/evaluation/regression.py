"""Regression of rewards on codes: boosted trees that ask the same question at all nodes of a depth.

A tree of depth d has d comparisons and a table of 2^d values, which makes predictions fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.evaluation.logged_cases import Codes, Floats, Integers

MAX_FITTED = 40_000
"""A model is fitted to at most this number of cases, drawn by their weights."""
MIN_FITTED = 20
"""With fewer cases the model is their mean."""
ROUNDS = 50
RATE = 0.15
PENALTY = 5.0
"""Every leaf counts this number of cases with a residual of 0."""
LARGE = 4_000
"""Tables with at least this number of cases get trees of depth 4 instead of 3."""


class _Tree(NamedTuple):
    columns: tuple[int, ...]
    thresholds: tuple[int, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted model.

    Parameters
    ----------
    mean : float
        Prediction before the first tree.
    trees : tuple
        Trees whose values are added.
    """

    mean: float
    trees: tuple[_Tree, ...] = ()

    def predict(self, codes: Codes) -> Floats:
        """Return the predictions.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes, -1 where a value is not known.

        Returns
        -------
        array of float, shape (n,)
            Predictions.
        """
        found = np.full(len(codes), self.mean)
        if self.trees:
            columns = np.asfortranarray(codes)  # comparisons read one column at a time
            for tree in self.trees:
                found += tree.values[_leaves(columns, tree.columns, tree.thresholds)]
        return found


def fit_regression(
    codes: Codes, targets: Floats, rng: np.random.Generator, weights: Floats | None = None
) -> Regression:
    """Fit a model by least squares.

    Parameters
    ----------
    codes : array of int, shape (n, D)
        Codes, -1 where a value is not known; that is a level of its own.
    targets : array of float, shape (n,)
        What to predict.
    rng : Generator
        Draws cases if there are many, or if they have weights.
    weights : array of float, shape (n,), optional
        Weights of the cases, at least 0; by default equal.

    Returns
    -------
    Regression
        The model.

    Examples
    --------
    >>> codes = np.repeat(np.array([[0], [1]], dtype=np.int16), 100, axis=0)
    >>> model = fit_regression(codes, codes[:, 0] * 10.0, np.random.default_rng(1))
    >>> model.predict(np.array([[0], [1]], dtype=np.int16)).round().tolist()
    [0.0, 10.0]
    """
    if len(targets) == 0:
        return Regression(0.0)
    rows = _drawn(len(targets), rng, weights)
    codes, targets = codes[rows], targets[rows]
    mean = float(targets.mean())
    if len(targets) < MIN_FITTED:
        return Regression(mean)
    return _boosted(codes, targets - mean, mean)


def _drawn(n: int, rng: np.random.Generator, weights: Floats | None) -> Integers:
    if weights is not None and np.ptp(weights) > 0:
        size = min(n, MAX_FITTED)
        ends = np.cumsum(weights)
        places = np.searchsorted(ends, rng.random(size) * ends[-1], side="right")
        drawn: Integers = np.minimum(places, n - 1)
        return drawn
    if n <= MAX_FITTED:
        return np.arange(n)
    return rng.choice(n, MAX_FITTED, replace=False, shuffle=False)


class _Layout(NamedTuple):
    """The places of all levels of all columns side by side; level -1 comes first.

    Parameters
    ----------
    starts : array of int, shape (D,)
        First place of each column.
    columns : array of int, shape (P,)
        Column of each place.
    is_last : array of bool, shape (P,)
        True for the last level of each column.
    """

    starts: Integers
    columns: Integers
    is_last: NDArray[np.bool_]

    @classmethod
    def of(cls, codes: Codes) -> _Layout:
        levels = codes.max(axis=0).astype(np.int64) + 2
        ends = np.cumsum(levels)
        columns = np.repeat(np.arange(len(levels)), levels)
        return cls(ends - levels, columns, np.isin(np.arange(ends[-1]), ends - 1))


def _boosted(codes: Codes, residuals: Floats, mean: float) -> Regression:
    layout = _Layout.of(codes)
    places = codes.astype(np.int64) + 1 + layout.starts
    columns, trees = np.asfortranarray(codes), []
    depth = 4 if len(codes) >= LARGE else 3
    for _ in range(ROUNDS):
        tree = _grow(columns, places, layout, residuals, depth)
        if tree is None:
            break
        residuals = residuals - tree.values[_leaves(columns, tree.columns, tree.thresholds)]
        trees.append(tree)
    return Regression(mean, tuple(trees))


def _grow(
    columns: Codes, places: Integers, layout: _Layout, residuals: Floats, depth: int
) -> _Tree | None:
    """Return a tree of the residuals, or None if no comparison helps."""
    n_places = len(layout.columns)
    nodes = np.zeros(len(residuals), np.int64)
    asked: list[int] = []
    thresholds: list[int] = []
    repeated = np.repeat(residuals, places.shape[1])
    for level in range(depth):
        cells = (places + (nodes * n_places)[:, None]).ravel()
        tables = np.empty((2, 1 << level, n_places))
        tables[0].flat = np.bincount(cells, repeated, minlength=tables[0].size)
        tables[1].flat = np.bincount(cells, minlength=tables[1].size)
        place = _best_place(tables, layout)
        if place is None:
            break
        asked.append(int(layout.columns[place]))
        thresholds.append(place - int(layout.starts[asked[-1]]) - 1)
        nodes += (columns[:, asked[-1]] > thresholds[-1]).astype(np.int64) << level
    if not asked:
        return None
    size = 1 << len(asked)
    totals = np.bincount(nodes, residuals, minlength=size)
    values = RATE * totals / (np.bincount(nodes, minlength=size) + PENALTY)
    return _Tree(tuple(asked), tuple(thresholds), values)


def _best_place(tables: Floats, layout: _Layout) -> int | None:
    """Return the place after which to split all nodes, or None if no split helps.

    `tables` (2, nodes, P) has the sums of residuals and the numbers of cases by node and place.
    """
    ends = tables.cumsum(axis=2)
    before = (ends - tables)[:, :, layout.starts]
    low = ends - before[:, :, layout.columns]  # sums up to each place of a column
    total = low[:, :, layout.is_last][:, :, :1]  # the same for all columns
    gain = (_score(low) + _score(total - low)).sum(axis=0) - _score(total).sum(axis=0)
    gain[layout.is_last] = -np.inf  # the last level of a column separates nothing
    place = int(gain.argmax())
    return place if gain[place] > 1e-12 * max(1.0, float(np.abs(total[0]).max())) else None


def _score(tables: Floats) -> Floats:
    found: Floats = tables[0] ** 2 / (tables[1] + PENALTY)
    return found


def _leaves(columns: Codes, asked: tuple[int, ...], thresholds: tuple[int, ...]) -> Integers:
    leaves = np.zeros(len(columns), np.int64)
    for level, (column, threshold) in enumerate(zip(asked, thresholds, strict=True)):
        leaves += (columns[:, column] > threshold).astype(np.int64) << level
    return leaves
