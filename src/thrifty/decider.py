"""`Decider`: calls a policy for a case, and converts money to the policy's scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_record import Decision
from thrifty.policy import Policy
from thrifty.rounds import Observation

FEATURES, ACTION, UPDATE = "features", "action", "update"


class Decider:
    """Calls a policy with amounts in money.

    This is the only place where money is converted: the policy sees rewards in [0, 1], and costs
    as a share of the range of rewards.

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
        """Choose the features to buy next or, if there are none, the action.

        Parameters
        ----------
        seen : Observation
            What is known about the case so far, in money.
        step : int
            Number of purchases that were decided before in this case.
        available : array of bool, optional
            Actions to choose from; None means all.
        case : optional
            Id of the case, for subclasses whose random numbers depend on it.

        Returns
        -------
        Decision
            The purchase or the action.
        """
        scaled, policy = self._scaled(seen), self.policy
        reasons = None
        if step == 0 or policy.stepwise:
            self._draw_for(case, FEATURES, step)
            # None instead of an empty observation saves the policy its validation.
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
        """Let the policy learn from a case; `seen` and `reward` are in money."""
        self._draw_for(None, UPDATE, 0)
        self.policy.update(
            self._scaled(seen), action, self._scale.scaled_reward(reward), outcome=outcome
        )

    def read_price_list(self, prices: NDArray[np.float64]) -> None:
        """Give the policy the current prices, in money."""
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
        """Prepare the policy's random generator for a call; subclasses may set it."""
