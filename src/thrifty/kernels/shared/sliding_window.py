"""Ridge regressions on the samples of the last rounds, one regression for each action.

While no sample has left the window, the arithmetic is that of LinUCB. A sample leaves by the
formula of Sherman and Morrison. Rounding errors do not build up: once per window everything is
computed again from the samples, and an action without samples starts again from A = I and b = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.grid import round_to_grid
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    add_sample,
    copy,
    encode,
    invert,
    multiply,
    reset,
    take_sample,
    upper_bounds,
)


class SlidingWindow(NamedTuple):
    """Each action's A^-1, b, theta and number of samples in the window, and all these samples.

    The samples are written round and round; `clock` counts all that were ever written.
    """

    inverses: Floats
    targets: Floats
    thetas: Floats
    counts: Ints
    codes: Ints
    actions: Ints
    rewards: Floats
    clock: Ints


def empty(n_actions: int, n_features: int, size: int, capacity: int) -> SlidingWindow:
    """Return an empty window with room for this number of samples."""
    return SlidingWindow(
        inverses=np.tile(np.eye(size), (n_actions, 1, 1)),
        targets=np.zeros((n_actions, size)),
        thetas=np.zeros((n_actions, size)),
        counts=np.zeros(n_actions, np.int64),
        codes=np.zeros((capacity, n_features), np.int64),
        actions=np.zeros(capacity, np.int64),
        rewards=np.zeros(capacity),
        clock=np.zeros(1, np.int64),
    )


@jit_inner
def window_bounds(
    window: SlidingWindow, places: Ints, length: int, codes: Ints, alpha: float
) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) for every action.

    The values are rounded to the grid if samples have left: then equal regressions may differ by
    rounding errors.
    """
    x = encode(codes, places, window.thetas.shape[1])
    values = upper_bounds(window.inverses, window.thetas, x, alpha)
    if window.clock[0] > length:
        round_to_grid(values)
    return values


@jit_inner
def slide(
    window: SlidingWindow, places: Ints, length: int, codes: Ints, action: int, reward: float
) -> None:
    """Add a sample, and remove the oldest one if the window holds `length` samples already."""
    t = window.clock[0]
    capacity = window.rewards.size
    if t >= length:
        _remove(window, places, (t - length) % capacity)
    for i in range(codes.size):
        window.codes[t % capacity, i] = codes[i]
    window.actions[t % capacity] = action
    window.rewards[t % capacity] = reward
    window.counts[action] += 1
    x = encode(codes, places, window.thetas.shape[1])
    add_sample(window.inverses[action], window.targets[action], window.thetas[action], x, reward)
    window.clock[0] += 1
    if t >= length and (t + 1) % length == 0:
        _compute_again(window, places, length)


@jit_inner
def forget_all(window: SlidingWindow) -> None:
    """Remove all samples."""
    for a in range(window.counts.size):
        _reset(window, a)
    window.clock[0] = 0


@jit_inner
def _reset(window: SlidingWindow, a: int) -> None:
    window.counts[a] = 0
    reset(window.inverses[a], window.targets[a], window.thetas[a])


@jit_inner
def _remove(window: SlidingWindow, places: Ints, place: int) -> None:
    """Remove the sample at this place."""
    a = window.actions[place]
    window.counts[a] -= 1
    if window.counts[a] == 0:
        _reset(window, a)
    else:
        x = encode(window.codes[place], places, window.thetas.shape[1])
        reward = window.rewards[place]
        take_sample(window.inverses[a], window.targets[a], window.thetas[a], x, reward)


@jit_inner
def _compute_again(window: SlidingWindow, places: Ints, length: int) -> None:
    """Compute all regressions from the samples."""
    n_actions, size = window.thetas.shape
    matrices = np.zeros((n_actions, size, size))
    for a in range(n_actions):
        _reset(window, a)
        for i in range(size):
            matrices[a, i, i] = 1.0
    for t in range(window.clock[0] - length, window.clock[0]):
        place = t % window.rewards.size
        a = window.actions[place]
        x = encode(window.codes[place], places, size)
        add_outer(matrices[a], x, 1.0)
        add(window.targets[a], x, window.rewards[place])
        window.counts[a] += 1
    for a in range(n_actions):
        copy(invert(matrices[a]), window.inverses[a])
        copy(multiply(window.inverses[a], window.targets[a]), window.thetas[a])
