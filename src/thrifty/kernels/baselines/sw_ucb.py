"""SW-UCB with a window of rewards for every action; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid
from thrifty.kernels.shared.purchases import nothing


class SWUCBState(NamedTuple):
    """The parameter, the number of updates, and each action's last rewards, sum and count.

    `recent` has shape (A, tau) and is written round and round; `pulls` counts since the start.
    """

    alpha: float
    clock: Ints
    recent: Floats
    sums: Floats
    pulls: Ints


def initial(n_actions: int, alpha: float, tau: int) -> SWUCBState:
    """Return the state before the first round."""
    return SWUCBState(
        alpha,
        clock=np.zeros(1, np.int64),
        recent=np.zeros((n_actions, tau)),
        sums=np.zeros(n_actions),
        pulls=np.zeros(n_actions, np.int64),
    )


@jit
def index(state: SWUCBState, codes: Ints) -> Floats:
    """Return mean + sqrt(alpha log(min(t + 1, tau)) / n), infinite for an action never taken."""
    tau = state.recent.shape[1]
    values = np.empty(state.sums.size)
    for a in range(values.size):
        values[a] = np.inf
        if state.pulls[a] > 0:
            n = min(state.pulls[a], tau)
            bonus = math.sqrt(state.alpha * math.log(min(state.clock[0] + 1, tau)) / n)
            values[a] = on_grid(state.sums[a] / n + bonus)
    return values


@jit
def update(
    state: SWUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Put the reward in the place of the action's oldest one."""
    place = state.pulls[action] % state.recent.shape[1]
    state.sums[action] += reward - state.recent[action, place]
    state.recent[action, place] = reward
    state.pulls[action] += 1
    state.clock[0] += 1


STEPS[SWUCBState] = Steps(nothing, update, index)
