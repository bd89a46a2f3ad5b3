"""The last wide rounds, those that explored or probed: their states, actions and rewards.

Their states estimate how frequent each state is, to compute the value of any set. Their rewards
since the last restart teach sets that get tables later (see `growth`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.subsets import Subsets, cell_of, learn_wide, within

MAX_ROUNDS = 700


class WideRounds(NamedTuple):
    """A ring of rounds: the observed state and set, the basis of the action, action and reward.

    `clock` holds the number of wide rounds so far, and the same number at the last restart.
    """

    states: Ints
    observed: Ints
    bases: Ints
    actions: Ints
    rewards: Floats
    clock: Ints


def initial(n_features: int) -> WideRounds:
    """Return room for MAX_ROUNDS rounds."""
    return WideRounds(
        states=np.full((MAX_ROUNDS, n_features), NONE),
        observed=np.zeros(MAX_ROUNDS, np.int64),
        bases=np.zeros(MAX_ROUNDS, np.int64),
        actions=np.zeros(MAX_ROUNDS, np.int64),
        rewards=np.zeros(MAX_ROUNDS),
        clock=np.zeros(2, np.int64),
    )


@jit_inner
def record_round(
    rounds: WideRounds, codes: Ints, observed: Mask, basis: Mask, action: int, reward: float
) -> None:
    """Store a round in the place of the oldest one."""
    place = rounds.clock[0] % MAX_ROUNDS
    for i in range(codes.size):
        rounds.states[place, i] = codes[i]
    rounds.observed[place] = observed
    rounds.bases[place] = basis
    rounds.actions[place] = action
    rounds.rewards[place] = reward
    rounds.clock[0] += 1


@jit_inner
def number_of_all(rounds: WideRounds) -> int:
    """Return the number of wide rounds since the last restart."""
    return rounds.clock[0] - rounds.clock[1]


@jit_inner
def number(rounds: WideRounds) -> int:
    """Return the number of rounds since the last restart that are stored."""
    return min(number_of_all(rounds), MAX_ROUNDS)


@jit_inner
def place(rounds: WideRounds, k: int) -> int:
    """Return the row of the k-th of these rounds, the oldest first."""
    return (rounds.clock[0] - number(rounds) + k) % MAX_ROUNDS


@jit_inner
def close(rounds: WideRounds) -> None:
    """Mark a restart: rewards so far teach no more sets."""
    rounds.clock[1] = rounds.clock[0]


@jit_inner
def teach(rounds: WideRounds, subsets: Subsets, j: int) -> None:
    """Teach set j all stored rounds since the last restart that may teach it."""
    mask = subsets.masks[j]
    for k in range(number(rounds)):
        t = place(rounds, k)
        if within(rounds.bases[t], mask) and within(mask, rounds.observed[t]):
            cell = cell_of(subsets, j, rounds.states[t])
            learn_wide(subsets, cell, rounds.actions[t], rounds.rewards[t])
