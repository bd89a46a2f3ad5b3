"""CUSUM-UCB: UCB, restarted by a two-sided CUSUM test for each action; it buys nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum, uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.cusum import add_to_cusum
from thrifty.kernels.shared.purchases import nothing

ACTION_DRAWS = 2


class CUSUMUCBState(NamedTuple):
    """The parameters, and what is known of each action since its last restart.

    `means` are the means of the first `samples` rewards, with which later ones are compared, and
    `ups` and `downs` the two sums of the test.
    """

    alpha: float
    exploration: float
    samples: int
    slack: float
    threshold: float
    counts: Ints
    sums: Floats
    means: Floats
    ups: Floats
    downs: Floats
    restarts: Ints


def initial(
    n_actions: int, alpha: float, exploration: float, samples: int, slack: float, threshold: float
) -> CUSUMUCBState:
    """Return the state before the first round."""
    return CUSUMUCBState(
        alpha,
        exploration,
        samples,
        slack,
        threshold,
        counts=np.zeros(n_actions, np.int64),
        sums=np.zeros(n_actions),
        means=np.zeros(n_actions),
        ups=np.zeros(n_actions),
        downs=np.zeros(n_actions),
        restarts=np.zeros(1, np.int64),
    )


@jit
def index(state: CUSUMUCBState, codes: Ints) -> Floats:
    """Return mean + sqrt(alpha log(n + 1) / n_a), infinite for an action without rewards."""
    values = np.empty(state.sums.size)
    n = 0
    for a in range(values.size):
        n += state.counts[a]
    for a in range(values.size):
        values[a] = np.inf
        if state.counts[a] > 0:
            bonus = math.sqrt(state.alpha * math.log(n + 1) / state.counts[a])
            values[a] = state.sums[a] / state.counts[a] + bonus
    return values


@jit
def choose_action(
    state: CUSUMUCBState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return any action if the first draw is below `exploration`, else the first best one."""
    if draws[0] < state.exploration:
        return uniform(available, draws[1])
    return first_maximum(index(state, codes), available)


@jit
def update(
    state: CUSUMUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward, and restart the action if one of its sums reaches the threshold."""
    a = action
    state.counts[a] += 1
    state.sums[a] += reward
    if state.counts[a] == state.samples:
        state.means[a] = state.sums[a] / state.samples
    elif state.counts[a] > state.samples:
        state.ups[a] = add_to_cusum(state.ups[a], reward - state.means[a], state.slack)
        state.downs[a] = add_to_cusum(state.downs[a], state.means[a] - reward, state.slack)
    if max(state.ups[a], state.downs[a]) >= state.threshold:
        _restart(state, a)


@jit_inner
def _restart(state: CUSUMUCBState, a: int) -> None:
    """Forget all rewards of the action."""
    state.counts[a] = 0
    state.sums[a] = state.ups[a] = state.downs[a] = 0.0
    state.restarts[0] += 1


STEPS[CUSUMUCBState] = Steps(nothing, update, index, choose_action)
