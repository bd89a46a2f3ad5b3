"""Ada-ILTCB and Ada-ILTCB+: ILOVETOCONBANDITS that restarts when tests find a change.

A segment, the rounds since the last restart, has blocks that end after L, 2L, 4L, ... rounds. Block
0 is played with equal weights on the constant policies, and block j with the distribution Q_j
that solves (OP) on all rounds of the segment before it. Rewards are estimated by r / p.

A trial is an interval of rounds that is compared with the rounds before the block. In Ada-ILTCB+
trials are replays, which begin at random and are played with an earlier distribution. In
Ada-ILTCB they are the intervals of L / 4, L / 2, L, ... rounds, one after another.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.baselines.one_feature import (
    Mixtures,
    add_inverses,
    best_feature,
    empty_mixtures,
    fill_probabilities,
    largest_gap,
    row_of,
    solve,
)
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.choice import uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid

REPLAY_DRAWS = 2
ACTION_DRAWS = 1
MAX_BLOCKS = 24
MAX_TRIALS = 32
MAX_POLICIES = 64
"""Limits that no run reaches: the last block does not end, and more replays are not begun."""
REGRET_RATIO, VARIANCE_RATIO = 4.0, 41.0
"""Ratios of the two sides in the tests of regrets and of variances."""
ROUNDS, SEGMENT, BLOCK, STRIDE, KEPT, EARLIER = range(6)
"""Places in `book`: rounds in the segment, its number, the block, every how many-th context is
kept, how many are kept, and how many of these are from before the block."""
PLAYED, START, STOP = range(3)
"""Columns of `trials`: the distribution played (or NONE), the first round, the first one after."""


class Settings(NamedTuple):
    """What does not change; `block` is L and `log_term` C_0."""

    replays: bool
    block: int
    longest: int
    log_term: float
    psi: float
    threshold: float


class AdaILTCBState(NamedTuple):
    """Distributions of the blocks, sums of estimated rewards, kept contexts, and trials."""

    settings: Settings
    q: Mixtures
    book: Ints
    sums: Floats
    means: Floats
    contexts: Ints
    trials: Ints
    trial_sums: Floats


def initial(levels: Ints, n_actions: int, memory: int, settings: Settings) -> AdaILTCBState:
    """Return the state before the first round, with room for `memory` contexts."""
    q = empty_mixtures(levels, MAX_BLOCKS, n_actions + MAX_POLICIES)
    q.sizes[0] = n_actions
    q.weights[0, :n_actions] = 1.0 / n_actions
    q.actions[0, :n_actions] = np.arange(n_actions)[:, None]
    rows = int(q.offsets[-1])
    book = np.zeros(6, np.int64)
    book[STRIDE] = 1
    return AdaILTCBState(
        settings,
        q,
        book,
        sums=np.zeros((rows, n_actions)),
        means=np.zeros((MAX_BLOCKS, rows, n_actions)),
        contexts=np.zeros((memory, levels.size), np.int64),
        trials=np.full((MAX_TRIALS, 3), NONE),
        trial_sums=np.zeros((MAX_TRIALS, rows, n_actions)),
    )


def purpose_of(segment: int, new: int, played: int) -> int:
    """Return the note about a round: its segment, the replay that begins, what is played."""
    return (segment << 12) | ((new + 1) << 6) | played


@jit_inner
def least_chance(state: AdaILTCBState, k: int) -> float:
    """Return nu_k, the probability with which distribution k plays every action at least."""
    n_actions, settings = state.sums.shape[1], state.settings
    rounds = settings.block * 2.0**k
    return min(0.5 / n_actions, math.sqrt(settings.log_term / (n_actions * rounds)))


@jit
def choose_features(state: AdaILTCBState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy everything, and note the distribution to play."""
    for i in range(mask.size):
        mask[i] = True
    j = state.book[BLOCK]
    new, played = NONE, j
    if state.settings.replays:
        new = _new_replay(state, draws[0])
        replayed = np.zeros(MAX_BLOCKS, np.bool_)
        for s in range(MAX_TRIALS):
            if state.trials[s, PLAYED] != NONE:
                replayed[state.trials[s, PLAYED]] = True
        if new != NONE:
            replayed[new] = True
        if replayed.any():
            played = uniform(replayed, draws[1])
    return int((state.book[SEGMENT] << 12) | ((new + 1) << 6) | played)


