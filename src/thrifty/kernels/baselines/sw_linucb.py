"""SW-LinUCB: one regression per action on the last rounds; it buys everything."""

from __future__ import annotations

from typing import NamedTuple

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.purchases import everything
from thrifty.kernels.shared.sliding_window import SlidingWindow, empty, slide, window_bounds


class SWLinUCBState(NamedTuple):
    """The parameter, the encoding, and the regressions on the window."""

    alpha: float
    places: Ints
    window: SlidingWindow


def initial(
    n_actions: int, n_features: int, alpha: float, window: int, places: Ints, size: int
) -> SWLinUCBState:
    """Return the state before the first round."""
    return SWLinUCBState(alpha, places, empty(n_actions, n_features, size, window))


@jit
def index(state: SWLinUCBState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) for every action."""
    length = state.window.rewards.size
    return window_bounds(state.window, state.places, length, codes, state.alpha)


@jit
def update(
    state: SWLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Add the sample and remove the one that leaves the window."""
    slide(state.window, state.places, state.window.rewards.size, codes, action, reward)


STEPS[SWLinUCBState] = Steps(everything, update, index)
