"""Discounted Thompson sampling; it buys nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing
from thrifty.kernels.shared.variates import beta, stream_of

ACTION_DRAWS = 1
PRIOR = 1.0
"""Both parameters of every action's beta distribution before the first reward."""


class DiscountedTSState(NamedTuple):
    """The parameters, and each action's discounted sums of rewards and of missed rewards."""

    discount: float
    optimistic: bool
    gained: Floats
    missed: Floats


def initial(n_actions: int, discount: float, optimistic: bool) -> DiscountedTSState:
    """Return the state before the first round."""
    return DiscountedTSState(discount, optimistic, np.zeros(n_actions), np.zeros(n_actions))


@jit
def index(state: DiscountedTSState, codes: Ints) -> Floats:
    """Return the mean of every action's beta distribution."""
    values = np.empty(state.gained.size)
    for a in range(values.size):
        total = state.gained[a] + state.missed[a]
        values[a] = (state.gained[a] + PRIOR) / (total + 2 * PRIOR)
    return values


@jit
def choose_action(
    state: DiscountedTSState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the action with the largest variate of its beta distribution."""
    stream = stream_of(draws[0])
    values = index(state, codes)
    for a in range(values.size):
        variate = beta(state.gained[a] + PRIOR, state.missed[a] + PRIOR, stream)
        values[a] = max(values[a], variate) if state.optimistic else variate
    return first_maximum(values, available)


@jit
def update(
    state: DiscountedTSState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Discount everything, then count the reward and what is missing to a reward of 1."""
    for a in range(state.gained.size):
        state.gained[a] *= state.discount
        state.missed[a] *= state.discount
    state.gained[action] += reward
    state.missed[action] += 1 - reward


STEPS[DiscountedTSState] = Steps(nothing, update, index, choose_action)
