"""UCB1; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing


class UCB1State(NamedTuple):
    """The parameter, the number of updates, and each action's sum of rewards and count."""

    alpha: float
    clock: Ints
    sums: Floats
    counts: Ints


def initial(n_actions: int, alpha: float) -> UCB1State:
    """Return the state before the first round: every count starts at 1."""
    return UCB1State(
        alpha,
        clock=np.zeros(1, np.int64),
        sums=np.zeros(n_actions),
        counts=np.ones(n_actions, np.int64),
    )


@jit
def index(state: UCB1State, codes: Ints) -> Floats:
    """Return q + sqrt(alpha log(t + 1) / n) for every action; q is the sum over n."""
    values = np.empty(state.sums.size)
    for a in range(values.size):
        bonus = math.sqrt(state.alpha * math.log(state.clock[0] + 1) / state.counts[a])
        values[a] = state.sums[a] / state.counts[a] + bonus
    return values


@jit
def update(
    state: UCB1State, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward."""
    state.counts[action] += 1
    state.sums[action] += reward
    state.clock[0] += 1


STEPS[UCB1State] = Steps(nothing, update, index)
