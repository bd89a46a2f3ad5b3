"""Worlds by name, as experiments refer to them: functions of a seed and of parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any

from thrifty.environments import Replay, World, nursery
from thrifty.environments.families import FAMILIES
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.parameters import as_float, is_whole


def _published(seed: int) -> Replay:  # noqa: ARG001 (the arrays are what they are)
    return _published_arrays()


@lru_cache(maxsize=1)
def _published_arrays() -> Replay:
    return nursery.published()


def _tuning(seed: int, *, changes: bool = True) -> Replay:  # noqa: ARG001
    return _tuning_arrays(changes)


@lru_cache(maxsize=2)
def _tuning_arrays(changes: bool) -> Replay:
    return nursery.tuning(changes=changes)


def _random(
    seed: int,
    *,
    levels: tuple[int, ...] = (3, 3, 3),
    n_actions: int = 3,
    rounds: int = 10_000,
    reward_changes: tuple[float, ...] = (),
    cost_changes: tuple[float, ...] = (),
    ramp: int = 0,
    prices: tuple[float, float] = (0.03, 0.08),
    tables: int | None = None,
) -> Replay:
    """Draw random tables from the seed, or from `tables` if every seed is to have the same.

    A change below 1 is a share of the rounds.
    """
    world = World.random(
        levels=tuple(levels),
        n_actions=n_actions,
        rounds=rounds,
        reward_changes=_rounds_of(reward_changes, rounds),
        cost_changes=_rounds_of(cost_changes, rounds),
        ramp=ramp,
        prices=(prices[0], prices[1]),
        seed=seed if tables is None else tables,
    )
    return world.draw(seed)


def _rounds_of(changes: Sequence[float], rounds: int) -> tuple[Any, ...]:
    return tuple(round(change * rounds) if 0 < change < 1 else change for change in changes)


def _drawn(make: Callable[..., World]) -> Callable[..., Replay]:
    @wraps(make)
    def draw(seed: int, **params: Any) -> Replay:
        return make(seed, **params).draw(seed)

    return draw


WORLDS: Mapping[str, Callable[..., Replay]] = MappingProxyType(
    {
        "nursery/published": _published,
        "nursery/shuffled": nursery.shuffled,
        "nursery/stationary": nursery.stationary,
        "nursery/tuning": _tuning,
        "random": _random,
        **{name: _drawn(make) for name, make in FAMILIES.items()},
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


def takes_rounds(name: str) -> bool:
    """Return whether the world can be made for any number of rounds.

    >>> takes_rounds("random"), takes_rounds("nursery/published")
    (True, False)
    """
    return "rounds" in _parameters(name)


def require_world_parameters(name: str, params: Mapping[str, Any]) -> None:
    """Refuse parameters that the world does not have, and values of the wrong kind."""
    known = _parameters(name)
    for key, value in params.items():
        if key not in known:
            raise InvalidParameter(
                f"world {name!r} has no parameter {key!r}: its parameters are "
                f"{', '.join(sorted(known)) or 'none'}."
            )
        if not _is_like(value, known[key]):
            raise InvalidParameter(
                f"world {name!r} cannot have {key} = {value!r}: give a value such as {known[key]}."
            )


def _parameters(name: str) -> dict[str, Any]:
    """Return the world's parameters with an example of each: the default, or a whole number."""
    found = inspect.signature(world_named(name)).parameters.items()
    return {key: 0 if it.default is None else it.default for key, it in found if key != "seed"}


def _is_like(value: Any, example: Any) -> bool:
    """Return whether a value is of its example's kind; an empty list may hold any numbers.

    >>> _is_like([2, 3], (3, 3, 3)), _is_like([2.5], (3, 3, 3)), _is_like("many", (3, 3, 3))
    (True, False, False)
    """
    if isinstance(example, tuple):
        kind = example[0] if example else 0.0
        return isinstance(value, list | tuple) and all(_is_like(it, kind) for it in value)
    if isinstance(example, bool):
        return isinstance(value, bool)
    return is_whole(value) if isinstance(example, int) else not math.isnan(as_float(value))
