"""TSRC and WTSRC: Thompson sampling of the features to buy, then of the action.

Every feature has a beta posterior of the mean reward of the rounds in which it was bought, from
all rounds or, in WTSRC, from those in a window. Every action has a Gaussian posterior of its
weights, from all rounds.
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
from thrifty.kernels.shared.linear import add, add_to_inverse, copy, dot, encode, multiply
from thrifty.kernels.shared.variates import beta, stream_of

FEATURE_DRAWS = ACTION_DRAWS = 1
PRIOR = 1.0
"""S_i(0) and F_i(0): the uniform prior of every feature."""


class TSRCState(NamedTuple):
    """Parameters, encoding, counts and rewards of the features, and each action's regression.

    `recent_sets` and `recent_rewards` are written round and round. In TSRC they have length 0.
    """

    max_features: int
    v: float
    places: Ints
    clock: Ints
    chosen: Ints
    gained: Floats
    recent_sets: Bools
    recent_rewards: Floats
    inverses: Floats
    targets: Floats
    means: Floats


def initial(
    n_features: int,
    n_actions: int,
    *,
    max_features: int,
    v: float,
    window: int,
    places: Ints,
    size: int,
) -> TSRCState:
    """Return the state before the first round; a window of 0 keeps all rounds."""
    return TSRCState(
        max_features,
        v,
        places,
        clock=np.zeros(1, np.int64),
        chosen=np.zeros(n_features, np.int64),
        gained=np.zeros(n_features),
        recent_sets=np.zeros((window, n_features), np.bool_),
        recent_rewards=np.zeros(window),
        inverses=np.tile(np.eye(size), (n_actions, 1, 1)),
        targets=np.zeros((n_actions, size)),
        means=np.zeros((n_actions, size)),
    )


@jit
def choose_features(state: TSRCState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy the unknown features with the largest draws from their posteriors."""
    stream = stream_of(draws[0])
    sampled = np.empty(known.size)
    for i in range(known.size):
        failed = state.chosen[i] - state.gained[i]
        sampled[i] = beta(PRIOR + state.gained[i], PRIOR + failed, stream)
        mask[i] = False
    for _ in range(state.max_features):
        best = -1
        for i in range(known.size):
            if known[i] < 0 and not mask[i] and (best < 0 or sampled[i] > sampled[best]):
                best = i
        if best >= 0:
            mask[best] = True
    return 0


@jit
def choose_action(
    state: TSRCState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the action with the largest draw of c . mu, which is N(c . mean, v^2 c' B^-1 c)."""
    means, widths = _draws_of_rewards(state, codes)
    return draw_largest(means, widths, available, stream_of(draws[0]))


@jit_inner
def _draws_of_rewards(state: TSRCState, codes: Ints) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the reward that is drawn for each action."""
    x = encode(codes, state.places, state.means.shape[1])
    means, widths = np.empty(state.means.shape[0]), np.empty(state.means.shape[0])
    for a in range(means.size):
        means[a] = dot(state.means[a], x)
        widths[a] = state.v * math.sqrt(dot(x, multiply(state.inverses[a], x)))
    return means, widths


@jit
def action_chances(state: TSRCState, codes: Ints, available: Bools) -> Floats:
    """Return the probability of each action in `choose_action`."""
    means, widths = _draws_of_rewards(state, codes)
    chances = np.empty(means.size)
    fill_chances(means, widths, available, chances)
    return chances


@jit
def update(
    state: TSRCState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward for the observed features and for the action."""
    x = encode(codes, state.places, state.means.shape[1])
    add_to_inverse(state.inverses[action], x)
    add(state.targets[action], x, reward)
    copy(multiply(state.inverses[action], state.targets[action]), state.means[action])
    rounded = on_grid(reward)  # so that what leaves the window is exactly what has entered
    window = state.recent_rewards.size
    if window > 0:
        _forget(state, state.clock[0] % window)
    for i in range(codes.size):
        if codes[i] >= 0 or not np.isnan(costs[i]):
            state.chosen[i] += 1
            state.gained[i] += rounded
            if window > 0:
                state.recent_sets[state.clock[0] % window, i] = True
    if window > 0:
        state.recent_rewards[state.clock[0] % window] = rounded
    state.clock[0] += 1


@jit_inner
def _forget(state: TSRCState, place: int) -> None:
    """Take the round at this place of the window out of the counts."""
    for i in range(state.chosen.size):
        if state.recent_sets[place, i]:
            state.chosen[i] -= 1
            state.gained[i] -= state.recent_rewards[place]
            state.recent_sets[place, i] = False


STEPS[TSRCState] = Steps(choose_features, update, choose_action=choose_action)