@jit_inner
def _new_replay(state: AdaILTCBState, draw: float) -> int:
    """Return the m of a replay that begins, with probability 2^(-(j + m) / 2) / L, or NONE."""
    j, chance = state.book[BLOCK], 0.0
    for m in range(j):
        chance += 2.0 ** (-(j + m) / 2) / state.settings.block
        if draw < chance:
            return m
    return NONE


@jit
def probabilities(state: AdaILTCBState, codes: Ints, purpose: int) -> Floats:
    """Return the probability of every action, if all are available."""
    k = state.book[BLOCK]
    if purpose >> 12 == state.book[SEGMENT]:
        k = min(k, purpose & 63)
    chances = np.empty(state.sums.shape[1])
    fill_probabilities(state.q, k, codes, least_chance(state, k), chances)
    return chances


@jit
def choose_action(
    state: AdaILTCBState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Draw one of the available actions."""
    chances = probabilities(state, codes, purpose)
    total = 0.0
    for a in range(chances.size):
        total += chances[a] if available[a] else 0.0
    rest, chosen = draws[0] * total, NONE
    for a in range(chances.size):
        if available[a] and (chosen == NONE or rest >= 0.0):
            chosen = a
            rest -= chances[a]
    return chosen


@jit
def update(
    state: AdaILTCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Count the reward, test what has ended, and go on to the next block or segment."""
    book, trials = state.book, state.trials
    if purpose >> 12 != book[SEGMENT]:
        return  # it was decided before a restart
    new = (purpose >> 6 & 63) - 1
    if NONE < new < book[BLOCK]:
        _begin_trial(state, new, state.settings.block << new)
    _keep(state, codes)
    weight = reward / probabilities(state, codes, purpose)[action]
    for i in range(codes.size):
        row = row_of(codes[i], i, state.q.offsets)
        state.sums[row, action] += weight
        for s in range(MAX_TRIALS):
            if trials[s, PLAYED] != NONE:
                state.trial_sums[s, row, action] += weight
    book[ROUNDS] += 1
    failed = _end_trials(state)
    if not failed and book[ROUNDS] == state.settings.block << book[BLOCK]:
        failed = state.settings.replays and _block_fails(state)
        if not failed and book[BLOCK] < MAX_BLOCKS - 1:
            _begin_block(state)
    if failed or book[ROUNDS] >= state.settings.longest:
        _restart(state)


@jit_inner
def _keep(state: AdaILTCBState, codes: Ints) -> None:
    """Keep the context if it is in turn; if there is no room, drop every other one."""
    book, contexts = state.book, state.contexts
    if book[ROUNDS] % book[STRIDE] == 0 and book[KEPT] == contexts.shape[0]:
        book[STRIDE] *= 2
        book[KEPT] = (book[KEPT] + 1) // 2
        book[EARLIER] = (book[EARLIER] + 1) // 2
        for t in range(book[KEPT]):
            for i in range(codes.size):
                contexts[t, i] = contexts[2 * t, i]
    if book[ROUNDS] % book[STRIDE] == 0:
        for i in range(codes.size):
            contexts[book[KEPT], i] = codes[i]
        book[KEPT] += 1


@jit_inner
def _begin_trial(state: AdaILTCBState, played: int, rounds: int) -> None:
    """Begin a trial of this many rounds, if there is a place for it."""
    for s in range(MAX_TRIALS):
        if state.trials[s, PLAYED] == NONE:
            state.trials[s, PLAYED] = played
            state.trials[s, START] = state.book[ROUNDS]
            state.trials[s, STOP] = state.book[ROUNDS] + rounds
            state.trial_sums[s] = 0.0
            return


@jit_inner
def _end_trials(state: AdaILTCBState) -> bool:
    """Test the trials that end now; in Ada-ILTCB they begin again. Return True if one fails."""
    trials, now = state.trials, state.book[ROUNDS]
    for s in range(MAX_TRIALS):
        if trials[s, PLAYED] != NONE and trials[s, STOP] == now:
            if _trial_fails(state, s):
                return True
            rounds, played = now - trials[s, START], trials[s, PLAYED]
            trials[s, PLAYED] = NONE
            if not state.settings.replays:
                _begin_trial(state, played, rounds)
    return False


@jit_inner
def _trial_fails(state: AdaILTCBState, s: int) -> bool:
    """Compare the trial with the rounds before the block."""
    played, start, stop = state.trials[s]
    book = state.book
    first = (start + book[STRIDE] - 1) // book[STRIDE]
    last = (stop + book[STRIDE] - 1) // book[STRIDE]
    return _differ(
        state,
        played,
        mean_table(state.trial_sums[s], stop - start),
        state.means[book[BLOCK] - 1],
        _bound(state, played, stop - start),
        state.contexts[first:last],
        state.contexts[: book[EARLIER]],
    )


@jit_inner
def _block_fails(state: AdaILTCBState) -> bool:
    """Compare the whole segment with the rounds up to the end of each earlier block."""
    book = state.book
    whole = mean_table(state.sums, book[ROUNDS])
    for k in range(book[BLOCK]):
        rounds = state.settings.block << k
        last = (rounds + book[STRIDE] - 1) // book[STRIDE]
        if _differ(
            state,
            k + 1,
            whole,
            state.means[k],
            _bound(state, k, rounds),
            state.contexts[: book[KEPT]],
            state.contexts[:last],
        ):
            return True
    return False


@jit_inner
def _bound(state: AdaILTCBState, k: int, rounds: int) -> float:
    """Return (K nu_k + C_0 / (nu_k rounds)) / 2, which is K nu_k for L 2^k rounds."""
    least = least_chance(state, k)
    return (state.sums.shape[1] * least + state.settings.log_term / (least * rounds)) / 2


@jit
def mean_table(sums: Floats, rounds: int) -> Floats:
    """Return the sums over the number of rounds, on the grid."""
    means = np.empty(sums.shape)
    for row in range(sums.shape[0]):
        for a in range(sums.shape[1]):
            means[row, a] = on_grid(sums[row, a] / rounds)
    return means


@jit
def _differ(
    state: AdaILTCBState,
    k: int,
    one: Floats,
    other: Floats,
    bound: float,
    contexts: Ints,
    others: Ints,
) -> bool:
    """Return True if regrets differ by the bound, or variances of distribution k by K."""
    offsets, threshold = state.q.offsets, state.settings.threshold
    best = best_feature(one, offsets)[1], best_feature(other, offsets)[1]
    # The largest 4 Reg(pi) - Reg'(pi) is a sum over one table less a quarter of the other.
    up = REGRET_RATIO * largest_gap(other, one, 1 / REGRET_RATIO, offsets)
    down = REGRET_RATIO * largest_gap(one, other, 1 / REGRET_RATIO, offsets)
    up += best[0] - REGRET_RATIO * best[1]
    down += best[1] - REGRET_RATIO * best[0]
    if max(up, down) >= threshold * bound:
        return True
    now, before = _variances(state, k, contexts), _variances(state, k, others)
    gap = largest_gap(now, before, VARIANCE_RATIO, offsets)
    return gap >= threshold * state.sums.shape[1]


@jit
def _variances(state: AdaILTCBState, k: int, contexts: Ints) -> Floats:
    """Return the table of V(Q_k, pi), the mean of 1 / Q_k(pi(x) | x) over contexts."""
    chances, table = np.empty(state.sums.shape[1]), np.zeros(state.sums.shape)
    for t in range(contexts.shape[0]):
        fill_probabilities(state.q, k, contexts[t], least_chance(state, k), chances)
        add_inverses(table, contexts[t], chances, contexts.shape[0], state.q.offsets)
    return table


@jit_inner
def _begin_block(state: AdaILTCBState) -> None:
    """Solve (OP) on the segment so far."""
    book, block = state.book, state.settings.block
    means = mean_table(state.sums, book[ROUNDS])
    state.means[book[BLOCK]] = means
    book[BLOCK] += 1
    book[EARLIER] = book[KEPT]
    state.trials[:, PLAYED] = NONE
    j = book[BLOCK]
    known = state.contexts[: book[KEPT]]
    solve(state.q, j, known, means, least_chance(state, j), state.settings.psi)
    if not state.settings.replays:
        rounds = max(1, block // 4)
        while rounds <= block << (j - 1):
            _begin_trial(state, j, rounds)
            rounds *= 2


@jit_inner
def _restart(state: AdaILTCBState) -> None:
    """Forget the segment and begin another one."""
    book = state.book
    segment = book[SEGMENT] + 1
    book[:] = 0
    book[SEGMENT] = segment
    book[STRIDE] = 1
    state.sums[:] = 0.0
    state.trials[:, PLAYED] = NONE


STEPS[AdaILTCBState] = Steps(choose_features, update, choose_action=choose_action)
