"""What can be done without a further comparison: buy a set and act by its model, or just act."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, LookSet
from thrifty.plans.costs import Costs

TOLERANCE = 0.5
"""The cheapest option is taken that is at most this many standard errors below the best one."""
SHORTLIST_FACTORS = (1.0, 0.5, 0.3, 0.1, 0.03, 0.0)
SHORTLIST_PER_FACTOR = 37


@dataclass(frozen=True)
class Option:
    """One thing to do.

    Parameters
    ----------
    looks : tuple of int
        All looks that are owned when the action is chosen.
    action : int, optional
        The action to take; None to act by the model of `looks`.
    """

    looks: LookSet
    action: int | None = None


@dataclass(frozen=True, eq=False)
class Options:
    """Honest gains of sets of looks in every case, and rewards of constant actions.

    Parameters
    ----------
    sets : tuple of tuple of int
        Sets of looks whose model may be used.
    gains : array of float, shape (T, M + A)
        For each set the gain of every case, then for each action its reward, with no price paid.
    costs : Costs
        Prices that the gains contain.
    """

    sets: tuple[LookSet, ...]
    gains: Floats
    costs: Costs

    @classmethod
    def from_bank(cls, bank: Bank, costs: Costs, sets: Iterable[LookSet]) -> Options:
        """Look up the gains of some sets.

        Parameters
        ----------
        bank : Bank
            Has the models.
        costs : Costs
            Prices; they may differ from those of the bank's cases.
        sets : iterable of tuple of int
            Sets of looks.

        Returns
        -------
        Options
            The options.
        """
        chosen = tuple(sorted(set(sets), key=lambda looks: (len(looks), looks)))
        cases = bank.cases
        models = [bank.rewards(looks) - costs.total(looks) for looks in chosen]
        constants = list(cases.action_rewards.T)
        return cls(chosen, np.ascontiguousarray(np.stack([*models, *constants], axis=1)), costs)

    @property
    def n_sets(self) -> int:
        """M, the number of sets."""
        return len(self.sets)

    @cached_property
    def _looks(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self.sets))

    @cached_property
    def mean_costs(self) -> Floats:
        """Mean cost of every set, (M,)."""
        return np.array([self.costs.total(looks).mean() for looks in self.sets])

    def containing(self, owned: frozenset[int]) -> NDArray[np.int64]:
        """Return the positions of the sets that contain what is owned.

        Parameters
        ----------
        owned : frozenset of int
            Looks.

        Returns
        -------
        array of int
            Positions in `sets`.
        """
        return np.array([m for m, looks in enumerate(self._looks) if looks >= owned], np.int64)

    def choose(self, owned: LookSet, rows: NDArray[np.int64], sets: NDArray[np.int64]) -> Option:
        """Return what to do in some cases: the cheapest option that is about as good as the best.

        Acting by a model has to earn its place like a purchase: a constant action counts as
        cheaper than the model of the same looks.

        Parameters
        ----------
        owned : tuple of int
            Looks that are paid for already.
        rows : array of int
            The cases.
        sets : array of int
            Positions of the sets to consider; they contain what is owned.

        Returns
        -------
        Option
            What to do.
        """
        gains, columns = self.available(owned, rows, sets)
        means = gains.mean(axis=0)
        best = int(means.argmax())
        behind = gains[:, [best]] - gains
        errors = behind.std(axis=0) / np.sqrt(len(rows))
        close = np.flatnonzero(behind.mean(axis=0) <= TOLERANCE * errors + 1e-12)
        paid = float(self.costs.total(owned).mean())

        def key(k: int) -> tuple[float, bool, float]:
            is_model = columns[k] < self.n_sets
            cost = float(self.mean_costs[columns[k]]) if is_model else paid
            return round(cost, 9), is_model, -float(means[k])

        return self.option(int(columns[min(close.tolist(), key=key)]), owned)

    def available(
        self, owned: LookSet, rows: NDArray[np.int64], sets: NDArray[np.int64]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return the gains of sets and constant actions once some looks are paid for.

        Parameters
        ----------
        owned : tuple of int
            Looks that are paid for already.
        rows : array of int
            The cases.
        sets : array of int
            Positions of sets.

        Returns
        -------
        gains : array of float, shape (rows, sets + A)
            Gains in money.
        columns : array of int
            Column of `self.gains` of each.
        """
        constants = np.arange(self.n_sets, self.gains.shape[1])
        columns = np.concatenate([sets, constants])
        gains = self.gains[np.ix_(rows, columns)]
        gains[:, len(sets) :] -= self.costs.total(owned)[rows, None]
        return gains, columns

    def option(self, column: int, owned: LookSet) -> Option:
        """Return the option of a column of `gains`.

        Parameters
        ----------
        column : int
            Column of `gains`.
        owned : tuple of int
            Looks that are paid for already.

        Returns
        -------
        Option
            What to do.
        """
        if column < self.n_sets:
            return Option(self.sets[column])
        return Option(owned, column - self.n_sets)

    def gains_of(self, option: Option, rows: NDArray[np.int64]) -> Floats:
        """Return what an option gains in some cases.

        Parameters
        ----------
        option : Option
            What to do; a model must be one of `sets`.
        rows : array of int
            The cases.

        Returns
        -------
        array of float
            Gains in money.
        """
        gains: Floats
        if option.action is None:
            gains = self.gains[rows, self._positions[option.looks]]
        else:
            paid = self.costs.total(option.looks)[rows]
            gains = self.gains[rows, self.n_sets + option.action] - paid
        return gains

    @cached_property
    def _positions(self) -> dict[LookSet, int]:
        return {looks: m for m, looks in enumerate(self.sets)}


def shortlist(bank: Bank, costs: Costs, *, without: int | None = None) -> list[LookSet]:
    """Return the sets that a plan may use: the best ones at several price levels.

    Parameters
    ----------
    bank : Bank
        Has the models of all sets that were searched.
    costs : Costs
        Prices.
    without : int, optional
        A look that must not be used.

    Returns
    -------
    list of tuple of int
        Sets of looks.
    """
    allowed = [looks for looks in bank.informative_sets if without not in looks]
    rewards = np.array([bank.rewards(looks).mean() for looks in allowed])
    prices = np.array([costs.total(looks).mean() for looks in allowed])
    chosen: dict[LookSet, None] = {(): None}
    for factor in SHORTLIST_FACTORS:
        order = np.argsort(-(rewards - factor * prices), kind="stable")
        chosen |= {allowed[k]: None for k in order[:SHORTLIST_PER_FACTOR]}
    chosen |= {looks: None for looks in allowed if len(looks) == 1}
    return list(chosen)
