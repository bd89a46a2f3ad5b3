"""Probabilities of Scout's purchases and actions: `steps` without the random numbers."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
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
    state: ScoutState, known: Ints, explored: Bools, chances: Floats, purposes: Ints, sets: Ints
) -> None:
    """Fill the probability of each kind of round, its purpose, and the mask of its set in use.

    `explored` are the features that explore and probe rounds buy, if their number is not limited.
    """
    book = state.book
    chances[:] = 0.0
    purposes[:] = SAVE
    sets[:] = 0
    if book[0]["stale"] or book[0]["age"] % ROUNDS_BETWEEN_CHOICES == 0:
        _choose_set(state)
    fill_explored(state, explored)
    if state.limits.budget * max(1, book[0]["round"]) < book[0]["spent"]:
        chances[SAVE] = 1.0
        return
    in_use = book[0]["in_use"]
    free = mask_of(known)
    if free != 0:
        for i in range(explored.size):
            explored[i] = explored[i] and known[i] < 0
        in_use = _best_set_given(state, known)
    epsilon = chance_to_explore(state, explored)
    epsilon_or_probe = epsilon + chance_to_probe(state, epsilon)
    last = min(1.0, epsilon_or_probe)
    if book[0]["probes_due"] > 0:
        last = 1.0
    chances[EXPLORE] = min(1.0, epsilon)
    chances[PROBE] = last - chances[EXPLORE]
    chances[EXPLOIT] = 1 - last
    for kind in (EXPLOIT, EXPLORE, PROBE):
        _note(state, in_use, kind, free != 0, purposes, sets)
    former = _former_regime(state)
    if former != NONE and chances[EXPLOIT] > 0.0:
        mask = np.empty(explored.size, np.bool_)
        place = _set_of_former(state, former)
        fill(state.subsets.masks[place], mask)
        recall = chance_to_recall(state, former, mask)
        chances[RECALL] = min(1.0, epsilon_or_probe + recall) - last
        chances[EXPLOIT] -= chances[RECALL]
        _note(state, place, RECALL, free != 0, purposes, sets)


@jit_inner
def _note(
    state: ScoutState, place: int, kind: int, is_given: bool, purposes: Ints, sets: Ints
) -> None:
    """Fill the purpose of a kind of round, and the mask of its set in use."""
    purpose = int(KINDS * subsets.ticket_of(state.subsets, place) + kind)
    purposes[kind] = purpose + GIVEN if is_given else purpose
    sets[kind] = state.subsets.masks[place]


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
