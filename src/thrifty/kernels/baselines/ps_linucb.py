"""PS-LinUCB: LinUCB that restarts when recent rewards contradict it; it buys everything.

Every action has three regressions, all with A = I and b = 0 at first: `pre` (the samples since the
last change but for the most recent ones), `cur` (the most recent ones, which wait in a queue) and
`cum` (both), which scores. Inverses are kept where they are used, and plain matrices for `cur`,
from which samples are taken away again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    add_to_inverse,
    copy,
    dot,
    encode,
    invert,
    multiply,
    upper_bounds,
)
from thrifty.kernels.shared.purchases import everything


class PSLinUCBState(NamedTuple):
    """The parameters, the encoding, each action's three regressions and its queue of samples.

    The queue is written round and round; `held` is its length and `oldest` its first place.
    """

    alpha: float
    delta: float
    places: Ints
    pre_inverses: Floats
    pre_targets: Floats
    cur_matrices: Floats
    cur_targets: Floats
    cum_inverses: Floats
    cum_targets: Floats
    cum_thetas: Floats
    queue_x: Floats
    queue_r: Floats
    held: Ints
    oldest: Ints


def initial(
    n_actions: int, alpha: float, omega: int, delta: float, places: Ints, size: int
) -> PSLinUCBState:
    """Return the state before the first round."""
    identities = np.tile(np.eye(size), (n_actions, 1, 1))
    zeros = np.zeros((n_actions, size))
    return PSLinUCBState(
        alpha,
        delta,
        places,
        pre_inverses=identities.copy(),
        pre_targets=zeros.copy(),
        cur_matrices=identities.copy(),
        cur_targets=zeros.copy(),
        cum_inverses=identities.copy(),
        cum_targets=zeros.copy(),
        cum_thetas=zeros.copy(),
        queue_x=np.zeros((n_actions, omega, size)),
        queue_r=np.zeros((n_actions, omega)),
        held=np.zeros(n_actions, np.int64),
        oldest=np.zeros(n_actions, np.int64),
    )


@jit
def index(state: PSLinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) of `cum` for every action."""
    x = encode(codes, state.places, state.cum_thetas.shape[1])
    return upper_bounds(state.cum_inverses, state.cum_thetas, x, state.alpha)


@jit
def update(
    state: PSLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Add the sample; when the queue is full, restart or pass its oldest sample to `pre`."""
    a = action
    omega = state.queue_r.shape[1]
    x = encode(codes, state.places, state.cum_thetas.shape[1])
    place = (state.oldest[a] + state.held[a]) % omega
    copy(x, state.queue_x[a, place])
    state.queue_r[a, place] = reward
    state.held[a] += 1
    add_outer(state.cur_matrices[a], x, 1.0)
    add(state.cur_targets[a], x, reward)
    add_to_inverse(state.cum_inverses[a], x)
    add(state.cum_targets[a], x, reward)
    if state.held[a] == omega:
        if _prediction_error(state, a) >= state.delta:
            _restart(state, a)
        else:
            _pass_oldest(state, a)
    copy(multiply(state.cum_inverses[a], state.cum_targets[a]), state.cum_thetas[a])


@jit_inner
def _prediction_error(state: PSLinUCBState, a: int) -> float:
    """Return |mean of theta_pre . x - r| over the queue."""
    theta = multiply(state.pre_inverses[a], state.pre_targets[a])
    omega = state.queue_r.shape[1]
    total = 0.0
    for k in range(omega):
        total += dot(theta, state.queue_x[a, k]) - state.queue_r[a, k]
    return abs(total / omega)


@jit_inner
def _restart(state: PSLinUCBState, a: int) -> None:
    """Drop all samples except those in the queue."""
    copy(invert(state.cur_matrices[a]), state.pre_inverses[a])
    copy(state.cur_targets[a], state.pre_targets[a])
    copy(state.pre_inverses[a], state.cum_inverses[a])
    copy(state.cur_targets[a], state.cum_targets[a])
    size = state.cur_targets.shape[1]
    copy(np.eye(size), state.cur_matrices[a])
    copy(np.zeros(size), state.cur_targets[a])
    state.held[a] = 0
    state.oldest[a] = 0


@jit_inner
def _pass_oldest(state: PSLinUCBState, a: int) -> None:
    """Move the queue's oldest sample from `cur` to `pre`."""
    k = state.oldest[a]
    x = state.queue_x[a, k]
    reward = state.queue_r[a, k]
    add_to_inverse(state.pre_inverses[a], x)
    add(state.pre_targets[a], x, reward)
    add_outer(state.cur_matrices[a], x, -1.0)
    add(state.cur_targets[a], x, -reward)
    state.oldest[a] = (k + 1) % state.queue_r.shape[1]
    state.held[a] -= 1


STEPS[PSLinUCBState] = Steps(everything, update, index)
