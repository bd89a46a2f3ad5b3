"""A table of past rounds, played again."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.tables import (
    change_points,
    codes_table,
    costs_table,
    free_mask,
    inferred_problem,
    outcomes_column,
    require_fit,
    require_problem,
    rewards_table,
)
from thrifty.environments.truth import Truth
from thrifty.errors import (
    EnvironmentEnded,
    InvalidAction,
    InvalidPurchase,
    InvalidTable,
    OutOfTurn,
)
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.sales import Sales
from thrifty.seeds import Seed


class Replay:
    """Replays rounds of which everything is known: contexts, all actions' rewards, all costs.

    Change points are the first rounds, counted from 0, of new periods; policies never see them,
    only `truth` uses them.

    Parameters
    ----------
    contexts : array_like of int, shape (T, D)
        Codes from 0. All tables are kept as read-only copies.
    rewards : array_like of float, shape (T, A)
        What each action would have paid, in [0, 1].
    costs : array_like of float, shape (T, D)
        What each feature would have cost, finite and at least 0, on the scale of the rewards. The
        setup fees of the problem's groups, divided by its range of rewards, are added to them;
        features of a bundle are sold together, each at its own cost.
    free : array_like of bool, shape (D,), optional
        The features that are known before anything is bought, at no cost.
    outcomes : array_like of int, shape (T,), optional
        The outcome of each round, for a problem that declares outcomes.
    problem : Problem, optional
        By default one is made up from the greatest code of each feature.
    reward_changes, cost_changes : sequence of int
        Change points.
    truth : Truth, optional
        What only the oracle and the regret know; by default the table's own means.

    Examples
    --------
    >>> world = Replay(contexts=[[0, 2], [1, 0]], rewards=[[1, 0], [0, 1]], costs=[[0.1, 0.2]] * 2)
    >>> seen = world.reveal(Purchase([False, True]))
    >>> seen.codes.tolist(), seen.total_cost, world.step(0)
    ([-1, 2], 0.2, 1.0)
    """

    def __init__(
        self,
        contexts: ArrayLike,
        rewards: ArrayLike,
        costs: ArrayLike,
        free: ArrayLike | None = None,
        *,
        outcomes: ArrayLike | None = None,
        problem: Problem | None = None,
        reward_changes: Sequence[int] = (),
        cost_changes: Sequence[int] = (),
        truth: Truth | None = None,
    ) -> None:
        self.contexts: NDArray[np.int64] = codes_table(contexts)
        self.rewards: NDArray[np.float64] = rewards_table(rewards)
        self.costs: NDArray[np.float64] = costs_table(costs)
        require_fit(self.contexts, self.rewards, self.costs)
        if problem is None:
            problem = inferred_problem(self.contexts, self.rewards.shape[1])
        require_problem(problem, self.contexts, self.rewards)
        self.problem = problem
        self.free: NDArray[np.bool_] = free_mask(free, problem.n_features)
        self.outcomes: NDArray[np.int64] | None = outcomes_column(outcomes, problem, self.horizon)
        self.sales = Sales.from_problem(problem)
        self.reward_changes = change_points("reward_changes", reward_changes, self.horizon)
        self.cost_changes = change_points("cost_changes", cost_changes, self.horizon)
        if truth is not None:
            self._require_truth(truth)
        self._given_truth = truth
        self.reset()

    @property
    def horizon(self) -> int:
        """T, the number of rounds."""
        return len(self.contexts)

    @cached_property
    def truth(self) -> Truth:
        """What only the oracle and the regret know: given, or the table's own means."""
        return Truth.in_hindsight(self) if self._given_truth is None else self._given_truth

    def draw(self, seed: Seed) -> Replay:  # noqa: ARG002
        """Return the replay itself: a table holds nothing to draw."""
        return self

    def reset(self, *, seed: Seed = None) -> None:  # noqa: ARG002
        """Start over at the first round; a seed changes nothing, since nothing is drawn."""
        self._round = 0
        self._seen: Observation | None = None
        self._revealed = False

    def known(self) -> Observation:
        """Return what is known of the round so far, at first the free values."""
        self._require_round()
        if self._seen is None:
            codes = np.where(self.free, self.contexts[self._round], -1)
            self._seen = Observation.unchecked(codes, np.full(codes.size, np.nan), 0)
        return self._seen

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell the features of `purchase`; return all that is known of the round by now."""
        known = self.known()
        if purchase.mask.shape != (self.problem.n_features,):
            raise InvalidPurchase(
                f"a mask of shape {purchase.mask.shape} for {self.problem.n_features} features: it "
                "must hold one entry per feature."
            )
        sold = self.sales.sold(purchase.mask, known.settled)
        paid = self.sales.costs(sold, known, self.costs[self._round])
        self._seen = Observation.unchecked(
            np.where(sold, self.contexts[self._round], known.codes),
            np.where(sold, paid, known.costs),
            purchase.purpose,
        )
        self._revealed = True
        return self._seen

    def step(self, action: int) -> float:
        """Take the action of the round and return its reward."""
        if not self._revealed:
            raise OutOfTurn(
                "no round is open: an action follows its purchase, so call reveal first, if only "
                "to buy nothing."
            )
        self._require_action(action)
        reward = float(self.rewards[self._round, action])
        self._round += 1
        self._revealed, self._seen = False, None
        return reward

    def outcome(self) -> int | None:
        """Return the outcome of the round that `step` has just ended, if the table has outcomes."""
        if self.outcomes is None or self._round == 0:
            return None
        return int(self.outcomes[self._round - 1])

    def price_list(self) -> NDArray[np.float64]:
        """Return what every feature costs in the current round, shape (D,).

        It is for the one policy that is given a price list; to all others it would be a leak.
        """
        self._require_round()
        prices: NDArray[np.float64] = self.costs[self._round]
        return prices

    def _require_round(self) -> None:
        if self._round >= self.horizon:
            raise EnvironmentEnded(
                f"all {self.horizon} rounds have been played: call reset to start over."
            )

    def _require_action(self, action: int) -> None:
        if (
            isinstance(action, bool)
            or not isinstance(action, numbers.Integral)
            or not 0 <= action < self.problem.n_actions
        ):
            raise InvalidAction(
                f"action {action!r}: actions are whole numbers from 0 to "
                f"{self.problem.n_actions - 1}."
            )

    def _require_truth(self, truth: Truth) -> None:
        theirs = (truth.rounds, truth.levels.tolist(), truth.rewards.shape[1])
        ours = (self.horizon, self.problem.levels.tolist(), self.problem.n_actions)
        if theirs != ours:
            raise InvalidTable(
                f"a truth about (rounds, levels, actions) = {theirs} for a table of {ours}: give "
                "the truth of this table, or none to take the table's own means."
            )

    def __repr__(self) -> str:
        return (
            f"Replay({self.horizon} rounds, {self.problem.n_features} features, "
            f"{self.problem.n_actions} actions)"
        )
