"""Change detection: CUSUM tests for rewards that have become worse than predicted.

The evidence of a reward is the log-likelihood ratio of a worse mean and the predicted one. Three
tests, for three degrees of "worse", watch all exploit rounds. One more test watches each partial
state, because a change may affect a single one. Sure actions have three tests of their own: a
reward that is exactly as predicted is much evidence against a worse mean, but only of that action.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.likelihood import log_ratio
from thrifty.kernels.shared.cusum import add_to_cusum

WORSE = (0.4, 0.6, 0.8)
WORSE_IN_CELL = 0.5
ALARM = 8.0


class Surprise(NamedTuple):
    """The sums of the tests over all rounds, of the test of every cell, and of sure actions."""

    sums: Floats
    cells: Floats
    sure: Floats


def initial(n_cells: int) -> Surprise:
    """Return sums of 0."""
    return Surprise(np.zeros(len(WORSE)), np.zeros(n_cells), np.zeros(len(WORSE)))


@jit_inner
def add_evidence(sums: Floats, reward: float, p: float, dispersion: float) -> bool:
    """Compare a reward with its predicted mean; return True if there is an alarm."""
    alarm = False
    for k, part in enumerate(WORSE):
        evidence = log_ratio(reward, part * p, p) / dispersion
        sums[k] = add_to_cusum(sums[k], evidence, 0.0)
        alarm = alarm or sums[k] > ALARM
    return alarm


@jit_inner
def add_evidence_in(
    surprise: Surprise, cell: int, reward: float, p: float, dispersion: float
) -> bool:
    """Compare a reward within one cell; return True if there is an alarm, and reset its sum."""
    evidence = log_ratio(reward, WORSE_IN_CELL * p, p) / dispersion
    surprise.cells[cell] = add_to_cusum(surprise.cells[cell], evidence, 0.0)
    if surprise.cells[cell] <= ALARM:
        return False
    surprise.cells[cell] = 0.0
    return True


@jit_inner
def reset(surprise: Surprise) -> None:
    """Set all sums to 0."""
    for k in range(surprise.sums.size):
        surprise.sums[k] = 0.0
        surprise.sure[k] = 0.0
    reset_cells(surprise, 0, surprise.cells.size)


@jit_inner
def reset_cells(surprise: Surprise, start: int, stop: int) -> None:
    """Set the sums of these cells to 0."""
    for cell in range(start, stop):
        surprise.cells[cell] = 0.0
