"""GLR-klUCB: kl-UCB, restarted by the Bernoulli GLR test for each action; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.bernoulli import kl_upper_bound
from thrifty.kernels.shared.glr import (
    GLRStreams,
    add_to_stream,
    clear_stream,
    glr_statistic,
    glr_threshold,
    initial_streams,
)
from thrifty.kernels.shared.purchases import nothing

MAX_SPLITS = 256
LONGEST_PERIOD = 1e15


class GLRKLUCBState(NamedTuple):
    """The parameters, the number of rounds, the round of each action's last restart, its rewards.

    `exploration` grows with the square root of the number of restarts plus 1.
    """

    exploration: float
    delta: float
    every: int
    everywhere: bool
    clock: Ints
    begins: Ints
    streams: GLRStreams
    restarts: Ints


def initial(
    n_actions: int, exploration: float, delta: float, every: int, everywhere: bool
) -> GLRKLUCBState:
    """Return the state before the first round."""
    return GLRKLUCBState(
        exploration,
        delta,
        every,
        everywhere,
        clock=np.zeros(1, np.int64),
        begins=np.zeros(n_actions, np.int64),
        streams=initial_streams(n_actions, MAX_SPLITS, every),
        restarts=np.zeros(1, np.int64),
    )


@jit
def index(state: GLRKLUCBState, codes: Ints) -> Floats:
    """Return the largest q with n kl(mean, q) <= log(t + 1), infinite without rewards."""
    values = np.empty(state.begins.size)
    for a in range(values.size):
        values[a] = np.inf
        n = state.streams.counts[a]
        if n > 0:
            level = math.log(state.clock[0] - state.begins[a] + 1) / n
            values[a] = kl_upper_bound(state.streams.totals[a] / n, level)
    return values


@jit
def choose_action(
    state: GLRKLUCBState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the action whose turn it is, else the first best one."""
    rate = state.exploration * math.sqrt(state.restarts[0] + 1)
    n = available.size
    if rate > 0.0:
        turn = state.clock[0] % int(min(max(1.0, 1 / rate), LONGEST_PERIOD) * n)
        if turn < n and available[turn]:
            return turn
    return first_maximum(index(state, codes), available)


@jit
def update(
    state: GLRKLUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward; test the action from time to time, and restart it, or all actions."""
    state.clock[0] += 1
    add_to_stream(state.streams, action, reward)
    n = state.streams.counts[action]
    if n % state.every == 0 and glr_statistic(state.streams, action) > glr_threshold(
        n, state.delta
    ):
        state.restarts[0] += 1
        for a in range(state.begins.size):
            if state.everywhere or a == action:
                _restart(state, a)


@jit_inner
def _restart(state: GLRKLUCBState, a: int) -> None:
    """Forget all rewards of the action."""
    clear_stream(state.streams, a)
    state.begins[a] = state.clock[0]


STEPS[GLRKLUCBState] = Steps(nothing, update, index, choose_action)
