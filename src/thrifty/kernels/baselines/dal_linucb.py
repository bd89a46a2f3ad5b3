"""DAL around LinUCB: restarts after a change of rewards; forced rounds buy nothing."""

from __future__ import annotations

from typing import NamedTuple

from thrifty.kernels.baselines import linucb
from thrifty.kernels.baselines.linucb import LinUCBState
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.choice import first_maximum
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.detection import (
    FORCED,
    Detection,
    detects,
    forced_action,
    forced_choice,
    is_for_detector,
)
from thrifty.kernels.shared.purchases import everything, nothing


class DALLinUCBState(NamedTuple):
    """The detector and the learner."""

    detection: Detection
    learner: LinUCBState


@jit
def index(state: DALLinUCBState, codes: Ints) -> Floats:
    """Return the learner's upper confidence bound of every action."""
    return linucb.index(state.learner, codes)


@jit
def choose_features(state: DALLinUCBState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy everything, or nothing in a forced round."""
    forced = forced_action(state.detection)
    if forced != NONE:
        return FORCED + forced + nothing(state, known, draws, mask)
    return everything(state, known, draws, mask)


@jit
def choose_action(
    state: DALLinUCBState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the forced action if there is one and it is available, else the learner's."""
    forced = forced_choice(purpose, available)
    if forced != NONE:
        return forced
    return first_maximum(linucb.index(state.learner, codes), available)


@jit
def update(
    state: DALLinUCBState, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Let the learner learn, unless the action was forced; restart it after a change."""
    forced = is_for_detector(purpose, action)
    if not forced:
        linucb.update(state.learner, codes, costs, action, reward, purpose)
    if detects(state.detection, action, reward, forced):
        linucb.restart(state.learner)


STEPS[DALLinUCBState] = Steps(choose_features, update, index, choose_action)
