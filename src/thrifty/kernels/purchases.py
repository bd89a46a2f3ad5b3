"""Purchases that never change."""

from __future__ import annotations

from typing import Any

from thrifty.kernels.arrays import Bools, Floats
from thrifty.kernels.compile import jit


@jit
def nothing(state: Any, draws: Floats, mask: Bools) -> int:
    """Buy no feature."""
    mask[:] = False
    return 0


@jit
def everything(state: Any, draws: Floats, mask: Bools) -> int:
    """Buy every feature."""
    mask[:] = True
    return 0
