"""Purchases that never change."""

from __future__ import annotations

from typing import Any

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.shared.variates import WORD


@jit
def nothing(state: Any, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy no feature."""
    for i in range(mask.size):
        mask[i] = False
    return 0


@jit
def everything(state: Any, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy every feature."""
    for i in range(mask.size):
        mask[i] = True
    return 0


@jit
def everything_with_a_draw(state: Any, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy every feature; the purpose is a random 32-bit number, for use in the update."""
    for i in range(mask.size):
        mask[i] = True
    return int(draws[0] * WORD)
