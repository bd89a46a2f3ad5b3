"""The last wide rounds, those that explored or probed: their states, actions and rewards.

Their states say how often which state comes, whatever set is to be judged by them. Their rewards,
as long as nothing has changed, are what a set that gets tables only now can still learn from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.subsets import Subsets, cell_of, learn_wide, within

MOST_ROUNDS = 700


class WideRounds(NamedTuple):
    """A ring of rounds: what was observed, what the action was drawn from, and what came of it.

    `clock` is the number of all wide rounds so far, and what it was at the last restart.
    """

    states: Ints
    observed: Ints
    bases: Ints
    actions: Ints
    rewards: Floats
    clock: Ints


def initial(n_features: int) -> WideRounds:
    """Return room for MOST_ROUNDS rounds."""
    return WideRounds(
        states=np.full((MOST_ROUNDS, n_features), NONE),
        observed=np.zeros(MOST_ROUNDS, np.int64),
        bases=np.zeros(MOST_ROUNDS, np.int64),
        actions=np.zeros(MOST_ROUNDS, np.int64),
        rewards=np.zeros(MOST_ROUNDS),
        clock=np.zeros(2, np.int64),
    )


@jit_inner
def write_down(
    rounds: WideRounds, codes: Ints, observed: Mask, basis: Mask, action: int, reward: float
) -> None:
    """Write a round down, in the place of the oldest."""
    place = rounds.clock[0] % MOST_ROUNDS
    for i in range(codes.size):
        rounds.states[place, i] = codes[i]
    rounds.observed[place] = observed
    rounds.bases[place] = basis
    rounds.actions[place] = action
    rounds.rewards[place] = reward
    rounds.clock[0] += 1


@jit_inner
def number_of_all(rounds: WideRounds) -> int:
    """Return how many wide rounds there were since the last restart."""
    return rounds.clock[0] - rounds.clock[1]


@jit_inner
def number(rounds: WideRounds) -> int:
    """Return how many of them are written down."""
    return min(number_of_all(rounds), MOST_ROUNDS)


@jit_inner
def place(rounds: WideRounds, k: int) -> int:
    """Return where the k-th of them is, the oldest being the first."""
    return (rounds.clock[0] - number(rounds) + k) % MOST_ROUNDS


@jit_inner
def close(rounds: WideRounds) -> None:
    """Let no reward so far teach anything any more."""
    rounds.clock[1] = rounds.clock[0]


@jit_inner
def teach(rounds: WideRounds, subsets: Subsets, j: int) -> None:
    """Teach set j what the rounds since the last restart can teach it."""
    mask = subsets.masks[j]
    for k in range(number(rounds)):
        t = place(rounds, k)
        if within(rounds.bases[t], mask) and within(mask, rounds.observed[t]):
            cell = cell_of(subsets, j, rounds.states[t])
            learn_wide(subsets, cell, rounds.actions[t], rounds.rewards[t])
