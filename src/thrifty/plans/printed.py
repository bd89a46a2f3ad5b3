"""Replace the models of a plan by a few comparisons that people can carry out by hand."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from thrifty.kernels.plans import splits
from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, LookSet
from thrifty.plans.growth import Fork, Grown, Rows, Tip
from thrifty.plans.options import Option

MAX_LEAVES = 10
MAX_DEPTH = 5
MIN_CASES = 8


def with_printed_actions(grown: Grown, bank: Bank) -> Grown:
    """Return a grown plan in which every leaf takes one action.

    Parameters
    ----------
    grown : Tip or Fork
        A grown plan.
    bank : Bank
        The bank that it was grown on.

    Returns
    -------
    Tip or Fork
        The same purchases; leaves that act by a model become small trees of comparisons.
    """
    if isinstance(grown, Fork):
        return replace(
            grown,
            low=with_printed_actions(grown.low, bank),
            high=with_printed_actions(grown.high, bank),
        )
    if grown.option.action is not None:
        return grown
    return _ActionTree(bank, grown.option.looks, grown.rows).grow()


@dataclass(eq=False)
class _Cell:
    """Some cases, and the comparison that divides them best."""

    rows: Rows
    depth: int
    split: tuple[int, int] | None = None
    low: _Cell | None = None
    high: _Cell | None = None


class _ActionTree:
    """A small classification tree, grown best first, that imitates the model's actions.

    What counts in a case is half what the model expects of each action, half what happened. The
    case votes for its best action, with the weight of what the second best would lose.
    """

    def __init__(self, bank: Bank, looks: LookSet, rows: Rows) -> None:
        self.bank, self.looks, self.rows = bank, looks, rows
        cases = bank.cases
        expected = bank.probabilities(looks).mean(axis=0)
        happened = np.eye(expected.shape[1])[cases.outcomes]
        self.values: Floats = (0.5 * expected + 0.5 * happened) @ cases.rewards.T
        ranked = np.sort(self.values, axis=1)
        self.votes = np.zeros_like(self.values)
        best = self.values.argmax(axis=1)
        self.votes[np.arange(len(best)), best] = ranked[:, -1] - ranked[:, -2] + 1e-9
        self.columns = cases.columns(looks)

    def grow(self) -> Grown:
        root = _Cell(self.rows, 0)
        order = count()
        open_cells: list[tuple[float, int, _Cell]] = []

        def offer(cell: _Cell) -> None:
            gain, split = self._best_split(cell)
            if split is not None:
                cell.split = split
                heapq.heappush(open_cells, (-gain, next(order), cell))

        if len(self.rows) >= 3 * MIN_CASES:
            offer(root)
        n_leaves = 1
        while open_cells and n_leaves < MAX_LEAVES:
            cell = heapq.heappop(open_cells)[2]
            assert cell.split is not None
            goes_low = self.bank.bins[cell.rows, cell.split[0]] <= cell.split[1]
            cell.low = _Cell(cell.rows[goes_low], cell.depth + 1)
            cell.high = _Cell(cell.rows[~goes_low], cell.depth + 1)
            n_leaves += 1
            offer(cell.low)
            offer(cell.high)
        return self._simplified(root)

    def _simplified(self, cell: _Cell) -> Grown:
        """Return the tree without comparisons whose two sides do the same."""
        if cell.low is None or cell.high is None or cell.split is None:
            action = int(self.values[cell.rows].sum(axis=0).argmax())
            return Tip(Option(self.looks, action), cell.rows)
        low, high = self._simplified(cell.low), self._simplified(cell.high)
        if isinstance(low, Tip) and isinstance(high, Tip) and low.option == high.option:
            return Tip(low.option, cell.rows)
        return Fork(self.looks, *cell.split, low, high, cell.rows)

    def _best_split(self, cell: _Cell) -> tuple[float, tuple[int, int] | None]:
        """Return the decrease of weighted impurity of the best comparison, and the comparison."""
        best, split = 1e-12, None
        if cell.depth >= MAX_DEPTH or len(cell.rows) < 2 * MIN_CASES:
            return best, split
        for feature in self.columns:
            n_bins = int(self.bank.binning.n_bins[feature])
            sums, counts = np.empty((n_bins, self.votes.shape[1])), np.empty(n_bins)
            splits.add_up(cell.rows, self.bank.bins[:, feature], self.votes, sums, counts)
            low = sums.cumsum(axis=0)[:-1]
            n_low = counts.cumsum()[:-1]
            total = sums.sum(axis=0)
            gains = _purity(low) + _purity(total - low) - _purity(total[None])
            fits = (n_low >= MIN_CASES) & (len(cell.rows) - n_low >= MIN_CASES)
            gains = np.where(fits & (counts[:-1] > 0), gains, -np.inf)
            if gains.size and gains.max() > best:
                best, split = float(gains.max()), (feature, int(gains.argmax()))
        return best, split


def _purity(votes: Floats) -> Floats:
    """Return the sum of squares over the sum: the weight times one minus the Gini impurity."""
    total = votes.sum(axis=1)
    squares = (votes * votes).sum(axis=1)
    purity: Floats = np.divide(squares, total, out=np.zeros_like(total), where=total > 1e-12)
    return purity
