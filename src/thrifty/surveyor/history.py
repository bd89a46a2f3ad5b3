"""`History`: past cases to learn from first, of which not everything has to be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.plans.cases import PastCases
from thrifty.problem import Problem

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class History:
    """Past cases, each with the values that were bought and what is known of its outcome.

    A history may be the log of another policy: some values were not bought, and some outcomes are
    not known. Two things are assumed. Whether a value was bought depended only on values of the
    case that are in the history. Whether the outcome is known depended only on them too, for
    instance through the action. If people looked at something that is not in the history, such as
    an impression of the applicant, what is learnt from it may be wrong.

    Parameters
    ----------
    codes : array of int, shape (n, D)
        Code of each feature in every case, -1 where the value is not known.
    settled : array of bool, shape (n, D)
        True where a value is known, or was bought and could not be obtained.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in every case: one if the outcome is known, all if nothing is
        known about it.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    notes : tuple of str
        What a reader should know about how the cases were read.

    Examples
    --------
    >>> history = History(
    ...     codes=np.array([[0, 2], [1, -1]]),
    ...     settled=np.array([[True, True], [True, False]]),
    ...     possible=np.array([[True, False], [True, True]]),
    ...     free=np.array([True, False]),
    ... )
    >>> history.n_cases, history.is_complete.tolist(), history.is_labelled.tolist()
    (2, [True, False], [True, False])
    """

    codes: NDArray[np.int16]
    settled: Bools
    possible: Bools
    free: Bools
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (
            ("codes", np.int16),
            ("settled", np.bool_),
            ("possible", np.bool_),
            ("free", np.bool_),
        ):
            object.__setattr__(self, name, np.asarray(getattr(self, name)).astype(kind))
        self._require_shapes()
        self._require_consistent()

    @classmethod
    def from_past_cases(cls, cases: PastCases) -> History:
        """Return a history in which everything was bought and every outcome is known.

        Parameters
        ----------
        cases : PastCases
            Past cases.

        Returns
        -------
        History
            The same cases in the same order.
        """
        return cls(
            codes=cases.codes,
            settled=np.ones(cases.codes.shape, np.bool_),
            possible=np.eye(cases.rewards.shape[1], dtype=np.bool_)[cases.outcomes],
            free=cases.free,
        )

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.codes)

    @property
    def is_complete(self) -> Bools:
        """True for each case in which every feature is settled, (n,)."""
        complete: Bools = np.asarray(self.settled.all(axis=1))
        return complete

    @property
    def is_labelled(self) -> Bools:
        """True for each case whose outcome is known, (n,)."""
        labelled: Bools = self.possible.sum(axis=1) == 1
        return labelled

    def require_problem(self, problem: Problem) -> None:
        """Raise `InvalidTable` unless the history fits a problem.

        Parameters
        ----------
        problem : Problem
            The problem, which declares outcomes.
        """
        n_outcomes = 0 if problem.outcomes is None else len(problem.outcomes.names)
        ours = (self.codes.shape[1], self.possible.shape[1])
        theirs = (problem.n_features, n_outcomes)
        if ours != theirs:
            raise InvalidTable(
                f"the history has (features, outcomes) = {ours}, but the problem declares "
                f"{theirs}: read the history with this problem."
            )
        highest = self.codes.max(axis=0)
        for feature, code in zip(problem.features, highest.tolist(), strict=True):
            if code >= len(feature.levels):
                raise InvalidTable(
                    f"the history has code {code} of feature {feature.name!r}, which has "
                    f"{len(feature.levels)} levels, counted from 0: read the history with this "
                    "problem."
                )

    def _require_shapes(self) -> None:
        shapes = (self.codes.shape, self.settled.shape, self.free.shape, self.possible.shape)
        n, n_features = self.codes.shape if self.codes.ndim == 2 else (0, 0)
        n_outcomes = self.possible.shape[1] if self.possible.ndim == 2 else 0
        if shapes != ((n, n_features), (n, n_features), (n_features,), (n, n_outcomes)):
            raise InvalidTable(
                "codes, settled, free and possible have the shapes "
                f"{', '.join(map(str, shapes))}: give (n, D), (n, D), (D,) and (n, O)."
            )

    def _require_consistent(self) -> None:
        if ((self.codes >= 0) & ~self.settled).any() or (self.codes < -1).any():
            raise InvalidTable(
                "a code is not settled, or is less than -1: give -1 for a value that is not known, "
                "and True in settled for every value that is."
            )
        if not self.possible.any(axis=1).all():
            raise InvalidTable(
                "a case has no possible outcome: give at least one, or all if nothing is known."
            )
        if self.possible.all(axis=1).all():
            raise InvalidTable(
                "nothing is known about the outcome of any case, so there is nothing to learn "
                "from: add cases with an outcome, or start without a history."
            )
