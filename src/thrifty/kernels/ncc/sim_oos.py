"""Sim-OOS: a plan for an episode, from all counts so far and a fixed price list.

The plan is a function of the counts at the episode's start, so these are what is kept: the set to
buy, and the pulls and sums from which the optimistic rewards follow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.ncc.observation_sets import best_set, excess_of
from thrifty.kernels.ncc.partial_states import (
    PartialStates,
    count_reward,
    double_tables,
    find_cell,
    has_room,
    observe,
    set_edge,
)
from thrifty.kernels.ncc.partial_states import initial as empty_tables
from thrifty.kernels.ncc.sweep import SWEEP, sweep_rounds
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum, last_maximum_unless_all_tie, uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid
from thrifty.kernels.shared.masks import fill

ACTION_DRAWS = 1


class SimOOSState(NamedTuple):
    """Settings, the counts, the price list, and the plan of the episode."""

    log_delta: float
    log_psi_tot: float
    simplex: bool
    sweep: int
    tables: PartialStates
    clock: Ints
    prices: Floats
    has_price_list: Bools
    plan_is_due: Bools
    planned_at: Ints
    planned_mask: Ints
    planned_pulls: Ints
    planned_sums: Floats


def initial(levels: Ints, n_actions: int, *, delta: float, simplex: bool) -> SimOOSState:
    """Return the state before the first round: every price counts as 0 until it is known."""
    tables = empty_tables(levels, n_actions)
    return SimOOSState(
        log_delta=math.log(delta),
        log_psi_tot=float(np.log(levels + 1.0).sum()),
        simplex=simplex,
        sweep=sweep_rounds(levels.size),
        tables=tables,
        clock=np.zeros(1, np.int64),
        prices=np.zeros(levels.size),
        has_price_list=np.zeros(1, np.bool_),
        plan_is_due=np.ones(1, np.bool_),
        planned_at=np.ones(1, np.int64),
        planned_mask=np.zeros(1, np.int64),
        planned_pulls=np.zeros_like(tables.pulls),
        planned_sums=np.zeros_like(tables.sums),
    )


@jit_inner
def optimistic_reward(state: SimOOSState, cell: int, action: int) -> float:
    """Return r~ at the episode's start: 1, or r_hat + min{1, sqrt(log(20 Psi A t^5/delta)/2N)}."""
    pulls = state.planned_pulls[cell, action]
    if pulls == 0:
        return 1.0
    n_actions = state.planned_pulls.shape[1]
    logarithm = math.log(20.0 * n_actions) + state.log_psi_tot - state.log_delta
    logarithm += 5 * math.log(state.planned_at[0])
    mean = state.planned_sums[cell, action] / pulls
    return on_grid(mean + min(1.0, math.sqrt(logarithm / (2 * pulls))))


@jit
def index(state: SimOOSState, codes: Ints) -> Floats:
    """Return the optimistic reward of every action; an action never tried here goes first."""
    tables = state.tables
    cell = find_cell(tables, codes)
    values = np.empty(tables.pulls.shape[1])
    for a in range(values.size):
        tried = cell != NONE and tables.pulls[cell, a] > 0
        values[a] = optimistic_reward(state, cell, a) if tried else np.inf
    return values


@jit
def read_prices(state: SimOOSState, prices: Floats) -> None:
    """Take over the price list; it holds until the next one."""
    for i in range(prices.size):
        state.prices[i] = prices[i]
    state.has_price_list[0] = True


@jit
def choose_features(state: SimOOSState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask with the planned set; a sweep goes through all sets first."""
    if state.clock[0] < state.sweep:
        fill(state.clock[0], mask)
        return SWEEP
    if state.plan_is_due[0]:
        _plan(state)
    fill(state.planned_mask[0], mask)
    return 0


@jit_inner
def _plan(state: SimOOSState) -> None:
    """Begin an episode: note the counts and choose the set of largest optimistic gain."""
    tables = state.tables
    state.planned_at[0] = max(1, state.clock[0])
    for c in range(tables.sizes[1]):
        edge = -np.inf
        for a in range(tables.pulls.shape[1]):
            state.planned_pulls[c, a] = tables.pulls[c, a]
            state.planned_sums[c, a] = tables.sums[c, a]
            edge = max(edge, optimistic_reward(state, c, a) - 1.0)
        set_edge(tables, c, edge)
    logarithm = math.log(4.0 * state.planned_at[0]) - state.log_delta
    numerator = math.exp(min(700.0, state.log_psi_tot)) * 10 * logarithm
    for k in range(tables.sizes[2]):
        s = tables.live[k]
        ball = min(1.0, math.sqrt(numerator / max(1, tables.sets[s]["seen"])))
        tables.sets[s]["excess"] = on_grid(excess_of(tables, s, ball, False, state.simplex))
    prices = np.empty(state.prices.size)
    for i in range(prices.size):
        prices[i] = on_grid(state.prices[i])
    state.planned_mask[0] = best_set(tables, prices)
    state.plan_is_due[0] = False


@jit
def choose_action(
    state: SimOOSState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the planned action, or one that was never tried here; any one in a sweep."""
    if purpose == SWEEP:
        return uniform(available, draws[0])
    values = index(state, codes)
    first = first_maximum(values, available)
    if np.isinf(values[first]):
        return first
    return last_maximum_unless_all_tie(values, available, draws[0])


@jit
def update(
    state: SimOOSState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the round; a count that has doubled since the episode began ends it."""
    cell = observe(state.tables, codes, purpose != SWEEP)
    count_reward(state.tables, cell, action, reward)
    before = state.planned_pulls[cell, action]
    if state.tables.pulls[cell, action] - before >= max(1, before):
        state.plan_is_due[0] = True
    if not state.has_price_list[0]:
        for i in range(costs.size):
            if codes[i] >= 0 and not np.isnan(costs[i]):
                state.prices[i] = costs[i]
    state.clock[0] += 1


@jit
def room(state: SimOOSState) -> bool:
    """Whether one more round fits in the tables."""
    return has_room(state.tables)


def grow(state: SimOOSState) -> SimOOSState:
    """Return the same state with twice the room."""
    tables = double_tables(state.tables)
    planned_pulls, planned_sums = np.zeros_like(tables.pulls), np.zeros_like(tables.sums)
    planned_pulls[: len(state.planned_pulls)] = state.planned_pulls
    planned_sums[: len(state.planned_sums)] = state.planned_sums
    return state._replace(tables=tables, planned_pulls=planned_pulls, planned_sums=planned_sums)


STEPS[SimOOSState] = Steps(choose_features, update, index, choose_action, read_prices, room)
