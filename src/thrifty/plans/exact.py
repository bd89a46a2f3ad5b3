"""The best plan of a table whose distribution is known, by dynamic programming.

A partial state is a set of known columns with their levels. Its value is the larger of two: the
reward of the best action now, and the expected value after the best purchase, minus its price.
Values are kept multiplied by the probability of their state, so an expectation is a plain sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.prices import PriceList

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ColumnSet = tuple[int, ...]
"""Positions of columns, in increasing order."""
SAME_VALUE = 1e-9
"""A plan belongs to the frontier if it is better by more than this share of the largest reward."""
PROHIBITIVE = 1e12
"""With prices this many times as high, nothing is bought that costs anything."""


class Choices(NamedTuple):
    """What a plan does in many cases: action taken (n,) and columns bought (n, D)."""

    actions: Integers
    bought: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KnownDistribution:
    """A table whose distribution is known exactly.

    Parameters
    ----------
    joint : array of float, shape (levels of column 1, ..., levels of column D, O)
        Probability of each combination of levels and outcome.
    rewards : array of float, shape (A, O)
        Reward in money by action and outcome.
    names : sequence of str
        Names of the columns.
    free : tuple of int
        Positions of the columns that are known before buying.
    prices : PriceList
        Prices of the other columns, with their groups.
    """

    joint: Floats
    rewards: Floats
    names: Sequence[str]
    free: ColumnSet
    prices: PriceList

    @property
    def n_columns(self) -> int:
        """D, the number of columns."""
        return self.joint.ndim - 1

    @property
    def column_sets(self) -> Iterator[ColumnSet]:
        """Every set of columns that contains the free ones, small sets first."""
        priced = [i for i in range(self.n_columns) if i not in self.free]
        for size in range(len(priced) + 1):
            for bought in combinations(priced, size):
                yield tuple(sorted((*self.free, *bought)))

    def price(self, columns: ColumnSet, owned: ColumnSet = ()) -> float:
        """Return the price of columns bought together, free ones included at no price."""
        priced = [self.names[i] for i in columns if i not in self.free and i not in owned]
        total = self.prices.total(priced, [self.names[i] for i in owned])
        assert total is not None, "every column has a price or is free"
        return total

    def marginal(self, columns: ColumnSet) -> Floats:
        """Return the joint distribution of some columns and the outcome; other axes have size 1."""
        unknown = tuple(i for i in range(self.n_columns) if i not in columns)
        return np.asarray(self.joint.sum(axis=unknown, keepdims=True))

    def set_value(self, columns: ColumnSet) -> float:
        """Return the gain of buying these columns in every case, then acting as well as possible.

        Examples
        --------
        >>> coin = np.array([[0.45, 0.05], [0.05, 0.45]])
        >>> table = KnownDistribution(coin, np.eye(2), ["x"], (), PriceList({"x": 0.1}))
        >>> table.set_value(()), round(table.set_value((0,)), 12)
        (0.5, 0.8)
        """
        reward = (self.marginal(columns) @ self.rewards.T).max(axis=-1).sum()
        return float(reward) - self.price(columns)

    @property
    def foresight(self) -> float:
        """Gain of a case if the outcome were known for nothing."""
        shares = self.joint.sum(axis=tuple(range(self.n_columns)))
        return float(shares @ self.rewards.max(axis=0))

    def best_set(self) -> ColumnSet:
        """Return the set with the largest gain, the smallest one on a tie."""
        return max(self.column_sets, key=lambda columns: round(self.set_value(columns), 12))

    def best_plan(self, *, price_factor: float = 1.0) -> ExactPlan:
        """Return the best stepwise plan.

        Parameters
        ----------
        price_factor : float
            The plan is the best one if all prices are multiplied by this.

        Returns
        -------
        ExactPlan
            The plan, with its gain and spend at real prices.
        """
        n_actions = len(self.rewards)
        values: dict[ColumnSet, Floats] = {}
        spends: dict[ColumnSet, Floats] = {}
        moves: dict[ColumnSet, Integers] = {}
        for known in reversed(list(self.column_sets)):
            marginal = self.marginal(known)
            by_action = marginal @ self.rewards.T
            best, move = by_action.max(axis=-1), by_action.argmax(axis=-1)
            spend = np.zeros_like(best)
            for i in range(self.n_columns):
                if i in known:
                    continue
                larger = tuple(sorted((*known, i)))
                price = self.price((i,), known) * marginal.sum(axis=-1)
                worth = values[larger].sum(axis=i, keepdims=True) - price_factor * price
                # Rounding errors must not make the plan buy something that changes nothing.
                is_better = worth > best + 1e-12
                best = np.where(is_better, worth, best)
                paid = spends[larger].sum(axis=i, keepdims=True) + price
                spend = np.where(is_better, paid, spend)
                move = np.where(is_better, n_actions + i, move)
            values[known], spends[known], moves[known] = best, spend, move
        spent = float(spends[self.free].sum())
        gain = float(values[self.free].sum()) + (price_factor - 1.0) * spent
        return ExactPlan(self, gain, moves, spent)

    def frontier(self) -> tuple[ExactPlan, ...]:
        """Return the plans that are best for some average spend, alone or mixed with the next one.

        A plan that is best if all prices are multiplied by 1 + s has the largest gain of all plans
        with its average spend, and s is what another unit of spend gains. Two plans have the same
        value if s is the slope between them. If the best plan for that s is better than both, it
        lies between them; otherwise no other plan does.

        Returns
        -------
        tuple of ExactPlan
            Plans by increasing spend, from buying nothing to the best plan.

        Examples
        --------
        >>> coin = np.array([[0.45, 0.05], [0.05, 0.45]])
        >>> table = KnownDistribution(coin, np.eye(2), ["x"], (), PriceList({"x": 0.1}))
        >>> [(round(plan.spend, 6), round(plan.value, 6)) for plan in table.frontier()]
        [(0.0, 0.5), (0.1, 0.8)]
        """
        nothing, best = self.best_plan(price_factor=PROHIBITIVE), self.best_plan()
        if best.spend <= 0:
            return (best,)
        return (nothing, *self._between(nothing, best), best)

    def _between(self, cheap: ExactPlan, dear: ExactPlan) -> tuple[ExactPlan, ...]:
        """Return the plans of the frontier between two of them."""
        slope = (dear.value - cheap.value) / (dear.spend - cheap.spend)
        middle = self.best_plan(price_factor=1 + slope)
        above = middle.value - cheap.value - slope * (middle.spend - cheap.spend)
        scale = max(abs(self.rewards).max(), 1e-12)
        if above <= SAME_VALUE * scale or not cheap.spend < middle.spend < dear.spend:
            return ()
        return (*self._between(cheap, middle), middle, *self._between(middle, dear))


@dataclass(frozen=True, eq=False)
class ExactPlan:
    """The best stepwise plan.

    Parameters
    ----------
    table : KnownDistribution
        The table that it is the best plan of.
    value : float
        Expected gain of a case.
    moves : dict of array
        For every set of known columns, what to do by their levels: take action k if k < A, else
        buy column k - A.
    spend : float
        Expected price of what it buys in a case.
    """

    table: KnownDistribution
    value: float
    moves: dict[ColumnSet, Integers]
    spend: float = 0.0

    def follow(self, levels: Integers) -> Choices:
        """Carry out the plan in many cases; `levels` (n, D) are the levels of all columns."""
        n_actions = len(self.table.rewards)
        actions = np.zeros(len(levels), np.int64)
        bought = np.zeros(levels.shape, np.bool_)
        pending = {self.table.free: np.arange(len(levels))}
        for known in self.table.column_sets:  # smaller sets come first, so nothing is added behind
            rows = pending.pop(known, np.arange(0))
            state = tuple(levels[rows, i] if i in known else 0 for i in range(self.table.n_columns))
            move = np.broadcast_to(self.moves[known][state], rows.shape)
            acts = move < n_actions
            actions[rows[acts]] = move[acts]
            for i in np.unique(move[~acts]) - n_actions:
                buyers = rows[move == n_actions + i]
                bought[buyers, i] = True
                larger = tuple(sorted((*known, int(i))))
                pending[larger] = np.concatenate((pending.get(larger, buyers[:0]), buyers))
        return Choices(actions, bought)

    def gains(self, levels: Integers, outcomes: Integers) -> Floats:
        """Return reward minus prices of every case."""
        choices = self.follow(levels)
        rewards: Floats = self.table.rewards[choices.actions, outcomes]
        return rewards - self.costs(choices)

    def costs(self, choices: Choices) -> Floats:
        """Return what is paid in every case."""
        costs = np.zeros(len(choices.actions))
        for columns in np.unique(choices.bought, axis=0):
            rows = (choices.bought == columns).all(axis=1)
            costs[rows] = self.table.price(tuple(np.flatnonzero(columns).tolist()))
        return costs
