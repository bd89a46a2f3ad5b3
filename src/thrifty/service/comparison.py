"""How much more per case a shadow gains than the policy that acts, as far as it can be known.

There are two ways to tell. A shadow with a share of the traffic decides cases of its own, chosen
by lot, so its gains can be compared with those of all other cases. A shadow without traffic is
compared in the cases of the acting policy in which it is known what it would have gained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thrifty.confidence_sequences import MeanSequence
from thrifty.problem import Problem

BY_LOT, BY_COVERAGE = "lot", "coverage"
"""Ways to compare."""
MIN_CHANCE = 0.2
"""Smallest probability of the shadow's action with which a reward is weighted."""


@dataclass(frozen=True, slots=True)
class Result:
    """Reward and cost of a case, in money.

    Parameters
    ----------
    reward : float
        The reward.
    cost : float
        Sum of all prices paid.
    """

    reward: float
    cost: float

    @property
    def gain(self) -> float:
        """Reward minus cost."""
        return self.reward - self.cost


@dataclass(frozen=True, slots=True)
class ShadowResult:
    """What is known about a shadow's result in a case that the acting policy decided.

    Parameters
    ----------
    cost : float
        What its purchases would have cost.
    reward : float, optional
        Its reward; None if that is not known.
    chance : float, optional
        Probability with which the acting policy takes the shadow's action. None if the reward
        needs no weight, because the outcome tells the reward of every action.
    """

    cost: float
    reward: float | None
    chance: float | None = None


@dataclass(slots=True)
class ShadowComparison:
    """The difference in gain per case between a shadow and the acting policy.

    By lot, with the share q of the traffic and the average gain m of the cases before, a case with
    gain g counts

        (g - m) / q          if the shadow decided it,
        -(g - m) / (1 - q)   if the acting policy did.

    Its expected value is the difference, whatever m is. By coverage, a case counts

        shadow's gain - gain                                      if the shadow's reward is known,
        ([same action] / p - 1) (reward - m) - (shadow's cost - cost)   if p >= MIN_CHANCE,

    with the average reward m of the cases before, and the probability p with which the acting
    policy takes the shadow's action. Cases in which neither is possible do not count.

    Parameters
    ----------
    method : str
        `lot` or `coverage`.
    traffic : float
        Share of the cases that the shadow decides.
    sequence : MeanSequence
        What the cases count.
    cases : int
        Number of cases, also of those that do not count.
    known : int
        Number of cases with a known gain (by lot) or reward (by coverage). The first of them only
        starts the average.
    total : float
        Sum of these gains or rewards.
    """

    method: str
    traffic: float
    sequence: MeanSequence
    cases: int = 0
    known: int = 0
    total: float = 0.0

    @classmethod
    def start(cls, problem: Problem, traffic: float) -> ShadowComparison:
        """Return a comparison without cases.

        Parameters
        ----------
        problem : Problem
            Determines the range of gains.
        traffic : float
            Share of the cases that the shadow decides.

        Returns
        -------
        ShadowComparison
            By lot if the shadow has traffic, else by coverage.
        """
        width = problem.rewards.span + max_cost(problem)
        if traffic:
            width /= min(traffic, 1 - traffic)
        elif problem.outcomes is None:
            width *= 1 / MIN_CHANCE - 1
        method = BY_LOT if traffic else BY_COVERAGE
        return cls(method, traffic, MeanSequence(-width, width))

    @property
    def compared(self) -> int:
        """Number of cases that count."""
        return self.sequence.count

    def add_by_lot(self, result: Result, *, decided: bool) -> None:
        """Take a case that the shadow (`decided`) or the acting policy has decided.

        Parameters
        ----------
        result : Result
            The result of the case.
        decided : bool
            True if the shadow decided it.
        """
        self.cases += 1
        share = self.traffic if decided else self.traffic - 1
        if self.known:
            self.sequence.add((result.gain - self.total / self.known) / share)
        self._remember(result.gain)

    def add_by_coverage(self, result: Result, shadow: ShadowResult | None, *, same: bool) -> None:
        """Take a case that the acting policy has decided.

        Parameters
        ----------
        result : Result
            The result of the case.
        shadow : ShadowResult, optional
            What is known about the shadow; None if it is not known what it would have done.
        same : bool
            True if both took the same action.
        """
        self.cases += 1
        if shadow is None:
            return
        saved = result.cost - shadow.cost
        if shadow.chance is None:
            if shadow.reward is not None:
                self.sequence.add(shadow.reward - result.reward + saved)
        elif shadow.chance >= MIN_CHANCE:
            if self.known:
                weight = same / shadow.chance - 1
                self.sequence.add(weight * (result.reward - self.total / self.known) + saved)
            self._remember(result.reward)

    def view(self) -> dict[str, Any]:
        """Return the estimate as JSON values; without a case that counts, it is null.

        Returns
        -------
        dict
            `method`, the numbers of `cases` and of those `compared`, and the `difference` in
            money per case with the ends `low` and `high` of its interval.
        """
        low, high = self.sequence.interval()
        known = self.compared > 0
        return {
            "method": self.method,
            "cases": self.cases,
            "compared": self.compared,
            "difference": self.sequence.mean if known else None,
            "low": low if known else None,
            "high": high if known else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; `from_dict` reverses it."""
        return {
            "method": self.method,
            "traffic": self.traffic,
            "sequence": self.sequence.to_list(),
            "cases": self.cases,
            "known": self.known,
            "total": self.total,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ShadowComparison:
        """Rebuild from what `to_dict` returned."""
        return cls(**{**plain, "sequence": MeanSequence.from_list(plain["sequence"])})

    def _remember(self, amount: float) -> None:
        self.known += 1
        self.total += amount


def max_cost(problem: Problem) -> float:
    """Return the cost of a case above which it counts no more in a comparison.

    Parameters
    ----------
    problem : Problem
        Its list prices add up to the limit. Without all of them it is the range of rewards.

    Returns
    -------
    float
        An amount of money.
    """
    prices = problem.list_prices(problem.feature_names)
    known = [price for price in prices if price is not None]
    return sum(known) if problem.prices is not None and known else problem.rewards.span
