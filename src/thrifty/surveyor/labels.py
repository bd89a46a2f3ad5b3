"""Which outcomes a reward leaves possible, and how much an action reveals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Outcomes, PriceList, Problem, RewardRange

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_JOINT_ACTIONS = 3
"""Up to this many actions, undeclared outcomes say of each action whether it would succeed."""
SAME_REWARD = 1e-6
"""Rewards that differ by less than this share of the range are the same."""


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Outcomes of a case with their rewards, and what a reward says about them.

    Parameters
    ----------
    outcomes : Outcomes
        Outcomes with the reward of each action in money.
    scale : RewardRange
        Range of rewards.
    is_declared : bool
        False if the problem declares no outcomes. An outcome then says which actions would pay
        their upper bound, and a reward between the bounds is rounded at random to one of them.
    """

    outcomes: Outcomes
    scale: RewardRange
    is_declared: bool

    @classmethod
    def of(cls, problem: Problem, levels: Floats | None = None) -> OutcomeTable:
        """Return the outcomes of a problem; without declared ones, those of success and failure.

        Parameters
        ----------
        problem : Problem
            The problem.
        levels : array of float, shape (A, 2), optional
            Lower and upper bound of each action's rewards in money, used if the problem declares no
            outcomes; by default the ends of the range of rewards.

        Returns
        -------
        OutcomeTable
            Its outcomes.

        Examples
        --------
        >>> OutcomeTable.of(Problem.anonymous((2,), n_actions=2)).outcomes.names
        ('00', '01', '10', '11')
        """
        if problem.outcomes is not None:
            return cls(problem.outcomes, problem.rewards, True)
        n, scale = problem.n_actions, problem.rewards
        if n <= MAX_JOINT_ACTIONS:
            wins = list(product((0, 1), repeat=n))
        else:
            # Of many actions one is right, as in a classification.
            wins = [tuple(int(a == k) for a in range(n)) for k in range(n)]
        names = ["".join(map(str, bits)) for bits in wins]
        bounds = [(scale.low, scale.high)] * n if levels is None else levels.tolist()
        rewards = {
            action: {name: bounds[a][bits[a]] for name, bits in zip(names, wins, strict=True)}
            for a, action in enumerate(problem.actions)
        }
        return cls(Outcomes.of(rewards), scale, False)

    @cached_property
    def determines(self) -> Bools:
        """True where the reward of one action, in an outcome, tells that of another, (A, O, A)."""
        same = self._same[:, :, :, None]
        gaps = np.abs(self.table[:, :, None] - self.table[:, None, :]).transpose(1, 2, 0)
        differs = gaps > SAME_REWARD * self.scale.span
        determines: Bools = np.logical_not((same & differs[None]).any(axis=2))
        return determines

    @property
    def n_outcomes(self) -> int:
        """O, the number of outcomes."""
        return len(self.outcomes.names)

    @cached_property
    def table(self) -> Floats:
        """Rewards in money by action and outcome, (A, O)."""
        return self.outcomes.table

    @cached_property
    def wins(self) -> Bools:
        """True for the actions that pay their upper bound, in each undeclared outcome, (O, A)."""
        wins: Bools = np.array([[bit == "1" for bit in name] for name in self.outcomes.names])
        return wins

    @cached_property
    def _allowed(self) -> Bools:
        """True for each outcome in which every action that always pays the same succeeds, (O,).

        Without this convention, undeclared outcomes that differ for such an action only would never
        be told apart, and no outcome would ever be known.
        """
        allowed: Bools = np.asarray(self.wins[:, ~self.tells].all(axis=1))
        return allowed

    @cached_property
    def reveals_all(self) -> bool:
        """True if the reward of every action tells the outcome."""
        return all(len(set(row)) == self.n_outcomes for row in self.table.tolist())

    @cached_property
    def tells(self) -> Bools:
        """True for each action whose reward may tell something about the outcome, (A,)."""
        tells: Bools = np.logical_not(self._same.reshape(len(self._same), -1).all(axis=1))
        return tells

    @cached_property
    def _same(self) -> Bools:
        """True where an action has the same reward for two outcomes, (A, O, O)."""
        gaps = np.abs(self.table[:, :, None] - self.table[:, None, :])
        same: Bools = gaps <= SAME_REWARD * self.scale.span
        return same

    def possible(self, action: int, reward: float, outcome: int | None, draw: float) -> Bools:
        """Return the outcomes that are possible after a reward.

        Parameters
        ----------
        action : int
            Action taken.
        reward : float
            Reward in [0, 1].
        outcome : int, optional
            The outcome, if it was reported.
        draw : float
            Random number in [0, 1), for rounding rewards of undeclared outcomes.

        Returns
        -------
        array of bool, shape (O,)
            True for each possible outcome.

        Examples
        --------
        >>> lending = {"approve": {"repaid": 10, "default": -90}, "decline": 0}
        >>> problem = Problem.anonymous((2,), 2)
        >>> table = OutcomeTable.of(Problem(problem.features, ("approve", "decline"), lending))
        >>> table.possible(0, 1.0, None, 0.5).tolist(), table.possible(1, 0.9, None, 0.5).tolist()
        ([True, False], [True, True])
        """
        if outcome is not None and self.is_declared:
            reported: Bools = np.arange(self.n_outcomes) == outcome
            return reported
        row, money = self.table[action], self.scale.money(reward)
        if not self.is_declared:
            low, high = float(row.min()), float(row.max())
            money = high if draw * (high - low) < money - low else low
        left: Bools = self._same[action, int(np.abs(row - money).argmin())]
        return left if self.is_declared or not self.tells[action] else left & self._allowed

    def information(self, probabilities: Floats) -> Floats:
        """Return the share of the uncertainty about the outcome that each action resolves.

        Parameters
        ----------
        probabilities : array of float, shape (O,)
            Probabilities of the outcomes.

        Returns
        -------
        array of float, shape (A,)
            Expected reduction of entropy, from 0 to 1.
        """
        return 1 - self._uncertainty(probabilities, self._same)

    def information_beyond(self, action: int, probabilities: Floats) -> Floats:
        """Return the share of the uncertainty that each action resolves and another one leaves.

        If an action never tells two outcomes apart, no number of cases with it does. What it leaves
        counts, not how much it resolves.

        Parameters
        ----------
        action : int
            The other action.
        probabilities : array of float, shape (O,)
            Probabilities of the outcomes.

        Returns
        -------
        array of float, shape (A,)
            Expected reduction of entropy if both rewards were known, beyond that of the other one.

        Examples
        --------
        Whatever is right earns 1. If A is wrong, B and C remain possible:

        >>> problem = Problem.anonymous((2,), 3)
        >>> right = {a: {o: float(a == o) for o in "ABC"} for a in "ABC"}
        >>> table = OutcomeTable.of(Problem(problem.features, ("A", "B", "C"), right))
        >>> table.information_beyond(0, np.array([0.5, 0.25, 0.25])).round(2).tolist()
        [0.0, 0.33, 0.33]
        """
        both = self._uncertainty(probabilities, self._same & self._same[action])
        alone = self._uncertainty(probabilities, self._same[[action]])
        return np.maximum(alone - both, 0.0)

    def _uncertainty(self, probabilities: Floats, same: Bools) -> Floats:
        """Return the share of the entropy that is left if some outcomes look the same."""
        p = np.maximum(probabilities, 1e-12)
        entropy = float(-(p * np.log(p)).sum())
        left: Floats = -(p * np.log(p / (same @ p))).sum(axis=1)
        return left / max(entropy, 1e-12)


def planning_problem(problem: Problem, table: OutcomeTable) -> Problem:
    """Return the problem with outcomes, and a price for every feature.

    Parameters
    ----------
    problem : Problem
        The problem of the policy.
    table : OutcomeTable
        Its outcomes.

    Returns
    -------
    Problem
        The same features and actions. A feature without a list price costs 0 until it was bought.
    """
    given = problem.prices or PriceList()
    bundled = {name for bundle in given.bundles for name in bundle.features}
    prices = {
        name: given.prices.get(name, 0.0) for name in problem.feature_names if name not in bundled
    }
    listed = PriceList(prices, given.groups, given.bundles)
    return Problem(problem.features, problem.actions, table.outcomes, listed, problem.rewards)
