"""Overlap: how much of what the target does is in the log, in all and by segment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.errors import InvalidTable, NoOverlap
from thrifty.evaluation.estimates import GainEstimate, Z
from thrifty.evaluation.logged_cases import Bools, Codes, Floats, LoggedCases
from thrifty.evaluation.targets import Followed

MIN_EFFECTIVE = 30.0
"""With a smaller effective number of cases there is no answer."""
MIN_COVERED = 0.9
"""If a smaller share of the target's decisions is covered, there is no answer."""
MAX_COVERED, MAX_EXCESS_ERRORS = 1.1, 3.0
"""A mean weight above 1.1, by this number of standard errors, contradicts the probabilities."""
MIN_EFFECTIVE_SEGMENT = 10.0
"""A segment with a smaller effective number of cases is warned about."""
MIN_SEGMENT = 0.02
"""Segments with a smaller share of the cases are not listed."""
N_RANGES = 5
"""Intervals of a number are merged to this number of segments of about equal size."""


@dataclass(frozen=True)
class Overlap:
    """How much the log says about the target, in some of its cases.

    Parameters
    ----------
    name : str
        Description of the cases.
    cases : int
        Number of cases.
    share : float
        Share of all cases; for a leaf of the target the estimated share.
    matching : int
        Number of cases that show what the target looks at and have its action.
    effective : float
        Effective sample size: this number of cases of the target itself would tell as much.
    covered : float
        Estimated share of the target's decisions that the log can show, the mean weight: 1 if the
        probabilities are right and the log might show every decision of the target.
    covered_error : float
        Standard error of `covered`; nan for a leaf, where it is not known.
    covered_skewness : float
        Skewness of `covered`, as large weights are rare.
    """

    name: str
    cases: int
    share: float
    matching: int
    effective: float
    covered: float
    covered_error: float
    covered_skewness: float = 0.0

    @property
    def is_covered(self) -> bool:
        """True unless the log clearly lacks some of the target's decisions."""
        return not self.most_covered < MIN_COVERED

    @property
    def most_covered(self) -> float:
        """Upper end of the 95 % interval of `covered`."""
        return GainEstimate(self.covered, self.covered_error, self.covered_skewness).high

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values.

        Returns
        -------
        dict
            A key for each field.
        """
        return dict(vars(self))


def effective_size(weights: Floats) -> float:
    """Return the effective sample size of weighted cases, at most their number.

    Parameters
    ----------
    weights : array of float, shape (n,)
        Weights, at least 0.

    Returns
    -------
    float
        The squared sum over the sum of squares.

    Examples
    --------
    >>> effective_size(np.array([2.0, 2.0, 0.0])), effective_size(np.zeros(2))
    (2.0, 0.0)
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def measure_overlap(weights: Floats, name: str = "all cases", total: int | None = None) -> Overlap:
    """Return the overlap in some cases.

    Parameters
    ----------
    weights : array of float, shape (n,)
        Their weights for purchases and action.
    name : str
        Description of the cases.
    total : int, optional
        Number of all cases; by default these are all.

    Returns
    -------
    Overlap
        The numbers.
    """
    n, covered = len(weights), GainEstimate.from_scores(weights)
    return Overlap(
        name=name,
        cases=n,
        share=n / (total or n),
        matching=int(np.count_nonzero(weights)),
        effective=effective_size(weights),
        covered=covered.mean,
        covered_error=covered.error,
        covered_skewness=covered.skewness,
    )


def segment_overlaps(
    log: LoggedCases, followed: Followed, purchases: Floats, weights: Floats
) -> tuple[Overlap, ...]:
    """Return the overlap by level of each free feature, and by leaf of a plan.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target does.
    purchases, weights : array of float, shape (n,)
        Weights for purchases, and for purchases and action.

    Returns
    -------
    tuple of Overlap
        The segments with a notable share of the cases.
    """
    segments = [*_levels(log, weights), *_leaves(followed, purchases, weights)]
    return tuple(segment for segment in segments if segment.share >= MIN_SEGMENT)


def _levels(log: LoggedCases, weights: Floats) -> Iterator[Overlap]:
    for i in np.flatnonzero(log.free).tolist():
        feature, codes = log.problem.features[i], log.codes[:, i]
        for low, high in _ranges(codes, len(feature.levels), bool(feature.edges)):
            inside = weights[(codes >= low) & (codes <= high)]
            if len(inside):
                first, last = feature.levels[low], feature.levels[high]
                name = first if low == high else f"{first} ... {last}"
                yield measure_overlap(inside, f"{feature.name} = {name}", log.n_cases)


