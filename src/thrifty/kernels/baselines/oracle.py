"""The oracle: a plan for every round, computed in advance from the truth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps


class OracleState(NamedTuple):
    """The plans: which one holds in a round, the set each buys, and its actions by partial state.

    A partial state's key is the sum of codes times strides; a plan's keys are sorted.
    """

    clock: Ints
    plan_of_round: Ints
    masks: Bools
    strides: Ints
    offsets: Ints
    keys: Ints
    actions: Ints
    fallback: Ints
    n_actions: int


def initial(plan: Any, n_actions: int) -> OracleState:
    """Return the state before the first round, from an object with the plan's arrays."""
    arrays = {name: getattr(plan, name) for name in OracleState._fields if hasattr(plan, name)}
    return OracleState(clock=np.zeros(1, np.int64), n_actions=n_actions, **arrays)


@jit_inner
def _plan(state: OracleState) -> int:
    """Return the plan of the round; the last one holds for all later rounds."""
    return state.plan_of_round[min(state.clock[0], state.plan_of_round.size - 1)]


@jit
def index(state: OracleState, codes: Ints) -> Floats:
    """Return 1 for the planned action and 0 for the others."""
    plan = _plan(state)
    key = 0
    for i in range(codes.size):
        if codes[i] >= 0:
            key += codes[i] * state.strides[plan, i]
    start, stop = state.offsets[plan], state.offsets[plan + 1]
    place = start + np.searchsorted(state.keys[start:stop], key)
    known = place < stop and state.keys[place] == key
    values = np.zeros(state.n_actions)
    values[state.actions[place] if known else state.fallback[plan]] = 1.0
    return values


@jit
def choose_features(state: OracleState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask with the planned set."""
    plan = _plan(state)
    for i in range(mask.size):
        mask[i] = state.masks[plan, i]
    return 0


@jit
def update(
    state: OracleState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Go on to the next round."""
    state.clock[0] += 1


STEPS[OracleState] = Steps(choose_features, update, index)
