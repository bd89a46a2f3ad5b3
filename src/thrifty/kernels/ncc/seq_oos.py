"""Seq-OOS: a plan that buys features one after another, by backward induction.

Every partial state has a row in dense tables. Its number is the sum of (code + 1) times the
feature's stride, 0 for a feature that is not known, so states that know more have larger numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.ncc.optimism import optimistic_mean
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum, last_maximum_unless_all_tie, uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.shared.grid import on_grid
from thrifty.kernels.shared.masks import fill


class SeqOOSState(NamedTuple):
    """Counts of all rounds, the price list, and the plan of the episode.

    `moves[s, i]` counts how often state s was reached by buying feature i last.
    """

    clock: Ints
    moves: Ints
    pulls: Ints
    sums: Floats
    prices: Floats
    has_price_list: Bools
    plan_is_due: Bools
    planned_at: Ints
    planned_pulls: Ints
    optimistic: Floats
    gains: Floats
    best: Floats


class Rules(NamedTuple):
    """What does not change in a run. `sweep` is the number of rounds of the sweep."""

    levels: Ints
    strides: Ints
    delta: float
    scales: Floats
    sweep: int


class Rounds(NamedTuple):
    """The arrays of a world, a uniform number for each round, and what is recorded of it."""

    contexts: Ints
    rewards: Floats
    costs: Floats
    free: Bools
    draws: Floats
    observed: Bools
    actions: Ints
    gained: Floats
    paid: Floats


def initial(levels: Ints, n_actions: int) -> SeqOOSState:
    """Return the state before the first round: every price counts as 0 until it is known."""
    n_states, n_features = int(np.prod(levels + 1)), levels.size
    return SeqOOSState(
        clock=np.zeros(1, np.int64),
        moves=np.zeros((n_states, n_features), np.int64),
        pulls=np.zeros((n_states, n_actions), np.int64),
        sums=np.zeros((n_states, n_actions)),
        prices=np.zeros(n_features),
        has_price_list=np.zeros(1, np.bool_),
        plan_is_due=np.ones(1, np.bool_),
        planned_at=np.ones(1, np.int64),
        planned_pulls=np.zeros((n_states, n_actions), np.int64),
        optimistic=np.ones((n_states, n_actions)),
        gains=np.zeros((n_states, n_features)),
        best=np.ones(n_states),
    )


def strides_of(levels: Ints) -> Ints:
    """Return what a code adds to the number of a partial state.

    >>> strides_of(np.array([2, 3])).tolist()
    [1, 3]
    """
    return np.cumprod(np.concatenate(([1], levels[:-1] + 1)))


@jit
def plan(state: SeqOOSState, levels: Ints, strides: Ints, delta: float, scales: Floats) -> None:
    """Begin an episode: compute the value of every state, from those that know most downward.

    `scales` multiply the radii of rewards and of probabilities.
    """
    state.planned_at[0] = max(1, state.clock[0])
    n_states, n_actions = state.pulls.shape
    log_rewards = math.log(20.0 * n_actions * n_states / delta) + 5 * math.log(state.planned_at[0])
    log_states = 10.0 * n_states * math.log(4.0 * state.planned_at[0] / delta)
    values, masses = np.empty(levels.max()), np.empty(levels.max())
    for s in range(n_states - 1, -1, -1):
        state.best[s] = _value_of_stopping(state, s, log_rewards, scales[0])
        for i in range(levels.size):
            if s // strides[i] % (levels[i] + 1) == 0:
                first = s + strides[i]
                total = 0
                for code in range(levels[i]):
                    values[code] = state.best[first + code * strides[i]]
                    masses[code] = state.moves[first + code * strides[i], i]
                    total += state.moves[first + code * strides[i], i]
                ball = scales[1] * min(1.0, math.sqrt(log_states / max(1, total)))
                mean = _optimistic_mean(values, masses, levels[i], total, ball)
                state.gains[s, i] = on_grid(mean) - on_grid(state.prices[i])
                state.best[s] = max(state.best[s], state.gains[s, i])
    state.plan_is_due[0] = False


@jit_inner
def _value_of_stopping(state: SeqOOSState, s: int, log_rewards: float, scale: float) -> float:
    """Note the counts and r~ of state s, and return the largest r~."""
    best = -np.inf
    for a in range(state.pulls.shape[1]):
        n = state.pulls[s, a]
        state.planned_pulls[s, a] = n
        state.optimistic[s, a] = 1.0
        if n > 0:
            radius = scale * min(1.0, math.sqrt(log_rewards / (2 * n)))
            state.optimistic[s, a] = on_grid(state.sums[s, a] / n + radius)
        best = max(best, state.optimistic[s, a])
    return best


@jit_inner
def _optimistic_mean(
    values: Floats, counts: Floats, n_levels: int, total: int, ball: float
) -> float:
    """Return the largest mean of the values over distributions in the ball around the counts."""
    if total == 0:
        best = values[0]
        for code in range(1, n_levels):
            best = max(best, values[code])
        return best
    for code in range(n_levels):
        counts[code] /= total
    return optimistic_mean(values[:n_levels], counts[:n_levels], ball, 0.0, True)


@jit
def play_rounds(state: SeqOOSState, rules: Rules, rounds: Rounds) -> None:
    """Play all rounds, with prices known in advance and every feature sold alone.

    The general loop asks once for the features of a round. This one asks after each value.
    """
    order = np.empty(rules.levels.size, np.int64)
    available = np.ones(rounds.rewards.shape[1], np.bool_)
    for t in range(rounds.actions.size):
        codes, mask = rounds.contexts[t], rounds.observed[t]
        state.prices[:] = rounds.costs[t]
        state.has_price_list[0] = True
        in_sweep = state.clock[0] < rules.sweep
        if in_sweep:
            bought = _buy_swept_set(state, rounds.free, mask, order)
        else:
            bought = _buy_in_steps(state, rules, codes, rounds.free, mask, order)
        s = _number_of_free(rules, codes, rounds.free)
        for k in range(bought):
            s += (codes[order[k]] + 1) * rules.strides[order[k]]
            state.moves[s, order[k]] += 1
        for i in range(mask.size):
            rounds.paid[t] += rounds.costs[t, i] if mask[i] else 0.0
        action = (
            uniform(available, rounds.draws[t])
            if in_sweep
            else _action_in(state, s, available, rounds.draws[t])
        )
        rounds.actions[t], rounds.gained[t] = action, rounds.rewards[t, action]
        _count(state, s, action, rounds.gained[t])


@jit_inner
def _number_of_free(rules: Rules, codes: Ints, free: Bools) -> int:
    """Return the number of the partial state before anything is bought."""
    s = 0
    for i in range(free.size):
        if free[i]:
            s += (codes[i] + 1) * rules.strides[i]
    return s


@jit_inner
def _buy_swept_set(state: SeqOOSState, free: Bools, mask: Bools, order: Ints) -> int:
    """Buy the set of this round of the sweep; return how many features are bought."""
    fill(state.clock[0], mask)
    bought = 0
    for i in range(mask.size):
        mask[i] = mask[i] and not free[i]
        if mask[i]:
            order[bought] = i
            bought += 1
    return bought


@jit_inner
def _buy_in_steps(
    state: SeqOOSState, rules: Rules, codes: Ints, free: Bools, mask: Bools, order: Ints
) -> int:
    """Buy as the plan says, which is made again if it is due; return how many are bought."""
    if state.plan_is_due[0]:
        plan(state, rules.levels, rules.strides, rules.delta, rules.scales)
    s = _number_of_free(rules, codes, free)
    bought = 0
    while True:
        best = NONE
        for i in range(mask.size):
            if not (free[i] or mask[i]) and (
                best == NONE or state.gains[s, i] > state.gains[s, best]
            ):
                best = i
        if best == NONE or state.gains[s, best] <= state.optimistic[s].max():
            return bought
        mask[best] = True
        order[bought] = best
        bought += 1
        s += (codes[best] + 1) * rules.strides[best]


@jit_inner
def _action_in(state: SeqOOSState, s: int, available: Bools, draw: float) -> int:
    """Return the first action that was never tried in state s, else the planned one."""
    values = np.empty(available.size)
    for a in range(values.size):
        values[a] = state.optimistic[s, a] if state.pulls[s, a] > 0 else np.inf
    first = first_maximum(values, available)
    if np.isinf(values[first]):
        return first
    return last_maximum_unless_all_tie(values, available, draw)


@jit_inner
def _count(state: SeqOOSState, s: int, action: int, reward: float) -> None:
    """Count a reward; a count that has doubled since the episode began ends it."""
    state.pulls[s, action] += 1
    state.sums[s, action] += reward
    before = state.planned_pulls[s, action]
    if state.pulls[s, action] - before >= max(1, before):
        state.plan_is_due[0] = True
    state.clock[0] += 1
