"""Confidence sequences: intervals for a mean that stay valid however often you look.

An ordinary 95% interval is meant for one look. If you look every hour and stop at the first
interval without zero, you are wrong far more often than in 5% of the cases. A confidence sequence
contains the mean at all times at once with the stated probability, so you may look whenever you
like and stop when you like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
_GROWTH, _POWER = 2.0, 1.4
_ZETA = 3.1055472779775806  # the Riemann zeta function at _POWER
_K1 = (_GROWTH**0.25 + _GROWTH**-0.25) / math.sqrt(2)
_K2 = (math.sqrt(_GROWTH) + 1) / 2


def stitched_boundary(variance: ArrayLike, scale: float, alpha: float) -> NDArray[np.float64]:
    """Return a bound that a sum of deviations crosses with probability alpha at most, ever.

    With v = max(variance, scale²) the bound is

        sqrt(k1² v l(v) + k2² scale² l(v)²) + k2 scale l(v),
        l(v) = 1.4 log(1 + log2(v / scale²)) + log(zeta(1.4) / alpha),
        k1 = (2^(1/4) + 2^(-1/4)) / sqrt(2),  k2 = (sqrt(2) + 1) / 2.

    Parameters
    ----------
    variance : array_like of float
        Sums of squared deviations from predictions.
    scale : float
        Length of the range that the values lie in.
    alpha : float
        Probability of crossing.

    Returns
    -------
    array of float
        The bound for each variance.

    References
    ----------
    S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon (2021), "Time-uniform, nonparametric,
    nonasymptotic confidence sequences", Annals of Statistics 49, equation (10), with eta = 2,
    s = 1.4 and m = scale².

    Examples
    --------
    >>> round(float(stitched_boundary(100.0, 1.0, 0.025)), 2)
    50.08
    """
    v = np.maximum(np.asarray(variance, dtype=np.float64), scale**2)
    level = _POWER * np.log1p(np.log(v / scale**2) / math.log(_GROWTH)) + math.log(_ZETA / alpha)
    bound: NDArray[np.float64] = (
        np.sqrt(_K1**2 * v * level + (_K2 * scale * level) ** 2) + _K2 * scale * level
    )
    return bound


@dataclass(slots=True)
class MeanSequence:
    """An interval for the average mean of bounded values, valid at all times at once.

    The values may depend on each other and their means may drift: after n values the interval is
    about the average of their n means, each given the values before. It is

        average ± stitched_boundary(sum of (value - average of the values before)²) / n,

    the empirical Bernstein confidence sequence of Howard et al. (2021), theorem 4. Both ends
    together fail with probability 1 - `LEVEL` at most.

    Parameters
    ----------
    low, high : float
        Range of the values. A value outside counts as the nearer end.
    count : int
        Number of values.
    total : float
        Their sum.
    variance : float
        Sum of squared differences between each value and the average of those before it; the
        first one is compared with the middle of the range.

    Examples
    --------
    >>> sequence = MeanSequence(-1.0, 1.0)
    >>> for k in range(2000):
    ...     sequence.add(0.3 if k % 2 else 0.1)
    >>> round(sequence.mean, 3), [round(end, 3) for end in sequence.interval()]
    (0.2, [0.181, 0.219])
    """

    low: float
    high: float
    count: int = 0
    total: float = 0.0
    variance: float = 0.0

    @property
    def mean(self) -> float:
        """Average of the values; the middle of the range if there are none."""
        return self.total / self.count if self.count else (self.low + self.high) / 2

    def add(self, value: float) -> None:
        """Take the next value.

        Parameters
        ----------
        value : float
            The value.
        """
        value = min(self.high, max(self.low, value))
        self.variance += (value - self.mean) ** 2
        self.total += value
        self.count += 1

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval.

        Parameters
        ----------
        level : float
            Probability that the interval contains the mean at all times.

        Returns
        -------
        tuple of float
            Its ends, within the range of the values.
        """
        if not self.count:
            return self.low, self.high
        scale = self.high - self.low
        half = float(stitched_boundary(self.variance, scale, (1 - level) / 2)) / self.count
        return max(self.low, self.mean - half), min(self.high, self.mean + half)

    def to_list(self) -> list[float]:
        """Return JSON values.

        Returns
        -------
        list of float
            Input for `from_list`.
        """
        return [self.low, self.high, self.count, self.total, self.variance]

    @classmethod
    def from_list(cls, plain: Sequence[float]) -> MeanSequence:
        """Rebuild a sequence.

        Parameters
        ----------
        plain : sequence of float
            Output of `to_list`.

        Returns
        -------
        MeanSequence
            The sequence.
        """
        low, high, count, total, variance = plain
        return cls(low, high, int(count), total, variance)


def running_interval(
    values: NDArray[np.float64], low: float, high: float, level: float = LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the interval of `MeanSequence` after each value, for many sequences at once.

    Parameters
    ----------
    values : array of float, shape (..., N)
        Values in order along the last axis.
    low, high : float
        Range of the values.
    level : float
        Probability that an interval contains the mean at all times.

    Returns
    -------
    tuple of array of float, each of shape (..., N)
        Lower and upper ends.
    """
    values = np.clip(values, low, high)
    counts = np.arange(1, values.shape[-1] + 1)
    means = values.cumsum(axis=-1) / counts
    before = np.concatenate(
        [np.full((*values.shape[:-1], 1), (low + high) / 2), means[..., :-1]], axis=-1
    )
    variance = ((values - before) ** 2).cumsum(axis=-1)
    half = stitched_boundary(variance, high - low, (1 - level) / 2) / counts
    return np.maximum(low, means - half), np.minimum(high, means + half)
