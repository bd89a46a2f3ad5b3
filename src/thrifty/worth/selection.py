"""What to recommend, and estimates with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.learning import Learnt
from thrifty.plans.nested import NestedGains
from thrifty.plans.tree import Leaf

Floats = NDArray[np.float64]
Kind = Literal["plan", "fixed", "nothing", "everything"]
"""What can be recommended, as in `Learnt`."""

Z_95 = 1.96
"""Standard errors to each side of a 95% interval."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% confidence interval.

    Parameters
    ----------
    mean : float
        The mean.
    low, high : float
        Ends of the interval.
    """

    mean: float
    low: float
    high: float

    @property
    def is_below_zero(self) -> bool:
        """True if the whole interval is below 0."""
        return self.high < 0

    @property
    def is_above_zero(self) -> bool:
        """True if the whole interval is above 0."""
        return self.low > 0

    @property
    def is_significant(self) -> bool:
        """True if the interval does not contain 0."""
        return self.is_below_zero or self.is_above_zero

    @classmethod
    def from_error(cls, mean: float, standard_error: float) -> Estimate:
        """Return the interval of a mean whose standard error is known.

        Parameters
        ----------
        mean : float
            The mean.
        standard_error : float
            Its standard error.

        Returns
        -------
        Estimate
            The mean and its interval.
        """
        margin = Z_95 * standard_error
        return cls(mean, mean - margin, mean + margin)

    @classmethod
    def from_values(cls, values: Floats) -> Estimate:
        """Estimate the mean of independent values.

        Parameters
        ----------
        values : ndarray
            One value per case.

        Returns
        -------
        Estimate
            The mean and its interval.

        Examples
        --------
        >>> Estimate.from_values(np.array([1.0, 3.0, 1.0, 3.0])).mean
        2.0
        """
        return cls.from_error(float(values.mean()), standard_error(values))


def standard_error(values: Floats) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def recommend(learnt: Learnt, nested: NestedGains) -> Kind:
    """Return what to do, from gains in cases that were not used for learning.

    Parameters
    ----------
    learnt : Learnt
        Plans learnt from all cases.
    nested : NestedGains
        What the same procedure gained in cases that it had not seen.

    Returns
    -------
    str
        The fixed set if it gains significantly more than buying nothing; the plan if it does so,
        too, and gains at least one standard error more than the fixed set; otherwise nothing.
    """
    best = _recommend_set(learnt, nested)
    tree = learnt.plan
    # A plan of a single leaf is a fixed set, and a plan that buys nothing is no purchase.
    if isinstance(tree.root, Leaf) or not tree.used or not _beats_nothing(nested, "plan"):
        return best
    if best == "nothing":
        return "plan"
    more = nested.gains["plan"] - nested.gains["fixed"]
    is_better = more.mean() > 0 and more.mean() >= standard_error(more)
    return "plan" if is_better else best


def _recommend_set(learnt: Learnt, nested: NestedGains) -> Kind:
    looks = learnt.fixed.root.looks
    if not looks or not _beats_nothing(nested, "fixed"):
        return "nothing"
    return "everything" if len(looks) == len(learnt.fixed.looks) else "fixed"


def _beats_nothing(nested: NestedGains, kind: str) -> bool:
    more = Estimate.from_values(nested.gains[kind] - nested.gains["nothing"])
    return more.is_above_zero
