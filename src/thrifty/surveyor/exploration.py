"""How much to spend on looking at everything: first at full rate, then a trickle."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST_SHARE = 0.06
"""Share of the headroom of all cases that may be spent at first."""
SHARE_AFTER_CHANGE = 1 / 3
"""The same after a change, as a share of the first time."""
FEWEST_ROWS, MOST_ROWS, USUAL_HORIZON = 60, 300, 8_000
"""The first phase ends at twice the number of complete cases of the first plan, within these if
there are 8,000 cases in all; the limits grow with the power 2/3 of that number."""
TRICKLE = 0.1
TRICKLE_SHARE = 0.1
LEARNING_RARE = 10.0
"""A plan learnt from this many cases with a rare outcome gains nothing yet, roughly."""
OPTIMISM = 3.0
"""Standard errors, roughly, by which a model may get better with more cases."""


@dataclass
class Exploration:
    """Counts what exploring has cost, and says how often to explore. Amounts are in money.

    Parameters
    ----------
    horizon : int
        Number of cases over which exploring has to pay.
    is_first : bool
        True until a plan is found and confirmed, or the first budget is spent.
    share : float
        Share of the headroom that may be spent in the first phase.
    spent : float
        Cost of exploring in this phase.
    start : int
        Number of the case in which the phase began.
    start_rows : int
        Number of complete cases when the second phase began.
    planned_rows : int
        Number of complete cases when a plan was found, or 0.
    n_cases, total : int, float
        Number of cases in which everything was bought, and their cost, in all phases.
    """

    horizon: int
    is_first: bool = True
    share: float = FIRST_SHARE
    spent: float = 0.0
    start: int = 0
    start_rows: int = 0
    planned_rows: int = 0
    n_cases: int = 0
    total: float = 0.0

    def add(self, cost: float) -> None:
        """Count a case in which everything was bought.

        Parameters
        ----------
        cost : float
            What it cost more than carrying out the plan.
        """
        self.spent += cost
        self.total += cost
        self.n_cases += 1

    def restart(self, now: int) -> None:
        """Begin again after a change.

        Parameters
        ----------
        now : int
            Number of the case.
        """
        self.is_first, self.share = True, FIRST_SHARE * SHARE_AFTER_CHANGE
        self.spent, self.start, self.planned_rows = 0.0, now, 0

    def resume(self, now: int, n_rows: int) -> None:
        """Explore as at first again, because the plan earns less than it should.

        Parameters
        ----------
        now : int
            Number of the case.
        n_rows : int
            Number of complete cases since the last change, to which half as many are added.
        """
        self.restart(now)
        self.planned_rows = max(3 * n_rows // 4, 1)

    def skip_first(self, n_rows: int) -> None:
        """Begin with the second phase, because past cases are known.

        Parameters
        ----------
        n_rows : int
            Number of complete past cases; without any, nothing is skipped.
        """
        if n_rows:
            self.is_first, self.start_rows = False, n_rows

    def advance(
        self,
        now: int,
        n_rows: int,
        has_plan: bool,
        is_clear: bool,
        headroom: float,
        can_go_on: bool = True,
    ) -> bool:
        """End the first phase if a plan is confirmed or the budget is spent.

        Parameters
        ----------
        now : int
            Number of the case.
        n_rows : int
            Number of complete cases since the last change.
        has_plan : bool
            True if there is a plan that buys something.
        is_clear : bool
            True if the plan is clearly better than buying nothing.
        headroom : float
            What information may still bring per case.
        can_go_on : bool
            False if the loss so far leaves no room for exploring.

        Returns
        -------
        bool
            True if the phase has ended with this call.
        """
        if not self.is_first:
            return False
        if has_plan and not self.planned_rows:
            growth = (self.horizon / USUAL_HORIZON) ** (2 / 3)
            self.planned_rows = round(min(max(n_rows, growth * FEWEST_ROWS), growth * MOST_ROWS))
        is_confirmed = is_clear and n_rows >= 2 * self.planned_rows
        if not is_confirmed and can_go_on and self.spent < self._first_budget(headroom):
            return False
        self.is_first, self.spent = False, 0.0
        self.start, self.start_rows = now, max(n_rows, 20)
        return True

    def rate(self, now: int, headroom: float, cost: float) -> float:
        """Return the probability of looking at everything in the next case.

        Parameters
        ----------
        now : int
            Number of the case.
        headroom : float
            What information may still bring per case.
        cost : float
            What looking at everything costs more than the plan.

        Returns
        -------
        float
            Probability.
        """
        if self.is_first:
            return 1.0 if self.spent < self._first_budget(headroom) else 0.0
        since, rows = now + 1 - self.start, 5.0 * self.start_rows
        growth = math.sqrt(since + rows) - math.sqrt(rows)
        allowed = TRICKLE * headroom * math.sqrt(TRICKLE_SHARE * self.horizon) * growth
        return min(1.0, max(0.0, allowed - self.spent) / max(cost, 1e-12))

    def _first_budget(self, headroom: float) -> float:
        return self.share * headroom * self.horizon

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as JSON values."""
        return asdict(self)


def headroom(frequencies: Floats, rewards: Floats) -> float:
    """Return what perfect foresight gains more than the best constant action.

    Parameters
    ----------
    frequencies : array of float, shape (O,)
        Frequencies of the outcomes.
    rewards : array of float, shape (A, O)
        Rewards by action and outcome.

    Returns
    -------
    float
        Headroom per case.

    Examples
    --------
    >>> headroom(np.array([0.9, 0.1]), np.array([[10.0, -50.0], [0.0, 0.0]]))
    5.0
    """
    return float(frequencies @ rewards.max(axis=0) - (rewards @ frequencies).max())


def optimistic_headroom(full: float, informed_gain: float, n_rare: float) -> float:
    """Return what information may bring, given how much models have gained so far.

    Parameters
    ----------
    full : float
        Headroom with perfect foresight.
    informed_gain : float
        Gain of a model of all looks over the best constant action, prices aside.
    n_rare : float
        Number of cases with an outcome other than the most frequent one.

    Returns
    -------
    float
        At most `full`. With few cases a model may still become much better.
    """
    improvement = full * min(1.0, OPTIMISM / math.sqrt(max(n_rare, 1.0)))
    return min(full, max(informed_gain, 0.0) + improvement)


def learning_pays(reach: float, *, n_rows: int, n_rare: float, n_left: int, cost: float) -> bool:
    """Return True if another complete case probably earns more than it costs.

    What a plan learnt from n complete cases lacks is about reach * LEARNING_RARE / n_rare, since
    errors of estimates fall with the number of cases, and rare outcomes limit what can be learnt.
    One more case reduces that by 1 / n of it, in all cases that are left.

    Parameters
    ----------
    reach : float
        How much more the plan gains than acting without buying.
    n_rows : int
        n, the number of complete cases.
    n_rare : float
        Number of them with an outcome other than the most frequent one.
    n_left : int
        Number of cases over which learning has to pay.
    cost : float
        What another complete case costs more than the plan.

    Returns
    -------
    bool
        True if it pays.

    Examples
    --------
    >>> learning_pays(60.0, n_rows=500, n_rare=40.0, n_left=6_000, cost=50.0)
    True
    >>> learning_pays(60.0, n_rows=2_000, n_rare=160.0, n_left=4_000, cost=50.0)
    False
    """
    lack = reach * LEARNING_RARE / max(n_rare, 1.0)
    return n_left * lack / max(n_rows, 1) > cost
