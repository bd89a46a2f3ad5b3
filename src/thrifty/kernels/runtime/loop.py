"""The one compiled loop: a policy's state plays the arrays of a world."""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.refcounts import strip_refcounts
from thrifty.kernels.runtime.sales import add_fees, deliver, sold_alone
from thrifty.kernels.runtime.steps import (
    choose_action,
    choose_features,
    has_room,
    read_prices,
    update,
)


@jit
def run(
    state: Any,
    world: tuple[Ints, Floats, Floats, Bools, Any],
    draws: tuple[Floats, Floats],
    start: int,
    out: tuple[Bools, Ints, Floats, Floats],
) -> int:
    """Play the rounds from `start` on; return the round reached, T unless the state must grow.

    `world` is (contexts, rewards, costs, free, sales), `draws` holds each round's uniform numbers
    for the purchase and for the action, and `out` is (observed, actions, rewards, costs).
    """
    state, draws = strip_refcounts(state), strip_refcounts(draws)
    contexts, rewards, costs, free, sales = strip_refcounts(world)
    observed, actions, gained, paid = strip_refcounts(out)
    n_features = contexts.shape[1]
    plain = sold_alone(sales, free)  # as in the paper: nothing is free, shared or bundled
    available = np.ones(rewards.shape[1], dtype=np.bool_)
    known = np.full(n_features, -1)
    codes = np.empty(n_features, dtype=np.int64)
    prices = np.empty(n_features)
    for t in range(start, actions.size):
        if not has_room(state):
            return t
        read_prices(state, costs[t])
        mask = observed[t]
        if not plain:
            for i in range(n_features):
                known[i] = contexts[t, i] if free[i] else -1
        purpose = choose_features(state, known, draws[0][t], mask)
        if not plain:
            deliver(sales, free, mask)
        for i in range(n_features):
            codes[i] = contexts[t, i] if mask[i] else known[i]
            prices[i] = costs[t, i] if mask[i] else np.nan
        if not plain:
            add_fees(sales, mask, prices)
        for i in range(n_features):
            paid[t] += prices[i] if mask[i] else 0.0
        actions[t] = choose_action(state, codes, available, draws[1][t], purpose)
        gained[t] = rewards[t, actions[t]]
        update(state, codes, prices, actions[t], gained[t], purpose)
    return actions.size
