"""Bandit over bandit: EXP3 chooses a window for each block of rounds; it buys everything.

The window of a block is drawn with the first purchase of the block, and the purpose of the purchase
carries it to the update. The regressions are empty then, so decisions do not need it yet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.sliding_window import (
    SlidingWindow,
    empty,
    forget_all,
    slide,
    window_bounds,
)

FEATURE_DRAWS = 1


class BOBSWLinUCBState(NamedTuple):
    """The parameters, the encoding, EXP3 over the lengths of windows, and the block so far.

    `logs` are logarithms of the weights of EXP3. `current` is the place of the block's window in
    `lengths`, and `earned` the sum of its rewards.
    """

    alpha: float
    exploration: float
    places: Ints
    lengths: Ints
    logs: Floats
    current: Ints
    earned: Floats
    window: SlidingWindow


def initial(
    n_actions: int,
    n_features: int,
    *,
    alpha: float,
    exploration: float,
    block: int,
    lengths: Ints,
    places: Ints,
    size: int,
) -> BOBSWLinUCBState:
    """Return the state before the first round: all windows have the same weight."""
    return BOBSWLinUCBState(
        alpha,
        exploration,
        places,
        lengths,
        logs=np.zeros(lengths.size),
        current=np.zeros(1, np.int64),
        earned=np.zeros(1),
        window=empty(n_actions, n_features, size, block),
    )


@jit
def window_chances(state: BOBSWLinUCBState) -> Floats:
    """Return the probability of each window in the purchase that comes next."""
    chances = np.zeros(state.lengths.size)
    if state.window.clock[0] > 0:
        chances[state.current[0]] = 1.0
    else:
        _fill_chances(state, chances)
    return chances


@jit_inner
def _fill_chances(state: BOBSWLinUCBState, chances: Floats) -> None:
    """Fill in the probabilities of EXP3: (1 - gamma) s_j / sum of s + gamma / number."""
    n = state.logs.size
    top = state.logs.max()
    total = 0.0
    for j in range(n):
        chances[j] = math.exp(state.logs[j] - top)
        total += chances[j]
    for j in range(n):
        chances[j] = (1 - state.exploration) * chances[j] / total + state.exploration / n


@jit
def choose_features(state: BOBSWLinUCBState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy everything; return the place of the block's window, drawn if a block begins."""
    for i in range(mask.size):
        mask[i] = True
    if state.window.clock[0] > 0:
        return state.current[0]
    chances = np.empty(state.lengths.size)
    _fill_chances(state, chances)
    total = 0.0
    for j in range(chances.size):
        total += chances[j]
        if draws[0] < total:
            return j
    return chances.size - 1


@jit
def index(state: BOBSWLinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) for every action."""
    length = state.lengths[state.current[0]]
    return window_bounds(state.window, state.places, length, codes, state.alpha)


@jit
def update(
    state: BOBSWLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Add the sample; at the end of a block reward its window and forget all samples."""
    if state.window.clock[0] == 0:
        state.current[0] = min(max(purpose, 0), state.lengths.size - 1)
    length = state.lengths[state.current[0]]
    slide(state.window, state.places, length, codes, action, reward)
    state.earned[0] += reward
    block = state.window.rewards.size
    if state.window.clock[0] == block:
        j = state.current[0]
        chances = np.empty(state.lengths.size)
        _fill_chances(state, chances)
        gain = state.earned[0] / block
        state.logs[j] += state.exploration / chances.size * gain / chances[j]
        state.earned[0] = 0.0
        forget_all(state.window)


STEPS[BOBSWLinUCBState] = Steps(choose_features, update, index)
