"""A mean over cases with its 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from thrifty.evaluation.logged_cases import Floats

Z = 1.959964
"""Half the width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class GainEstimate:
    """An estimate of a mean per case.

    Parameters
    ----------
    mean : float
        The estimate, in money.
    error : float
        Its standard error.

    Examples
    --------
    >>> estimate = GainEstimate(mean=2.0, error=0.5)
    >>> round(estimate.low, 2), round(estimate.high, 2)
    (1.02, 2.98)
    """

    mean: float
    error: float

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
        error = float(scores.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return cls(float(scores.mean()), error)

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - Z * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + Z * self.error

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values.

        Returns
        -------
        dict
            `mean`, `low` and `high`.
        """
        return {"mean": self.mean, "low": self.low, "high": self.high}
