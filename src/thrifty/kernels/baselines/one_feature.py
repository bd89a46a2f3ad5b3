"""The class of all policies that look at one feature, and distributions over them.

A policy of the class is a feature and an action for each of its levels. Sums over rounds that are
linear in a policy are kept as tables with a row for every level of every feature, and one more for
a missing value, and a column for every action. The best policy then takes the best action of each
row of one feature, so optimisation over the class is exact and cheap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.shared.grid import on_grid

MAX_STEPS = 1000
"""Steps of coordinate descent after which its result is taken as it is."""


class Mixtures(NamedTuple):
    """Distributions over policies, one in each row: features, actions by level, and weights.

    `offsets` are the first rows of the features in tables.
    """

    offsets: Ints
    sizes: Ints
    features: Ints
    actions: Ints
    weights: Floats


def empty_mixtures(levels: Ints, number: int, room: int) -> Mixtures:
    """Return this number of empty distributions with room for this number of policies each."""
    return Mixtures(
        offsets=np.concatenate(([0], np.cumsum(levels + 1))),
        sizes=np.zeros(number, np.int64),
        features=np.zeros((number, room), np.int64),
        actions=np.zeros((number, room, levels.max() + 1), np.int64),
        weights=np.zeros((number, room)),
    )


@jit_inner
def row_of(code: int, i: int, offsets: Ints) -> int:
    """Return the row of a value of feature i; a feature's last row is for missing values."""
    return offsets[i] + code if code >= 0 else offsets[i + 1] - 1


@jit_inner
def action_of_policy(q: Mixtures, k: int, s: int, codes: Ints) -> int:
    """Return the action of policy s of distribution k."""
    i = q.features[k, s]
    return q.actions[k, s, row_of(codes[i], i, q.offsets) - q.offsets[i]]


@jit_inner
def fill_probabilities(q: Mixtures, k: int, codes: Ints, least: float, out: Floats) -> None:
    """Write Q(a | x) of every action: `least`, and shares of the rest by weight."""
    for a in range(out.size):
        out[a] = least
    for s in range(q.sizes[k]):
        out[action_of_policy(q, k, s, codes)] += (1.0 - out.size * least) * q.weights[k, s]


@jit_inner
def best_action(table: Floats, row: int) -> int:
    """Return the first action with the largest entry in a row."""
    best = 0
    for a in range(1, table.shape[1]):
        if table[row, a] > table[row, best]:
            best = a
    return best


@jit_inner
def best_feature(table: Floats, offsets: Ints) -> tuple[int, float]:
    """Return the feature of the policy with the largest sum over a table, and the sum."""
    best, value = NONE, -np.inf
    for i in range(offsets.size - 1):
        total = 0.0
        for row in range(offsets[i], offsets[i + 1]):
            total += table[row, best_action(table, row)]
        if total > value:
            best, value = i, total
    return best, value


@jit
def largest_gap(one: Floats, other: Floats, factor: float, offsets: Ints) -> float:
    """Return the largest difference, over policies, of sums over table one and `factor` other."""
    gaps = np.empty(one.shape)
    for row in range(one.shape[0]):
        for a in range(one.shape[1]):
            gaps[row, a] = one[row, a] - factor * other[row, a]
    return best_feature(gaps, offsets)[1]


@jit_inner
def add_inverses(table: Floats, codes: Ints, chances: Floats, number: int, offsets: Ints) -> None:
    """Add 1 / (number Q(a | x)) to the rows of the values and all actions."""
    for a in range(chances.size):
        share = 1.0 / (chances[a] * number)
        for i in range(codes.size):
            table[row_of(codes[i], i, offsets), a] += share


