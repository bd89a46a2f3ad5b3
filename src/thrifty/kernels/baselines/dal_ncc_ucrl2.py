"""DAL around NCC-UCRL2: restarts after a change of rewards; forced rounds buy nothing."""

from __future__ import annotations

from typing import NamedTuple

from thrifty.kernels.ncc import ncc_ucrl2
from thrifty.kernels.ncc.ncc_ucrl2 import NCCUCRL2State
from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.detection import (
    FORCED,
    Detection,
    detects,
    forced_action,
    forced_choice,
    is_for_detector,
    purpose_for_learner,
)
from thrifty.kernels.shared.purchases import nothing

ACTION_DRAWS = ncc_ucrl2.ACTION_DRAWS


class DALNCCUCRL2State(NamedTuple):
    """The detector and the learner."""

    detection: Detection
    learner: NCCUCRL2State


@jit
def index(state: DALNCCUCRL2State, codes: Ints) -> Floats:
    """Return the learner's optimistic reward of every action."""
    return ncc_ucrl2.index(state.learner, codes)


@jit
def choose_features(state: DALNCCUCRL2State, known: Ints, draws: Floats, mask: Bools) -> int:
    """Buy the learner's set, or nothing in a forced round."""
    forced = forced_action(state.detection)
    if forced != NONE:
        return FORCED + forced + nothing(state, known, draws, mask)
    return ncc_ucrl2.choose_features(state.learner, known, draws, mask)


@jit
def choose_action(
    state: DALNCCUCRL2State, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the forced action if there is one and it is available, else the learner's."""
    forced = forced_choice(purpose, available)
    if forced != NONE:
        return forced
    own = purpose_for_learner(purpose)
    return ncc_ucrl2.choose_action(state.learner, codes, available, draws, own)


@jit
def update(
    state: DALNCCUCRL2State, codes: Ints, costs: Floats, action: int, reward: float, purpose: int
) -> None:
    """Let the learner learn, unless the action was forced; restart it after a change."""
    forced = is_for_detector(purpose, action)
    if not forced:
        own = purpose_for_learner(purpose)
        ncc_ucrl2.update(state.learner, codes, costs, action, reward, own)
    if detects(state.detection, action, reward, forced):
        ncc_ucrl2.restart(state.learner)


@jit
def room(state: DALNCCUCRL2State) -> bool:
    """Whether one more round fits in the learner's tables."""
    return ncc_ucrl2.room(state.learner)


def grow(state: DALNCCUCRL2State) -> DALNCCUCRL2State:
    """Return the same state with twice the room."""
    return state._replace(learner=ncc_ucrl2.grow(state.learner))


STEPS[DALNCCUCRL2State] = Steps(choose_features, update, index, choose_action, has_room=room)
