"""Single calls of the steps from Python, on a state that is kept behind one pointer.

A call from Python hands over its arguments one by one, and a state of twenty arrays would cost
more than the step itself. A held state is handed over as a whole. It shares the arrays of the
state it was made from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import config
from numba.core.types import StructRef  # type: ignore[attr-defined]
from numba.experimental import structref

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.refcounts import strip_refcounts
from thrifty.kernels.runtime.steps import (
    action_values,
    choose_action,
    choose_features,
    has_room,
    update,
)

if config.DISABLE_JIT:

    class Held(NamedTuple):
        """A state behind one name, where nothing is compiled."""

        state: Any

else:

    @structref.register
    class HeldType(StructRef):  # type: ignore[misc]
        """The compiled type of held states, one for each type of state."""

    class Held(structref.StructRefProxy):  # type: ignore[misc,no-redef]
        """A state behind one pointer."""

    structref.define_proxy(Held, HeldType, ["state"])


@jit
def hold(state: Any) -> Any:
    """Return the state behind one pointer."""
    return Held(state)


@jit
def features_chosen(held: Any, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask and return the purpose."""
    return choose_features(strip_refcounts(held.state), known, draws, mask)


@jit
def action_chosen(held: Any, codes: Ints, available: Bools, draws: Floats, purpose: int) -> int:
    """Return the action."""
    return choose_action(strip_refcounts(held.state), codes, available, draws, purpose)


@jit
def learnt(held: Any, codes: Ints, costs: Floats, action: int, reward: float, purpose: int) -> bool:
    """Learn from a round, or return False if the state must grow first."""
    state = strip_refcounts(held.state)
    if not has_room(state):
        return False
    update(state, codes, costs, action, reward, purpose)
    return True


@jit
def values(held: Any, codes: Ints) -> Floats:
    """Return the values that the choice of an action rests on."""
    return action_values(strip_refcounts(held.state), codes)
