"""Sets of features as bits of one machine word; the first feature is the highest bit."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner


@jit_inner
def mask_of(codes: Ints) -> Mask:
    """Return D(psi), the observed features, as a mask."""
    mask = np.int64(0)
    for i in range(codes.size):
        mask = (mask << 1) | np.int64(codes[i] >= 0)
    return mask


@jit_inner
def contains(mask: Mask, i: int, n_features: int) -> bool:
    """Return True if feature i is in the set."""
    return (mask >> (n_features - 1 - i)) & 1 == 1


@jit_inner
def price_of(mask: Mask, prices: Floats) -> float:
    """Return the sum of the prices of the set's features."""
    total = 0.0
    for i in range(prices.size):
        if contains(mask, i, prices.size):
            total += prices[i]
    return total


@jit_inner
def fill(mask: Mask, out: Bools) -> None:
    """Write the set as one flag per feature."""
    for i in range(out.size):
        out[i] = contains(mask, i, out.size)
