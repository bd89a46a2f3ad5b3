"""Value of each observation set: V(I), the mean reward of acting by psi_I minus the price of I.

The mean runs over the states of the last wide rounds, in which most features were observed. Acting
by psi_I means taking the action with the largest m(a, psi_I), the weighted average over the sets of
the short list that are within I.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.model_weights import MAX_LISTED, Weights
from thrifty.kernels.scout.subsets import Subsets, cell_of, place_of, shrunk_mean, within
from thrifty.kernels.scout.wide_rounds import MAX_ROUNDS, WideRounds
from thrifty.kernels.shared.masks import contains, mask_of, price_of

STATES = 150
PRIOR_PULLS = 1.0
OPTIMISM = 0.2
FREE_PRIOR = 5.0
"""The number of states that the mean over all states counts for, where free values are known."""
REFINED_PULLS = 8.0
"""The number of rewards that the average over sets counts for in a set's own cell."""
MAX_CANDIDATES = MAX_LISTED * (MAX_LISTED + 1) // 2


class Comparison(NamedTuple):
    """The sets compared last, and scratch arrays.

    `means` are those of the listed sets in the last states. `candidates` are the sets, `compared`
    their number, and `worth` their values and prices. `masks` and `shares` are those of the listed
    sets at that time, and `counted` their number and the number of wide rounds: with them a case
    with free values can be compared later (see `best_set_given`).
    """

    means: Floats
    candidates: Ints
    compared: Ints
    worth: Floats
    masks: Ints
    shares: Floats
    counted: Ints


def initial(n_actions: int) -> Comparison:
    """Return an empty comparison."""
    return Comparison(
        means=np.zeros((MAX_LISTED, STATES, n_actions)),
        candidates=np.zeros(MAX_CANDIDATES, np.int64),
        compared=np.zeros(1, np.int64),
        worth=np.zeros((MAX_CANDIDATES, 2)),
        masks=np.zeros(MAX_LISTED, np.int64),
        shares=np.zeros(MAX_LISTED),
        counted=np.zeros(2, np.int64),
    )


@jit_inner
def _number(rounds: WideRounds) -> int:
    return min(rounds.clock[0], STATES)


@jit_inner
def _place(rounds: WideRounds, k: int) -> int:
    """Return the row of the k-th of the last states."""
    return (rounds.clock[0] - 1 - k) % MAX_ROUNDS


@jit_inner
def centre_of(subsets: Subsets, action: int, mean: float) -> float:
    """Return m_0(a), the mean of an action whatever the state."""
    return shrunk_mean(subsets.sums[0, action], subsets.pulls[0, action], mean, PRIOR_PULLS)


@jit_inner
def mean_of(subsets: Subsets, j: int, cell: int, action: int, centre: float) -> float:
    """Return m_J(a, psi_J) of the set's cell, shrunk_mean to the action's mean."""
    if j == 0:
        return centre
    return shrunk_mean(subsets.sums[cell, action], subsets.pulls[cell, action], centre, PRIOR_PULLS)


@jit_inner
def predict(
    subsets: Subsets, weights: Weights, mean: float, observed: Mask, codes: Ints, action: int
) -> tuple[float, float]:
    """Return m(a, psi_I) and the number of rewards behind it, averaged in the same way."""
    centre = centre_of(subsets, action, mean)
    total = 0.0
    value = 0.0
    number = 0.0
    for k in range(weights.length[0]):
        j = weights.listed[k]
        if within(subsets.masks[j], observed):
            cell = cell_of(subsets, j, codes)
            total += weights.shares[k]
            value += weights.shares[k] * mean_of(subsets, j, cell, action, centre)
            number += weights.shares[k] * subsets.pulls[cell, action]
    return value / total, number / total


