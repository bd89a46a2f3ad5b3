"""What Surveyor has seen: cases, frequencies of outcomes, prices, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import PastCases
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.surveyor.completion import SMALLEST_CHANCE
from thrifty.surveyor.frequencies import Frequencies, OutcomeCounts
from thrifty.surveyor.history import History
from thrifty.surveyor.labels import OutcomeTable, planning_problem
from thrifty.surveyor.memory import CaseMemory
from thrifty.surveyor.price_book import PriceBook
from thrifty.surveyor.reward_means import RewardRecord

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_COMPLETE = MAX_PARTIAL = 6_000
"""Number of cases that are remembered: those in which everything was bought, and the others."""
COUNTS_KEPT = 20.0
"""Number of cases that the frequencies of outcomes count after a change."""
GOLDEN = (5**0.5 - 1) / 2
"""Its multiples are spread evenly in [0, 1) if whole numbers are left out."""


class Evidence:
    """Everything that was seen and is remembered.

    Parameters
    ----------
    problem : Problem
        The problem of the policy.

    Attributes
    ----------
    table : OutcomeTable
        The outcomes; without declared ones, whether each action pays its upper or lower bound.
    planning : Problem
        The problem with these outcomes, and a price for every feature.
    complete, partial : CaseMemory
        Cases in which everything was bought, and others whose outcome is known.
    counts : Frequencies
        Frequencies of the outcomes.
    book : PriceBook
        Prices paid lately.
    changes : list of int
        Rounds in which a change began, as far as it was noticed.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.table = OutcomeTable.of(problem)
        self.planning = planning_problem(problem, self.table)
        size = problem.n_features, self.table.n_outcomes, problem.n_actions
        self.complete = CaseMemory(*size, MAX_COMPLETE)
        self.partial = CaseMemory(*size, MAX_PARTIAL)
        self.book = PriceBook(self.planning)
        self.changes: list[int] = []
        self.outcome_counts = OutcomeCounts(self.table.n_outcomes)
        self._rewards = RewardRecord.of(problem, self.table)

    @property
    def counts(self) -> Frequencies:
        """Frequencies of the outcomes."""
        return self.outcome_counts if self._rewards is None else self._rewards.means

    @property
    def since(self) -> int:
        """Number of the case in which the last change began."""
        return self.changes[-1] if self.changes else -(2**62)

    @property
    def n_rows(self) -> int:
        """Number of complete cases since the last change."""
        return self.complete.count_since(self.since)

    @property
    def n_rare(self) -> float:
        """Number of them with an outcome other than the most frequent one, roughly."""
        return self.n_rows * (1 - float(self.counts.frequencies.max()))

    @property
    def constant_values(self) -> Floats:
        """Expected reward of each constant action, in money."""
        return self.counts.values(self.table.table)

    @property
    def best_constant(self) -> int:
        """The constant action that seems best."""
        return int(self.constant_values.argmax())

    @property
    def optimistic_values(self) -> Floats:
        """Values of constant actions, higher for actions that reveal the outcome."""
        information = self.table.information(self.counts.frequencies)
        return self.counts.optimistic_values(self.table.table, information)

    @property
    def untried(self) -> Bools:
        """True for each action that has to be tried before anything is known about it, (A,)."""
        if self._rewards is None:
            return np.zeros(self._problem.n_actions, np.bool_)
        return self._rewards.bounds.untried

    @property
    def blind_gap(self) -> float:
        """How much the best constant action gains more than the second."""
        values = np.sort(self.constant_values)
        return float(values[-1] - values[-2]) if values.size > 1 else 0.0

    def see_reward(self, action: int, reward: float) -> bool:
        """Move the bounds of an action's rewards, if no outcomes are declared.

        Parameters
        ----------
        action : int
            Action taken.
        reward : float
            Its reward in [0, 1].

        Returns
        -------
        bool
            True if outcomes now have other rewards, so that models have to be learnt again.
        """
        if self._rewards is None:
            return False
        has_moved = self._rewards.bounds.add(action, self._problem.rewards.money(reward))
        if has_moved:
            self._use_levels(self._rewards.bounds.levels)
            self._rewards.means.rescale(self._rewards.bounds.levels)
            for memory in (self.complete, self.partial):
                memory.relabel(self.possible)
        return has_moved

    def _use_levels(self, levels: Floats) -> None:
        self.table = OutcomeTable.of(self._problem, levels)
        self.planning = planning_problem(self._problem, self.table)

    def possible(
        self, action: int, reward: float, number: int, outcome: int | None = None
    ) -> Bools:
        """Return the outcomes that are possible after a reward.

        Parameters
        ----------
        action : int
            Action taken.
        reward : float
            Its reward in [0, 1].
        number : int
            Number of the case, which decides how a reward between two bounds is rounded.
        outcome : int, optional
            The outcome, if it was reported.

        Returns
        -------
        array of bool, shape (O,)
            True for each possible outcome.
        """
        return self.table.possible(action, reward, outcome, number * GOLDEN % 1)

    def remember(
        self,
        observation: Observation,
        action: int,
        reward: float,
        possible: Bools,
        number: int,
        chances: Floats,
        *,
        is_exploring: bool,
        believed: Floats | None,
    ) -> None:
        """Take in a case.

        Parameters
        ----------
        observation : Observation
            What was known when the action was chosen.
        action : int
            Action taken.
        reward : float
            Its reward in [0, 1].
        possible : array of bool, shape (O,)
            Outcomes that are possible after the reward.
        number : int
            Number of the case.
        chances : array of float, shape (A,)
            Probability with which each action was taken.
        is_exploring : bool
            True if everything was bought to learn.
        believed : array of float, shape (O,), or None
            Probabilities of the outcomes by which the action was chosen; None if the action did
            not depend on what was seen of the case.
        """
        settled, tells = observation.settled, self.table.tells
        is_selected = not is_exploring and not tells.all()
        is_complete = bool(settled.all()) and not is_selected
        if is_complete or possible.sum() == 1:
            memory = self.complete if is_complete else self.partial
            memory.add(observation.codes, settled, possible, number, chances, action, reward)
        if self._rewards is not None:
            if is_exploring or believed is None:
                weight = 1 / max(float(chances[action]), SMALLEST_CHANCE)
                self._rewards.means.add(action, self._problem.rewards.money(reward), weight)
        elif not possible.all() and (believed is None or not is_selected):
            chance = min(float(chances[tells].sum()), 1.0)
            self.outcome_counts.add(possible, 1 / max(chance, SMALLEST_CHANCE), believed)
        self.book.add(observation.costs)

    def add_history(self, history: PastCases | History) -> None:
        """Take in past cases, which count from -n to -1."""
        if isinstance(history, PastCases):
            history = History.from_past_cases(history)
        history.require_problem(self.planning)
        self.book.set_free(history.free)
        is_complete, n_possible = history.is_complete, history.possible.sum(axis=1)
        for k in range(history.n_cases):
            memory = self.complete if is_complete[k] else self.partial
            if is_complete[k] or n_possible[k] == 1:
                number = k - history.n_cases
                memory.add(history.codes[k], history.settled[k], history.possible[k], number)
            if n_possible[k] == 1:
                self.outcome_counts.add(history.possible[k])

    def begin_period(self, change: int) -> None:
        """Forget most of the frequencies, because the world has changed in this round."""
        self.changes.append(change)
        self.counts.forget(COUNTS_KEPT)

    def sums(self) -> dict[str, Any]:
        """Return everything but the cases and prices, as JSON values."""
        return {
            "counts": self.outcome_counts.to_dict(),
            "rewards": None if self._rewards is None else self._rewards.to_dict(),
            "changes": self.changes,
            "free": None if self.book.free is None else self.book.free.tolist(),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the cases and prices."""
        return {
            "paid": self.book.paid.copy(),
            **self.complete.get_state("complete"),
            **self.partial.get_state("partial"),
        }

    def restore(self, sums: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `sums` and `arrays` returned."""
        self.outcome_counts = OutcomeCounts.from_dict(sums["counts"])
        if self._rewards is not None:
            self._rewards.restore(sums["rewards"])
            self._use_levels(self._rewards.bounds.levels)
        self.changes = sums["changes"]
        if sums["free"] is not None:
            self.book.set_free(np.array(sums["free"], np.bool_))
        self.book.set_paid(arrays["paid"].copy())
        self.complete.set_state(arrays, "complete")
        self.partial.set_state(arrays, "partial")
