"""What the whole procedure gains in cases that it has never seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from thrifty.plans.booster import SMALL_TABLE
from thrifty.plans.cases import Floats, PastCases
from thrifty.plans.folds import stratified_folds
from thrifty.plans.learning import KINDS, Learnt, learn
from thrifty.seeds import generator


@dataclass(frozen=True, eq=False)
class NestedGains:
    """Gains by case of plans that were learnt without the case.

    Parameters
    ----------
    gains : mapping
        For each name in `KINDS` the gain of every case in money, (T,).
    learnt : tuple of Learnt
        What was learnt in each fold.
    """

    gains: Mapping[str, Floats]
    learnt: tuple[Learnt, ...]

    def standard_error(self, kind: str, other: str | None = None) -> float:
        """Return the standard error of a mean gain, or of the difference of two.

        Parameters
        ----------
        kind : str
            Name in `KINDS`.
        other : str, optional
            Name of the plan to compare with.

        Returns
        -------
        float
            Standard error in money per case.
        """
        values = self.gains[kind] - (0.0 if other is None else self.gains[other])
        return float(values.std(ddof=1) / np.sqrt(len(values)))


def n_outer_folds(n_cases: int) -> int:
    """Return the number of folds for honest gains.

    >>> n_outer_folds(300), n_outer_folds(10_000)
    (5, 3)
    """
    return 5 if n_cases < SMALL_TABLE else 3


def nested_gains(
    cases: PastCases,
    *,
    seed: int = 1,
    n_folds: int | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> NestedGains:
    """Learn on all folds but one, and carry out the plans in the fold that was left out.

    Parameters
    ----------
    cases : PastCases
        Past cases with known outcomes.
    seed : int
        Random seed.
    n_folds : int, optional
        Number of folds; by default 5 for small tables, otherwise 3.
    on_fold : callable
        Called after every fold, to show progress.

    Returns
    -------
    NestedGains
        Gains of every case.
    """
    n_folds = n_folds or n_outer_folds(cases.n_cases)
    folds = stratified_folds(cases.outcomes, n_folds, generator(seed))
    gains = {kind: np.zeros(cases.n_cases) for kind in KINDS}
    learnt = []
    for fold in range(n_folds):
        inside = np.flatnonzero(folds == fold)
        found = learn(cases.subset(np.flatnonzero(folds != fold)), seed=seed)
        unseen = cases.subset(inside)
        for kind in KINDS:
            tree = getattr(found, kind)
            gains[kind][inside] = tree.decide(unseen.codes).gains(unseen)
        learnt.append(found)
        on_fold()
    return NestedGains(gains, tuple(learnt))
