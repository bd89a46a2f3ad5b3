"""What is gained compared with constant actions, and whether another case may be risked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.rounds import Observation
from thrifty.surveyor.beliefs import Beliefs
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.ledger import Ledger
from thrifty.surveyor.loss_limit import LossLimit
from thrifty.surveyor.purposes import is_plan

Bools = NDArray[np.bool_]

EXPLORING_SHARE = 0.75
"""Share of the largest loss at which exploring stops if there is a plan to try with the rest."""
ACCEPTED = 1.0
"""Standard errors by which a plan must seem better than buying nothing. After the first phase a
plan is tried if it seems better at all, unless one has lost before, or a loss could stay hidden."""


class LossGuard:
    """Compare gains with those of constant actions, and stop before the largest loss is exceeded.

    Parameters
    ----------
    evidence : Evidence
        Everything that was seen.
    limit : LossLimit
        How far the total gain may fall below that of the best constant action.

    Attributes
    ----------
    ledger : Ledger
        Gains compared with those of constant actions.
    """

    def __init__(self, evidence: Evidence, limit: LossLimit) -> None:
        self.ledger = Ledger.of(len(evidence.table.table))
        self.limit = limit
        self._evidence = evidence

    def allowed(self, rounds: int) -> float:
        """Return the largest loss that is allowed after this many cases, in money."""
        return self.limit.allowed(self._evidence.counts, self._evidence.table.table, rounds)

    @property
    def largest_case_loss(self) -> float:
        """The most that a case may lose against the best constant action, in money."""
        table = self._evidence.table.table
        gaps = table[self.ledger.baseline] - table
        return float(gaps.max()) + self._evidence.book.price_of_everything

    def is_reached(self, rounds: int, *, is_clear: bool) -> bool:
        """Return True if only the best constant action may be taken in the next case.

        Parameters
        ----------
        rounds : int
            Number of cases so far.
        is_clear : bool
            True if the plan is clearly better than buying nothing. By default it is carried out
            even then, unless it has lost before; a limit that was given has no exception.

        Returns
        -------
        bool
            True if another case might exceed the largest loss.
        """
        if self._allows_another_case(rounds):
            return False
        return self.limit.is_given or self.ledger.record.is_doubtful or not is_clear

    def allows_exploring(self, rounds: int, *, has_plan: bool) -> bool:
        """Return True if the loss so far leaves room for exploring."""
        return self._allows_another_case(rounds, EXPLORING_SHARE if has_plan else 1.0)

    def _allows_another_case(self, rounds: int, share: float = 1.0) -> bool:
        """Return True if the next case cannot exceed a share of the largest loss."""
        return self.ledger.surplus - self.largest_case_loss >= -share * self.allowed(rounds)

    def accepted(self, *, is_learning: bool) -> float:
        """Return the standard errors by which a new plan must seem better than buying nothing.

        Parameters
        ----------
        is_learning : bool
            True if the first phase of exploring goes on.

        Returns
        -------
        float
            Standard errors.
        """
        tells = self._evidence.table.tells
        is_hidden = bool(tells[self._evidence.best_constant] and not tells.all())
        return ACCEPTED if is_hidden or is_learning or self.ledger.n_disproved else 0.0

    def count(
        self,
        observation: Observation,
        action: int,
        possible: Bools,
        reward: float,
        beliefs: Beliefs,
    ) -> None:
        """Add up how much more is gained than by each constant action.

        Parameters
        ----------
        observation : Observation
            What was known when the action was chosen.
        action : int
            Action taken.
        possible : array of bool, shape (O,)
            Outcomes that are possible after the reward.
        reward : float
            Reward in money.
        beliefs : Beliefs
            By which the action was chosen.
        """
        table = self._evidence.table
        rewards = table.table[:, possible]
        is_known = np.ptp(rewards, axis=1) <= 1e-9 * table.scale.span
        # What another action would have earned may be hidden: believe models in part.
        trust, values = 1.0, self._evidence.constant_values
        if beliefs.knowledge is not None and beliefs.leaf(observation) is not None:
            trust, values = beliefs.knowledge.trust, beliefs.values(observation)
        estimated = trust * (values[action] - values)
        surpluses = np.where(is_known, reward - rewards[:, 0], estimated)
        self.ledger.add(
            surpluses - observation.total_cost * table.scale.span,
            is_known=bool(is_known[self.ledger.baseline]),
            is_plan=is_plan(observation.purpose),
        )