@jit_inner
def best_set(
    subsets: Subsets,
    weights: Weights,
    rounds: WideRounds,
    comparison: Comparison,
    prices: Floats,
    mean: float,
    budget: float,
) -> tuple[int, float]:
    """Return the best of the listed sets and of the unions of two of them, and its value.

    A set that costs more than the budget can be bought in some rounds only, so its value is mixed
    with that of the empty set, which comes first.
    """
    comparison.compared[0] = 0
    if rounds.clock[0] == 0:
        return 0, 0.0
    _note_means(subsets, weights, rounds, comparison, mean)
    for k in range(weights.length[0]):
        for other in range(k, weights.length[0]):
            one, two = subsets.masks[weights.listed[k]], subsets.masks[weights.listed[other]]
            j = place_of(subsets, one | two)
            if j != NONE and not _was_compared(comparison, j):
                value = _value(subsets, weights, rounds, comparison, subsets.masks[j])
                _compare(comparison, j, value, price_of(subsets.masks[j], prices))
    return _best(comparison.candidates, comparison.worth, comparison.compared[0], budget)


@jit_inner
def _note_means(
    subsets: Subsets, weights: Weights, rounds: WideRounds, comparison: Comparison, mean: float
) -> None:
    """Compute the means of the listed sets in the last states, with a small optimistic bonus."""
    comparison.counted[0] = weights.length[0]
    comparison.counted[1] = rounds.clock[0]
    for k in range(weights.length[0]):
        j = weights.listed[k]
        comparison.masks[k] = subsets.masks[j]
        comparison.shares[k] = weights.shares[k]
        for t in range(_number(rounds)):
            place = _place(rounds, t)
            if within(subsets.masks[j], rounds.observed[place]):
                cell = cell_of(subsets, j, rounds.states[place])
                for a in range(subsets.pulls.shape[1]):
                    centre = centre_of(subsets, a, mean)
                    bonus = OPTIMISM / math.sqrt(subsets.pulls[cell, a] + 1)
                    value = mean_of(subsets, j, cell, a, centre) + bonus
                    comparison.means[k, t, a] = min(1.0, value)


@jit_inner
def _mixed(
    subsets: Subsets, weights: Weights, comparison: Comparison, mask: Mask, t: int, action: int
) -> float:
    """Return m(a, psi_I) in one of the last states."""
    total = 0.0
    value = 0.0
    for k in range(weights.length[0]):
        if within(subsets.masks[weights.listed[k]], mask):
            total += weights.shares[k]
            value += weights.shares[k] * comparison.means[k, t, action]
    return value / total


@jit_inner
def _value(
    subsets: Subsets, weights: Weights, rounds: WideRounds, comparison: Comparison, mask: Mask
) -> float:
    """Return the mean of max_a m(a, psi_I) over the last states that observed I, or -inf."""
    total = 0.0
    states = 0
    for t in range(_number(rounds)):
        if within(mask, rounds.observed[_place(rounds, t)]):
            best = 0.0
            for a in range(subsets.pulls.shape[1]):
                best = max(best, _mixed(subsets, weights, comparison, mask, t, a))
            total += best
            states += 1
    return total / states if states > 0 else -np.inf


@jit_inner
def _was_compared(comparison: Comparison, j: int) -> bool:
    for k in range(comparison.compared[0]):
        if comparison.candidates[k] == j:
            return True
    return False


@jit_inner
def _compare(comparison: Comparison, j: int, value: float, price: float) -> None:
    """Add a candidate."""
    place = comparison.compared[0]
    comparison.candidates[place] = j
    comparison.worth[place, 0] = value
    comparison.worth[place, 1] = price
    comparison.compared[0] += 1


@jit_inner
def _best(candidates: Ints, worth: Floats, compared: int, budget: float) -> tuple[int, float]:
    best = 0
    value = worth[0, 0]
    for k in range(1, compared):
        price = worth[k, 1]
        often = budget / price if price > budget else 1.0
        if often == 0.0:  # never bought; its worth may be -inf, and 0 * -inf is nan
            continue
        other = often * (worth[k, 0] - price) + (1 - often) * worth[0, 0]
        if other > value:
            best, value = k, other
    return candidates[best], value


