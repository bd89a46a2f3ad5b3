"""Uniformly random actions; it buys nothing and learns nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import uniform
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import nothing

ACTION_DRAWS = 1


class UniformState(NamedTuple):
    """The number of updates, because a state must not be empty."""

    clock: Ints


def initial() -> UniformState:
    """Return the state before the first round."""
    return UniformState(np.zeros(1, np.int64))


@jit
def choose_action(
    state: UniformState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return any available action."""
    return uniform(available, draws[0])


@jit
def update(
    state: UniformState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the round."""
    state.clock[0] += 1


STEPS[UniformState] = Steps(nothing, update, choose_action=choose_action)
