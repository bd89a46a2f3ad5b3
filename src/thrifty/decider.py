"""`Decider`: calls a policy for a case, and converts money to the policy's scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_record import Decision
from thrifty.policy import Policy
from thrifty.propensities import Notes, Propensity
from thrifty.rounds import Observation, Purchase

CERTAIN = Propensity(1.0)
FEATURES, ACTION, UPDATE = "features", "action", "update"


class Decider:
    """Calls a policy with amounts in money.

    This is the only place where money is converted: the policy sees rewards in [0, 1], and costs
    as a share of the range of rewards.

    Parameters
    ----------
    policy : Policy
        The policy that decides.

    Attributes
    ----------
    records_propensities : bool
        True if decisions say how probable they were.
    """

    records_propensities: bool = False

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
        notes: Notes | None = None,
        record: bool = True,
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
        notes : mapping, optional
            The `notes` of the decision before, which its probability depends on. None before the
            first decision of a case.
        record : bool
            False leaves the probabilities out, although `records_propensities` is True.

        Returns
        -------
        Decision
            The purchase or the action.
        """
        scaled, policy = self._scaled(seen), self.policy
        reasons = buy = None
        # What an earlier release has decided lacks notes, and then nothing can be said later.
        records = record and self.records_propensities and (step == 0 or notes is not None)
        if step == 0 or policy.stepwise:
            self._draw_for(case, FEATURES, step)
            # None instead of an empty observation saves the policy its validation.
            purchase = policy.choose_features(scaled if step or seen.mask.any() else None)
            reasons = policy.reasons(purchase, scaled)
            if records:
                buy = self._propensity_of_purchase(scaled, purchase, notes, case, step)
                notes = None if buy is None else buy.notes
            # For a few features a list is several times as fast as numpy.flatnonzero.
            places = tuple([i for i, buy in enumerate(purchase.mask.tolist()) if buy])
            if places:
                return Decision(places, purchase.purpose, reasons, purchase_propensity=buy)
            scaled = Observation.unchecked(scaled.codes, scaled.costs, purchase.purpose)
        values = policy.action_values(scaled)
        self._draw_for(case, ACTION, step)
        action = policy.choose_action(scaled, available=available)
        act = None
        if records and notes is not None:
            act = self._propensity_of_action(scaled, action, notes, available, case, step)
        return Decision((), scaled.purpose, reasons, action, values, buy, act)

    def propensity(
        self,
        seen: Observation,
        choice: Any,
        *,
        notes: Notes | None = None,
        available: NDArray[np.bool_] | None = None,
        seed: int | str | None = None,
    ) -> Propensity | None:
        """Return the probability of any purchase or action; see `Policy.propensity`.

        Parameters
        ----------
        seen : Observation
            What is known about the case before the choice, in money.
        choice : Purchase, array_like of bool or int
            A purchase, or an action.
        notes : mapping, optional
            The `notes` of the previous call in the same case.
        available : array of bool, optional
            Actions to choose from; None means all.
        seed : int or str, optional
            Seed of a Monte Carlo estimate.

        Returns
        -------
        Propensity or None
            The probability.
        """
        scaled = self._scaled(seen)
        return self.policy.propensity(scaled, choice, notes=notes, available=available, seed=seed)

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

    def _propensity_of_purchase(
        self, known: Observation, purchase: Purchase, notes: Notes | None, case: Any, step: int
    ) -> Propensity | None:
        if not self.policy.random_purchases:
            return Propensity.certain(purchase.purpose)
        seed = self._propensity_seed(case, step)
        found = self.policy.propensity(known, purchase, notes=notes, seed=seed)
        return None if found is None else found.of_made(purchase.purpose)

    def _propensity_of_action(
        self,
        known: Observation,
        action: int,
        notes: Notes,
        available: NDArray[np.bool_] | None,
        case: Any,
        step: int,
    ) -> Propensity | None:
        if not self.policy.random_actions:
            return CERTAIN
        seed = self._propensity_seed(case, step)
        found = self.policy.propensity(known, action, notes=notes, available=available, seed=seed)
        return None if found is None else found.of_made(known.purpose)

    def _propensity_seed(self, case: Any, step: int) -> str | None:
        """Return the seed of Monte Carlo estimates, by default from what is known."""
        return None if case is None else f"{case}/{step}"

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
