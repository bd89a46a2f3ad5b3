"""Validation of the tables of a `Replay`."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import InvalidTable
from thrifty.problem import Problem

MAX_INFERRED_LEVELS = 1_000_000


def codes_table(contexts: ArrayLike) -> NDArray[np.int64]:
    """Return contexts as a read-only (T, D) table of codes, counted from 0."""
    table = _table_of("contexts", contexts, None)
    if table.dtype.kind not in "iu":
        raise InvalidTable(
            f"contexts have dtype {table.dtype}: a code is a whole number that counts a feature's "
            "levels from 0. Missing values need a level of their own, so give them a code too."
        )
    if table.min() < 0:
        t, i = np.argwhere(table < 0)[0]
        raise InvalidTable(
            f"contexts hold code {table[t, i]} in round {t}, feature {i}: codes count levels from "
            "0. Missing values need a level of their own, so give them a code too."
        )
    return freeze(table, np.int64)


def rewards_table(rewards: ArrayLike) -> NDArray[np.float64]:
    """Return rewards as a read-only (T, A) table of numbers in [0, 1]."""
    table = _table_of("rewards", rewards, np.float64)
    bad = ~((table >= 0) & (table <= 1))
    if bad.any():
        t, a = np.argwhere(bad)[0]
        raise InvalidTable(
            f"rewards hold {table[t, a]} in round {t}, action {a}: every confidence bound assumes "
            "rewards in [0, 1], and a replay needs those of all actions. Rescale or complete them."
        )
    return freeze(table, np.float64)


def costs_table(costs: ArrayLike) -> NDArray[np.float64]:
    """Return costs as a read-only (T, D) table of finite numbers of at least 0."""
    table = _table_of("costs", costs, np.float64)
    bad = ~(np.isfinite(table) & (table >= 0))
    if bad.any():
        t, i = np.argwhere(bad)[0]
        raise InvalidTable(
            f"costs hold {table[t, i]} in round {t}, feature {i}: a cost is a finite number of at "
            "least 0, known for every feature. Correct it, or write 0 for what is free."
        )
    return freeze(table, np.float64)


def free_mask(free: ArrayLike | None, n_features: int) -> NDArray[np.bool_]:
    """Return the mask of free features, shape (D,); None means that none is free."""
    if free is None:
        return freeze(np.zeros(n_features), np.bool_)
    mask = np.asarray(free)
    if mask.dtype != np.bool_ or mask.shape != (n_features,):
        raise InvalidTable(
            f"free has dtype {mask.dtype} and shape {mask.shape}: give one True or False for each "
            f"of the {n_features} features."
        )
    return freeze(mask, np.bool_)


def outcomes_column(
    outcomes: ArrayLike | None, problem: Problem, rounds: int
) -> NDArray[np.int64] | None:
    """Return the outcome of each round as a read-only column of codes, shape (T,)."""
    if outcomes is None:
        return None
    if problem.outcomes is None:
        raise InvalidTable(
            "outcomes are given for a problem that declares none: make the problem with "
            "outcomes={action: {outcome: reward}}."
        )
    column = np.asarray(outcomes)
    fits = column.dtype.kind in "iu" and column.shape == (rounds,)
    if not fits or column.min() < 0 or column.max() >= len(problem.outcomes.names):
        raise InvalidTable(
            f"outcomes of dtype {column.dtype} and shape {column.shape} for {rounds} rounds: give "
            f"one whole number from 0 to {len(problem.outcomes.names) - 1} for each round."
        )
    return freeze(column, np.int64)


def change_points(name: str, changes: Sequence[int], rounds: int) -> tuple[int, ...]:
    """Return change points as a tuple of strictly increasing whole numbers in (0, `rounds`)."""
    points = increasing(changes)
    if points is None or (points and not 0 < points[0] <= points[-1] < rounds):
        raise InvalidTable(
            f"{name} are {changes!r}: a change point is the first round, counted from 0, of a new "
            f"period, so give strictly increasing whole numbers from 1 to {rounds - 1}."
        )
    return points


def increasing(numbers_: Sequence[int]) -> tuple[int, ...] | None:
    """Return strictly increasing whole numbers as a tuple, or None for anything else.

    >>> increasing([3, 5]), increasing([3, 3]), increasing([0.5])
    ((3, 5), None, None)
    """
    values = tuple(numbers_)
    if any(isinstance(v, bool) or not isinstance(v, numbers.Integral) for v in values):
        return None
    points = tuple(int(v) for v in values)
    return points if all(a < b for a, b in pairwise(points)) else None


def require_fit(
    contexts: NDArray[np.int64], rewards: NDArray[np.float64], costs: NDArray[np.float64]
) -> None:
    """Raise `InvalidTable` unless the tables have the same rounds and features."""
    if not len(contexts) == len(rewards) == len(costs):
        raise InvalidTable(
            f"{len(contexts)} rows of contexts, {len(rewards)} of rewards and {len(costs)} of "
            "costs: a row is a round, so all three need the same number."
        )
    if contexts.shape != costs.shape:
        raise InvalidTable(
            f"contexts of {contexts.shape[1]} features with costs of {costs.shape[1]}: every "
            "feature has one column in each."
        )


def inferred_problem(contexts: NDArray[np.int64], n_actions: int) -> Problem:
    """Return a problem with generated names, and levels up to the largest code."""
    levels = contexts.max(axis=0) + 1
    if levels.max() > MAX_INFERRED_LEVELS:
        i = int(levels.argmax())
        raise InvalidTable(
            f"contexts hold code {levels[i] - 1} in feature {i}: that looks like an identifier, "
            "not like a level. Recode the feature, or give a problem."
        )
    return Problem.anonymous(levels.tolist(), n_actions)


def require_problem(
    problem: Problem, contexts: NDArray[np.int64], rewards: NDArray[np.float64]
) -> None:
    """Raise `InvalidTable` unless the tables fit the problem."""
    shape = (contexts.shape[1], rewards.shape[1])
    if shape != (problem.n_features, problem.n_actions):
        raise InvalidTable(
            f"tables of {shape[0]} features and {shape[1]} actions for a problem of "
            f"{problem.n_features} and {problem.n_actions}: give one column for each."
        )
    too_high = contexts >= problem.levels
    if too_high.any():
        t, i = np.argwhere(too_high)[0]
        raise InvalidTable(
            f"contexts hold code {contexts[t, i]} in round {t} for feature "
            f"{problem.features[i].name!r}, which has {problem.levels[i]} levels: codes count from "
            f"0 to {problem.levels[i] - 1}. Correct the code or add the level to the problem."
        )


def freeze(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return a read-only copy in C order."""
    copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def numbers_of(name: str, values: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Return the values as an array of numbers, or raise `InvalidTable`."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as problem:
        raise InvalidTable(
            f"{name} are not a table of numbers ({problem}): give rows of equal length."
        ) from None


def _table_of(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    table = numbers_of(name, values, dtype)
    if table.ndim != 2 and table.size:
        raise InvalidTable(f"{name} have {table.ndim} dimensions: give a table, one row per round.")
    if not table.size:
        raise InvalidTable(
            f"{name} of shape {table.shape} are empty: a replay needs at least one round, one "
            "feature and one action."
        )
    return table
