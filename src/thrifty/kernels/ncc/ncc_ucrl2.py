"""NCC-UCRL2: equations (7) to (19) and Algorithm 1, with the choices of the authors' program.

Only (action, partial state) pairs inside the window differ from an unknown pair, so choosing costs
what the window holds and learning what the sets bought so far are, never what the power set holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.ncc.observation_sets import best_set, kept_excess_of
from thrifty.kernels.ncc.partial_states import (
    PartialStates,
    clear,
    count_reward,
    double_tables,
    find_cell,
    forget_reward,
    has_room,
    observe,
    set_edge,
)
from thrifty.kernels.ncc.partial_states import initial as empty_tables
from thrifty.kernels.ncc.sweep import SWEEP, sweep_rounds
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.choice import last_maximum_unless_all_tie, random_maximum, uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid
from thrifty.kernels.shared.masks import fill

ACTION_DRAWS = 1


class Bounds(NamedTuple):
    """The logarithms in the confidence radii, and the choices that the paper leaves or changes.

    Each radius is multiplied by its scale; `unseen` is the r~ of a pair of which nothing is known.
    """

    reward: float
    cost: float
    probability: float
    reward_scale: float
    cost_scale: float
    probability_scale: float
    unseen: float
    cost_range: float
    clip: bool
    observed_range: bool
    sweep: int
    simplex: bool
    unseen_mass: bool
    last_tie: bool


class NCCUCRL2State(NamedTuple):
    """The bounds, the counts, and the window.

    The last rounds stand in a ring: cell, action and reward, and the costs paid (nan if none);
    `clock` counts rounds. `paid` are the lowest and the highest cost of all rounds.
    """

    bounds: Bounds
    tables: PartialStates
    clock: Ints
    ring_cells: Ints
    ring_actions: Ints
    ring_rewards: Floats
    ring_costs: Floats
    cost_sums: Floats
    cost_counts: Ints
    paid: Floats


def initial(
    levels: Ints,
    n_actions: int,
    *,
    horizon: int,
    window: int,
    delta: float,
    cost_range: float,
    sweep_first: bool,
    simplex: bool,
    unseen_mass: bool,
    whole_window: bool,
    last_tie: bool,
    unseen: float | None,
    reward_scale: float,
    cost_scale: float,
    probability_scale: float,
    clip: bool,
    observed_range: bool,
) -> NCCUCRL2State:
    """Return the state before the first round."""
    n = levels.size
    log_psi_tot = float(np.log(levels + 1.0).sum())
    in_window = min(window if whole_window else window - 1, horizon)
    log_reward = math.log(horizon) + math.log(n_actions * window / delta) + log_psi_tot
    bounds = Bounds(
        reward=log_reward,
        cost=2 * (math.log(horizon) + math.log(n * window / delta)),
        probability=_exp(
            math.log(2 * (math.log(2 * horizon / delta) + n * math.log(2))) + log_psi_tot
        ),
        reward_scale=reward_scale,
        cost_scale=cost_scale,
        probability_scale=probability_scale,
        unseen=_unknown(log_reward, reward_scale, clip) if unseen is None else unseen,
        cost_range=float(cost_range),
        clip=clip,
        observed_range=observed_range,
        sweep=sweep_rounds(n) if sweep_first else 0,
        simplex=simplex,
        unseen_mass=unseen_mass,
        last_tie=last_tie,
    )
    return NCCUCRL2State(
        bounds,
        empty_tables(levels, n_actions),
        clock=np.zeros(1, np.int64),
        ring_cells=np.zeros(in_window, np.int64),
        ring_actions=np.zeros(in_window, np.int64),
        ring_rewards=np.zeros(in_window),
        ring_costs=np.zeros((in_window, n)),
        cost_sums=np.zeros(n),
        cost_counts=np.zeros(n, np.int64),
        paid=np.array([np.inf, -np.inf]),
    )


def _unknown(log_reward: float, scale: float, clip: bool) -> float:
    """Return r~ of a mean of 0 with a count of 0."""
    radius = math.sqrt(log_reward)
    return min(1.0, scale * radius) if clip else scale * min(1.0, radius)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


@jit_inner
def radius(numerator: float, count: float, most: float) -> float:
    """Return min{most, sqrt(numerator / max{1, count})}."""
    return min(most, math.sqrt(numerator / max(1.0, count)))


@jit
def index(state: NCCUCRL2State, codes: Ints) -> Floats:
    """Return the optimistic reward r~ = r_hat + C(a, psi; w) of every action, on the grid."""
    values = np.empty(state.tables.pulls.shape[1])
    c = find_cell(state.tables, codes)
    for a in range(values.size):
        values[a] = on_grid(optimistic_reward(state, c, a))
    return values


@jit_inner
def optimistic_reward(state: NCCUCRL2State, c: int, action: int) -> float:
    """Return r~ of an action in cell c, which may be NONE."""
    bounds = state.bounds
    pulls = 0 if c == NONE else state.tables.pulls[c, action]
    if pulls == 0:
        return bounds.unseen
    most = math.inf if bounds.clip else 1.0
    value = state.tables.sums[c, action] / pulls
    value += bounds.reward_scale * radius(bounds.reward, pulls, most)
    return min(value, 1.0) if bounds.clip else value


@jit_inner
def optimistic_prices(state: NCCUCRL2State) -> Floats:
    """Return c~ = c_hat - C(i; w) of every feature (15), on the grid."""
    bounds = state.bounds
    most, scale = bounds.cost_range, bounds.cost_scale
    if bounds.observed_range:
        scale *= max(0.0, state.paid[1] - state.paid[0])
    prices = np.empty(state.cost_sums.size)
    for i in range(prices.size):
        count = state.cost_counts[i]
        mean = state.cost_sums[i] / max(1, count)
        prices[i] = on_grid(mean - scale * radius(bounds.cost, count, most))
    return prices


@jit
def choose_features(state: NCCUCRL2State, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask with the set of largest optimistic gain (18); a sweep goes through all sets."""
    bounds, tables = state.bounds, state.tables
    if state.clock[0] < bounds.sweep:
        fill(state.clock[0], mask)
        return SWEEP
    for k in range(tables.sizes[2]):
        s = tables.live[k]
        if tables.sets[s]["stale"]:
            ball = radius(bounds.probability, tables.sets[s]["seen"], 1.0)
            ball *= bounds.probability_scale
            excess = kept_excess_of(tables, s, ball, bounds.unseen_mass, bounds.simplex)
            tables.sets[s]["excess"] = on_grid(excess)
            tables.sets[s]["stale"] = 0
    fill(best_set(tables, optimistic_prices(state)), mask)
    return 0


