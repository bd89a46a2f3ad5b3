"""How much more is gained than by constant actions, and whether a plan is proved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PROVED_CASES = 100
"""Number of cases after which the gains of a plan count as evidence."""
DOUBTED_CASES = 30
"""The same for doubts."""
DISPROVED = 2.5
"""Standard errors by which a plan must have lost to be given up."""
HIDDEN_SHARE = 0.05
"""Largest share of cases in which the reward of the constant action was only estimated."""


@dataclass
class PlanRecord:
    """How much more a plan has gained per case than the best constant action.

    Parameters
    ----------
    n : int
        Number of cases.
    mean : float
        Mean surplus in money.
    n_hidden : int
        Number of cases in which the reward of the constant action was only estimated.
    squares : float
        Sum of the squared deviations from the mean.
    """

    n: int = 0
    mean: float = 0.0
    n_hidden: int = 0
    squares: float = 0.0

    def add(self, surplus: float, is_known: bool) -> None:
        """Take in a case.

        Parameters
        ----------
        surplus : float
            How much more was gained than by the constant action.
        is_known : bool
            False if the reward of the constant action was only estimated.
        """
        self.n += 1
        self.n_hidden += not is_known
        before, self.mean = self.mean, self.mean + (surplus - self.mean) / self.n
        self.squares += (surplus - before) * (surplus - self.mean)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.squares) / self.n if self.n else math.inf

    @property
    def is_proved(self) -> bool:
        """True if the plan has gained by a standard error, hardly any of it only estimated."""
        return self._is_evidence and self.mean > self.error

    @property
    def is_disproved(self) -> bool:
        """True if the plan has clearly lost."""
        return self._is_evidence and self.mean < -DISPROVED * self.error

    @property
    def is_doubtful(self) -> bool:
        """True if the plan has lost by a standard error in at least a few cases."""
        return self.n >= DOUBTED_CASES and self.mean < -self.error

    def falls_short(self, expected: float) -> bool:
        """Return True if the plan has clearly earned less than half of what was expected.

        Parameters
        ----------
        expected : float
            Expected surplus per case.
        """
        return self._is_evidence and self.mean + DISPROVED * self.error < 0.5 * expected

    @property
    def _is_evidence(self) -> bool:
        """True if there are enough cases, hardly any of which was only estimated."""
        return self.n >= PROVED_CASES and self.n_hidden <= HIDDEN_SHARE * self.n


@dataclass
class Ledger:
    """Gains compared with those of constant actions, or of a given plan, in money.

    Which constant action is the best becomes clear with time. So the sums of all are kept, and the
    cases before count as well when another one becomes the baseline. Cases in which nothing was
    bought and the reward of a constant action stayed hidden are counted, so that later estimates of
    its value hold for them too.

    Parameters
    ----------
    surpluses : list of float
        Total gain so far minus that of each constant action, without the cases of `hidden`. A plan
        that is the baseline is an entry after those of the actions.
    baseline : int
        What seems best now.
    record : PlanRecord
        The surplus of the present plan.
    n_disproved : int
        Number of plans that were given up because they lost.
    compared : list of int
        All that may be the best. The total gain must not fall below any of them by too much.
    hidden : list of list of int
        Number of cases without purchases, by the action taken and by the constant action whose
        reward stayed hidden.
    values : list of float
        Present estimate of each constant action's reward.

    Examples
    --------
    >>> ledger = Ledger.of(2)
    >>> ledger.add(np.array([-3.0, 40.0]), is_known=True, is_plan=False)
    >>> ledger.surplus
    -3.0

    The second action may be the best one too, and its reward was hidden in a case:

    >>> ledger.add(np.array([0.0, 0.0]), is_known=True, is_plan=False)
    >>> ledger.add_hidden(0, np.array([False, True]))
    >>> ledger.compare(1, [0, 1], np.array([5.0, 50.0]))
    >>> ledger.surplus, ledger.over(1)
    (-5.0, -5.0)

    A later estimate holds for that case too:

    >>> ledger.compare(1, [0, 1], np.array([5.0, 40.0]))
    >>> ledger.over(1)
    5.0
    """

    surpluses: list[float]
    baseline: int = 0
    record: PlanRecord = field(default_factory=PlanRecord)
    n_disproved: int = 0
    compared: list[int] = field(default_factory=list)
    hidden: list[list[int]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, n: int) -> Ledger:
        """Return an empty ledger for this many constant actions and plans."""
        return cls([0.0] * n)

    @property
    def surplus(self) -> float:
        """Total gain so far minus that of the baseline, the least of all that it may be."""
        return min(map(self.over, self.compared or [self.baseline]))

    def over(self, k: int) -> float:
        """Return the total gain so far minus that of a constant action, or of the plan."""
        total = self.surpluses[k]
        for taken, counts in enumerate(self.hidden):
            if counts[k]:
                total += counts[k] * (self.values[taken] - self.values[k])
        return total

    def compare(self, baseline: int, compared: list[int], values: Floats) -> None:
        """Compare gains with another baseline.

        Parameters
        ----------
        baseline : int
            What seems best now.
        compared : list of int
            All that may be the best.
        values : array of float
            Present estimate of each constant action's reward.
        """
        self.baseline, self.compared, self.values = baseline, compared, values.tolist()

    def drop_plan(self) -> None:
        """Count a plan that was given up."""
        self.record = PlanRecord()
        self.n_disproved += 1

    def begin_period(self) -> None:
        """Compare the cases from now on with another action, but not those before a change."""
        self.surpluses, self.hidden = [self.surplus] * len(self.surpluses), []
        self.record = PlanRecord()

    def add(self, surpluses: Floats, *, is_known: bool, is_plan: bool) -> None:
        """Take in a case.

        Parameters
        ----------
        surpluses : array of float
            How much more was gained than by each constant action, and by the plan.
        is_known : bool
            False if the reward of the baseline was only estimated.
        is_plan : bool
            True if the plan was carried out.
        """
        self.surpluses = (np.array(self.surpluses) + surpluses).tolist()
        if is_plan:
            self.record.add(float(surpluses[self.baseline]), is_known)

    def add_hidden(self, action: int, hidden: NDArray[np.bool_]) -> None:
        """Count a case in which some rewards stayed hidden, and nothing else tells about them.

        Parameters
        ----------
        action : int
            Action taken.
        hidden : array of bool
            True for each constant action whose reward stayed hidden.
        """
        n = len(self.surpluses)
        self.hidden = self.hidden or [[0] * n for _ in range(n)]
        for k in np.flatnonzero(hidden).tolist():
            self.hidden[action][k] += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Ledger:
        """Return what `to_dict` described."""
        return cls(**{**plain, "record": PlanRecord(**plain["record"])})
