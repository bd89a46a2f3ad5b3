"""Has the world changed? Sums of evidence that rewards have become worse than predicted (CUSUM).

A sum adds up, never falling below 0, by how much a worse mean explains each reward better than the
predicted one does. Three guesses of how much worse watch all rounds that exploit; one more watches
each partial state, since a change may touch a single one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.likelihood import log_ratio

WORSE = (0.4, 0.6, 0.8)
WORSE_IN_CELL = 0.5
ALARM = 8.0


class Surprise(NamedTuple):
    """The sums, over all rounds and for every cell."""

    sums: Floats
    cells: Floats


def initial(n_cells: int) -> Surprise:
    """Return sums of nothing."""
    return Surprise(np.zeros(len(WORSE)), np.zeros(n_cells))


@jit_inner
def add_evidence(surprise: Surprise, reward: float, p: float, dispersion: float) -> bool:
    """Compare the reward with its predicted mean; return whether everything is to be forgotten."""
    alarm = False
    for k, part in enumerate(WORSE):
        evidence = log_ratio(reward, part * p, p) / dispersion
        surprise.sums[k] = max(0.0, surprise.sums[k] + evidence)
        alarm = alarm or surprise.sums[k] > ALARM
    return alarm


@jit_inner
def add_evidence_in(
    surprise: Surprise, cell: int, reward: float, p: float, dispersion: float
) -> bool:
    """Compare it within one cell; return whether the cell is to be forgotten."""
    evidence = log_ratio(reward, WORSE_IN_CELL * p, p) / dispersion
    surprise.cells[cell] = max(0.0, surprise.cells[cell] + evidence)
    if surprise.cells[cell] <= ALARM:
        return False
    surprise.cells[cell] = 0.0
    return True


@jit_inner
def calm_down(surprise: Surprise) -> None:
    """Start all sums afresh."""
    for k in range(surprise.sums.size):
        surprise.sums[k] = 0.0
    calm_down_in(surprise, 0, surprise.cells.size)


@jit_inner
def calm_down_in(surprise: Surprise, start: int, stop: int) -> None:
    """Start the sums of these cells afresh."""
    for cell in range(start, stop):
        surprise.cells[cell] = 0.0
