r"""Replay with rejection: how a policy that learns would have done, case by case.

The policy goes through the log in order. A case that shows what it buys, and has its action, is
accepted with a probability proportional to q(tau) / (P(tau | x) p(action)), the weight of a fixed
target; the policy learns from accepted cases only. Given x, the chance of being accepted is the
same whatever the policy does. So accepted cases are distributed like fresh cases that the policy
had decided itself, and its history of T accepted cases like a live history of T cases
(L. Li, W. Chu, J. Langford, X. Wang, 2011, for uniform probabilities and without purchases).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.decider import Decider
from thrifty.errors import NoOverlap
from thrifty.evaluation.estimates import GainEstimate
from thrifty.evaluation.logged_cases import Bools, Floats, LoggedCases
from thrifty.evaluation.overlap import MIN_EFFECTIVE
from thrifty.evaluation.targets import NEVER, follow_case
from thrifty.policy import Policy
from thrifty.prices import PriceList
from thrifty.seeds import Seed, generator

CLIPPED = 0.01
"""Share of the log whose probabilities may be too small for the right chance of acceptance."""


@dataclass(frozen=True, eq=False)
class LearningEvaluation:
    """How a policy that learns would have done in the accepted cases of a log.

    Parameters
    ----------
    gains : array of float
        Gain of every accepted case, in the order in which the policy learnt from them.
    logged : array of float, shape (n,)
        Gain of every case under the policy that wrote the log.
    clipped : float
        Share of the accepted cases that should have been accepted more often.
    notes : tuple of str
        What a reader should know.
    """

    gains: Floats
    logged: Floats
    clipped: float
    notes: tuple[str, ...] = ()

    @property
    def estimate(self) -> GainEstimate:
        """Mean gain of the accepted cases."""
        return GainEstimate.from_scores(self.gains)

    @property
    def current(self) -> GainEstimate:
        """Gain per case of the policy that wrote the log."""
        return GainEstimate.from_scores(self.logged)

    @property
    def difference(self) -> GainEstimate:
        """Gain of the target minus that of the policy that wrote the log, not paired."""
        own, other = self.estimate, self.current
        return GainEstimate(own.mean - other.mean, float(np.hypot(own.error, other.error)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but single gains as JSON values.

        Returns
        -------
        dict
            The estimate, the difference, and the numbers of cases.
        """
        return {
            "evaluated": "learning",
            "cases": len(self.logged),
            "accepted": len(self.gains),
            "gain_per_case": {"rejection": self.estimate.to_dict()},
            "current_gain_per_case": self.current.to_dict(),
            "minus_current_per_case": {"rejection": self.difference.to_dict()},
            "clipped": self.clipped,
            "notes": list(self.notes),
        }


def evaluate_learning(
    log: LoggedCases, policy: Policy, *, prices: PriceList | None = None, seed: Seed = 1
) -> LearningEvaluation:
    """Let a policy learn from the cases of a log that it might have decided itself.

    Parameters
    ----------
    log : LoggedCases
        The log, in the order of time.
    policy : Policy
        The policy, which learns.
    prices : PriceList, optional
        List prices; by default those of the log's problem.
    seed : int, SeedSequence, Generator or None
        Random seed of the rejection.

    Returns
    -------
    LearningEvaluation
        The gains of the accepted cases.

    Raises
    ------
    NoOverlap
        If hardly any case is accepted.
    """
    rng = generator(seed).spawn(1)[0]  # independent of cases drawn with the same seed
    replay = _Rejection(log, policy, prices or log.problem.prices or PriceList(), rng)
    gains, clipped = replay.run()
    if len(gains) < MIN_EFFECTIVE:
        raise NoOverlap(
            f"only {len(gains)} of {log.n_cases:,} logged cases were accepted, because the log "
            "rarely shows what the target looks at, with its action and a large enough "
            f"probability; fewer than {MIN_EFFECTIVE:.0f} say nothing about how it learns. Collect "
            "a log that explores more, or use --frozen to evaluate the policy as it is."
        )
    return LearningEvaluation(np.array(gains), log.gains, clipped / len(gains), log.notes)


class _Rejection:
    """One pass through a log."""

    def __init__(
        self, log: LoggedCases, policy: Policy, prices: PriceList, rng: np.random.Generator
    ) -> None:
        self.log, self.policy, self.prices, self.rng = log, policy, prices, rng
        Decider(policy)  # gives the price list to a policy that reads it
        self.shares: dict[bytes, Mapping[int, float]] = {}
        self.costs: dict[bytes, float | None] = {}
        self.made = log.action_probabilities * _purchase_probabilities(log)
        self.scale = float(np.quantile(self.made, CLIPPED))

    def run(self) -> tuple[list[float], int]:
        """Return the gains of the accepted cases, and how many chances were clipped."""
        gains, clipped = [], 0
        steps = np.full(self.log.problem.n_features, NEVER, np.int8)
        scale = self.log.problem.rewards
        draws = self.rng.random(self.log.n_cases)
        for row in range(self.log.n_cases):
            steps[:] = NEVER
            action, known = follow_case(self.policy, self.log, row, steps)
            if action != self.log.actions[row]:
                continue
            wanted = steps >= 0
            chance = self.scale * self._share(wanted, row) / self._probability(wanted, row)
            if draws[row] >= chance:
                continue
            clipped += chance > 1
            reward = float(self.log.rewards[row])
            gains.append(reward - self._cost(wanted, row))
            self.policy.update(known, action, scale.scaled_reward(reward))
        return gains, clipped

    def _probability(self, wanted: Bools, row: int) -> float:
        each = self.log.feature_probabilities
        if each is None:
            return float(self.made[row])
        return float(each[row][wanted].prod() * self.log.action_probabilities[row])

    def _share(self, wanted: Bools, row: int) -> float:
        """Return the share of the case's purchases among all that show these features."""
        if self.log.feature_probabilities is not None:
            return 1.0
        key = wanted.tobytes()
        if key not in self.shares:
            rows = self.log.settled[:, wanted].all(axis=1)
            classes, counts = np.unique(self.log.purchase_classes[rows], return_counts=True)
            shares = (counts / counts.sum()).tolist()
            self.shares[key] = dict(zip(classes.tolist(), shares, strict=True))
        return self.shares[key][int(self.log.purchase_classes[row])]

    def _cost(self, wanted: Bools, row: int) -> float:
        key = wanted.tobytes()
        if key not in self.costs:
            names = [self.log.problem.feature_names[i] for i in np.flatnonzero(wanted)]
            self.costs[key] = self.prices.total(names)
        listed = self.costs[key]
        return float(self.log.costs[row][wanted].sum()) if listed is None else listed


def _purchase_probabilities(log: LoggedCases) -> Floats:
    if log.purchase_probabilities is not None:
        return log.purchase_probabilities
    assert log.feature_probabilities is not None
    found: Floats = np.where(log.bought, log.feature_probabilities, 1.0).prod(axis=1)
    return found
