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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thrifty.decider import Decider
from thrifty.errors import NoOverlap
from thrifty.evaluation.estimates import GainEstimate
from thrifty.evaluation.logged_cases import Bools, Floats, Integers, LoggedCases
from thrifty.evaluation.models import draw_folds
from thrifty.evaluation.overlap import (
    MIN_EFFECTIVE,
    Overlap,
    measure_overlap,
    overlap_warnings,
    require_covered,
)
from thrifty.evaluation.purchase_weights import fill_shares
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
    overlap : Overlap
        How much of what the target does is in the log.
    notes : tuple of str
        What a reader should know.
    """

    gains: Floats
    logged: Floats
    clipped: float
    overlap: Overlap
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the log shows too rarely."""
        return overlap_warnings(self.overlap, ())

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
            "overlap": self.overlap.to_dict(),
            "warnings": list(self.warnings),
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
    first = replay.run(make_policy(), replay.cautious_scale())
    found = replay.run(make_policy(), replay.scale_for(first.sets)) if first.sets else first
    if len(found.gains) < MIN_EFFECTIVE:
        raise NoOverlap(
            f"only {len(found.gains)} of {log.n_cases:,} logged cases were accepted, because the "
            "log rarely shows what the target looks at, with its action and a large enough "
            f"probability; fewer than {MIN_EFFECTIVE:.0f} say nothing about how it learns. Collect "
            "a log that explores more, or use --frozen to evaluate the policy as it is."
        )
    overlap = measure_overlap(found.weights)
    require_covered(overlap)
    clipped = found.clipped / len(found.gains)
    return LearningEvaluation(np.array(found.gains), log.gains, clipped, overlap, log.notes)


@dataclass
class _Replay:
    """One pass of a policy through the log.

    Parameters
    ----------
    weights : array of float, shape (n,)
        Weight of every case; 0 if it does not show what the policy does.
    gains : list of float
        Gains of the accepted cases.
    clipped : int
        Number of accepted cases whose chance would exceed 1.
    sets : Counter
        How often each set was bought in cases that show it and have the policy's action.
    """

    weights: Floats
    gains: list[float] = field(default_factory=list)
    clipped: int = 0
    sets: Counter[bytes] = field(default_factory=Counter)


class _Rejection:
    """Replays of one log."""

    def __init__(self, log: LoggedCases, prices: PriceList, rng: np.random.Generator) -> None:
        self.log, self.prices = log, prices
        self.draws, self.folds = rng.random(log.n_cases), draw_folds(log.n_cases, rng)
        self.chances: dict[bytes, Floats] = {}
        self.costs: dict[bytes, float | None] = {}

    def run(self, policy: Policy, scale: float) -> _Replay:
        """Let a policy learn; a chance of acceptance is `scale` times the weight of the case."""
        Decider(policy)  # gives the price list to a policy that reads it
        found = _Replay(np.zeros(self.log.n_cases))
        steps = np.full(self.log.problem.n_features, NEVER, np.int8)
        rewards = self.log.problem.rewards
        for row in range(self.log.n_cases):
            steps[:] = NEVER
            action, known = follow_case(policy, self.log, row, steps)
            if action != self.log.actions[row]:
                continue
            wanted = steps >= 0
            found.sets[wanted.tobytes()] += 1
            weight = 1 / self._probabilities(wanted.tobytes())[row]
            found.weights[row] = weight
            if self.draws[row] >= scale * weight:
                continue
            found.clipped += scale * weight > 1
            reward = float(self.log.rewards[row])
            found.gains.append(reward - self._cost(wanted, row))
            policy.update(known, action, rewards.scaled_reward(reward))
        return found

    def cautious_scale(self) -> float:
        """Return a scale that suits whatever the policy buys."""
        everything = np.ones(self.log.problem.n_features, np.bool_) & ~self.log.free
        made = self.log.action_probabilities * probability_of(self.log, everything, self.folds)
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
            bought = probability_of(self.log, wanted, self.folds)
            self.chances[key] = self.log.action_probabilities * bought
        return self.chances[key]

    def _cost(self, wanted: Bools, row: int) -> float:
        key = wanted.tobytes()
        if key not in self.costs:
            names = [self.log.problem.feature_names[i] for i in np.flatnonzero(wanted)]
            self.costs[key] = self.prices.total(names)
        listed = self.costs[key]
        return float(self.log.costs[row][wanted].sum()) if listed is None else listed


def probability_of(log: LoggedCases, wanted: Bools, folds: Integers) -> Floats:
    """Return P(tau) / q(tau) of every case for a target that buys a set; infinite if not shown.

    Parameters
    ----------
    log : LoggedCases
        The log.
    wanted : array of bool, shape (D,)
        The set.
    folds : array of int, shape (n,)
        Fold of each case.

    Returns
    -------
    array of float, shape (n,)
        P(tau | x) / q(tau | x), with the shares q of sequences among all cases that show the set.
    """
    shown = log.settled[:, wanted].all(axis=1)
    if log.feature_probabilities is not None:
        each: Floats = np.where(wanted, log.feature_probabilities, 1.0).prod(axis=1)
        return np.where(shown, each, np.inf)
    assert log.purchase_probabilities is not None
    shares = np.zeros(log.n_cases)
    if shown.any():
        fill_shares(shares, log, np.flatnonzero(shown), folds)
    with np.errstate(divide="ignore"):
        found: Floats = np.where(shares > 0, log.purchase_probabilities / shares, np.inf)
    return found
