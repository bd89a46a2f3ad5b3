"""The generalised likelihood ratio test for a change of the mean of values in [0, 1].

Besson, Kaufmann, Maillard and Seznec (2022), "Efficient Change-Point Detection for Tackling
Piecewise-Stationary Bandits", Journal of Machine Learning Research 23. For n values, the statistic
of the Bernoulli test is the largest value over splits 0 < s < n of

    s kl(mean of the first s, mean of all) + (n - s) kl(mean of the others, mean of all).

A change is detected when it is above the threshold, which is log(n^(3/2) / delta) in the
experiments of the paper. Values between 0 and 1 are allowed: they vary less than Bernoulli values
of the same mean.

A stream keeps sums at equally spaced splits. When there are more splits than places, every second
one is dropped and the distance between splits doubles, so that memory and time are bounded. The
test looks at all splits that are multiples of `step` until step times `capacity` values have come,
and at no fewer than half of `capacity` of them afterwards.

Use it from a compiled step like this, with `GLRStreams` as a field of the state:

    add_to_stream(state.streams, a, reward)
    if glr_statistic(state.streams, a) > glr_threshold(state.streams.counts[a], delta):
        clear_stream(state.streams, a)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit_inner


class GLRStreams(NamedTuple):
    """Streams of values: number, sum, distance between splits, and sums up to each split.

    `sums[i, k]` is the sum of the first (k + 1) `spacings[i]` values of stream i.
    """

    step: int
    counts: Ints
    totals: Floats
    spacings: Ints
    sums: Floats


def initial_streams(n_streams: int, capacity: int = 256, step: int = 1) -> GLRStreams:
    """Return empty streams with room for `capacity` splits each, first at multiples of `step`."""
    return GLRStreams(
        step,
        counts=np.zeros(n_streams, np.int64),
        totals=np.zeros(n_streams),
        spacings=np.full(n_streams, step, np.int64),
        sums=np.zeros((n_streams, capacity)),
    )


@jit_inner
def clear_stream(streams: GLRStreams, i: int) -> None:
    """Forget all values of stream i."""
    streams.counts[i] = 0
    streams.totals[i] = 0.0
    streams.spacings[i] = streams.step


@jit_inner
def add_to_stream(streams: GLRStreams, i: int, value: float) -> None:
    """Add a value in [0, 1] to stream i."""
    streams.counts[i] += 1
    streams.totals[i] += value
    n, capacity = streams.counts[i], streams.sums.shape[1]
    if n // streams.spacings[i] > capacity:
        streams.spacings[i] *= 2
        for k in range(capacity // 2):
            streams.sums[i, k] = streams.sums[i, 2 * k + 1]
    if n % streams.spacings[i] == 0:
        streams.sums[i, n // streams.spacings[i] - 1] = streams.totals[i]


@jit_inner
def glr_statistic(streams: GLRStreams, i: int) -> float:
    """Return the statistic of stream i; 0 for fewer than two values."""
    n, total, spacing = streams.counts[i], streams.totals[i], streams.spacings[i]
    best = -math.inf
    for k in range((n - 1) // spacing):
        s = (k + 1) * spacing
        fit = log_likelihood(streams.sums[i, k], s)
        best = max(best, fit + log_likelihood(total - streams.sums[i, k], n - s))
    return max(0.0, best - log_likelihood(total, n))


@jit_inner
def log_likelihood(total: float, n: int) -> float:
    """Return the largest log likelihood of n Bernoulli values with this sum, at most 0."""
    value = 0.0
    if total > 0.0:
        value += total * math.log(total / n)
    if total < n:
        value += (n - total) * math.log((n - total) / n)
    return value


@jit_inner
def glr_threshold(n: int, delta: float) -> float:
    """Return log(n^(3/2) / delta), for n values and a rate delta of false alarms."""
    return 1.5 * math.log(n) - math.log(delta)
