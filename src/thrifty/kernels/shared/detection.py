"""A detector of changes around another policy, its learner, as detection-augmented learning has it.

After a restart, rounds come in periods. In the last rounds of a period nothing is bought and each
action is forced once; the learner does not see these rounds. Their rewards, or those of all rounds,
are tested for a change, with one stream for each action. When a change is detected, all streams are
cleared and the learner must restart. A purpose of `FORCED` plus an action says that the round is
for the detector; purposes of the learner are smaller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Bools, Ints
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.glr import (
    GLRStreams,
    add_to_stream,
    clear_stream,
    glr_statistic,
    glr_threshold,
    initial_streams,
)

FORCED = 16
MAX_SPLITS = 256
LONGEST_PERIOD = 1e15


class Detection(NamedTuple):
    """The parameters, the rounds since the last restart, the number of restarts, the rewards.

    `rate` is the share of forced rounds before the first restart.
    """

    rate: float
    false_alarms: float
    every: int
    all_rounds: bool
    clock: Ints
    restarts: Ints
    streams: GLRStreams


def initial_detection(
    n_actions: int, rate: float, false_alarms: float, every: int, all_rounds: bool
) -> Detection:
    """Return the detector before the first round."""
    return Detection(
        rate,
        false_alarms,
        every,
        all_rounds,
        clock=np.zeros(1, np.int64),
        restarts=np.zeros(1, np.int64),
        streams=initial_streams(n_actions, MAX_SPLITS, every),
    )


@jit_inner
def forced_action(detection: Detection) -> int:
    """Return the action whose turn it is in the coming round, or NONE.

    After k restarts the period is the number of actions divided by sqrt(k + 1) times the rate, and
    at least twice the number of actions.
    """
    if detection.rate == 0.0:
        return NONE
    n = detection.streams.counts.size
    rate = detection.rate * math.sqrt(detection.restarts[0] + 1)
    period = int(min(max(2.0 * n, math.ceil(n / rate)), LONGEST_PERIOD))
    # At the end of a period, so that rounds without any reward so far are the learner's.
    return max(NONE, detection.clock[0] % period - (period - n))


@jit_inner
def forced_choice(purpose: int, available: Bools) -> int:
    """Return the action that the purpose forces, or NONE if it is not available."""
    a = purpose - FORCED
    return a if 0 <= a < available.size and available[a] else NONE


@jit_inner
def is_for_detector(purpose: int, action: int) -> bool:
    """Return True if the action was forced; an action that is not available is not taken."""
    return purpose == FORCED + action


@jit_inner
def purpose_for_learner(purpose: int) -> int:
    """Return the purpose that the learner is given: its own, or 0 in a round meant to be forced."""
    return 0 if purpose >= FORCED else purpose


@jit_inner
def detects(detection: Detection, action: int, reward: float, forced: bool) -> bool:
    """Count a round; return True if its reward shows a change, and the learner must restart."""
    detection.clock[0] += 1
    if not (forced or detection.all_rounds):
        return False
    streams = detection.streams
    add_to_stream(streams, action, reward)
    n = streams.counts[action]
    if n % detection.every > 0:
        return False
    if glr_statistic(streams, action) <= glr_threshold(n, detection.false_alarms):
        return False
    for a in range(streams.counts.size):
        clear_stream(streams, a)
    detection.clock[0] = 0
    detection.restarts[0] += 1
    return True
