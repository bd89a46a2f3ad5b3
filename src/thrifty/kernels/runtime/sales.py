"""How features are sold: setup fees of groups, and bundles (see `thrifty.sales`)."""

from __future__ import annotations

from typing import Any

from thrifty.kernels.runtime.arrays import Bools, Floats
from thrifty.kernels.runtime.compilation import jit_inner


@jit_inner
def sold_alone(sales: Any, free: Bools) -> bool:
    """Return True if every feature is sold alone and without a fee."""
    for i in range(free.size):
        if free[i] or sales.groups[i] >= 0 or sales.bundles[i] >= 0:
            return False
    return True


@jit_inner
def deliver(sales: Any, free: Bools, mask: Bools) -> None:
    """Remove free features from a purchase, and add the rest of each bundle."""
    n = mask.size
    for i in range(n):
        mask[i] = mask[i] and not free[i]
    for i in range(n):
        if mask[i] and sales.bundles[i] >= 0:
            for other in range(n):
                if sales.bundles[other] == sales.bundles[i] and not free[other]:
                    mask[other] = True


@jit_inner
def add_fees(sales: Any, mask: Bools, prices: Floats) -> None:
    """Add the setup fee of each group to the first of its features that is bought."""
    for k in range(sales.fees.size):
        for i in range(mask.size):
            if mask[i] and sales.groups[i] == k:
                prices[i] += sales.fees[k]
                break
