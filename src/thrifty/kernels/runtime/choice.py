"""Choice among the available actions."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats
from thrifty.kernels.runtime.compilation import jit_inner


@jit_inner
def first_maximum(values: Floats, available: Bools) -> int:
    """Return the first of the available actions with the largest value."""
    best = -1
    for a in range(values.size):
        if available[a] and (best < 0 or values[a] > values[best]):
            best = a
    return best


@jit_inner
def uniform(available: Bools, draw: float) -> int:
    """Return one of the available actions, each equally likely for a uniform `draw`."""
    count = 0
    for a in range(available.size):
        count += available[a]
    rank = int(draw * count)
    for a in range(available.size):
        if available[a]:
            if rank == 0:
                return a
            rank -= 1
    return -1


@jit_inner
def random_maximum(values: Floats, available: Bools, draw: float) -> int:
    """Return one of the available actions with the largest value, each equally likely."""
    top = values[first_maximum(values, available)]
    tied = np.empty(values.size, dtype=np.bool_)
    for a in range(values.size):
        tied[a] = available[a] and values[a] == top
    return uniform(tied, draw)


@jit_inner
def last_maximum_unless_all_tie(values: Floats, available: Bools, draw: float) -> int:
    """Return any of the available actions if all tie, else the last one with the largest value."""
    top = values[first_maximum(values, available)]
    best = -1
    all_tie = True
    for a in range(values.size):
        if available[a]:
            if values[a] == top:
                best = a
            else:
                all_tie = False
    return uniform(available, draw) if all_tie else best
