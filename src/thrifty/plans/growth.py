"""Grow a plan on the honest gains of options: where to compare what, and what to do then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.plans import splits
from thrifty.plans.bank import Bank
from thrifty.plans.booster import SMALL_TABLE
from thrifty.plans.cases import Floats, LookSet
from thrifty.plans.options import Option, Options

Rows = NDArray[np.int64]
MAX_DEPTH = 4
MAX_BOUGHT_AT_ONCE = 3
"""Number of looks that a comparison may buy beforehand."""
MIN_LEAF, MIN_LEAF_SHARE = 8, 0.01


@dataclass(frozen=True, eq=False)
class Tip:
    """An end of a grown plan: what to do in these cases."""

    option: Option
    rows: Rows


@dataclass(frozen=True, eq=False)
class Fork:
    """A comparison of a grown plan: own `looks`, compare a feature's bin with a threshold."""

    looks: LookSet
    feature: int
    threshold: int
    low: Grown
    high: Grown
    rows: Rows


Grown = Tip | Fork


class _Split(NamedTuple):
    value: float
    looks: LookSet
    feature: int
    threshold: int
    low: Option
    high: Option


def required_errors(n_cases: int) -> float:
    """Return how many standard errors a comparison must gain to be part of a plan.

    >>> required_errors(300), required_errors(5_000)
    (2.0, 1.0)
    """
    return 2.0 if n_cases < SMALL_TABLE else 1.0


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows plans.

    Parameters
    ----------
    bank : Bank
        Has the bins of the cases.
    options : Options
        What can be done without a further comparison, and what it gains in every case.
    one_purchase : bool
        True if a plan may buy only at its leaves, so that it compares free values only.
    """

    bank: Bank
    options: Options
    one_purchase: bool = False

    def grow(self, rows: Rows | None = None) -> Grown:
        """Grow a plan on some cases.

        Parameters
        ----------
        rows : array of int, optional
            The cases; all of them by default.

        Returns
        -------
        Tip or Fork
            The plan.
        """
        if rows is None:
            rows = np.arange(self.bank.cases.n_cases)
        min_cases = max(MIN_LEAF, int(MIN_LEAF_SHARE * len(rows)))
        return self._grow(rows, (), MAX_DEPTH, min_cases, required_errors(len(rows)))

    def gains(self, grown: Grown, rows: Rows) -> Floats:
        """Return the honest gains of a grown plan in some cases.

        Parameters
        ----------
        grown : Tip or Fork
            The plan.
        rows : array of int
            The cases.

        Returns
        -------
        array of float
            Gains in money.
        """
        if isinstance(grown, Tip):
            return self.options.gains_of(grown.option, rows)
        goes_low = self.bank.bins[rows, grown.feature] <= grown.threshold
        gains = np.empty(len(rows))
        gains[goes_low] = self.gains(grown.low, rows[goes_low])
        gains[~goes_low] = self.gains(grown.high, rows[~goes_low])
        return gains

    def _grow(self, rows: Rows, owned: LookSet, depth: int, min_cases: int, errors: float) -> Grown:
        sets = self.options.containing(frozenset(owned))
        gains, _ = self.options.available(owned, rows, sets)
        best = int(gains.sum(axis=0).argmax())
        if depth > 0 and len(rows) >= 2 * min_cases:
            split = self._best_split(rows, owned, sets, min_cases)
            if split is not None and self._pays(rows, split, gains[:, best], errors):
                goes_low = self.bank.bins[rows, split.feature] <= split.threshold
                return Fork(
                    split.looks,
                    split.feature,
                    split.threshold,
                    self._grow(rows[goes_low], split.looks, depth - 1, min_cases, errors),
                    self._grow(rows[~goes_low], split.looks, depth - 1, min_cases, errors),
                    rows,
                )
        return Tip(self.options.choose(owned, rows, sets), rows)

    def _pays(self, rows: Rows, split: _Split, before: Floats, errors: float) -> bool:
        """Return True if a split gains significantly more than the best single option."""
        goes_low = self.bank.bins[rows, split.feature] <= split.threshold
        after = np.where(
            goes_low,
            self.options.gains_of(split.low, rows),
            self.options.gains_of(split.high, rows),
        )
        gained = after - before
        return bool(gained.sum() > 0 and gained.sum() >= errors * gained.std() * np.sqrt(len(rows)))

    def _best_split(
        self, rows: Rows, owned: LookSet, sets: NDArray[np.int64], min_cases: int
    ) -> _Split | None:
        """Return the comparison with the highest total gain, over all purchases before it."""
        cases = self.bank.cases
        purchases: dict[int, list[LookSet]] = {}
        for looks in dict.fromkeys([owned, *(self.options.sets[m] for m in sets)]):
            new = [k for k in looks if k not in owned]
            if len(new) > (0 if self.one_purchase else MAX_BOUGHT_AT_ONCE):
                continue
            # To buy more before a comparison of something known is never better than after it.
            known = [c for k in new for c in cases.looks[k].columns] or cases.columns(owned)
            for feature in known:
                purchases.setdefault(feature, []).append(looks)
        best: _Split | None = None
        for feature, before in purchases.items():
            for split in self._splits(rows, feature, before, min_cases):
                if best is None or split.value > best.value:
                    best = split
        return best

    def _splits(
        self, rows: Rows, feature: int, purchases: Sequence[LookSet], min_cases: int
    ) -> list[_Split]:
        """Return the best comparison of one feature after each of several purchases."""
        options, bins = self.options, self.bank.bins[:, feature]
        n_bins = int(self.bank.binning.n_bins[feature])
        sums, counts = np.empty((n_bins, options.gains.shape[1])), np.empty(n_bins)
        splits.add_up(rows, bins, options.gains, sums, counts)
        constants = np.arange(options.n_sets, options.gains.shape[1])
        found = []
        for looks in purchases:
            sets = options.containing(frozenset(looks))
            columns = np.concatenate([sets, constants])
            costs = options.costs.total(looks)[rows]
            paid = np.bincount(bins[rows], costs, minlength=n_bins).astype(np.float64)
            value, threshold, low, high = splits.best_threshold(
                sums, counts, columns, len(sets), paid, min_cases
            )
            if threshold >= 0:
                # At equal gains the smaller purchase is preferred.
                value -= 1e-9 * len(looks) * abs(value)
                pair = [options.option(int(columns[k]), looks) for k in (low, high)]
                found.append(_Split(value, looks, feature, threshold, *pair))
        return found
