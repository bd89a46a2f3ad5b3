"""The one compiled loop: a policy's state plays the arrays of a world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import config

from thrifty.kernels.runtime import steps
from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.pointers import PackedState
from thrifty.kernels.runtime.sales import add_fees, deliver, sold_alone
from thrifty.kernels.runtime.single_call import action_of
from thrifty.kernels.runtime.steps import BoundSteps, Steps


class Tables(NamedTuple):
    """The arrays of a world, each round's uniform numbers, and what is recorded of each round."""

    contexts: Ints
    rewards: Floats
    costs: Floats
    free: Bools
    sales: Any
    feature_draws: Floats
    action_draws: Floats
    observed: Bools
    actions: Ints
    gained: Floats
    paid: Floats


def play_rounds(bound: BoundSteps, tables: Tables, start: int) -> int:
    """Play the rounds from `start` on; return the round reached, T unless the state must grow."""
    packed: Any = tables if config.DISABLE_JIT else PackedState(tables)
    reached: int = _run(bound.for_loop(), bound.state, packed, start)
    return reached


@jit
def _run(step: Steps, state: Any, tables: Tables, start: int) -> int:
    contexts, costs, free, sales = tables.contexts, tables.costs, tables.free, tables.sales
    actions, gained, paid = tables.actions, tables.gained, tables.paid
    n_features = contexts.shape[1]
    plain = sold_alone(sales, free)  # as in the paper: nothing is free, shared or bundled
    available = np.ones(tables.rewards.shape[1], dtype=np.bool_)
    known = np.full(n_features, -1)
    codes = np.empty(n_features, dtype=np.int64)
    prices = np.empty(n_features)
    for t in range(start, actions.size):
        if steps.is_defined(step.has_room) and not steps.has_room(step.has_room, state):
            return t
        if steps.is_defined(step.read_prices):
            steps.read_prices(step.read_prices, state, costs[t])
        mask = tables.observed[t]
        if not plain:
            for i in range(n_features):
                known[i] = contexts[t, i] if free[i] else -1
        purpose = steps.choose_features(
            step.choose_features, state, known, tables.feature_draws[t], mask
        )
        if not plain:
            deliver(sales, free, mask)
        for i in range(n_features):
            codes[i] = contexts[t, i] if mask[i] else known[i]
            prices[i] = costs[t, i] if mask[i] else np.nan
        if not plain:
            add_fees(sales, mask, prices)
        for i in range(n_features):
            paid[t] += prices[i] if mask[i] else 0.0
        draws = tables.action_draws[t]
        actions[t] = action_of(
            step.choose_action, step.action_values, state, codes, available, draws, purpose
        )
        gained[t] = tables.rewards[t, actions[t]]
        steps.update(step.update, state, codes, prices, actions[t], gained[t], purpose)
    return actions.size
