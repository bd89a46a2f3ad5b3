"""Slow, obvious twins of the kernels that value sets of features: dictionaries, case by case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.shared.out_of_fold import LEAST_RHO, MOST_RHO

Cell = tuple[int, ...]
Floats = NDArray[np.float64]


def out_of_fold_actions(
    columns: Sequence[Sequence[int]],
    folds: Sequence[int],
    outcomes: Sequence[int],
    rewards: Floats,
) -> list[int]:
    """Return what is done in every case by a set, its columns in the order of the chain."""
    actions = [0] * len(outcomes)
    for fold in set(folds):
        training = [t for t, f in enumerate(folds) if f != fold]
        chances = _chances(columns, training, outcomes, rewards.shape[1])
        for t, f in enumerate(folds):
            if f == fold:
                values = rewards @ _of(chances, columns, t)
                actions[t] = int(np.argmax(values))
    return actions


def _of(chances: list[dict[Cell, Floats]], columns: Sequence[Sequence[int]], t: int) -> Floats:
    """Return the chances in the finest cell that is known of case t."""
    for depth in range(len(columns), -1, -1):
        cell = tuple(column[t] for column in columns[:depth])
        if cell in chances[depth]:
            return chances[depth][cell]
    raise AssertionError("the coarsest cell is always known")


def _chances(
    columns: Sequence[Sequence[int]], training: Sequence[int], outcomes: Sequence[int], n: int
) -> list[dict[Cell, Floats]]:
    counts = [_counted(columns[:depth], training, outcomes, n) for depth in range(len(columns) + 1)]
    whole = counts[0][()] + 1 / n
    chances: list[dict[Cell, Floats]] = [{(): whole / whole.sum()}]
    for depth in range(1, len(columns) + 1):
        rho = dispersion(counts[depth], counts[depth - 1])
        strength = (1 - rho) / rho
        above = chances[-1]
        chances.append(
            {
                cell: (it + strength * above[cell[:-1]]) / (it.sum() + strength)
                for cell, it in counts[depth].items()
            }
        )
    return chances


def _counted(
    columns: Sequence[Sequence[int]], rows: Sequence[int], outcomes: Sequence[int], n: int
) -> dict[Cell, Floats]:
    counts: dict[Cell, Floats] = defaultdict(lambda: np.zeros(n))
    for t in rows:
        counts[tuple(column[t] for column in columns)][outcomes[t]] += 1
    return dict(counts)


def dispersion(counts: dict[Cell, Floats], parents: dict[Cell, Floats]) -> float:
    """Return rho by moments: what cells of a parent differ by, beyond drawing."""
    beyond = scale = 0.0
    for cell, it in counts.items():
        parent = parents[cell[:-1]]
        n, whole = it.sum(), parent.sum()
        if n == whole:
            continue
        share = parent / whole
        variance = share * (1 - share)
        apart = 1 - n / whole
        beyond += float(((it - n * share) ** 2 - n * apart * variance).sum())
        scale += float((n * (n - 1) * apart * variance).sum())
    return min(max(beyond / scale, LEAST_RHO), MOST_RHO) if scale > 0 else LEAST_RHO


def followed(
    columns: Sequence[Sequence[int]],
    outcomes: Sequence[int],
    rewards: Floats,
    strength: float,
    start: int,
) -> list[int]:
    """Return what a fixed set does from case `start` on, by the outcomes of earlier cases."""
    n = rewards.shape[1]
    seen: Counter[tuple[Cell, int]] = Counter()
    actions = []
    for t, outcome in enumerate(outcomes):
        cells = [tuple(column[t] for column in columns[:d]) for d in range(len(columns) + 1)]
        if t >= start:
            chances = np.full(n, 1 / n)
            for cell in cells:
                counts = np.array([seen[cell, k] for k in range(n)])
                chances = (counts + strength * chances) / (counts.sum() + strength)
            actions.append(int(np.argmax(rewards @ chances)))
        for cell in cells:
            seen[cell, outcome] += 1
    return actions
