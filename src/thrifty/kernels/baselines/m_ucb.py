"""M-UCB: UCB, restarted when two halves of a window differ; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing


class MUCBState(NamedTuple):
    """The parameters, and the rounds since the last restart.

    Every action is taken once in `period` rounds, or never for that reason if it is 0. `recent` has
    shape (A, window) and is written round and round; `older` and `newer` are the sums of its
    halves.
    """

    alpha: float
    threshold: float
    period: int
    clock: Ints
    counts: Ints
    sums: Floats
    recent: Floats
    older: Floats
    newer: Floats
    restarts: Ints


def initial(n_actions: int, alpha: float, window: int, threshold: float, period: int) -> MUCBState:
    """Return the state before the first round."""
    return MUCBState(
        alpha,
        threshold,
        period,
        clock=np.zeros(1, np.int64),
        counts=np.zeros(n_actions, np.int64),
        sums=np.zeros(n_actions),
        recent=np.zeros((n_actions, window)),
        older=np.zeros(n_actions),
        newer=np.zeros(n_actions),
        restarts=np.zeros(1, np.int64),
    )


@jit
def index(state: MUCBState, codes: Ints) -> Floats:
    """Return mean + sqrt(alpha log(n + 1) / n_a), infinite for an action without rewards."""
    values = np.empty(state.sums.size)
    for a in range(values.size):
        values[a] = np.inf
        if state.counts[a] > 0:
            bonus = math.sqrt(state.alpha * math.log(state.clock[0] + 1) / state.counts[a])
            values[a] = state.sums[a] / state.counts[a] + bonus
    return values


@jit
def choose_action(
    state: MUCBState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the action whose turn it is, else the first best one."""
    if state.period > 0:
        turn = state.clock[0] % state.period
        if turn < available.size and available[turn]:
            return turn
    return first_maximum(index(state, codes), available)


@jit
def update(
    state: MUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward, and restart if the halves of a full window differ by the threshold."""
    state.clock[0] += 1
    state.sums[action] += reward
    _add_to_window(state, action, reward)
    state.counts[action] += 1
    full = state.counts[action] >= state.recent.shape[1]
    if full and abs(state.newer[action] - state.older[action]) > state.threshold:
        state.clock[0] = 0
        state.restarts[0] += 1
        for a in range(state.counts.size):
            state.counts[a] = 0
            state.sums[a] = state.older[a] = state.newer[a] = 0.0


@jit_inner
def _add_to_window(state: MUCBState, a: int, reward: float) -> None:
    """Put the reward into the newer half, move one to the older half, and drop the oldest."""
    n, window = state.counts[a], state.recent.shape[1]
    if n >= window:
        state.older[a] -= state.recent[a, n % window]
    if n >= window // 2:
        moved = state.recent[a, (n - window // 2) % window]
        state.older[a] += moved
        state.newer[a] -= moved
    state.newer[a] += reward
    state.recent[a, n % window] = reward


STEPS[MUCBState] = Steps(nothing, update, index, choose_action)
