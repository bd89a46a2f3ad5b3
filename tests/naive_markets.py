"""Slow twins of the exact truth of markets: plain recursion over everything that may be known."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np

from thrifty.plans.exact import KnownDistribution

Known = tuple[tuple[int, int], ...]
"""Columns that are known, with their levels, in the order of the columns."""


def cells(table: KnownDistribution, known: Known) -> np.ndarray:
    """Return the probabilities of the outcomes together with the known levels."""
    level = dict(known)
    place = tuple(level.get(i, slice(None)) for i in range(table.n_columns))
    part = table.joint[place]
    return np.array(part.reshape(-1, part.shape[-1]).sum(axis=0))


def act(table: KnownDistribution, known: Known) -> float:
    """Return the reward of the best action, times the probability of what is known."""
    chances: list[float] = cells(table, known).tolist()
    rows: list[list[float]] = table.rewards.tolist()
    return max(
        sum(chance * reward for chance, reward in zip(chances, row, strict=True)) for row in rows
    )


def set_gain(table: KnownDistribution, columns: tuple[int, ...]) -> float:
    """Return the gain of knowing some columns in every case."""
    levels = [range(table.joint.shape[i]) for i in columns]
    rewards = (act(table, tuple(zip(columns, found, strict=True))) for found in product(*levels))
    bought = [table.names[i] for i in columns if i not in table.free]
    price = table.prices.total(bought)
    assert price is not None
    return sum(rewards) - price


def best_fixed(table: KnownDistribution) -> float:
    """Return the gain of the best fixed set, free columns included."""
    priced = [i for i in range(table.n_columns) if i not in table.free]
    sets = (chosen for size in range(len(priced) + 1) for chosen in combinations(priced, size))
    return max(set_gain(table, tuple(sorted((*table.free, *chosen)))) for chosen in sets)


def best_stepwise(table: KnownDistribution) -> float:
    """Return the gain of the best stepwise plan."""

    @cache
    def value(known: Known) -> float:
        owned = [i for i, _ in known]
        names = [table.names[i] for i in owned if i not in table.free]
        best = act(table, known)
        chance = float(cells(table, known).sum())
        for i in range(table.n_columns):
            if i in owned:
                continue
            price = table.prices.total([table.names[i]], names)
            assert price is not None
            after = (
                value(tuple(sorted((*known, (i, level))))) for level in range(table.joint.shape[i])
            )
            best = max(best, sum(after) - price * chance)
        return best

    levels = [range(table.joint.shape[i]) for i in table.free]
    return sum(value(tuple(zip(table.free, found, strict=True))) for found in product(*levels))
