"""Single calls of the steps from Python; `step` and `state` are those of `steps.BoundSteps`."""

from __future__ import annotations

from typing import Any

from thrifty.kernels.runtime import steps
from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit, jit_inner


@jit
def choose_features(step: Any, state: Any, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask and return the purpose."""
    return steps.choose_features(step, state, known, draws, mask)


@jit
def choose_action(
    step: Any,
    values: Any,
    state: Any,
    codes: Ints,
    available: Bools,
    draws: Floats,
    purpose: int,
) -> int:
    """Return the action, by the step `values` if the policy has no step of its own for it."""
    return action_of(step, values, state, codes, available, draws, purpose)


@jit_inner
def action_of(
    step: Any,
    values: Any,
    state: Any,
    codes: Ints,
    available: Bools,
    draws: Floats,
    purpose: int,
) -> int:
    """Return the action, for other compiled functions."""
    if steps.is_defined(step):
        return steps.choose_action(step, state, codes, available, draws, purpose)
    return first_maximum(steps.action_values(values, state, codes), available)


@jit
def update(
    step: Any,
    room: Any,
    state: Any,
    codes: Ints,
    costs: Floats,
    action: int,
    reward: float,
    purpose: int,
) -> bool:
    """Learn from a round, or return False if the state must grow first (step `room`)."""
    if steps.is_defined(room) and not steps.has_room(room, state):
        return False
    steps.update(step, state, codes, costs, action, reward, purpose)
    return True


@jit
def action_values(step: Any, state: Any, codes: Ints) -> Floats:
    """Return the values by which an action is chosen."""
    return steps.action_values(step, state, codes)


@jit
def read_prices(step: Any, state: Any, prices: Floats) -> None:
    """Hand over the price list."""
    steps.read_prices(step, state, prices)
