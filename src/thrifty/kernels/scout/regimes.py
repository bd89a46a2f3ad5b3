"""Former regimes: what was known before a restart, in case the world goes back to it.

After a restart every stored regime is compared with what is being learnt anew, reward by reward;
the first that explains them clearly better is restored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout import wide_rounds
from thrifty.kernels.scout.likelihood import clipped, log_ratio
from thrifty.kernels.scout.model_weights import Weights, take_priors
from thrifty.kernels.scout.subsets import Subsets, bind, cell_in_place, shrunk, within
from thrifty.kernels.scout.wide_rounds import WideRounds
from thrifty.kernels.shared.linear import copy

SLOTS = 5
OLD_ENOUGH = 100
"""A regime that lasted no longer taught too little to be stored."""
ENOUGH, TOO_LITTLE = 4.0, -6.0
HANDICAP = -2.0
"""The evidence with which the regime that was just given up begins."""

EMPTY, WAITING, DROPPED = 0, 1, 2

REGIME = np.dtype(
    [
        ("status", np.int64),
        ("stored", np.int64),  # the number of the restart that stored it
        ("age", np.int64),
        ("blind_sum", np.float64),
        ("blind_pulls", np.float64),
        ("evidence", np.float64),
    ],
    align=True,
)


class Regimes(NamedTuple):
    """The stored regimes: their books, sets, tables and weights."""

    books: NDArray[np.void]
    masks: Ints
    pulls: Floats
    sums: Floats
    log_weights: Floats


def initial(shape: tuple[int, ...], n_sets: int) -> Regimes:
    """Return no regimes, with room for SLOTS."""
    return Regimes(
        np.zeros(SLOTS, REGIME),
        np.zeros((SLOTS, n_sets), np.int64),
        np.zeros((SLOTS, *shape)),
        np.zeros((SLOTS, *shape)),
        np.zeros((SLOTS, n_sets)),
    )


@jit_inner
def store(
    regimes: Regimes, subsets: Subsets, weights: Weights, blind: Floats, age: int, restart: int
) -> None:
    """Keep what is known in the place of the oldest regime, and begin to compare all of them."""
    books = regimes.books
    for k in range(SLOTS):
        books[k]["evidence"] = 0.0
        if books[k]["status"] == DROPPED:
            books[k]["status"] = WAITING
    if age <= OLD_ENOUGH:
        return
    place = 0
    for k in range(SLOTS):
        if books[k]["stored"] < books[place]["stored"]:
            place = k
    books[place]["status"] = WAITING
    books[place]["stored"] = restart
    books[place]["age"] = age
    books[place]["blind_sum"] = blind[0]
    books[place]["blind_pulls"] = blind[1]
    books[place]["evidence"] = HANDICAP
    for j in range(subsets.masks.size):
        regimes.masks[place, j] = subsets.masks[j]
    copy(subsets.pulls, regimes.pulls[place])
    copy(subsets.sums, regimes.sums[place])
    copy(weights.log, regimes.log_weights[place])


@jit_inner
def recognise(
    regimes: Regimes,
    subsets: Subsets,
    observed: Mask,
    codes: Ints,
    action: int,
    reward: float,
    p: float,
    dispersion: float,
) -> int:
    """Compare a reward's predicted mean p with the regimes'; return the one to restore, or NONE."""
    found = NONE
    books = regimes.books
    for k in range(SLOTS):
        if books[k]["status"] == WAITING:
            j = _heaviest(regimes, k, observed)
            cell = cell_in_place(subsets, j, regimes.masks[k, j], codes)
            total, count = regimes.sums[k, cell, action], regimes.pulls[k, cell, action]
            theirs = clipped(shrunk(total, count, 0.5, 1.0))
            books[k]["evidence"] += log_ratio(reward, theirs, p) / dispersion
            if books[k]["evidence"] < TOO_LITTLE:
                books[k]["status"] = DROPPED
            elif books[k]["evidence"] > ENOUGH and (
                found == NONE or books[k]["evidence"] > books[found]["evidence"]
            ):
                found = k
    return found


@jit_inner
def _heaviest(regimes: Regimes, k: int, observed: Mask) -> int:
    """Return the place of regime k's heaviest set within the observed one."""
    best = 0
    log_weights = regimes.log_weights[k]
    for j in range(log_weights.size):
        if within(regimes.masks[k, j], observed) and log_weights[j] > log_weights[best]:
            best = j
    return best


@jit_inner
def restore(
    regimes: Regimes,
    k: int,
    subsets: Subsets,
    weights: Weights,
    rounds: WideRounds,
    blind: Floats,
) -> int:
    """Add what regime k knew to what is known, and take its weights; return its age.

    Its grown sets take the places of the present ones and learn what the last rounds can teach.
    Its own place is free again: it will be stored anew when it ends. The others wait for a restart.
    """
    books = regimes.books
    for j in range(subsets.order.size, subsets.masks.size):
        bind(subsets, j, regimes.masks[k, j])
        wide_rounds.teach(rounds, subsets, j)
    for cell in range(subsets.pulls.shape[0]):
        for a in range(subsets.pulls.shape[1]):
            subsets.pulls[cell, a] += regimes.pulls[k, cell, a]
            subsets.sums[cell, a] += regimes.sums[k, cell, a]
    copy(regimes.log_weights[k], weights.log)
    take_priors(weights, subsets)
    blind[0] += books[k]["blind_sum"]
    blind[1] += books[k]["blind_pulls"]
    for other in range(SLOTS):
        if books[other]["status"] == WAITING:
            books[other]["status"] = DROPPED
    books[k]["status"] = EMPTY
    books[k]["stored"] = 0
    return books[k]["age"]
