"""Environments by the names that experiments use: functions of a seed and of parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any

from thrifty.environments import nursery
from thrifty.environments.families import FAMILIES
from thrifty.environments.replay import Replay
from thrifty.environments.world import World
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.parameters import as_float, is_whole


def _published(seed: int) -> Replay:  # noqa: ARG001 (the arrays are fixed)
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
    """Draw random tables of means from the seed, or from `tables` to share them between seeds.

    A change below 1 is a fraction of the rounds.
    """
    world = World.random(
        levels=tuple(levels),
        n_actions=n_actions,
        rounds=rounds,
        reward_changes=_change_rounds(reward_changes, rounds),
        cost_changes=_change_rounds(cost_changes, rounds),
        ramp=ramp,
        prices=(prices[0], prices[1]),
        seed=seed if tables is None else tables,
    )
    return world.draw(seed)


def _change_rounds(changes: Sequence[float], rounds: int) -> tuple[Any, ...]:
    return tuple(round(change * rounds) if 0 < change < 1 else change for change in changes)


def _drawn(make: Callable[..., World]) -> Callable[..., Replay]:
    @wraps(make)
    def draw(seed: int, **params: Any) -> Replay:
        return make(seed, **params).draw(seed)

    return draw


ENVIRONMENTS: Mapping[str, Callable[..., Replay]] = MappingProxyType(
    {
        "nursery/published": _published,
        "nursery/shuffled": nursery.shuffled,
        "nursery/stationary": nursery.stationary,
        "nursery/tuning": _tuning,
        "random": _random,
        **{name: _drawn(make) for name, make in FAMILIES.items()},
    }
)


def environment_named(name: str) -> Callable[..., Replay]:
    """Return the function that makes the environment called `name` from a seed.

    >>> environment_named("nursery/published")(0).horizon
    10000
    """
    if name not in ENVIRONMENTS:
        raise UnknownName(
            f"there is no environment {name!r}: use one of {', '.join(ENVIRONMENTS)}."
        )
    return ENVIRONMENTS[name]


def takes_rounds(name: str) -> bool:
    """Return True if the environment can be made for any number of rounds.

    >>> takes_rounds("random"), takes_rounds("nursery/published")
    (True, False)
    """
    return "rounds" in _parameters(name)


def require_environment_parameters(name: str, params: Mapping[str, Any]) -> None:
    """Raise an error for unknown parameters, and for values of the wrong type."""
    known = _parameters(name)
    for key, value in params.items():
        if key not in known:
            raise InvalidParameter(
                f"environment {name!r} has no parameter {key!r}: its parameters are "
                f"{', '.join(sorted(known)) or 'none'}."
            )
        if not _is_like(value, known[key]):
            raise InvalidParameter(
                f"environment {name!r} does not accept {key} = {value!r}: give a value such as "
                f"{known[key]}."
            )


def _parameters(name: str) -> dict[str, Any]:
    """Return the environment's parameters with an example value for each."""
    signature = inspect.signature(environment_named(name))
    defaults = {key: parameter.default for key, parameter in signature.parameters.items()}
    return {
        key: 0 if default is None else default for key, default in defaults.items() if key != "seed"
    }


def _is_like(value: Any, example: Any) -> bool:
    """Return True if a value has the type of the example; an empty list may hold any numbers.

    >>> _is_like([2, 3], (3, 3, 3)), _is_like([2.5], (3, 3, 3)), _is_like("many", (3, 3, 3))
    (True, False, False)
    """
    if isinstance(example, tuple):
        kind = example[0] if example else 0.0
        return isinstance(value, list | tuple) and all(_is_like(item, kind) for item in value)
    if isinstance(example, bool):
        return isinstance(value, bool)
    return is_whole(value) if isinstance(example, int) else not math.isnan(as_float(value))
