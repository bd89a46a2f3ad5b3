"""D-LinUCB: one discounted regression per action; it buys everything.

V = S + I and V~ = D + I, where S adds up x x' of the action's samples with weights gamma^n, and D
with weights gamma^2n; n is the number of rounds since the sample. With y = V^-1 x the confidence
width is sqrt(y' V~ y) = sqrt(x . y - y' (S - D) y).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    add_sample,
    copy,
    dot,
    encode,
    invert,
    multiply,
)
from thrifty.kernels.shared.purchases import everything


class DLinUCBState(NamedTuple):
    """The parameters, the encoding, and each action's S, D, V^-1, b and theta = V^-1 b."""

    alpha: float
    discount: float
    places: Ints
    sums: Floats
    square_sums: Floats
    inverses: Floats
    targets: Floats
    thetas: Floats


def initial(n_actions: int, alpha: float, discount: float, places: Ints, size: int) -> DLinUCBState:
    """Return the state before the first round: V = V~ = I, b = 0."""
    return DLinUCBState(
        alpha,
        discount,
        places,
        sums=np.zeros((n_actions, size, size)),
        square_sums=np.zeros((n_actions, size, size)),
        inverses=np.tile(np.eye(size), (n_actions, 1, 1)),
        targets=np.zeros((n_actions, size)),
        thetas=np.zeros((n_actions, size)),
    )


@jit
def index(state: DLinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' V^-1 V~ V^-1 x) for every action."""
    x = encode(codes, state.places, state.thetas.shape[1])
    values = np.empty(state.thetas.shape[0])
    for a in range(values.size):
        y = multiply(state.inverses[a], x)
        excess = 0.0
        for i in range(x.size):
            for j in range(x.size):
                excess += y[i] * y[j] * (state.sums[a, i, j] - state.square_sums[a, i, j])
        width = math.sqrt(max(0.0, dot(x, y) - excess))
        values[a] = dot(state.thetas[a], x) + state.alpha * width
    return values


@jit
def update(
    state: DLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Discount all samples and add this one; without a discount S - D stays 0."""
    x = encode(codes, state.places, state.thetas.shape[1])
    if state.discount == 1.0:
        add_sample(state.inverses[action], state.targets[action], state.thetas[action], x, reward)
        return
    for a in range(state.thetas.shape[0]):
        _discount(state, a)
    add_outer(state.sums[action], x, 1.0)
    add_outer(state.square_sums[action], x, 1.0)
    add(state.targets[action], x, reward)
    for a in range(state.thetas.shape[0]):
        _solve(state, a)


@jit_inner
def _discount(state: DLinUCBState, a: int) -> None:
    """Multiply the weights of all samples by gamma."""
    gamma = state.discount
    for i in range(state.thetas.shape[1]):
        state.targets[a, i] *= gamma
        for j in range(state.thetas.shape[1]):
            state.sums[a, i, j] *= gamma
            state.square_sums[a, i, j] *= gamma * gamma


@jit_inner
def _solve(state: DLinUCBState, a: int) -> None:
    """Compute V^-1 and theta: a discount changes V by more than a product of vectors."""
    matrix = state.sums[a].copy()
    for i in range(state.thetas.shape[1]):
        matrix[i, i] += 1.0
    copy(invert(matrix), state.inverses[a])
    copy(multiply(state.inverses[a], state.targets[a]), state.thetas[a])


STEPS[DLinUCBState] = Steps(everything, update, index)
