"""Epsilon-greedy on running means; it buys nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.arrays import Bools, Floats, Ints
from thrifty.kernels.choice import first_maximum, uniform
from thrifty.kernels.compile import jit
from thrifty.kernels.purchases import nothing
from thrifty.kernels.steps import STEPS, Steps

ACTION_DRAWS = 2


class EpsilonGreedyState(NamedTuple):
    """The parameter and each action's mean and count."""

    epsilon: float
    means: Floats
    counts: Ints


def initial(n_actions: int, epsilon: float) -> EpsilonGreedyState:
    """Return the state before the first round: every mean starts at 0."""
    return EpsilonGreedyState(epsilon, np.zeros(n_actions), np.zeros(n_actions, np.int64))


@jit
def index(state: EpsilonGreedyState, codes: Ints) -> Floats:
    """Return every action's mean reward."""
    return state.means.copy()


@jit
def choose_action(
    state: EpsilonGreedyState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return any action if the first draw is at most epsilon, else the first best one."""
    if draws[0] <= state.epsilon:
        return uniform(available, draws[1])
    return first_maximum(state.means, available)


@jit
def update(
    state: EpsilonGreedyState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Move the action's mean towards the reward."""
    state.counts[action] += 1
    state.means[action] += (reward - state.means[action]) / state.counts[action]


STEPS[EpsilonGreedyState] = Steps(nothing, choose_action, update, index)
