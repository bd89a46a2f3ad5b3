"""How far the total gain may fall below that of the baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.surveyor.exploration import headroom
from thrifty.surveyor.frequencies import Frequencies

Floats = NDArray[np.float64]

LOSS_SHARE = 0.0255
"""Default of the limit, as a share of the headroom of all cases."""
HEADROOM_DOUBT = 0.5
"""Standard errors by which the headroom is reduced before the default limit is computed."""
EQUAL_CASES = 2.0
"""Number of cases with equally frequent outcomes that are added before that."""


@dataclass(frozen=True)
class LossLimit:
    """The largest loss, in money.

    Parameters
    ----------
    horizon : int
        Number of cases over which exploring has to pay.
    amount : float, optional
        The limit itself.
    share : float, optional
        The limit as a share of what the baseline gains or loses in the cases so far.

    Examples
    --------
    >>> rewards = np.array([[10.0, -50.0], [0.0, 0.0]])
    >>> from thrifty.surveyor.frequencies import OutcomeCounts
    >>> counts = OutcomeCounts(2)
    >>> LossLimit(1_000, amount=70.0).allowed(counts, rewards, n_cases=0)
    70.0
    >>> for _ in range(99):
    ...     counts.add(np.array([True, False]))
    >>> round(LossLimit(1_000, share=0.1).allowed(counts, rewards, n_cases=200), 2)
    194.0
    """

    horizon: int
    amount: float | None = None
    share: float | None = None

    @property
    def is_given(self) -> bool:
        """True unless the default is used."""
        return self.amount is not None or self.share is not None

    def allowed(
        self,
        counts: Frequencies,
        rewards: Floats,
        n_cases: int,
        gain: float | None = None,
    ) -> float:
        """Return the limit.

        Parameters
        ----------
        counts : Frequencies
            Frequencies of the outcomes.
        rewards : array of float, shape (A, O)
            Rewards by action and outcome.
        n_cases : int
            Number of cases so far.
        gain : float, optional
            Mean gain of a plan that is the baseline.

        Returns
        -------
        float
            Largest loss.
        """
        if self.amount is not None:
            return self.amount
        if self.share is not None:
            gain = float(counts.values(rewards).max()) if gain is None else gain
            return self.share * abs(gain) * n_cases
        # A few cases with the same outcome do not prove that there is nothing to gain.
        full = headroom(counts.shrunk_frequencies(EQUAL_CASES), rewards)
        # The headroom seems larger if rare outcomes were seen too often by chance.
        sure = 1 - HEADROOM_DOUBT / math.sqrt(1 + counts.n_rare)
        return LOSS_SHARE * sure * full * self.horizon
