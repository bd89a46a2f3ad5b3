"""A policy that decides in money: the one place where money becomes a policy's own scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_record import Decision
from thrifty.policy import Policy
from thrifty.rounds import Observation

FEATURES, ACTION, UPDATE = "features", "action", "update"


class Decider:
    """Asks a policy for purchases and actions, and lets it learn.

    Observations, rewards and costs come in money, as the problem declares it. The policy sees
    rewards in [0, 1], and costs as a share of the range of rewards.

    Parameters
    ----------
    policy : Policy
        The policy that decides.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.problem = policy.problem
        self._scale = self.problem.rewards
        self._read_list_prices()

    def decide(
        self,
        seen: Observation,
        *,
        step: int,
        available: NDArray[np.bool_] | None = None,
        case: Any = None,
    ) -> Decision:
        """Choose what to buy next or, if nothing, the action.

        Parameters
        ----------
        seen : Observation
            What is known of the case so far, in money.
        step : int
            How many purchases of the case were decided before.
        available : array of bool, optional
            The actions to choose from; None means all.
        case : optional
            Names the case, where randomness depends on it.

        Returns
        -------
        Decision
        """
        scaled, policy = self._scaled(seen), self.policy
        reasons = None
        if step == 0 or policy.stepwise:
            self._draw_for(case, FEATURES, step)
            purchase = policy.choose_features(scaled if step or seen.mask.any() else None)
            reasons = policy.reasons(purchase, scaled)
            # For a few features a list is several times as fast as numpy.flatnonzero.
            places = tuple([i for i, buy in enumerate(purchase.mask.tolist()) if buy])
            if places:
                return Decision(places, purchase.purpose, reasons)
            scaled = Observation.unchecked(scaled.codes, scaled.costs, purchase.purpose)
        values = policy.action_values(scaled)
        self._draw_for(case, ACTION, step)
        action = policy.choose_action(scaled, available=available)
        return Decision((), scaled.purpose, reasons, action, values)

    def learn(
        self, seen: Observation, action: int, reward: float, outcome: int | None = None
    ) -> None:
        """Learn from a case: what was known, what was done, what it paid in money."""
        self._draw_for(None, UPDATE, 0)
        self.policy.update(
            self._scaled(seen), action, self._scale.scaled_reward(reward), outcome=outcome
        )

    def read_price_list(self, prices: NDArray[np.float64]) -> None:
        """Tell the policy the prices now in force, in money."""
        self.policy.read_price_list(prices / self._scale.span)

    def _read_list_prices(self) -> None:
        if not self.policy.reads_price_list:
            return
        names = self.problem.feature_names
        prices = [self.problem.list_prices([name])[0] for name in names]
        if None not in prices:
            self.read_price_list(np.array(prices, dtype=np.float64))

    def _scaled(self, seen: Observation) -> Observation:
        if self._scale.is_unit:
            return seen
        return Observation.unchecked(seen.codes, seen.costs / self._scale.span, seen.purpose)

    def _draw_for(self, case: Any, call: str, step: int) -> None:
        """Set the policy's generator for a call; here it just goes on."""
