r"""Replay with rejection: how a policy that learns would have done, case by case.

The policy goes through the log in order. A case that shows what it buys, and has its action, is
accepted with a probability proportional to q(tau) / (P(tau | x) p(action)), the weight of a fixed
target; the policy learns from accepted cases only. Given x, the chance of being accepted is the
same whatever the policy does. So accepted cases are distributed like fresh cases that the policy
had decided itself, and its history of T accepted cases like a live history of T cases
(L. Li, W. Chu, J. Langford, X. Wang, 2011, for uniform probabilities and without purchases).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
        return self.estimate.minus(self.current)

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
    log: LoggedCases,
    make_policy: Callable[[], Policy],
    *,
    prices: PriceList | None = None,
    seed: Seed = 1,
) -> LearningEvaluation:
    """Let a policy learn from the cases of a log that it might have decided itself.

    Parameters
    ----------
    log : LoggedCases
        The log, in the order of time.
    make_policy : callable
        Returns the policy as it starts. It is made twice: a first pass finds out what it buys, and
        so how many cases can be accepted.
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
    replay = _Rejection(log, prices or log.problem.prices or PriceList(), rng)
    _, _, sets = replay.run(make_policy(), replay.cautious_scale())
    gains, clipped, _ = replay.run(make_policy(), replay.scale_for(sets)) if sets else ([], 0, sets)
    if len(gains) < MIN_EFFECTIVE:
        raise NoOverlap(
            f"only {len(gains)} of {log.n_cases:,} logged cases were accepted, because the log "
            "rarely shows what the target looks at, with its action and a large enough "
            f"probability; fewer than {MIN_EFFECTIVE:.0f} say nothing about how it learns. Collect "
            "a log that explores more, or use --frozen to evaluate the policy as it is."
        )
    return LearningEvaluation(np.array(gains), log.gains, clipped / len(gains), log.notes)


class _Rejection:
    """Replays of one log."""

    def __init__(self, log: LoggedCases, prices: PriceList, rng: np.random.Generator) -> None:
        self.log, self.prices = log, prices
        self.draws = rng.random(log.n_cases)
        self.chances: dict[bytes, Floats] = {}
        self.costs: dict[bytes, float | None] = {}

    def run(self, policy: Policy, scale: float) -> tuple[list[float], int, Counter[bytes]]:
        """Return the gains of accepted cases, clipped chances, and how often each set was bought.

        A chance of acceptance is `scale` times the weight of the case.
        """
        Decider(policy)  # gives the price list to a policy that reads it
        gains, clipped, sets = list[float](), 0, Counter[bytes]()
        steps = np.full(self.log.problem.n_features, NEVER, np.int8)
        rewards = self.log.problem.rewards
        for row in range(self.log.n_cases):
            steps[:] = NEVER
            action, known = follow_case(policy, self.log, row, steps)
            if action != self.log.actions[row]:
                continue
            wanted = steps >= 0
            sets[wanted.tobytes()] += 1
            chance = scale / self._probabilities(wanted.tobytes())[row]
            if self.draws[row] >= chance:
                continue
            clipped += chance > 1
            reward = float(self.log.rewards[row])
            gains.append(reward - self._cost(wanted, row))
            policy.update(known, action, rewards.scaled_reward(reward))
        return gains, clipped, sets

    def cautious_scale(self) -> float:
        """Return a scale that suits whatever the policy buys."""
        everything = np.ones(self.log.problem.n_features, np.bool_) & ~self.log.free
        made = self.log.action_probabilities * probability_of(self.log, everything)
        possible = made[np.isfinite(made)]
        return float(np.quantile(possible, CLIPPED)) if possible.size else 0.0

    def scale_for(self, sets: Counter[bytes]) -> float:
        """Return the largest scale that suits the sets that are bought more than rarely."""
        usual = [key for key, count in sets.items() if count >= CLIPPED * sets.total()]
        scales = []
        for key in usual:
            probabilities = self._probabilities(key)
            scales.append(float(np.quantile(probabilities[np.isfinite(probabilities)], CLIPPED)))
        return min(scales)

    def _probabilities(self, key: bytes) -> Floats:
        """Return 1 over the weight of each case for a target that buys a set, (n,)."""
        if key not in self.chances:
            wanted = np.frombuffer(key, np.bool_)
            self.chances[key] = self.log.action_probabilities * probability_of(self.log, wanted)
        return self.chances[key]

    def _cost(self, wanted: Bools, row: int) -> float:
        key = wanted.tobytes()
        if key not in self.costs:
            names = [self.log.problem.feature_names[i] for i in np.flatnonzero(wanted)]
            self.costs[key] = self.prices.total(names)
        listed = self.costs[key]
        return float(self.log.costs[row][wanted].sum()) if listed is None else listed


def probability_of(log: LoggedCases, wanted: Bools) -> Floats:
    """Return P(tau) / q(tau) of every case for a target that buys a set; infinite if not shown.

    Parameters
    ----------
    log : LoggedCases
        The log.
    wanted : array of bool, shape (D,)
        The set.

    Returns
    -------
    array of float, shape (n,)
        P(tau) / q(tau), with the shares q of sequences among all cases that show the set.
    """
    shown = log.settled[:, wanted].all(axis=1)
    if log.feature_probabilities is not None:
        each: Floats = np.where(wanted, log.feature_probabilities, 1.0).prod(axis=1)
        return np.where(shown, each, np.inf)
    assert log.purchase_probabilities is not None
    found = np.full(log.n_cases, np.inf)
    rows = np.flatnonzero(shown)
    if rows.size:
        _, places = np.unique(log.purchase_classes[rows], return_inverse=True)
        shares = np.bincount(places) / rows.size
        found[rows] = log.purchase_probabilities[rows] / shares[places]
    return found
