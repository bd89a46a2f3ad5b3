r"""A mean over cases with its 95 % interval.

Gains with rare large losses, and scores of cases with large weights, are skewed. Then the mean and
its estimated error depend on each other: a sample without its rare values has a wrong mean and a
small error. With t = (mean - truth) / error and the skewness a of the mean, the quantity

    ((1 + a t / 3)^3 - 1) / a + a / 6

is nearly standard normal: P. Hall, "On the removal of skewness by transformation", Journal of the
Royal Statistical Society B 54 (1992). So the interval has all values of the truth for which it is
between -1.96 and 1.96. It reaches further to the side of the rare values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from thrifty.evaluation.logged_cases import Floats

Z = 1.959964
"""Half the width of a 95 % interval in standard errors, without skewness."""
SYMMETRIC = 1e-6
"""A smaller skewness changes nothing that can be seen."""


@dataclass(frozen=True)
class GainEstimate:
    """An estimate of a mean per case.

    Parameters
    ----------
    mean : float
        The estimate, in money.
    error : float
        Its standard error.
    skewness : float
        Skewness of the estimate: that of one score, divided by the root of the number of cases.

    Examples
    --------
    >>> estimate = GainEstimate(mean=2.0, error=0.5)
    >>> round(estimate.low, 2), round(estimate.high, 2)
    (1.02, 2.98)
    >>> skewed = GainEstimate(mean=2.0, error=0.5, skewness=0.2)
    >>> round(skewed.low, 2), round(skewed.high, 2)
    (1.14, 3.17)
    """

    mean: float
    error: float
    skewness: float = 0.0

    @classmethod
    def from_scores(cls, scores: Floats) -> GainEstimate:
        """Return the mean of one score per case; its error is not known for a single case.

        Parameters
        ----------
        scores : array of float, shape (n,)
            Scores of independent cases.

        Returns
        -------
        GainEstimate
            The mean.
        """
        n = len(scores)
        mean = float(scores.mean())
        if n == 1:
            return cls(mean, math.nan)
        deviations = scores - mean
        squares = deviations**2
        error = math.sqrt(float(squares.sum()) / (n - 1) / n)
        cubes = float((squares * deviations).sum()) / n**3
        return cls(mean, error, cubes / error**3 if error > 0 else 0.0)

    def minus(self, other: GainEstimate) -> GainEstimate:
        """Return the difference to an independent estimate.

        Parameters
        ----------
        other : GainEstimate
            The other estimate.

        Returns
        -------
        GainEstimate
            This one minus the other.

        Examples
        --------
        >>> GainEstimate(5.0, 3.0, 0.5).minus(GainEstimate(1.0, 4.0, 0.1)).error
        5.0
        """
        error = math.hypot(self.error, other.error)
        cubes = self.skewness * self.error**3 - other.skewness * other.error**3
        skewness = cubes / error**3 if error > 0 else 0.0
        return GainEstimate(self.mean - other.mean, error, skewness)

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - self.error * _studentized(Z, self.skewness)

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean - self.error * _studentized(-Z, self.skewness)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values.

        Returns
        -------
        dict
            `mean`, `low` and `high`.
        """
        return {"mean": self.mean, "low": self.low, "high": self.high}


def _studentized(z: float, skewness: float) -> float:
    """Return the t whose transformed value is z.

    >>> round(_studentized(1.96, 1e-7), 6)
    1.96
    """
    if abs(skewness) < SYMMETRIC:
        return z
    return 3 / skewness * (math.cbrt(1 + skewness * (z - skewness / 6)) - 1)
