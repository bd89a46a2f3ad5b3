"""How likely the next case is one in which everything is bought, to learn a better plan."""

from __future__ import annotations

from dataclasses import dataclass

from thrifty.surveyor.budget import Account
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.exploration import (
    Exploration,
    headroom,
    learning_pays,
    optimistic_headroom,
)
from thrifty.surveyor.knowledge import Knowledge

CLEAR = 2.0
"""Standard errors by which a plan must seem better than buying nothing for exploring to end."""
LEARNING_RATE = 0.25
"""Share of the cases in which everything is bought as long as a better plan pays for that."""


@dataclass(frozen=True, eq=False)
class Explorer:
    """What exploring may bring and cost, given what was seen and learnt so far.

    Parameters
    ----------
    evidence : Evidence
        Everything that was seen.
    exploration : Exploration
        What exploring has cost.
    knowledge : Knowledge or None
        The present plans.
    account : Account or None
        What was spent, if there is a budget.
    spend : float
        What the plan spends per case.
    """

    evidence: Evidence
    exploration: Exploration
    knowledge: Knowledge | None
    account: Account | None
    spend: float

    @property
    def headroom(self) -> float:
        """What information may still bring per case, in money."""
        evidence = self.evidence
        full = headroom(evidence.counts.frequencies, evidence.table.table)
        if self.knowledge is None:
            return full
        return optimistic_headroom(full, self.knowledge.informed_gain, evidence.n_rare)

    def rate(self, rounds: int) -> float:
        """Return the probability of looking at everything in the next case.

        Parameters
        ----------
        rounds : int
            Number of cases so far.

        Returns
        -------
        float
            Probability, if the loss so far leaves room for exploring.
        """
        exploration, price = self.exploration, self.evidence.book.price_of_everything
        hidden = 0.0 if self.evidence.table.tells.all() else 0.5 * self.evidence.blind_gap
        cost = max(price - self.spend, 0.0) + hidden
        rate = exploration.rate(rounds, self.headroom, cost)
        if self._pays_for_more_cases(rounds, cost):
            rate = max(rate, LEARNING_RATE)
        if self.account is None:
            return rate
        first_cases = exploration.horizon if exploration.is_first else 0
        limit = self.account.exploring_limit(price, exploration.spent, first_cases, self.spend)
        return min(rate, limit)

    def _pays_for_more_cases(self, rounds: int, cost: float) -> bool:
        """Return True if another complete case probably earns more than it costs."""
        knowledge = self.knowledge
        if knowledge is None or not knowledge.buys or not is_clear(knowledge):
            return False
        return learning_pays(
            knowledge.gain - knowledge.nothing_gain,
            n_rows=self.evidence.n_rows,
            n_rare=self.evidence.n_rare,
            n_left=self.exploration.horizon - rounds,
            cost=cost,
        )


def is_clear(knowledge: Knowledge | None) -> bool:
    """Return True if the plan is clearly better than buying nothing."""
    return knowledge is not None and knowledge.clearness >= CLEAR
