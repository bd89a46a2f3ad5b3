"""Slow, simple versions of the kernels that evaluate sets of features, with dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.shared.out_of_fold import MAX_RHO, MIN_RHO

Cell = tuple[int, ...]
Floats = NDArray[np.float64]


def out_of_fold_actions(
    columns: Sequence[Sequence[int]],
    folds: Sequence[int],
    outcomes: Sequence[int],
    rewards: Floats,
) -> list[int]:
    """Return the action of every case for a set, its columns in the order of splitting."""
    actions = [0] * len(outcomes)
    for fold in set(folds):
        training = [t for t, f in enumerate(folds) if f != fold]
        probabilities = _probabilities(columns, training, outcomes, rewards.shape[1])
        for t, f in enumerate(folds):
            if f == fold:
                values = rewards @ _finest(probabilities, columns, t)
                actions[t] = int(np.argmax(values))
    return actions


def _finest(
    probabilities: list[dict[Cell, Floats]], columns: Sequence[Sequence[int]], t: int
) -> Floats:
    """Return the probabilities in the finest known cell of case t."""
    for depth in range(len(columns), -1, -1):
        cell = tuple(column[t] for column in columns[:depth])
        if cell in probabilities[depth]:
            return probabilities[depth][cell]
    raise AssertionError("the coarsest cell is always known")


def _probabilities(
    columns: Sequence[Sequence[int]], training: Sequence[int], outcomes: Sequence[int], n: int
) -> list[dict[Cell, Floats]]:
    counts = [_count(columns[:depth], training, outcomes, n) for depth in range(len(columns) + 1)]
    whole = counts[0][()] + 1 / n
    probabilities: list[dict[Cell, Floats]] = [{(): whole / whole.sum()}]
    for depth in range(1, len(columns) + 1):
        rho = dispersion(counts[depth], counts[depth - 1])
        strength = (1 - rho) / rho
        above = probabilities[-1]
        probabilities.append(
            {
                cell: (count + strength * above[cell[:-1]]) / (count.sum() + strength)
                for cell, count in counts[depth].items()
            }
        )
    return probabilities


def _count(
    columns: Sequence[Sequence[int]], rows: Sequence[int], outcomes: Sequence[int], n: int
) -> dict[Cell, Floats]:
    counts: dict[Cell, Floats] = defaultdict(lambda: np.zeros(n))
    for t in rows:
        counts[tuple(column[t] for column in columns)][outcomes[t]] += 1
    return dict(counts)


def dispersion(counts: dict[Cell, Floats], parents: dict[Cell, Floats]) -> float:
    """Return rho by moments: how much the cells of a parent differ beyond sampling noise."""
    beyond = scale = 0.0
    for cell, count in counts.items():
        parent = parents[cell[:-1]]
        n, whole = count.sum(), parent.sum()
        if n == whole:
            continue
        share = parent / whole
        variance = share * (1 - share)
        remainder = 1 - n / whole
        beyond += float(((count - n * share) ** 2 - n * remainder * variance).sum())
        scale += float((n * (n - 1) * remainder * variance).sum())
    return min(max(beyond / scale, MIN_RHO), MAX_RHO) if scale > 0 else MIN_RHO


def learned_actions(
    columns: Sequence[Sequence[int]],
    outcomes: Sequence[int],
    rewards: Floats,
    strength: float,
    start: int,
) -> list[int]:
    """Return the actions of a fixed set from case `start` on, by the outcomes of earlier cases."""
    n = rewards.shape[1]
    seen: Counter[tuple[Cell, int]] = Counter()
    actions = []
    for t, outcome in enumerate(outcomes):
        cells = [tuple(column[t] for column in columns[:d]) for d in range(len(columns) + 1)]
        if t >= start:
            probabilities = np.full(n, 1 / n)
            for cell in cells:
                counts = np.array([seen[cell, k] for k in range(n)])
                probabilities = (counts + strength * probabilities) / (counts.sum() + strength)
            actions.append(int(np.argmax(rewards @ probabilities)))
        for cell in cells:
            seen[cell, outcome] += 1
    return actions
