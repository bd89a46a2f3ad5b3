"""Building blocks of the families: random tables and schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.schedule import Schedule
from thrifty.environments.streams import streams
from thrifty.environments.world import N_STREAMS, World
from thrifty.parameters import Whole, check_parameter
from thrifty.problem import Problem

Floats = NDArray[np.float64]
Rng = np.random.Generator

ROUNDS = 10_000
PRICES = (0.03, 0.08)
MODEST = (0.01, 0.04)
CHEAP = (0.005, 0.03)
REWARD_CHANGES = (0.15, 0.35, 0.6, 0.8)
COST_CHANGES = (0.4, 0.7)
MAX_CHANGES = 50
LEVELS = (3, 2, 4)
"""Numbers of levels of the features of random tables, in turn."""


def tables_stream(seed: int) -> Rng:
    """Return the stream that a family draws its tables from."""
    return streams(seed, N_STREAMS + 1)[-1]  # World.draw uses the first streams


def few_relevant(
    seed: int,
    rng: Rng,
    *,
    n_features: int,
    n_relevant: int,
    n_levels: int,
    changes: int | None,
    rounds: int,
    joint: Floats | None = None,
    prices: tuple[float, float] = PRICES,
) -> World:
    """Make a world in which the same few features, chosen at random, are always relevant."""
    places = rng.choice(n_features, size=n_relevant, replace=False).tolist()
    levels = (n_levels,) * n_relevant
    return make_world(
        seed,
        rng,
        independent(rng, levels) if joint is None else joint,
        stacked(lambda: contrasted(rng, 3, levels), changes),
        changes=changes,
        rounds=rounds,
        prices=prices,
        irrelevant=irrelevant_levels(rng, (n_levels,) * n_features, places),
    )


def make_world(
    seed: int,
    rng: Rng,
    joint: Floats,
    rewards: Floats,
    *,
    rounds: int,
    prices: tuple[float, float] = PRICES,
    costs: Floats | None = None,
    changes: int | None = None,
    reward_changes: Sequence[float] = REWARD_CHANGES,
    cost_changes: Sequence[float] = COST_CHANGES,
    ramp: int = 0,
    irrelevant: Mapping[int, Floats] = MappingProxyType({}),
    **more: Any,
) -> World:
    """Make a world from tables; `costs` are drawn from `prices` unless they are given.

    `changes` is a number of evenly spaced reward changes. By default `reward_changes` is used.
    """
    if changes is not None:
        reward_changes = [k / (changes + 1) for k in range(1, changes + 1)]
        cost_changes = cost_changes if changes else ()
    check_parameter("rounds", rounds, Whole(100), owner="a family")
    relevant = iter(joint.shape)
    n_features = joint.ndim + len(irrelevant)
    levels = [len(irrelevant[i]) if i in irrelevant else next(relevant) for i in range(n_features)]
    if costs is None:
        costs = rng.uniform(*prices, size=(len(cost_changes) + 1, n_features))
    return World(
        Problem.anonymous(levels, rewards.shape[1]),
        probabilities=joint,
        rewards=rewards,
        costs=costs,
        rounds=rounds,
        reward_schedule=Schedule(moments(reward_changes, rounds), ramp=ramp),
        cost_schedule=Schedule(moments(cost_changes, rounds)),
        irrelevant=irrelevant,
        seed=seed,
        **more,
    )


def moments(shares: Sequence[float], rounds: int) -> list[int]:
    """Return the rounds at the given shares of all rounds."""
    return [round(share * rounds) for share in shares]


def levels_in_turn(n_features: int) -> tuple[int, ...]:
    """Return the number of levels of each feature, taken from LEVELS in turn."""
    return tuple(LEVELS[i % len(LEVELS)] for i in range(n_features))


def distribution(rng: Rng, n_levels: int) -> Floats:
    """Draw the probabilities of a feature's levels."""
    return rng.dirichlet(np.full(n_levels, 3.0))


def independent(rng: Rng, levels: Sequence[int]) -> Floats:
    """Draw the joint probabilities of independent features."""
    joint = np.ones(())
    for n in levels:
        joint = np.multiply.outer(joint, distribution(rng, n))
    return joint


def irrelevant_levels(
    rng: Rng, levels: Sequence[int], relevant: Sequence[int]
) -> dict[int, Floats]:
    """Draw the probabilities of the irrelevant features' levels, by position."""
    return {i: distribution(rng, n) for i, n in enumerate(levels) if i not in relevant}


def n_periods(changes: int | None) -> int:
    """Return the number of reward tables, one for each period between changes."""
    if changes is None:
        return len(REWARD_CHANGES) + 1
    check_parameter("changes", changes, Whole(0, MAX_CHANGES), owner="a family")
    return changes + 1


def stacked(table: Callable[[], Floats], changes: int | None) -> Floats:
    """Draw a table for each period and stack the tables."""
    return np.stack([table() for _ in range(n_periods(changes))])


def random_rewards(rng: Rng, n_actions: int, levels: tuple[int, ...], periods: int) -> Floats:
    """Return a table for each period; three features, chosen for each table, are relevant."""

    def table() -> Floats:
        n_features = len(levels)
        chosen = rng.choice(n_features, size=min(3, n_features), replace=False)
        places = sorted(chosen.tolist())
        return over_features(
            contrasted(rng, n_actions, [levels[i] for i in places]), places, levels
        )

    return np.stack([table() for _ in range(periods)])


def xor_table(rng: Rng, pair: Sequence[int], levels: Sequence[int]) -> Floats:
    """Return mean rewards of two actions; the better one depends on whether a pair agrees."""
    differ = np.array([[0.15, 0.85], [0.85, 0.15]])
    return over_features(rng.permutation(np.stack([differ, 1 - differ])), pair, levels)


def contrasted(rng: Rng, n_actions: int, levels: Sequence[int]) -> Floats:
    """Return mean rewards (A, *levels): in each state one action is much better than the others.

    >>> table = contrasted(np.random.default_rng(0), 3, (2, 3))
    >>> (table >= 0.7).sum(axis=0).tolist(), (table >= 0.7).sum(axis=(1, 2)).tolist()
    ([[1, 1, 1], [1, 1, 1]], [2, 2, 2])
    """
    shape = (n_actions, prod(levels))
    best = one_hot(best_actions(rng, *shape), n_actions)
    means = np.where(best, rng.uniform(0.7, 1, shape), rng.uniform(0, 0.4, shape))
    return means.reshape(n_actions, *levels)


def best_actions(rng: Rng, n_actions: int, n_states: int) -> NDArray[np.int64]:
    """Return a best action for each state, each action equally often if possible."""
    turn = rng.permutation(n_actions)[np.arange(n_states) % n_actions]
    return rng.permutation(turn)


def one_hot(actions: NDArray[np.int64], n_actions: int) -> NDArray[np.bool_]:
    """Return the actions of all states as a mask, shape (A, S)."""
    hot: NDArray[np.bool_] = np.arange(n_actions)[:, None] == actions
    return hot


def over_features(table: Floats, places: Sequence[int], levels: Sequence[int]) -> Floats:
    """Extend a table over the features at `places` to a table over all features.

    >>> over_features(np.array([[0.1, 0.2]]), [1], (3, 2)).tolist()
    [[[0.1, 0.2], [0.1, 0.2], [0.1, 0.2]]]
    """
    shape = [n if i in places else 1 for i, n in enumerate(levels)]
    wide = table.reshape(len(table), *shape)
    return np.broadcast_to(wide, (len(table), *levels)).copy()
