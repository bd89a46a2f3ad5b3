"""Adaptive Thompson sampling: linear Thompson sampling with a test for changes; buys everything.

Every action has a regression of its rewards since the last change, with A = I and b = 0 at first.
Its last 2 N samples are kept: the regressions of the newer and of the older half are compared. The
distances between them are a series, in which a change is looked for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid
from thrifty.kernels.shared.largest_normal import draw_largest, fill_chances
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    add_to_inverse,
    copy,
    dot,
    encode,
    invert,
    multiply,
)
from thrifty.kernels.shared.purchases import everything_with_a_draw
from thrifty.kernels.shared.variates import stream_of, stream_of_purpose, uniform

FEATURE_DRAWS = ACTION_DRAWS = 1


class AdaptiveTSState(NamedTuple):
    """The parameters, the encoding, and each action's regression, last samples and distances.

    Samples are written round and round; `taken` counts all of them, `held` those since the change.
    """

    alpha: float
    confidence: float
    every: int
    bootstraps: int
    places: Ints
    inverses: Floats
    targets: Floats
    thetas: Floats
    recent_x: Floats
    recent_r: Floats
    taken: Ints
    held: Ints
    distances: Floats
    n_distances: Ints


def initial(
    n_actions: int,
    alpha: float,
    window: int,
    every: int,
    memory: int,
    bootstraps: int,
    confidence: float,
    places: Ints,
    size: int,
) -> AdaptiveTSState:
    """Return the state before the first round."""
    return AdaptiveTSState(
        alpha,
        confidence,
        every,
        bootstraps,
        places,
        inverses=np.tile(np.eye(size), (n_actions, 1, 1)),
        targets=np.zeros((n_actions, size)),
        thetas=np.zeros((n_actions, size)),
        recent_x=np.zeros((n_actions, 2 * window, size)),
        recent_r=np.zeros((n_actions, 2 * window)),
        taken=np.zeros(n_actions, np.int64),
        held=np.zeros(n_actions, np.int64),
        distances=np.zeros((n_actions, memory)),
        n_distances=np.zeros(n_actions, np.int64),
    )


@jit
def choose_action(
    state: AdaptiveTSState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the first action with the largest reward by coefficients drawn from the posterior.

    The reward of drawn coefficients, N(theta, alpha^2 A^-1), is normal itself.
    """
    means, widths = _draws_of_rewards(state, codes)
    return draw_largest(means, widths, available, stream_of(draws[0]))


@jit_inner
def _draws_of_rewards(state: AdaptiveTSState, codes: Ints) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the reward that is drawn for each action."""
    x = encode(codes, state.places, state.thetas.shape[1])
    means, widths = np.empty(state.taken.size), np.empty(state.taken.size)
    for a in range(means.size):
        means[a] = dot(state.thetas[a], x)
        widths[a] = state.alpha * math.sqrt(dot(x, multiply(state.inverses[a], x)))
    return means, widths


@jit
def action_chances(state: AdaptiveTSState, codes: Ints, available: Bools) -> Floats:
    """Return the probability of each action in `choose_action`."""
    means, widths = _draws_of_rewards(state, codes)
    chances = np.empty(means.size)
    fill_chances(means, widths, available, chances)
    return chances


@jit
def update(
    state: AdaptiveTSState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Add the sample; if the distances show a change, keep the newer half of the window only."""
    a = action
    x = encode(codes, state.places, state.thetas.shape[1])
    length = state.recent_r.shape[1]
    place = state.taken[a] % length
    copy(x, state.recent_x[a, place])
    state.recent_r[a, place] = reward
    state.taken[a] += 1
    state.held[a] += 1
    add_to_inverse(state.inverses[a], x)
    add(state.targets[a], x, reward)
    since_full = state.held[a] - length
    if since_full >= 0 and since_full % state.every == 0:
        newer, older = np.zeros(x.size), np.zeros(x.size)
        inverse = _regression(state, a, 0, newer)
        distance = on_grid(_distance(state, a, inverse, newer, older))
        _note(state.distances[a], state.n_distances, a, distance)
        stream = stream_of_purpose(purpose, state.taken.sum())
        if _changed(state, a, stream):
            copy(inverse, state.inverses[a])
            copy(newer, state.targets[a])
            state.held[a] = length // 2
            state.n_distances[a] = 0
    copy(multiply(state.inverses[a], state.targets[a]), state.thetas[a])


@jit_inner
def _regression(state: AdaptiveTSState, a: int, skipped: int, target: Floats) -> Floats:
    """Return A^-1 of half a window, without the last `skipped` samples; add its b to `target`."""
    length = state.recent_r.shape[1]
    matrix = np.eye(target.size)
    for k in range(length // 2):
        place = (state.taken[a] - skipped - length // 2 + k) % length
        add_outer(matrix, state.recent_x[a, place], 1.0)
        add(target, state.recent_x[a, place], state.recent_r[a, place])
    return invert(matrix)


@jit_inner
def _distance(
    state: AdaptiveTSState, a: int, inverse: Floats, newer: Floats, older: Floats
) -> float:
    """Return the Mahalanobis distance between the coefficients of the two halves of the window."""
    other = _regression(state, a, state.recent_r.shape[1] // 2, older)
    difference = multiply(inverse, newer)
    add(difference, multiply(other, older), -1.0)
    spread = inverse.copy()
    for i in range(spread.shape[0]):
        for j in range(spread.shape[0]):
            spread[i, j] = (spread[i, j] + other[i, j]) / 2
    return math.sqrt(max(0.0, dot(difference, multiply(invert(spread), difference))))


@jit_inner
def _note(distances: Floats, counts: Ints, a: int, distance: float) -> None:
    """Append a distance; when there is no room, drop the oldest."""
    if counts[a] == distances.size:
        for k in range(distances.size - 1):
            distances[k] = distances[k + 1]
        counts[a] -= 1
    distances[counts[a]] = distance
    counts[a] += 1


@jit_inner
def _changed(state: AdaptiveTSState, a: int, stream: Ints) -> bool:
    """Return True if the share of reordered series with a smaller range is above the confidence."""
    n = state.n_distances[a]
    series = np.empty(n)
    for k in range(n):
        series[k] = state.distances[a, k]
    observed = _range_of_sums(series)
    needed = state.confidence * state.bootstraps
    smaller = 0
    for left in range(state.bootstraps, 0, -1):
        if smaller + left <= needed:
            return False
        for k in range(n - 1, 0, -1):
            other = int(uniform(stream) * (k + 1))
            series[k], series[other] = series[other], series[k]
        smaller += _range_of_sums(series) < observed
    return smaller > needed


@jit_inner
def _range_of_sums(series: Floats) -> float:
    """Return n times the range of the cumulative sums of the deviations from the mean, exactly."""
    total = 0.0
    for k in range(series.size):
        total += series[k]
    low = high = current = 0.0
    for k in range(series.size):
        current += series.size * series[k] - total
        low, high = min(low, current), max(high, current)
    return high - low


STEPS[AdaptiveTSState] = Steps(everything_with_a_draw, update, choose_action=choose_action)
