"""D-UCB; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing


class DUCBState(NamedTuple):
    """The parameters, the discounted number of rounds, and each action's discounted sum and count.

    `alpha` is 4 xi, the factor of the logarithm.
    """

    alpha: float
    discount: float
    rounds: Floats
    sums: Floats
    counts: Floats


def initial(n_actions: int, alpha: float, discount: float, first_count: float) -> DUCBState:
    """Return the state before the first round: every action has `first_count` rewards of 0."""
    return DUCBState(
        alpha,
        discount,
        rounds=np.zeros(1),
        sums=np.zeros(n_actions),
        counts=np.full(n_actions, first_count),
    )


@jit
def index(state: DUCBState, codes: Ints) -> Floats:
    """Return mean + sqrt(alpha log(n + 1) / n_a), infinite for an action without rewards."""
    values = np.empty(state.sums.size)
    for a in range(values.size):
        values[a] = np.inf
        if state.counts[a] > 0.0:
            bonus = math.sqrt(state.alpha * math.log(state.rounds[0] + 1) / state.counts[a])
            values[a] = state.sums[a] / state.counts[a] + bonus
    return values


@jit
def update(
    state: DUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Discount everything, then count the reward."""
    for a in range(state.sums.size):
        state.sums[a] *= state.discount
        state.counts[a] *= state.discount
    state.rounds[0] = state.discount * state.rounds[0] + 1
    state.sums[action] += reward
    state.counts[action] += 1


STEPS[DUCBState] = Steps(nothing, update, index)
