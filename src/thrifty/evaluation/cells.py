"""Cells: groups of cases in which the same purchases are about equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.evaluation.logged_cases import Bools, Codes, Floats, Integers

MAX_DEPTH = 4
MIN_CASES = 25
"""Least number of cases in a cell."""
MAX_FITTED = 20_000
"""Cells are found with at most this number of cases."""


class _Split(NamedTuple):
    column: int
    threshold: int


@dataclass(frozen=True, eq=False)
class Cells:
    """A tree of comparisons, and the shares of K classes at each of its leaves.

    Parameters
    ----------
    splits : dict
        Comparison at each node; the children of node k are 2 k and 2 k + 1.
    shares : dict
        Shares of the classes at each leaf, (K,).
    """

    splits: dict[int, _Split]
    shares: dict[int, Floats]

    def shares_of(self, codes: Codes, classes: Integers) -> Floats:
        """Return the share of each case's class in its cell.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes; only compared columns are used.
        classes : array of int, shape (n,)
            Classes; -1 for a class that was not seen when the cells were found.

        Returns
        -------
        array of float, shape (n,)
            Shares.
        """
        found = np.zeros(len(codes))
        pending = [(1, np.arange(len(codes)))]
        while pending:
            node, rows = pending.pop()
            split = self.splits.get(node)
            if split is None:
                own = classes[rows]
                found[rows] = np.where(own < 0, 0.0, self.shares[node][own])
                continue
            low = codes[rows, split.column] <= split.threshold
            pending += [(2 * node, rows[low]), (2 * node + 1, rows[~low])]
        return found


def find_cells(codes: Codes, classes: Integers, columns: Integers, n_classes: int) -> Cells:
    """Return cells whose classes differ as much as the cases can show.

    Parameters
    ----------
    codes : array of int, shape (n, D)
        Codes of the cases, at least -1.
    classes : array of int, shape (n,)
        Class of each case, from 0 to K - 1.
    columns : array of int
        Columns that may be compared.
    n_classes : int
        K, the number of classes.

    Returns
    -------
    Cells
        The cells; with one class there is a single one.

    Examples
    --------
    >>> codes = np.repeat(np.array([[0], [1]], dtype=np.int16), 50, axis=0)
    >>> cells = find_cells(codes, codes[:, 0].astype(np.int64), np.array([0]), 2)
    >>> cells.shares_of(np.array([[0], [0]], dtype=np.int16), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    splits: dict[int, _Split] = {}
    shares: dict[int, Floats] = {}
    pending = [(1, np.arange(len(codes)))]
    while pending:
        node, rows = pending.pop()
        counts = np.bincount(classes[rows], minlength=n_classes)
        split = None
        if node < 2**MAX_DEPTH and np.count_nonzero(counts) > 1:
            split = _best_split(codes[rows], classes[rows], columns, n_classes)
        if split is None:
            shares[node] = counts / counts.sum()
            continue
        splits[node] = split
        low = codes[rows, split.column] <= split.threshold
        pending += [(2 * node, rows[low]), (2 * node + 1, rows[~low])]
    return Cells(splits, shares)


def _best_split(
    codes: Codes, classes: Integers, columns: Integers, n_classes: int
) -> _Split | None:
    """Return the comparison that raises the likelihood most, unless that may be chance."""
    present = np.flatnonzero(np.bincount(classes, minlength=n_classes))
    own = np.searchsorted(present, classes)
    parameters = len(present) - 1
    best, least = None, (0.5 * parameters + 1.0) * np.log(len(codes))
    for column in columns.tolist():
        values = codes[:, column].astype(np.int64) + 1
        n_values = int(values.max()) + 1
        if n_values == 1:
            continue
        table = np.bincount(values * len(present) + own, minlength=n_values * len(present)).reshape(
            n_values, len(present)
        )
        low = table.cumsum(axis=0)[:-1]
        high = table.sum(axis=0) - low
        gain = _log_likelihood(low) + _log_likelihood(high) - _log_likelihood(table.sum(axis=0))
        enough = np.minimum(low.sum(axis=1), high.sum(axis=1)) >= MIN_CASES
        gain = np.where(enough, gain, -np.inf)
        threshold = int(gain.argmax())
        if gain[threshold] > least:
            best, least = _Split(column, threshold - 1), float(gain[threshold])
    return best


def _log_likelihood(counts: Integers) -> Floats:
    totals = counts.sum(axis=-1, keepdims=True)
    logs = np.log(np.maximum(counts, 1)) - np.log(np.maximum(totals, 1))
    found: Floats = (counts * logs).sum(axis=-1)
    return found


def known_everywhere(settled: Bools) -> Integers:
    """Return the columns that are settled in all cases.

    Parameters
    ----------
    settled : array of bool, shape (n, D)
        True where a value is settled.

    Returns
    -------
    array of int
        Positions of the columns.
    """
    return np.flatnonzero(settled.all(axis=0))
