"""When models are fitted again and plans are searched for, and what a fit is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Problem
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.fit import FitSettings, PlanFit
from thrifty.surveyor.knowledge import Knowledge

FIRST_ROWS = 40
"""Number of complete cases from which the first models are learnt."""
MORE_ROWS, MORE_ROWS_WITHOUT_PLAN = 1.2, 1.15
"""A plan is searched for again when there are this many times as many complete cases."""
MORE_ROWS_AT_LIMIT = 1.05
"""The same without a plan when the largest loss is reached. Exploring may only go on later."""
MORE_CASES, MOST_CASES = 1.35, 1_500
"""Models are fitted again after this many times as many cases, and at least this often."""


class FitSchedule:
    """Counts that say when to learn, and the fit that is due.

    Parameters
    ----------
    planning : Problem
        The problem with outcomes, and a price for every feature.
    seed : int
        Random seed of all fits.
    one_purchase : bool
        True if a plan may buy only once per case.
    budget : float, optional
        Average spend per case that is allowed, in money.

    Attributes
    ----------
    due : PlanFit or None
        A fit that was prepared for another process and has not been applied.
    n_fits : int
        Number of fits so far.
    """

    def __init__(
        self, planning: Problem, seed: int, one_purchase: bool, budget: float | None
    ) -> None:
        self.due: PlanFit | None = None
        self.n_fits = 0
        self._planning, self._seed = planning, seed
        self._one_purchase, self._budget = one_purchase, budget
        self._planned_rows = self._fitted_at = 0

    def needs_plan(self, n_rows: int, *, has_plan: bool, is_stopped: bool) -> bool:
        """Return True if a plan is to be searched for.

        Parameters
        ----------
        n_rows : int
            Number of complete cases since the last change.
        has_plan : bool
            True if there is a plan that buys something.
        is_stopped : bool
            True if exploring has just ended, or the largest loss does not allow it.

        Returns
        -------
        bool
            True if there are enough more cases than at the last search.
        """
        growth = MORE_ROWS if has_plan else MORE_ROWS_WITHOUT_PLAN
        if not has_plan and is_stopped:
            growth = MORE_ROWS_AT_LIMIT
        return n_rows >= FIRST_ROWS and n_rows >= growth * self._planned_rows

    def needs_models(self, rounds: int) -> bool:
        """Return True if the models of the present plan are to be fitted again."""
        return rounds >= min(MORE_CASES * self._fitted_at, self._fitted_at + MOST_CASES)

    def begin_period(self) -> None:
        """Search for another plan as soon as there are enough cases after a change."""
        self._planned_rows = 0

    def prepare(
        self,
        rounds: int,
        evidence: Evidence,
        knowledge: Knowledge | None,
        *,
        search: bool,
        accepted: float,
        keep_plan: bool,
    ) -> PlanFit:
        """Return the next fit.

        Parameters
        ----------
        rounds : int
            Number of cases so far.
        evidence : Evidence
            Everything that was seen.
        knowledge : Knowledge or None
            The present plans.
        search : bool
            True to search for a plan, False to fit the models of the present one again.
        accepted : float
            Standard errors by which a plan must seem better than buying nothing.
        keep_plan : bool
            True if the present plan has proved itself: it stays if the search finds none.

        Returns
        -------
        PlanFit
            The fit.
        """
        self._fitted_at = max(rounds, 1)
        if search:
            self._planned_rows = evidence.n_rows
        free = evidence.book.free
        settings = FitSettings(
            search=search,
            seed=self._seed,
            since=evidence.since,
            accepted=accepted,
            keep_plan=keep_plan,
            one_purchase=self._one_purchase,
            is_selected=not evidence.table.reveals_all,
            budget=self._budget,
        )
        self.n_fits += 1
        return PlanFit(
            number=self.n_fits - 1,
            settings=settings,
            problem=self._planning,
            free=np.zeros(self._planning.n_features, np.bool_) if free is None else free,
            prices=evidence.book.prices,
            complete=evidence.complete.cases.copy(),
            partial=evidence.partial.cases.copy(),
            knowledge=knowledge,
        )

    def sums(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "planned_rows": self._planned_rows,
            "fitted_at": self._fitted_at,
            "fits": self.n_fits,
            "seed": self._seed,
            "is_due": self.due is not None,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fit that is due."""
        return {} if self.due is None else self.due.to_state("due")

    def restore(self, sums: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `sums` and `arrays` returned."""
        self._planned_rows, self._fitted_at = sums["planned_rows"], sums["fitted_at"]
        self.n_fits, self._seed = sums["fits"], sums["seed"]
        self.due = PlanFit.from_state(arrays, "due", self._planning) if sums["is_due"] else None
