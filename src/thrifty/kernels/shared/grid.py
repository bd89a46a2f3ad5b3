"""A grid on which equal values are equal to the last bit.

Sums that are kept by adding and subtracting, or that add up in another order, differ by rounding.
Rounded to multiples of 2^-40 they are equal again, and sums of rounded values are exact: so values
that tie do tie, and the rule for ties decides.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit, jit_inner

STEPS_IN_ONE = 2.0**40


@jit
def on_grid(x: float) -> float:
    """Round to a multiple of 2^-40."""
    return np.rint(x * STEPS_IN_ONE) / STEPS_IN_ONE


@jit_inner
def round_to_grid(values: Floats) -> None:
    """Round every value in place."""
    for i in range(values.size):
        values[i] = on_grid(values[i])
