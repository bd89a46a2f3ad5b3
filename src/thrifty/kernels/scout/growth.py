"""Growth of larger sets from the heaviest ones, where there is no room for tables of all sets.

With many features only the sets of at most K features have tables from the start. From time to time
the heaviest sets of at least K features are extended by each other feature in turn: the wide rounds
since the last restart are replayed, and the extended set that predicts them best gets tables if its
weight exceeds that of the lightest grown set. The tables learn from the same rounds. The weight is
the one that the set would have had: its parent's, times the ratio of their likelihoods, times the
ratio of their priors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout import wide_rounds
from thrifty.kernels.scout.likelihood import clip_mean, log_likelihood
from thrifty.kernels.scout.model_weights import PRIOR_PULLS, Weights, centre_of, normalise
from thrifty.kernels.scout.subsets import (
    MAX_CELLS,
    NO_SET,
    Subsets,
    bind,
    n_features,
    number_of,
    place_of,
    shrunk_mean,
    within,
)
from thrifty.kernels.scout.wide_rounds import WideRounds
from thrifty.kernels.shared.masks import contains

MAX_PARENTS = 6
GROWTH_INTERVAL = 1.1
MIN_EXTRA_ROUNDS = 5
"""Sets grow when the wide rounds number GROWTH_INTERVAL times those of the last time, and
MIN_EXTRA_ROUNDS more."""


class Growth(NamedTuple):
    """The parents that have yet to grow, and scratch arrays.

    `book` holds the number of wide rounds when parents were last chosen, and the number of parents
    left. `numbers` are the partial states of a parent in the wide rounds, and `scores` the
    log-likelihoods of its predictions.
    """

    book: Ints
    parents: Ints
    numbers: Ints
    scores: Floats
    pulls: Floats
    sums: Floats


def initial(n_actions: int) -> Growth:
    """Return a state without parents."""
    return Growth(
        book=np.zeros(2, np.int64),
        parents=np.zeros(MAX_PARENTS, np.int64),
        numbers=np.zeros(wide_rounds.MAX_ROUNDS, np.int64),
        scores=np.zeros(wide_rounds.MAX_ROUNDS),
        pulls=np.zeros((MAX_CELLS, n_actions)),
        sums=np.zeros((MAX_CELLS, n_actions)),
    )


@jit_inner
def grow(
    growth: Growth,
    subsets: Subsets,
    weights: Weights,
    rounds: WideRounds,
    in_use: Mask,
    most: int,
    mean: float,
    dispersion: float,
) -> int:
    """Let one parent grow if it is time; return the place of the new set, or NONE.

    The set in use keeps its place, and no set gets more than `most` features. One call extends one
    parent only, to spread the work over several rounds.
    """
    if growth.book[1] == 0:
        seen = wide_rounds.number_of_all(rounds)
        if seen < growth.book[0]:  # there was a restart
            growth.book[0] = 0
        if seen < GROWTH_INTERVAL * growth.book[0] + MIN_EXTRA_ROUNDS:
            return NONE
        growth.book[0] = seen
        growth.book[1] = _choose_parents(growth, subsets, weights)
        if growth.book[1] == 0:
            return NONE
    growth.book[1] -= 1
    parent = place_of(subsets, growth.parents[growth.book[1]])
    if parent == NONE or n_features(subsets, parent) >= most:
        return NONE
    mask, score = _best_child(growth, subsets, rounds, parent, mean)
    if mask == NO_SET:
        return NONE
    prior = weights.prior_of_size[n_features(subsets, parent) + 1]
    older = weights.prior_of_size[n_features(subsets, parent)]
    log_weight = weights.log[parent] + score / dispersion + prior - older
    return _place(subsets, weights, rounds, in_use, mask, prior, log_weight)


@jit_inner
def _place(
    subsets: Subsets,
    weights: Weights,
    rounds: WideRounds,
    in_use: Mask,
    mask: Mask,
    prior: float,
    log_weight: float,
) -> int:
    """Replace the lightest grown set by the new one if that is heavier."""
    place = NONE
    for j in range(subsets.order.size, subsets.masks.size):
        if subsets.masks[j] != in_use and (place == NONE or weights.log[j] < weights.log[place]):
            place = j
    if weights.log[place] >= log_weight:
        return NONE
    bind(subsets, place, mask)
    wide_rounds.teach(rounds, subsets, place)
    weights.log[place] = log_weight
    weights.prior[place] = prior
    normalise(weights)
    return place


@jit_inner
def _choose_parents(growth: Growth, subsets: Subsets, weights: Weights) -> int:
    """Store the heaviest sets of at least K features as parents; return their number."""
    largest = n_features(subsets, subsets.order.size - 1)
    chosen = 0
    lightest = np.inf
    while chosen < MAX_PARENTS:
        best = NONE
        for j in range(subsets.masks.size - 1, 0, -1):
            if j < subsets.order.size and n_features(subsets, j) < largest:
                break
            heavier = best == NONE or weights.log[j] > weights.log[best]
            if subsets.masks[j] != NO_SET and weights.log[j] < lightest and heavier:
                best = j
        if best == NONE:
            break
        growth.parents[chosen] = subsets.masks[best]
        lightest = weights.log[best]
        chosen += 1
    return chosen


@jit_inner
def _best_child(
    growth: Growth, subsets: Subsets, rounds: WideRounds, parent: int, mean: float
) -> tuple[Mask, float]:
    """Return the best set without tables that has one more feature, and its lead."""
    n = subsets.levels.size
    best, lead = np.int64(NO_SET), -np.inf
    cells = _cells(subsets, parent)
    if cells > MAX_CELLS:
        return best, lead
    _play_parent(growth, subsets, rounds, parent, cells, mean)
    for i in range(n):
        mask = subsets.masks[parent] | (np.int64(1) << (n - 1 - i))
        if cells * subsets.levels[i] <= MAX_CELLS and place_of(subsets, mask) == NONE:
            score = _play_child(growth, subsets, rounds, cells, i, mean)
            if score > lead:
                best, lead = mask, score
    return best, lead


@jit_inner
def _cells(subsets: Subsets, j: int) -> int:
    """Return the number of partial states of set j."""
    n = subsets.levels.size
    cells = 1
    for i in range(n):
        if contains(subsets.masks[j], i, n):
            cells *= subsets.levels[i]
    return cells


@jit_inner
def _forget(growth: Growth, cells: int) -> None:
    for cell in range(cells):
        for a in range(growth.pulls.shape[1]):
            growth.pulls[cell, a] = 0.0
            growth.sums[cell, a] = 0.0


@jit_inner
def _predict_and_learn(
    growth: Growth, cell: int, action: int, reward: float, centre: float
) -> float:
    """Return the log-likelihood of a reward in a cell, then add the reward to the cell."""
    p = shrunk_mean(growth.sums[cell, action], growth.pulls[cell, action], centre, PRIOR_PULLS)
    growth.pulls[cell, action] += 1.0
    growth.sums[cell, action] += reward
    return log_likelihood(reward, clip_mean(p))


@jit_inner
def _play_parent(
    growth: Growth, subsets: Subsets, rounds: WideRounds, parent: int, cells: int, mean: float
) -> None:
    """Store the parent's partial states and scores in all rounds."""
    mask = subsets.masks[parent]
    _forget(growth, cells)
    for k in range(wide_rounds.number(rounds)):
        t = wide_rounds.place(rounds, k)
        growth.numbers[k] = NONE
        if within(rounds.bases[t], mask) and within(mask, rounds.observed[t]):
            cell = number_of(subsets.levels, mask, rounds.states[t])
            action = rounds.actions[t]
            growth.numbers[k] = cell
            growth.scores[k] = _predict_and_learn(
                growth, cell, action, rounds.rewards[t], centre_of(subsets, action, mean)
            )


@jit_inner
def _play_child(
    growth: Growth, subsets: Subsets, rounds: WideRounds, cells: int, i: int, mean: float
) -> float:
    """Return how much better the parent with feature i predicts the rounds that observed i."""
    _forget(growth, cells * subsets.levels[i])
    lead = 0.0
    for k in range(wide_rounds.number(rounds)):
        t = wide_rounds.place(rounds, k)
        code = rounds.states[t, i]
        if growth.numbers[k] != NONE and code != NONE:
            cell = growth.numbers[k] + cells * code
            action = rounds.actions[t]
            score = _predict_and_learn(
                growth, cell, action, rounds.rewards[t], centre_of(subsets, action, mean)
            )
            lead += score - growth.scores[k]
    return lead