@jit_inner
def refine(
    subsets: Subsets, place: int, codes: Ints, action: int, mean: float
) -> tuple[float, float]:
    """Return the mean of one set's own cell, shrunk to `mean`, and the rewards behind it.

    With free values the observed set is rarely one of those that rewards seem to depend on. Its own
    table, which every such round fills, is then more accurate than the average over those sets.
    """
    cell = cell_of(subsets, place, codes)
    pulls = subsets.pulls[cell, action]
    return shrunk_mean(
        subsets.sums[cell, action], pulls, mean, REFINED_PULLS
    ), pulls + REFINED_PULLS


@jit_inner
def best_set_given(
    subsets: Subsets,
    rounds: WideRounds,
    comparison: Comparison,
    prices: Floats,
    budget: float,
    known: Ints,
) -> int:
    """Return the set with the largest value in a case whose free values are known.

    V(I | f) is the mean of max_a m(a, psi_I and f) over those of the last states that have the
    free values f, shrunk to the mean over all of them, which counts as FREE_PRIOR states. Free
    features cost nothing. The sets are those that `best_set` compared last, each with the free
    features added if that set has tables.
    """
    worth = worth_given(subsets, rounds, comparison, prices, known)
    best, _ = _best(comparison.candidates, worth, comparison.compared[0], budget)
    place = place_of(subsets, subsets.masks[best] | mask_of(known))
    return best if place == NONE else place


@jit_inner
def worth_given(
    subsets: Subsets, rounds: WideRounds, comparison: Comparison, prices: Floats, known: Ints
) -> Floats:
    """Return V(I | f) and the price of each of the sets that were compared last."""
    worth = np.empty((comparison.compared[0], 2))
    free = mask_of(known)
    for k in range(comparison.compared[0]):
        mask = subsets.masks[comparison.candidates[k]]
        worth[k, 0] = _value_given(subsets, rounds, comparison, mask | free, free, known)
        worth[k, 1] = price_of(mask & ~free, prices)
    return worth


@jit_inner
def _value_given(
    subsets: Subsets,
    rounds: WideRounds,
    comparison: Comparison,
    mask: Mask,
    free: Mask,
    known: Ints,
) -> float:
    """Return V(I | f), or -inf if I was never observed together with the free features."""
    total = 0.0
    states = 0
    alike_total = 0.0
    alike = 0
    place = place_of(subsets, mask)
    for t in range(min(comparison.counted[1], STATES)):
        row = (comparison.counted[1] - 1 - t) % MAX_ROUNDS
        if within(mask, rounds.observed[row]):
            best = 0.0
            for a in range(comparison.means.shape[2]):
                mean = _mixed_then(comparison, mask, t, a)
                if place != NONE:
                    mean, _ = refine(subsets, place, rounds.states[row], a, mean)
                best = max(best, mean)
            total += best
            states += 1
            if _agrees(rounds.states[row], free, known):
                alike_total += best
                alike += 1
    if states == 0:
        return -np.inf
    return (alike_total + FREE_PRIOR * total / states) / (alike + FREE_PRIOR)


@jit_inner
def _mixed_then(comparison: Comparison, mask: Mask, t: int, action: int) -> float:
    """Return m(a, psi_I) in one of the last states, with the list of the last comparison."""
    total = 0.0
    value = 0.0
    for k in range(comparison.counted[0]):
        if within(comparison.masks[k], mask):
            total += comparison.shares[k]
            value += comparison.shares[k] * comparison.means[k, t, action]
    return value / total


@jit_inner
def _agrees(state: Ints, free: Mask, known: Ints) -> bool:
    """Return True if a state has the free values of the present case."""
    for i in range(known.size):
        if contains(free, i, known.size) and state[i] != known[i]:
            return False
    return True
