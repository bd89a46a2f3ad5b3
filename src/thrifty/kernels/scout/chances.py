"""Probabilities of Scout's purchases and actions: `steps` without the random numbers."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.scout import subsets
from thrifty.kernels.scout.exploration import (
    YOUNG,
    chance_to_explore,
    chance_to_probe,
    chance_to_recall,
    fill_explored,
)
from thrifty.kernels.scout.likelihood import dispersion
from thrifty.kernels.scout.state import ScoutState
from thrifty.kernels.scout.steps import (
    EXPLOIT,
    EXPLORE,
    GIVEN,
    KINDS,
    MIN_CHANCE,
    PROBE,
    RECALL,
    ROUNDS_BETWEEN_CHOICES,
    SAVE,
    THOMPSON_PULLS,
    _basis,
    _best_set_given,
    _choose_set,
    _expect,
    _former_action,
    _former_regime,
    _set_of_former,
)
from thrifty.kernels.shared.largest_beta import fill_chances
from thrifty.kernels.shared.masks import fill, mask_of


@jit
def kinds_of_rounds(
    state: ScoutState, known: Ints, chances: Floats, purposes: Ints, bought: Ints
) -> int:
    """Fill the probability of each kind of round, its purpose, and the mask of what it buys.

    Explore and probe rounds buy this if the number of features is not limited. Return the mask of
    the features that a probe round buys in any case.
    """
    book = state.book
    chances[:] = 0.0
    purposes[:] = SAVE
    bought[:] = 0
    if book[0]["stale"] or book[0]["age"] % ROUNDS_BETWEEN_CHOICES == 0:
        _choose_set(state)
    if state.limits.budget * max(1, book[0]["round"]) < book[0]["spent"]:
        chances[SAVE] = 1.0
        return 0
    explored = np.empty(known.size, np.bool_)
    fill_explored(state, explored)
    in_use = book[0]["in_use"]
    free = mask_of(known)
    if free != 0:
        for i in range(explored.size):
            explored[i] = explored[i] and known[i] < 0
        in_use = _best_set_given(state, known)
    epsilon = chance_to_explore(state, explored)
    epsilon_or_probe = epsilon + chance_to_probe(state, epsilon)
    last = 1.0 if book[0]["probes_due"] > 0 else min(1.0, epsilon_or_probe)
    chances[EXPLORE] = min(1.0, epsilon)
    chances[PROBE] = last - chances[EXPLORE]
    chances[EXPLOIT] = 1 - last
    kept = state.subsets.masks[in_use] & ~free
    bought[EXPLOIT] = kept
    bought[EXPLORE] = _as_mask(explored)
    bought[PROBE] = bought[EXPLORE] | kept
    for kind in (EXPLOIT, EXPLORE, PROBE):
        purposes[kind] = _purpose(state, in_use, kind, free)
    former = _former_regime(state)
    if former != NONE and last < 1.0:
        place = _set_of_former(state, former)
        fill(state.subsets.masks[place], explored)
        recall = chance_to_recall(state, former, explored)
        chances[RECALL] = min(1.0, epsilon_or_probe + recall) - last
        chances[EXPLOIT] -= chances[RECALL]
        bought[RECALL] = state.subsets.masks[place] & ~free
        purposes[RECALL] = _purpose(state, place, RECALL, free)
    return kept


@jit_inner
def _as_mask(features: Bools) -> Mask:
    mask = np.int64(0)
    for i in range(features.size):
        mask = (mask << 1) | np.int64(features[i])
    return mask


@jit_inner
def _purpose(state: ScoutState, place: int, kind: int, free: Mask) -> int:
    purpose = int(KINDS * subsets.ticket_of(state.subsets, place) + kind)
    return purpose if free == 0 else purpose + GIVEN


@jit
def chances_of_actions(
    state: ScoutState, codes: Ints, available: Bools, purpose: int, chances: Floats
) -> None:
    """Fill the probability of each action in a round with this purpose."""
    if purpose % KINDS == EXPLORE:
        _fill_blind(state, available, chances)
        return
    basis = _basis(state, purpose, mask_of(codes))
    if purpose % KINDS == RECALL:
        former = _former_regime(state)
        if former != NONE:
            chances[:] = 0.0
            chances[_former_action(state, former, basis, codes, available)] = 1.0
            return
    ones = np.empty(available.size)
    others = np.empty(available.size)
    for a in range(available.size):
        mean, number = _expect(state, purpose, basis, codes, a)
        mean = min(max(mean, MIN_CHANCE), 1 - MIN_CHANCE)
        size = number / dispersion(state.spread, a) + THOMPSON_PULLS
        ones[a] = mean * size
        others[a] = (1 - mean) * size
    fill_chances(ones, others, available, chances)


@jit_inner
def _fill_blind(state: ScoutState, available: Bools, chances: Floats) -> None:
    """Fill the probabilities of blind actions."""
    number = 0
    total = 0.0
    for a in range(available.size):
        if available[a]:
            number += 1
            total += state.habits[a]
    for a in range(available.size):
        chances[a] = 0.0
        if available[a]:
            by_habit = state.habits[a] / total if total > 0.0 else 1 / number
            is_young = state.book[0]["age"] <= YOUNG
            chances[a] = 1 / number if is_young else 0.5 / number + 0.5 * by_habit
