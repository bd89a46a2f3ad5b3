"""Epsilon-greedy; it buys nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum, uniform
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing

ACTION_DRAWS = 2


class EpsilonGreedyState(NamedTuple):
    """The parameter and each action's sum of rewards and count."""

    epsilon: float
    sums: Floats
    counts: Ints


def initial(n_actions: int, epsilon: float) -> EpsilonGreedyState:
    """Return the state before the first round: no reward counted."""
    return EpsilonGreedyState(epsilon, np.zeros(n_actions), np.zeros(n_actions, np.int64))


@jit
def index(state: EpsilonGreedyState, codes: Ints) -> Floats:
    """Return every action's mean reward, 0 before the first."""
    values = np.empty(state.sums.size)
    for a in range(values.size):
        values[a] = state.sums[a] / max(1, state.counts[a])
    return values


@jit
def choose_action(
    state: EpsilonGreedyState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return any action if the first draw is at most epsilon, else the first best one."""
    if draws[0] <= state.epsilon:
        return uniform(available, draws[1])
    return first_maximum(index(state, codes), available)


@jit
def update(
    state: EpsilonGreedyState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward."""
    state.counts[action] += 1
    state.sums[action] += reward


STEPS[EpsilonGreedyState] = Steps(nothing, update, index, choose_action)
