"""dLinUCB: a master that tests, drops and adds LinUCB models; it buys everything."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import round_to_grid
from thrifty.kernels.shared.linear import (
    add_sample,
    dot,
    encode,
    radius_of,
    reset,
    upper_bounds,
    width_of,
)
from thrifty.kernels.shared.purchases import everything

UNUSED = -1


class DynamicLinUCBState(NamedTuple):
    """The parameters, the encoding, and the models with the results of their last tests.

    Models have the first axis of the arrays, actions the second. `ages` are numbers of tests, or
    UNUSED where there is no model. `failed` holds the last tests, written round and round, and
    `failures` their sum. `samples` counts what a model has learnt from, and `started` all models.
    """

    alpha: float
    noise: float
    margin: float
    delta: float
    spare_delta: float
    half_log: float
    places: Ints
    inverses: Floats
    targets: Floats
    thetas: Floats
    samples: Ints
    ages: Ints
    failures: Ints
    failed: Bools
    started: Ints


def initial(
    n_actions: int,
    *,
    alpha: float,
    noise: float,
    margin: float,
    delta: float,
    spare_delta: float,
    test_delta: float,
    tau: int,
    models: int,
    places: Ints,
    size: int,
) -> DynamicLinUCBState:
    """Return the state before the first round: one model without samples."""
    ages = np.full(models, UNUSED)
    ages[0] = 0
    return DynamicLinUCBState(
        alpha,
        noise,
        margin,
        delta,
        spare_delta,
        half_log=math.log(1 / test_delta) / 2,
        places=places,
        inverses=np.tile(np.eye(size), (models, n_actions, 1, 1)),
        targets=np.zeros((models, n_actions, size)),
        thetas=np.zeros((models, n_actions, size)),
        samples=np.zeros(models, np.int64),
        ages=ages,
        failures=np.zeros(models, np.int64),
        failed=np.zeros((models, tau), np.bool_),
        started=np.ones(1, np.int64),
    )


@jit_inner
def _badness(state: DynamicLinUCBState, k: int) -> float:
    """Return the share of the last tests that the model failed."""
    return state.failures[k] / min(state.ages[k], state.failed.shape[1])


@jit_inner
def _deviation(state: DynamicLinUCBState, k: int) -> float:
    """Return d = sqrt(log(1 / delta_2) / (2 n)) for the model's n last tests."""
    return math.sqrt(state.half_log / min(state.ages[k], state.failed.shape[1]))


@jit_inner
def _lower_bound(state: DynamicLinUCBState, k: int) -> float:
    """Return the lower bound of the badness, by which the master chooses."""
    if state.ages[k] == 0:
        return -np.inf
    spread = math.sqrt(math.log(state.failed.shape[1]))
    return _badness(state, k) - spread * _deviation(state, k)


@jit_inner
def _extreme(state: DynamicLinUCBState, sign: float) -> int:
    """Return the model with the least sign times lower bound; of several, the oldest."""
    chosen, least = NONE, np.inf
    for k in range(state.ages.size):
        if state.ages[k] != UNUSED:
            bound = sign * _lower_bound(state, k)
            older = chosen != NONE and bound == least and state.ages[k] > state.ages[chosen]
            if chosen == NONE or bound < least or older:
                chosen, least = k, bound
    return chosen


@jit
def index(state: DynamicLinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) of the master's model for every action.

    The values of later models are rounded to the grid: after a few samples actions often tie.
    """
    k = _extreme(state, 1.0)
    x = encode(codes, state.places, state.thetas.shape[2])
    values = upper_bounds(state.inverses[k], state.thetas[k], x, state.alpha)
    if state.started[0] > 1:
        round_to_grid(values)
    return values


@jit
def update(
    state: DynamicLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Test every model, drop bad ones, and add a new one if none is good."""
    x = encode(codes, state.places, state.thetas.shape[2])
    is_new_needed = True
    left = 0
    for k in range(state.ages.size):
        if state.ages[k] != UNUSED:
            _test(state, k, action, x, reward)
            badness, deviation = _badness(state, k), _deviation(state, k)
            if badness < state.spare_delta + deviation:
                is_new_needed = False
            elif badness >= state.delta + deviation:
                state.ages[k] = UNUSED
                continue
            left += 1
    if is_new_needed or left == 0:
        _start(state, _free_place(state))


@jit_inner
def _test(state: DynamicLinUCBState, k: int, a: int, x: Floats, reward: float) -> None:
    """Note whether the model fails to predict the reward; if not, it learns from the sample."""
    dimension = state.thetas.shape[1] * x.size
    radius = radius_of(state.noise, dimension, state.samples[k], state.delta)
    error = abs(dot(state.thetas[k, a], x) - reward)
    fails = error > radius * width_of(state.inverses[k, a], x) + state.margin
    place = state.ages[k] % state.failed.shape[1]
    state.failures[k] += np.int64(fails) - np.int64(state.failed[k, place])
    state.failed[k, place] = fails
    state.ages[k] += 1
    if not fails:
        state.samples[k] += 1
        add_sample(state.inverses[k, a], state.targets[k, a], state.thetas[k, a], x, reward)


@jit_inner
def _free_place(state: DynamicLinUCBState) -> int:
    """Return the first unused place, or that of the model which the master likes least."""
    for k in range(state.ages.size):
        if state.ages[k] == UNUSED:
            return k
    return _extreme(state, -1.0)


@jit_inner
def _start(state: DynamicLinUCBState, k: int) -> None:
    """Put a model without samples at this place."""
    for a in range(state.thetas.shape[1]):
        reset(state.inverses[k, a], state.targets[k, a], state.thetas[k, a])
    for i in range(state.failed.shape[1]):
        state.failed[k, i] = False
    state.failures[k] = 0
    state.samples[k] = 0
    state.ages[k] = 0
    state.started[0] += 1


STEPS[DynamicLinUCBState] = Steps(everything, update, index)
