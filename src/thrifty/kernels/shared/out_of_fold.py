"""Out-of-fold value of a set of features, computed from counts by cell instead of case by case.

A cell holds the cases that agree on the features of a set. A set's cells are those of its parent,
the set without its last feature, divided. The chance of an outcome in a cell is estimated on all
folds but one, drawn towards the parent's estimate; then the best action is taken in the cases of
the fold that was left out. So no case is judged by an estimate that has seen it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.runtime.compilation import jit, jit_inner

Integers = NDArray[np.integer[Any]]
"""Of any size: the smallest integer type that fits, to save memory."""

MIN_RHO, MAX_RHO = 1e-7, 0.9


@jit
def divide(
    parents: Integers, codes: Integers, n_parents: int, n_levels: int, cells: Integers
) -> Integers:
    """Divide cells by one more feature: fill `cells` (T,), and return the parent of each.

    Cells are numbered in the order in which they first occur.
    """
    numbers = np.full(n_parents * n_levels, -1, np.int32)
    found = np.empty(min(numbers.size, parents.size), np.int32)
    n = 0
    for t in range(parents.size):
        place = np.int64(parents[t]) * n_levels + codes[t]
        cell = numbers[place]
        if cell < 0:
            cell = n
            numbers[place] = n
            found[n] = parents[t]
            n += 1
        cells[t] = cell
    return found[:n].copy()


@jit
def count(cells: Integers, folds: Integers, outcomes: Integers, counts: Floats) -> None:
    """Count the outcomes of every cell in every fold; `counts` are (cells, folds, outcomes)."""
    counts[:] = 0
    for t in range(cells.size):
        counts[cells[t], folds[t], outcomes[t]] += 1


@jit
def estimate(
    counts: Floats,
    parent_of: Integers,
    parent_counts: Floats,
    parent_chances: Floats,
    chances: Floats,
) -> None:
    """Fill the chances (cells, folds, outcomes) of outcomes, each without its fold's own cases.

    chance = (count + strength * parent's chance) / (cases + strength), where the strength comes
    from how much the cells of one parent differ beyond what drawing alone would make them.
    """
    n_cells, n_folds, n_outcomes = counts.shape
    totals = _over_folds(counts)
    parent_totals = _over_folds(parent_counts)
    for f in range(n_folds):
        rho = _dispersion(counts, totals, parent_of, parent_counts, parent_totals, f)
        strength = (1 - rho) / rho
        for c in range(n_cells):
            n = 0.0
            for k in range(n_outcomes):
                n += totals[c, k] - counts[c, f, k]
            for k in range(n_outcomes):
                drawn = strength * parent_chances[parent_of[c], f, k]
                chances[c, f, k] = (totals[c, k] - counts[c, f, k] + drawn) / (n + strength)


@jit_inner
def _over_folds(counts: Floats) -> Floats:
    n_cells, n_folds, n_outcomes = counts.shape
    totals = np.zeros((n_cells, n_outcomes))
    for c in range(n_cells):
        for f in range(n_folds):
            for k in range(n_outcomes):
                totals[c, k] += counts[c, f, k]
    return totals


@jit_inner
def _dispersion(
    counts: Floats,
    totals: Floats,
    parent_of: Integers,
    parent_counts: Floats,
    parent_totals: Floats,
    f: int,
) -> float:
    """Return rho of a Dirichlet-multinomial by moments: 0 if cells only differ by chance."""
    n_cells, n_outcomes = totals.shape
    beyond, scale = 0.0, 0.0
    for c in range(n_cells):
        p = parent_of[c]
        n, whole = 0.0, 0.0
        for k in range(n_outcomes):
            n += totals[c, k] - counts[c, f, k]
            whole += parent_totals[p, k] - parent_counts[p, f, k]
        if n == 0 or n == whole:
            continue
        apart = 1 - n / whole
        for k in range(n_outcomes):
            share = (parent_totals[p, k] - parent_counts[p, f, k]) / whole
            variance = share * (1 - share)
            difference = totals[c, k] - counts[c, f, k] - n * share
            beyond += difference * difference - n * apart * variance
            scale += n * (n - 1) * apart * variance
    if scale <= 0:
        return MIN_RHO
    return min(max(beyond / scale, MIN_RHO), MAX_RHO)


@jit
def decide(chances: Floats, rewards: Floats, actions: Integers) -> None:
    """Fill the best action (cells, folds) by the chances; `rewards` are (actions, outcomes)."""
    n_cells, n_folds, n_outcomes = chances.shape
    for c in range(n_cells):
        for f in range(n_folds):
            best, best_value = 0, -np.inf
            for a in range(rewards.shape[0]):
                value = 0.0
                for k in range(n_outcomes):
                    value += chances[c, f, k] * rewards[a, k]
                if value > best_value:
                    best, best_value = a, value
            actions[c, f] = best


@jit
def earned(counts: Floats, actions: Integers, rewards: Floats) -> float:
    """Return the sum of the rewards of these actions, each fold's own cases counted."""
    total = 0.0
    n_cells, n_folds, n_outcomes = counts.shape
    for c in range(n_cells):
        for f in range(n_folds):
            for k in range(n_outcomes):
                total += counts[c, f, k] * rewards[actions[c, f], k]
    return total


@jit
def follow(
    chain: Integers,
    sizes: Integers,
    outcomes: Integers,
    rewards: Floats,
    strength: float,
    start: int,
    counts: Floats,
    actions: Integers,
) -> None:
    """Play a fixed set from case `start` on: act by the earlier cases, then learn.

    `chain` (T, m + 1) are a case's cells, the coarsest first, and `sizes` (m + 1,) where each
    depth's cells begin among `counts` (all cells, outcomes), which are updated. Each depth's
    chances are drawn towards those of the one before.
    """
    n_outcomes = counts.shape[1]
    chances = np.empty(n_outcomes)
    for t in range(start, outcomes.size):
        for k in range(n_outcomes):
            chances[k] = 1.0 / n_outcomes
        for m in range(sizes.size):
            row = sizes[m] + chain[t, m]
            n = 0.0
            for k in range(n_outcomes):
                n += counts[row, k]
            for k in range(n_outcomes):
                chances[k] = (counts[row, k] + strength * chances[k]) / (n + strength)
        best, best_value = 0, -np.inf
        for a in range(rewards.shape[0]):
            value = 0.0
            for k in range(n_outcomes):
                value += chances[k] * rewards[a, k]
            if value > best_value:
                best, best_value = a, value
        actions[t] = best
        for m in range(sizes.size):
            counts[sizes[m] + chain[t, m], outcomes[t]] += 1