@jit
def solve(q: Mixtures, k: int, contexts: Ints, rewards: Floats, least: float, psi: float) -> None:
    """Set distribution k to a solution of (OP), by the coordinate descent of ILOVETOCONBANDITS.

    `rewards` is the table of mean rewards. With regret(pi) measured on it and K actions, Q has a
    mean regret of at most 2 psi K least, and the mean of 1 / Q(pi(x) | x) over the contexts is at
    most 2K + regret(pi) / (psi least) for every policy pi.
    """
    chances = np.full((contexts.shape[0], rewards.shape[1]), least)
    table: Floats = np.empty_like(rewards)
    allowed, value = 2 * rewards.shape[1], best_feature(rewards, q.offsets)[1]
    q.sizes[k] = 0
    for _ in range(MAX_STEPS):
        _scale_back(q, k, chances, rewards, value, least, psi)
        table[:] = 0.0
        for t in range(contexts.shape[0]):
            add_inverses(table, contexts[t], chances[t], contexts.shape[0], q.offsets)
        for row in range(table.shape[0]):
            for a in range(table.shape[1]):
                table[row, a] = on_grid(table[row, a] + rewards[row, a] / (psi * least))
        i, excess = best_feature(table, q.offsets)
        excess = on_grid(excess - value / (psi * least) - allowed)
        s = _place_of(q, k, table, i) if excess > 0.0 else NONE
        if s == NONE or s == q.weights.shape[1] - 1:  # the last place is for the rest
            break
        q.sizes[k] = max(q.sizes[k], s + 1)
        _add_weight(q, k, s, contexts, chances, least, excess)
    _give_rest(q, k, rewards)


@jit_inner
def _scale_back(
    q: Mixtures, k: int, chances: Floats, rewards: Floats, value: float, least: float, psi: float
) -> None:
    """Multiply the weights so that the mean of 2K + regret / (psi least) is at most 2K."""
    allowed, total = 2.0 * rewards.shape[1], 0.0
    for s in range(q.sizes[k]):
        i, reward = q.features[k, s], 0.0
        for row in range(q.offsets[i], q.offsets[i + 1]):
            reward += rewards[row, q.actions[k, s, row - q.offsets[i]]]
        total += q.weights[k, s] * (allowed + (value - reward) / (psi * least))
    if total > allowed:
        for s in range(q.sizes[k]):
            q.weights[k, s] *= allowed / total
        for t in range(chances.shape[0]):
            for a in range(chances.shape[1]):
                chances[t, a] = least + (chances[t, a] - least) * (allowed / total)


@jit_inner
def _place_of(q: Mixtures, k: int, table: Floats, i: int) -> int:
    """Return the place of the best policy of feature i, written behind the others if it is new."""
    new = q.sizes[k]
    q.features[k, new] = i
    q.weights[k, new] = 0.0
    for row in range(q.offsets[i], q.offsets[i + 1]):
        q.actions[k, new, row - q.offsets[i]] = best_action(table, row)
    for s in range(new):
        same = q.features[k, s] == i
        for level in range(q.offsets[i + 1] - q.offsets[i]):
            same = same and q.actions[k, s, level] == q.actions[k, new, level]
        if same:
            return s
    return new


@jit_inner
def _add_weight(
    q: Mixtures, k: int, s: int, contexts: Ints, chances: Floats, least: float, excess: float
) -> None:
    """Add the weight (V + D) / (2 (1 - K least) S) to policy s."""
    number, share = contexts.shape[0], 1.0 - chances.shape[1] * least
    once = twice = 0.0
    for t in range(number):
        inverse = 1.0 / chances[t, action_of_policy(q, k, s, contexts[t])]
        once += inverse / number
        twice += inverse * inverse / number
    weight = (once + excess) / (2.0 * share * twice)
    q.weights[k, s] += weight
    for t in range(number):
        chances[t, action_of_policy(q, k, s, contexts[t])] += share * weight


@jit_inner
def _give_rest(q: Mixtures, k: int, rewards: Floats) -> None:
    """Give the weight that is missing to 1 to the policy with the largest mean reward."""
    rest = 1.0
    for s in range(q.sizes[k]):
        rest -= q.weights[k, s]
    s = _place_of(q, k, rewards, best_feature(rewards, q.offsets)[0])
    q.sizes[k] = max(q.sizes[k], s + 1)
    q.weights[k, s] += max(0.0, rest)
