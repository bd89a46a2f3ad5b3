"""Random variates made from one uniform number, because kernels hold no generators.

A stream is a key and a counter; the numbers that it yields are 32-bit hashes of both. Products of
32-bit numbers fit into 64 bits, so that nothing overflows, compiled or not.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.runtime.arrays import Ints
from thrifty.kernels.runtime.compilation import jit_inner

WORD = 2**32
UPDATE = 2**16
"""Distance between the counters of the streams of two updates."""


@jit_inner
def stream_of(draw: float) -> Ints:
    """Return the stream that a uniform number in [0, 1) stands for."""
    stream = np.zeros(2, np.int64)
    stream[0] = int(draw * WORD)
    return stream


@jit_inner
def stream_of_purpose(purpose: int, number: int) -> Ints:
    """Return the stream of a 32-bit purpose; updates have no draws of their own.

    The number of the update makes a difference where purposes are equal, as in logged rounds.
    """
    stream = np.zeros(2, np.int64)
    stream[0] = purpose & (WORD - 1)
    stream[1] = (number * UPDATE) & (WORD - 1)
    return stream


@jit_inner
def _mixed(x: int) -> int:
    x = ((x ^ (x >> 16)) * 0x21F0AAAD) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x735A2D97) & 0xFFFFFFFF
    return x ^ (x >> 15)


@jit_inner
def uniform(stream: Ints) -> float:
    """Return the stream's next number in (0, 1), ends excluded."""
    stream[1] += 1
    return (_mixed(stream[0] ^ _mixed(stream[1])) + 0.5) / WORD


@jit_inner
def normal(stream: Ints) -> float:
    """Return a standard normal number, by Box and Muller."""
    size = math.sqrt(-2 * math.log(uniform(stream)))
    return size * math.cos(2 * math.pi * uniform(stream))


@jit_inner
def gamma(shape: float, stream: Ints) -> float:
    """Return a gamma variate of this shape, by Marsaglia and Tsang."""
    boost = 1.0
    if shape < 1.0:
        boost = uniform(stream) ** (1 / shape)
        shape += 1.0
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal(stream)
        v = (1 + c * x) ** 3
        if v > 0.0 and math.log(uniform(stream)) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return d * v * boost


@jit_inner
def beta(one: float, other: float, stream: Ints) -> float:
    """Return a beta variate."""
    x, y = gamma(one, stream), gamma(other, stream)
    return x / (x + y) if x + y > 0.0 else one / (one + other)
