"""The steps of a round, whichever the policy: generic functions that dispatch on its state.

A policy's state is a named tuple of arrays, and its type says which compiled functions to call.
So there is one compiled loop for all policies (`loop.run`), and it is specialised for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit

Step = Callable[..., Any]

STEPS: dict[type, Steps] = {}


def _generic(name: str) -> Step:
    """Make the function that calls the step `name` of its first argument's type."""

    def call(state: Any, *arguments: Any) -> Any:
        return getattr(STEPS[type(state)], name)(state, *arguments)

    # Numba compares these two signatures to the letter, so they carry no hints.
    def specialise(state, *arguments):  # type: ignore[no-untyped-def]
        step = getattr(STEPS[state.instance_class], name)

        def compiled(state, *arguments):  # type: ignore[no-untyped-def]
            return step(state, *arguments)

        return compiled

    overload(call)(specialise)
    return call


choose_features = _generic("choose_features")
choose_action = _generic("choose_action")
update = _generic("update")
action_values = _generic("action_values")
read_prices = _generic("read_prices")
has_room = _generic("has_room")


@jit
def first_best(state: Any, codes: Ints, available: Bools, draws: Floats, purpose: int) -> int:
    """Choose the first of the available actions with the largest value."""
    return first_maximum(action_values(state, codes), available)


@jit
def _ignore_prices(state: Any, prices: Floats) -> None:
    pass


@jit
def _always_room(state: Any) -> bool:
    return True


class Steps(NamedTuple):
    """A policy's compiled steps.

    `draws` are uniform numbers in [0, 1), drawn outside: kernels hold no generators.
    """

    choose_features: Step
    """(state, known, draws, mask) -> purpose; fills the mask. `known` are codes of free values."""
    update: Step
    """(state, codes, costs, action, reward, purpose); a cost is nan where nothing was bought."""
    action_values: Step | None = None
    """(state, codes) -> the values that the choice of an action rests on, if on any."""
    choose_action: Step = first_best
    """(state, codes, available, draws, purpose) -> action."""
    read_prices: Step = _ignore_prices
    """(state, prices); only a policy that is told the price list does anything here."""
    has_room: Step = _always_room
    """(state) -> bool; False if the next update may not fit, and the caller must grow the state."""