@jit
def choose_action(
    state: NCCUCRL2State, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return an action of largest optimistic reward (19); any one in a sweep."""
    if purpose == SWEEP:
        return uniform(available, draws[0])
    if state.bounds.last_tie:
        return last_maximum_unless_all_tie(index(state, codes), available, draws[0])
    return random_maximum(index(state, codes), available, draws[0])


@jit
def update(
    state: NCCUCRL2State, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the round, and forget the one that leaves the window."""
    cell = observe(state.tables, codes, purpose != SWEEP)
    in_window = state.ring_cells.size
    if in_window > 0:
        place = state.clock[0] % in_window
        if state.clock[0] >= in_window:
            _forget(state, place)
        state.ring_cells[place] = cell
        state.ring_actions[place] = action
        state.ring_rewards[place] = reward
        count_reward(state.tables, cell, action, reward)
        _refresh_edge(state, cell)
        for i in range(costs.size):
            bought = codes[i] >= 0 and not np.isnan(costs[i])
            state.ring_costs[place, i] = costs[i] if bought else np.nan
            if bought:
                state.cost_counts[i] += 1
                state.cost_sums[i] += costs[i]
    for i in range(costs.size):
        if codes[i] >= 0 and not np.isnan(costs[i]):
            state.paid[0] = min(state.paid[0], costs[i])
            state.paid[1] = max(state.paid[1], costs[i])
    state.clock[0] += 1


@jit_inner
def _forget(state: NCCUCRL2State, place: int) -> None:
    """Take the round at this place of the ring out of the window."""
    cell = state.ring_cells[place]
    forget_reward(state.tables, cell, state.ring_actions[place], state.ring_rewards[place])
    _refresh_edge(state, cell)
    for i in range(state.cost_sums.size):
        cost = state.ring_costs[place, i]
        if not np.isnan(cost):
            state.cost_counts[i] -= 1
            state.cost_sums[i] -= cost
            if state.cost_counts[i] == 0:
                state.cost_sums[i] = 0.0


@jit_inner
def _refresh_edge(state: NCCUCRL2State, cell: int) -> None:
    """Compute max_a r~(a, psi) less the r~ of an unknown pair."""
    edge = -np.inf
    for a in range(state.tables.pulls.shape[1]):
        edge = max(edge, optimistic_reward(state, cell, a) - state.bounds.unseen)
    set_edge(state.tables, cell, edge)


@jit
def restart(state: NCCUCRL2State) -> None:
    """Forget all rounds; the tables keep their size."""
    clear(state.tables)
    state.clock[0] = 0
    for i in range(state.cost_sums.size):
        state.cost_sums[i] = 0.0
        state.cost_counts[i] = 0
    state.paid[0], state.paid[1] = np.inf, -np.inf


@jit
def room(state: NCCUCRL2State) -> bool:
    """Whether one more round fits in the tables."""
    return has_room(state.tables)


def grow(state: NCCUCRL2State) -> NCCUCRL2State:
    """Return the same state with twice the room."""
    return state._replace(tables=double_tables(state.tables))


STEPS[NCCUCRL2State] = Steps(choose_features, update, index, choose_action, has_room=room)