def _ranges(codes: Codes, n_levels: int, is_ordered: bool) -> list[tuple[int, int]]:
    """Return first and last level of each segment; many intervals of a number are merged."""
    if not is_ordered or n_levels <= N_RANGES:
        return [(code, code) for code in range(n_levels)]
    cuts = np.quantile(codes, np.arange(1, N_RANGES) / N_RANGES, method="lower")
    starts = sorted({0, *(int(cut) + 1 for cut in cuts if cut + 1 < n_levels)})
    return list(zip(starts, [start - 1 for start in starts[1:]] + [n_levels - 1], strict=True))


def _leaves(followed: Followed, purchases: Floats, weights: Floats) -> Iterator[Overlap]:
    if followed.leaves is None:
        return
    for k, name in enumerate(followed.leaf_names):
        inside: Bools = followed.leaves == k
        share = float(purchases[inside].sum()) / len(weights)
        own = weights[inside]
        n = int(inside.sum())
        matching = int(np.count_nonzero(own))
        covered = float(own.sum()) / len(weights) / share if share > 0 else 0.0
        yield Overlap(name, n, share, matching, effective_size(own), covered, math.nan)


def require_overlap(overlap: Overlap) -> None:
    """Raise an error if the log says too little about the target, or contradicts itself.

    Parameters
    ----------
    overlap : Overlap
        The overlap in all cases.

    Raises
    ------
    NoOverlap
        If the effective sample or the share of covered decisions is too small.
    InvalidTable
        If the mean weight is clearly above 1, which right probabilities rule out.
    """
    if overlap.effective < MIN_EFFECTIVE:
        raise NoOverlap(
            f"only {overlap.matching:,} of {overlap.cases:,} logged cases show what the target "
            f"would look at and have its action, worth {overlap.effective:.0f} cases of its own; "
            f"fewer than {MIN_EFFECTIVE:.0f} give no interval that you can trust. Collect a log "
            "that explores more, or evaluate a target that is closer to the logged policy."
        )
    require_covered(overlap)


def require_covered(overlap: Overlap) -> None:
    """Raise an error unless the mean weight of the cases is about 1.

    Parameters
    ----------
    overlap : Overlap
        The overlap in all cases.

    Raises
    ------
    NoOverlap
        If the share of covered decisions is too small.
    InvalidTable
        If the mean weight is clearly above 1, which right probabilities rule out.
    """
    if overlap.covered - MAX_EXCESS_ERRORS * overlap.covered_error > MAX_COVERED:
        raise InvalidTable(
            f"the mean weight of the cases is {overlap.covered:.2f}, but right probabilities give "
            "at most 1, so estimates would be wrong: the logged probabilities of decisions are too "
            "low. A usual reason is the probability of one order of purchases where the log only "
            "says which features were bought: name the column of the order in [log] sequence, or "
            "log the probability of the set."
        )
    if not overlap.is_covered:
        raise NoOverlap(
            f"the log covers only {overlap.covered:.0%} of the target's decisions, less than "
            f"{MIN_COVERED:.0%}: in the other cases the logged policy never does what the target "
            "would do, so nothing is known about their gain. Let the logged policy explore there, "
            "or evaluate a target that does the same in these cases. If the policy does explore "
            "there, the logged probabilities are too high."
        )


def overlap_warnings(overlap: Overlap, segments: tuple[Overlap, ...]) -> tuple[str, ...]:
    """Return what a reader should know about the overlap.

    Parameters
    ----------
    overlap : Overlap
        The overlap in all cases.
    segments : tuple of Overlap
        The overlap by segment.

    Returns
    -------
    tuple of str
        Warnings.
    """
    warnings = []
    if overlap.most_covered < 1:
        warnings.append(
            f"the log covers {overlap.covered:.1%} of the target's decisions; the others never "
            "happen in it, or their probabilities are too high"
        )
    if overlap.covered - 1.5 * Z * overlap.covered_error > 1:
        warnings.append(
            f"the mean weight is {overlap.covered:.3f} instead of 1, so some logged probabilities "
            "are too low"
        )
    warnings += [
        f"{segment.name}: {segment.share:.0%} of the cases, but worth only "
        f"{segment.effective:.0f} cases of the target ({segment.covered:.0%} covered)"
        for segment in segments
        if segment.effective < MIN_EFFECTIVE_SEGMENT or not segment.is_covered
    ]
    return tuple(warnings)
