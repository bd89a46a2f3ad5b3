"""Former regimes: the tables and weights before a restart, in case the world returns to them.

After a restart every stored regime is compared with the new tables, reward by reward. The first one
that explains the rewards clearly better is restored.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout import wide_rounds
from thrifty.kernels.scout.likelihood import clip_mean, log_ratio
from thrifty.kernels.scout.model_weights import Weights, take_priors
from thrifty.kernels.scout.subsets import Subsets, bind, cell_in_place, shrunk_mean, within
from thrifty.kernels.scout.wide_rounds import WideRounds
from thrifty.kernels.shared.cusum import add_to_cusum
from thrifty.kernels.shared.linear import copy

SLOTS = 5
MIN_AGE_TO_STORE = 300
"""A shorter regime is not stored: it has learnt too little, and its value is too optimistic, since
there is a bonus for cells with few visits in it."""
EVIDENCE_TO_RESTORE, EVIDENCE_TO_DROP = 4.0, -6.0
EVIDENCE_OF_RETURN = 5.0
"""The same for a regime that returns unnoticed: it is tested for very many rounds."""
HANDICAP = -2.0
"""Initial evidence of the regime that has just ended."""
PROBATION, DISTRUST = 200, 2.0
"""A regime that ends within PROBATION rounds after it was restored was the wrong one. DISTRUST
scales how much more evidence is needed if that happens often."""
KEPT, FAILED, SINCE = 0, 1, 2

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
    """The stored regimes: a record of each (`books`), its sets, tables and weights."""

    books: NDArray[np.void]
    masks: Ints
    pulls: Floats
    sums: Floats
    log_weights: Floats
    values: Floats  # the mean of V(I*) in the last rounds of the regime
    used: Ints  # the place of I* when it ended
    trials: Ints  # numbers of regimes restored rightly and wrongly, and rounds since the last one


def initial(shape: tuple[int, ...], n_sets: int) -> Regimes:
    """Return no regimes, with room for SLOTS."""
    return Regimes(
        np.zeros(SLOTS, REGIME),
        np.zeros((SLOTS, n_sets), np.int64),
        np.zeros((SLOTS, *shape)),
        np.zeros((SLOTS, *shape)),
        np.zeros((SLOTS, n_sets)),
        np.zeros(SLOTS),
        np.zeros(SLOTS, np.int64),
        np.array([0, 0, PROBATION]),
    )


@jit_inner
def store(
    regimes: Regimes,
    subsets: Subsets,
    weights: Weights,
    blind: Floats,
    in_use: int,
    value: float,
    age: int,
    restart: int,
    kept: int,
) -> None:
    """Store the present regime in the place of the oldest one, and start to compare all of them.

    The regime `kept` is not replaced.
    """
    books = regimes.books
    for k in range(SLOTS):
        books[k]["evidence"] = 0.0
        if books[k]["status"] == DROPPED:
            books[k]["status"] = WAITING
    if age <= MIN_AGE_TO_STORE:
        return
    place = 1 if kept == 0 else 0
    for k in range(SLOTS):
        if k != kept and books[k]["stored"] < books[place]["stored"]:
            place = k
    books[place]["status"] = WAITING
    books[place]["stored"] = restart
    books[place]["age"] = age
    books[place]["blind_sum"] = blind[0]
    books[place]["blind_pulls"] = blind[1]
    books[place]["evidence"] = HANDICAP
    regimes.values[place] = value
    regimes.used[place] = in_use
    for j in range(subsets.masks.size):
        regimes.masks[place, j] = subsets.masks[j]
    copy(subsets.pulls, regimes.pulls[place])
    copy(subsets.sums, regimes.sums[place])
    copy(weights.log, regimes.log_weights[place])


@jit_inner
def note_round(regimes: Regimes) -> None:
    """Count a round since a regime was restored; if it has lasted long enough, it was right."""
    trials = regimes.trials
    if trials[SINCE] < PROBATION:
        trials[SINCE] += 1
        trials[KEPT] += trials[SINCE] == PROBATION


@jit_inner
def note_restart(regimes: Regimes) -> None:
    """Count a mistake if a regime was restored a short time ago."""
    if regimes.trials[SINCE] < PROBATION:
        regimes.trials[FAILED] += 1
        regimes.trials[SINCE] = PROBATION


@jit_inner
def evidence_to_restore(regimes: Regimes) -> float:
    """Return the evidence that a regime needs: more, the more often a restored one was wrong.

    It is a log-likelihood ratio, so the logarithm of the odds against a return is added.
    """
    odds = (regimes.trials[FAILED] + 1) / (regimes.trials[KEPT] + 1)
    return EVIDENCE_TO_RESTORE + DISTRUST * max(0.0, math.log(odds))


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
    needed = evidence_to_restore(regimes)
    for k in range(SLOTS):
        if books[k]["status"] == WAITING:
            j = heaviest(regimes, k, observed)
            theirs = clip_mean(_mean_in(regimes, k, subsets, j, codes, action))
            books[k]["evidence"] += log_ratio(reward, theirs, p) / dispersion
            if books[k]["evidence"] < EVIDENCE_TO_DROP:
                books[k]["status"] = DROPPED
            elif books[k]["evidence"] > needed and (
                found == NONE or books[k]["evidence"] > books[found]["evidence"]
            ):
                found = k
    return found


@jit_inner
def mean_by_used_set(
    regimes: Regimes, k: int, subsets: Subsets, observed: Mask, codes: Ints, action: int
) -> float:
    """Return the mean reward of an action in regime k, by the set that it used."""
    return _mean_in(regimes, k, subsets, used_set(regimes, k, observed), codes, action)


@jit_inner
def used_set(regimes: Regimes, k: int, observed: Mask) -> int:
    """Return the place of the set that regime k used, or else of its heaviest one, within these."""
    j = regimes.used[k]
    if j > 0 and within(regimes.masks[k, j], observed):
        return j
    return heaviest(regimes, k, observed)


@jit_inner
def _mean_in(regimes: Regimes, k: int, subsets: Subsets, j: int, codes: Ints, action: int) -> float:
    """Return the mean reward of an action in regime k, by set j."""
    cell = cell_in_place(subsets, j, regimes.masks[k, j], codes)
    return shrunk_mean(regimes.sums[k, cell, action], regimes.pulls[k, cell, action], 0.5, 1.0)


@jit_inner
def best_former(regimes: Regimes) -> int:
    """Return the stored regime with the largest value, or NONE."""
    best = NONE
    for k in range(SLOTS):
        stored = regimes.books[k]["status"] != EMPTY
        if stored and (best == NONE or regimes.values[k] > regimes.values[best]):
            best = k
    return best


@jit_inner
def has_returned(
    regimes: Regimes, k: int, reward: float, theirs: float, p: float, dispersion: float
) -> bool:
    """Compare a reward's mean in regime k with p, the predicted one; return True if k is back.

    This is a CUSUM test, because the regime may return at any time.
    """
    evidence = log_ratio(reward, clip_mean(theirs), p) / dispersion
    books = regimes.books
    books[k]["evidence"] = add_to_cusum(books[k]["evidence"], evidence, 0.0)
    return books[k]["evidence"] > EVIDENCE_OF_RETURN


@jit_inner
def heaviest(regimes: Regimes, k: int, observed: Mask) -> int:
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
    """Add the tables of regime k to the present ones, and take its weights; return its age.

    Its grown sets replace the present ones and learn from the last wide rounds. Its slot is free
    until it ends and is stored again. The other regimes wait for the next restart.
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
    regimes.trials[SINCE] = 0
    return books[k]["age"]
