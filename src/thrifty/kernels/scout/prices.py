"""Present prices of the features: running means that restart when a price jumps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import Bools, Floats
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.cusum import add_to_cusum

MEMORY = 100
SPREAD_MEMORY = 200.0
MIN_SPREAD = 1e-4
MAX_STEP = 6.0
SLACK, ALARM = 1.0, 9.0

PRICE = np.dtype(
    [
        ("mean", np.float64),
        ("seen", np.int64),  # payments since the last alarm, at most MEMORY
        ("squares", np.float64),  # of the deviations, in all payments but for those that faded
        ("deviations", np.float64),
        ("up", np.float64),  # two sums of standardised deviations, each never below 0
        ("down", np.float64),
    ],
    align=True,
)
Prices = NDArray[np.void]


def initial(n_features: int) -> Prices:
    """Return the prices before the first payment."""
    return np.zeros(n_features, PRICE)


@jit_inner
def pay(prices: Prices, i: int, cost: float, span: float) -> bool:
    """Record a payment for feature i; return True if its price has jumped.

    `span` is that of the rewards seen: changes that are tiny beside it do not matter.
    """
    jumped = _has_jumped(prices, i, cost, span)
    if jumped:
        prices[i]["seen"] = 0
        prices[i]["up"] = 0.0
        prices[i]["down"] = 0.0
    if prices[i]["seen"] == 0:
        prices[i]["mean"] = cost
        prices[i]["seen"] = 1
        return jumped
    prices[i]["seen"] = min(prices[i]["seen"] + 1, MEMORY)
    deviation = cost - prices[i]["mean"]
    prices[i]["mean"] += deviation / prices[i]["seen"]
    _note_deviation(prices, i, deviation * deviation * (1 - 1 / prices[i]["seen"]))
    return jumped


@jit_inner
def _note_deviation(prices: Prices, i: int, square: float) -> None:
    prices[i]["squares"] += square
    prices[i]["deviations"] += 1.0
    if prices[i]["deviations"] > SPREAD_MEMORY:
        fading = SPREAD_MEMORY / prices[i]["deviations"]
        prices[i]["squares"] *= fading
        prices[i]["deviations"] *= fading


@jit_inner
def _has_jumped(prices: Prices, i: int, cost: float, span: float) -> bool:
    """Add the standardised deviation to both sums; return True if one is too large."""
    if prices[i]["seen"] < 3:  # too few to know the spread
        return False
    variance = prices[i]["squares"] / prices[i]["deviations"]
    spread = (math.sqrt(variance) + MIN_SPREAD * span) * math.sqrt(1 + 1 / prices[i]["seen"])
    step = min(max((cost - prices[i]["mean"]) / spread, -MAX_STEP), MAX_STEP)
    prices[i]["up"] = add_to_cusum(prices[i]["up"], step, SLACK)
    prices[i]["down"] = add_to_cusum(prices[i]["down"], -step, SLACK)
    return max(prices[i]["up"], prices[i]["down"]) > ALARM


@jit_inner
def total(prices: Prices, mask: Bools) -> float:
    """Return the total price of the features in the mask."""
    amount = 0.0
    for i in range(mask.size):
        if mask[i]:
            amount += prices[i]["mean"]
    return amount


@jit_inner
def means(prices: Prices, span: float, out: Floats) -> None:
    """Fill `out` with the mean price of every feature as a share of the span of rewards."""
    for i in range(out.size):
        out[i] = prices[i]["mean"] / span
