"""Traverse everything an object holds: to measure its size and to compare its state."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from types import ModuleType
from typing import Any

import numpy as np

from thrifty.problem import Problem

_NOT_HELD = (Problem, ModuleType, np.random.Generator, np.random.BitGenerator)
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), np.ndarray, np.generic)


def walk(value: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the value and everything it holds, with paths; functions and generators are skipped."""
    seen = set() if seen is None else seen
    # Compiled functions have caches of their own, which are not state of the policy.
    if isinstance(value, _NOT_HELD) or (path and callable(value)):
        return
    if id(value) in seen and not isinstance(value, _PLAIN):
        return
    seen.add(id(value))
    yield path, value
    for step, part in _parts(value):
        yield from walk(part, f"{path}{step}", seen)


def deep_size(value: Any) -> int:
    """Return the approximate size in bytes of the value and everything it holds."""
    return sum(_size(part) for _, part in walk(value))


def snapshot(value: Any) -> dict[str, Any]:
    """Return the plain values that a value holds, by path, comparable with ==.

    >>> sorted(snapshot({"n": 1, "seen": [2.5]}).items())
    [("['n']", 1), ("['seen'][0]", 2.5)]
    """
    return {path: _token(part) for path, part in walk(value) if isinstance(part, _PLAIN)}


def differences(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Return the paths at which two snapshots differ."""
    missing = object()
    return {
        path
        for path in one.keys() | other.keys()
        if one.get(path, missing) != other.get(path, missing)
    }


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, Set):
        yield from ((f"{{{part!r}}}", part) for part in value)
    elif isinstance(value, Sequence):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
    yield from ((f".{name}", part) for name, part in _attributes(value))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def _size(value: Any) -> int:
    return 112 + value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(value)


def _token(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, str(value.tolist())
    if isinstance(value, float | np.generic):
        return repr(value) if value != value else value  # nan equals itself here
    return value
