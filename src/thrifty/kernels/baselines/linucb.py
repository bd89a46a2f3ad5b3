"""Disjoint LinUCB; it buys everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.linear import add_sample, encode, reset, upper_bounds
from thrifty.kernels.shared.purchases import everything


class LinUCBState(NamedTuple):
    """The parameter, the encoding, and each action's A^-1, b and theta = A^-1 b."""

    alpha: float
    places: Ints
    inverses: Floats
    targets: Floats
    thetas: Floats


def initial(n_actions: int, alpha: float, places: Ints, size: int) -> LinUCBState:
    """Return the state before the first round: A = I, b = 0."""
    return LinUCBState(
        alpha,
        places,
        inverses=np.tile(np.eye(size), (n_actions, 1, 1)),
        targets=np.zeros((n_actions, size)),
        thetas=np.zeros((n_actions, size)),
    )


@jit
def index(state: LinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) for every action."""
    x = encode(codes, state.places, state.thetas.shape[1])
    return upper_bounds(state.inverses, state.thetas, x, state.alpha)


@jit
def update(
    state: LinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Add the sample to the action's regression: A += x x', b += r x."""
    x = encode(codes, state.places, state.thetas.shape[1])
    add_sample(state.inverses[action], state.targets[action], state.thetas[action], x, reward)


@jit_inner
def restart(state: LinUCBState) -> None:
    """Return to the state before the first round."""
    for a in range(state.thetas.shape[0]):
        reset(state.inverses[a], state.targets[a], state.thetas[a])


STEPS[LinUCBState] = Steps(everything, update, index)
