"""Worlds by name, as experiments refer to them: functions of a seed and of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from thrifty.environments import Replay, World, nursery
from thrifty.errors import InvalidParameter, UnknownName


def _published(seed: int) -> Replay:  # noqa: ARG001 (the arrays are what they are)
    return _published_arrays()


@lru_cache(maxsize=1)
def _published_arrays() -> Replay:
    return nursery.published()


def _tuning(seed: int) -> Replay:  # noqa: ARG001
    return _tuning_arrays()


@lru_cache(maxsize=1)
def _tuning_arrays() -> Replay:
    return nursery.tuning()


def _random(
    seed: int,
    *,
    levels: tuple[int, ...] = (3, 3, 3),
    n_actions: int = 3,
    rounds: int = 10_000,
    reward_changes: tuple[int, ...] = (),
    cost_changes: tuple[int, ...] = (),
    ramp: int = 0,
    prices: tuple[float, float] = (0.03, 0.08),
    tables: int | None = None,
) -> Replay:
    """Draw random tables from the seed, or from `tables` if every seed is to have the same."""
    world = World.random(
        levels=tuple(levels),
        n_actions=n_actions,
        rounds=rounds,
        reward_changes=tuple(reward_changes),
        cost_changes=tuple(cost_changes),
        ramp=ramp,
        prices=(prices[0], prices[1]),
        seed=seed if tables is None else tables,
    )
    return world.draw(seed)


WORLDS: Mapping[str, Callable[..., Replay]] = MappingProxyType(
    {
        "nursery/published": _published,
        "nursery/shuffled": nursery.shuffled,
        "nursery/stationary": nursery.stationary,
        "nursery/tuning": _tuning,
        "random": _random,
    }
)


def world_named(name: str) -> Callable[..., Replay]:
    """Return what makes the world called `name` from a seed.

    >>> world_named("nursery/published")(0).horizon
    10000
    """
    if name not in WORLDS:
        raise UnknownName(f"there is no world {name!r}: use one of {', '.join(WORLDS)}.")
    return WORLDS[name]


def require_world_parameters(name: str, params: Mapping[str, Any]) -> None:
    """Refuse parameters that the world does not have."""
    known = sorted(set(inspect.signature(world_named(name)).parameters) - {"seed"})
    for key in params:
        if key not in known:
            raise InvalidParameter(
                f"world {name!r} has no parameter {key!r}: its parameters are "
                f"{', '.join(known) or 'none'}."
            )
