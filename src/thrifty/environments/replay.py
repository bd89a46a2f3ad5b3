"""`Replay`: an environment that plays a table of rounds."""

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
    """An environment that replays rounds from tables of contexts, rewards and costs.

    The tables contain the reward of every action and the cost of every feature in every round. They
    are kept as read-only copies.

    Parameters
    ----------
    contexts : array_like of int, shape (T, D)
        Code of each feature in each round, counted from 0.
    rewards : array_like of float, shape (T, A)
        Reward of each action in each round, in [0, 1].
    costs : array_like of float, shape (T, D)
        Cost of each feature in each round, finite and at least 0, on the scale of the rewards.
        Setup fees of the problem's groups, divided by its range of rewards, are added to them. The
        features of a bundle are sold together, each at its own cost.
    free : array_like of bool, shape (D,), optional
        True for each feature that is known before anything is bought, at no cost.
    outcomes : array_like of int, shape (T,), optional
        Outcome of each round, if the problem declares outcomes.
    problem : Problem, optional
        Names of features and actions. By default they are generated, with as many levels as the
        largest code of each feature requires.
    reward_changes : sequence of int
        Rounds, counted from 0, in which a period with other mean rewards begins. Policies do not
        see change points; only `truth` uses them.
    cost_changes : sequence of int
        Rounds in which a period with other mean costs begins.
    truth : Truth, optional
        True means, for the oracle and the regret. By default the table's own means.

    Examples
    --------
    >>> replay = Replay(contexts=[[0, 2], [1, 0]], rewards=[[1, 0], [0, 1]], costs=[[0.1, 0.2]] * 2)
    >>> seen = replay.reveal(Purchase([False, True]))
    >>> seen.codes.tolist(), seen.total_cost, replay.step(0)
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
        """True means for the oracle and the regret: given, or the table's own means."""
        return Truth.in_hindsight(self) if self._given_truth is None else self._given_truth

    def draw(self, seed: Seed) -> Replay:  # noqa: ARG002
        """Return the replay itself, since nothing is random.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            Not used.

        Returns
        -------
        Replay
            The same object.
        """
        return self

    def reset(self, *, seed: Seed = None) -> None:  # noqa: ARG002
        """Start over at the first round.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            Not used, since nothing is random.
        """
        self._round = 0
        self._seen: Observation | None = None
        self._revealed = False

    def known(self) -> Observation:
        """Return what is known about the current round so far.

        Returns
        -------
        Observation
            The free values, and in later steps also what was bought.
        """
        self._require_round()
        if self._seen is None:
            codes = np.where(self.free, self.contexts[self._round], -1)
            self._seen = Observation.unchecked(codes, np.full(codes.size, np.nan), 0)
        return self._seen

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell features of the current round.

        Parameters
        ----------
        purchase : Purchase
            The features to buy.

        Returns
        -------
        Observation
            Everything known about the round so far.
        """
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
        """Take an action, which ends the round.

        Parameters
        ----------
        action : int
            Index of the action.

        Returns
        -------
        float
            The reward, in [0, 1].
        """
        if not self._revealed:
            raise OutOfTurn(
                "no round is open: an action comes after a purchase, so call reveal first, with "
                "an empty purchase if nothing is bought."
            )
        self._require_action(action)
        reward = float(self.rewards[self._round, action])
        self._round += 1
        self._revealed, self._seen = False, None
        return reward

    def outcome(self) -> int | None:
        """Return the outcome of the round that `step` has just ended.

        Returns
        -------
        int or None
            Index of the outcome, or None if the table has no outcomes.
        """
        if self.outcomes is None or self._round == 0:
            return None
        return int(self.outcomes[self._round - 1])

    def price_list(self) -> NDArray[np.float64]:
        """Return the cost of every feature in the current round.

        `play` gives it only to policies with `reads_price_list`.

        Returns
        -------
        array of float, shape (D,)
            Costs on the policy's scale.
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
                "the truth of this table, or leave it out to use the table's own means."
            )

    def __repr__(self) -> str:
        return (
            f"Replay({self.horizon} rounds, {self.problem.n_features} features, "
            f"{self.problem.n_actions} actions)"
        )
