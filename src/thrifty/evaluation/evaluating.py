"""Evaluate a fixed target from a log, by all methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from thrifty.evaluation.direct import direct_scores
from thrifty.evaluation.doubly_robust import doubly_robust_scores
from thrifty.evaluation.estimates import GainEstimate
from thrifty.evaluation.logged_cases import Floats, LoggedCases
from thrifty.evaluation.models import draw_folds, expected_gains, expected_rewards
from thrifty.evaluation.overlap import (
    Overlap,
    measure_overlap,
    overlap_warnings,
    require_overlap,
    segment_overlaps,
)
from thrifty.evaluation.purchase_weights import action_weights, purchase_weights
from thrifty.evaluation.target_costs import target_costs
from thrifty.evaluation.targets import Followed
from thrifty.evaluation.weighting import self_normalised_scores, weighted_scores
from thrifty.prices import PriceList
from thrifty.seeds import Seed, generator

DIRECT, WEIGHTED, SELF_NORMALISED, DOUBLY_ROBUST = METHODS = (
    "direct",
    "weighted",
    "self-normalised",
    "doubly robust",
)
"""The methods, in the order in which they are shown."""


@dataclass(frozen=True, eq=False)
class LogEvaluation:
    """What a fixed target would gain per case, as far as a log shows it.

    Parameters
    ----------
    scores : mapping
        Scores of every case, (n,), by method. Their mean is the estimate.
    logged : array of float, shape (n,)
        Gain of every case under the policy that wrote the log.
    overlap : Overlap
        How much of what the target does is in the log.
    segments : tuple of Overlap
        The same by level of the free features, and by leaf of a plan.
    costs : str
        Where the costs of the target come from: `list` or `paid`.
    spend : GainEstimate
        What the target would pay per case.
    notes : tuple of str
        What a reader should know.
    """

    scores: Mapping[str, Floats]
    logged: Floats
    overlap: Overlap
    segments: tuple[Overlap, ...]
    costs: str
    spend: GainEstimate
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> dict[str, GainEstimate]:
        """Gain of the target per case, by method."""
        return {name: GainEstimate.from_scores(scores) for name, scores in self.scores.items()}

    @property
    def current(self) -> GainEstimate:
        """Gain per case of the policy that wrote the log."""
        return GainEstimate.from_scores(self.logged)

    @property
    def differences(self) -> dict[str, GainEstimate]:
        """Gain of the target minus that of the policy that wrote the log, by method."""
        return {
            name: GainEstimate.from_scores(scores - self.logged)
            for name, scores in self.scores.items()
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the log shows too rarely."""
        return overlap_warnings(self.overlap, self.segments)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores as JSON values.

        Returns
        -------
        dict
            Estimates by method, differences, overlap, segments, notes and warnings.
        """
        return {
            "evaluated": "fixed",
            "cases": self.overlap.cases,
            "gain_per_case": _as_dicts(self.estimates),
            "current_gain_per_case": self.current.to_dict(),
            "minus_current_per_case": _as_dicts(self.differences),
            "spend_per_case": self.spend.to_dict(),
            "costs": self.costs,
            "overlap": self.overlap.to_dict(),
            "segments": [segment.to_dict() for segment in self.segments],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _as_dicts(estimates: Mapping[str, GainEstimate]) -> dict[str, dict[str, float]]:
    return {name: estimate.to_dict() for name, estimate in estimates.items()}


def evaluate_fixed(
    log: LoggedCases,
    followed: Followed,
    *,
    prices: PriceList | None = None,
    costs: str | None = None,
    seed: Seed = 1,
) -> LogEvaluation:
    """Estimate what a target that does not learn would gain in the cases of a log.

    Parameters
    ----------
    log : LoggedCases
        The log.
    followed : Followed
        What the target does in its cases, from `follow_plan` or `follow_policy`.
    prices : PriceList, optional
        List prices; by default those of the log's problem.
    costs : str, optional
        `list` or `paid`: what the target is charged. By default list prices, if there are any.
    seed : int, SeedSequence, Generator or None
        Random seed of the folds.

    Returns
    -------
    LogEvaluation
        Estimates with intervals, and the overlap.

    Raises
    ------
    NoOverlap
        If the log says too little about the target.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.problem import Problem
    >>> problem, n = Problem.anonymous(levels=(2,), n_actions=2), 400
    >>> actions, nothing = np.arange(n) % 2, np.zeros((n, 1))
    >>> seen = problem, nothing - 1, nothing, [False]
    >>> log = LoggedCases(*seen, actions, actions, nothing, np.full(n, 0.5), np.ones(n))
    >>> always = Followed(np.full((n, 1), -1), np.ones(n, np.bool_), np.ones(n, np.int64))
    >>> evaluation = evaluate_fixed(log, always)
    >>> evaluation.estimates["doubly robust"].mean, evaluation.current.mean
    (1.0, 0.5)
    """
    rng = generator(seed).spawn(1)[0]  # independent of cases drawn with the same seed
    folds = draw_folds(log.n_cases, rng)
    paid, source, notes = target_costs(log, followed, prices or log.problem.prices, costs)
    purchases = purchase_weights(log, followed, folds)
    weights = purchases * action_weights(log, followed)
    overlap = measure_overlap(weights)
    require_overlap(overlap)
    expected = expected_rewards(log, followed, weights, folds, rng)
    by_free = expected_gains(log, expected - paid, purchases, folds, rng)
    direct = direct_scores(expected, paid, by_free, purchases)
    gains = log.rewards - paid
    scores = {
        DIRECT: direct,
        WEIGHTED: weighted_scores(gains, weights),
        SELF_NORMALISED: self_normalised_scores(gains, weights),
        DOUBLY_ROBUST: doubly_robust_scores(direct, log.rewards, expected, weights),
    }
    return LogEvaluation(
        scores=MappingProxyType(scores),
        logged=log.gains,
        overlap=overlap,
        segments=segment_overlaps(log, followed, purchases, weights),
        costs=source,
        spend=GainEstimate.from_scores(self_normalised_scores(paid, purchases)),
        notes=(*log.notes, *notes),
    )
