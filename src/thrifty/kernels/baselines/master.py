"""MASTER over UCB1: instances of many lengths, and two tests that restart them; it buys nothing.

A block of 2^n rounds has instances of UCB1 of every order m <= n, which last 2^m rounds. Those of
order m may begin in rounds that are multiples of 2^m, and the purpose of a purchase is the set of
orders that do begin, as a mask of bits. The shortest instance acts and learns. So there is one
place for each order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.variates import stream_of, uniform

FEATURE_DRAWS = 1
MAX_ORDERS = 40


class MASTERState(NamedTuple):
    """The parameters, the block, and for each order its running instance.

    `clock` is the round in the block, `order` the order of the block. `gained` and `excess` are
    sums over the block of rewards and of optimistic values minus rewards, and `least` is the
    smallest optimistic value. `begins` is `gained` when an instance began.
    """

    alpha: float
    confidence: float
    factor: float
    clock: Ints
    order: Ints
    gained: Floats
    excess: Floats
    least: Floats
    running: Bools
    begins: Floats
    counts: Ints
    sums: Floats
    restarts: Ints


def initial(n_actions: int, alpha: float, confidence: float, factor: float) -> MASTERState:
    """Return the state before the first round; `confidence` is log(T / delta)."""
    return MASTERState(
        alpha,
        confidence,
        factor,
        clock=np.zeros(1, np.int64),
        order=np.zeros(1, np.int64),
        gained=np.zeros(1),
        excess=np.zeros(1),
        least=np.ones(1),
        running=np.zeros(MAX_ORDERS, np.bool_),
        begins=np.zeros(MAX_ORDERS),
        counts=np.zeros((MAX_ORDERS, n_actions), np.int64),
        sums=np.zeros((MAX_ORDERS, n_actions)),
        restarts=np.zeros(1, np.int64),
    )


@jit_inner
def _regret(state: MASTERState, rounds: int) -> float:
    """Return rho(t), the bound on the average regret of UCB1 in t rounds."""
    x = state.counts.shape[1] * state.confidence / rounds
    return math.sqrt(x) + x


@jit_inner
def _may_begin(state: MASTERState, m: int) -> bool:
    """Return True if this is a round in which instances of this order begin."""
    return state.clock[0] % (1 << m) == 0


@jit
def choose_features(state: MASTERState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy nothing; return the orders of the instances that begin."""
    for i in range(mask.size):
        mask[i] = False
    stream = stream_of(draws[0])
    n = state.order[0]
    begin = 0
    for m in range(n, -1, -1):
        if _may_begin(state, m) and uniform(stream) < _regret(state, 1 << n) / _regret(
            state, 1 << m
        ):
            begin |= 1 << m
    return begin


@jit
def chances_of_shortest(state: MASTERState) -> Floats:
    """Return the probability of each order of the shortest instance that begins.

    The last entry is the probability that none begins. Actions depend on nothing else in the note.
    """
    n = state.order[0]
    chances = np.zeros(n + 2)
    left = 1.0
    for m in range(n + 1):
        if _may_begin(state, m):
            begins = min(1.0, _regret(state, 1 << n) / _regret(state, 1 << m))
            chances[m] = left * begins
            left -= chances[m]
    chances[n + 1] = left
    return chances


@jit_inner
def _begins(state: MASTERState, m: int, begin: int) -> bool:
    """Return True if an instance of this order begins; one of the block's order always does."""
    noted = (begin >> m) & 1 == 1 or m == state.order[0]
    return noted and _may_begin(state, m)


@jit_inner
def _shortest(state: MASTERState, begin: int) -> int:
    """Return the order of the instance that acts."""
    m = 0
    while not (state.running[m] or _begins(state, m, begin)):
        m += 1
    return m


@jit_inner
def _bounds(state: MASTERState, m: int, begin: int) -> Floats:
    """Return mean + sqrt(alpha log(T / delta) / n) of an instance, infinite without rewards."""
    values = np.full(state.counts.shape[1], np.inf)
    if not _begins(state, m, begin):
        for a in range(values.size):
            n = state.counts[m, a]
            if n > 0:
                bonus = math.sqrt(state.alpha * state.confidence / n)
                values[a] = state.sums[m, a] / n + bonus
    return values


@jit
def index(state: MASTERState, codes: Ints) -> Floats:
    """Return the upper confidence bounds of the instance that acts if none begins."""
    return _bounds(state, _shortest(state, 0), 0)


@jit
def choose_action(
    state: MASTERState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the first best action of the instance that acts."""
    return first_maximum(_bounds(state, _shortest(state, purpose), purpose), available)


@jit
def update(
    state: MASTERState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Begin instances, let the shortest one learn, and test; go on to the next block or restart."""
    shortest = _shortest(state, purpose)
    bounds = _bounds(state, shortest, purpose)
    optimistic = 0.0
    for a in range(bounds.size):
        optimistic = max(optimistic, min(1.0, bounds[a]))
    for m in range(state.order[0] + 1):
        if _begins(state, m, purpose):
            _begin(state, m)
    state.counts[shortest, action] += 1
    state.sums[shortest, action] += reward
    state.clock[0] += 1
    state.gained[0] += reward
    state.excess[0] += optimistic - reward
    state.least[0] = min(state.least[0], optimistic)
    if _has_changed(state):
        state.restarts[0] += 1
        _begin_block(state, 0)
    elif state.clock[0] == 1 << state.order[0]:
        _begin_block(state, min(state.order[0] + 1, MAX_ORDERS - 1))


@jit_inner
def _begin(state: MASTERState, m: int) -> None:
    """Begin an instance."""
    state.running[m] = True
    state.begins[m] = state.gained[0]
    for a in range(state.counts.shape[1]):
        state.counts[m, a] = 0
        state.sums[m, a] = 0.0


@jit_inner
def _has_changed(state: MASTERState) -> bool:
    """End the instances whose time is over, and carry out both tests."""
    t = state.clock[0]
    changed = state.excess[0] / t >= 3 * state.factor * _regret(state, t)
    for m in range(state.order[0] + 1):
        if state.running[m] and _may_begin(state, m):
            state.running[m] = False
            mean = (state.gained[0] - state.begins[m]) / (1 << m)
            if mean >= state.least[0] + 9 * state.factor * _regret(state, 1 << m):
                changed = True
    return changed


@jit_inner
def _begin_block(state: MASTERState, order: int) -> None:
    """Begin a block of this order, without instances."""
    state.order[0] = order
    state.clock[0] = 0
    state.gained[0] = state.excess[0] = 0.0
    state.least[0] = 1.0
    for m in range(MAX_ORDERS):
        state.running[m] = False


STEPS[MASTERState] = Steps(choose_features, update, index, choose_action)
