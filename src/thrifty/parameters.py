"""What a parameter may be, declared as data beside it, with one uniform message."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

from thrifty.errors import InvalidParameter


class Constraint(Protocol):
    """The values that a parameter may take."""

    def accepts(self, value: Any) -> bool:
        """Whether `value` is one of them."""

    def convert(self, value: Any) -> Any:
        """Return an accepted value as a plain float, int, string or flag."""

    def __str__(self) -> str:
        """Complete the sentence "it must be ..."."""


@dataclass(frozen=True)
class Real:
    """A finite number between `low` and `high`, the ends included unless `open`.

    >>> Real(0, 1, open=True).accepts(1)
    False
    >>> print(Real(0, 1, open=True))
    a number with 0 < value < 1
    """

    low: float = -math.inf
    high: float = math.inf
    open: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether `value` is a real number (not a bool) in the interval."""
        number = as_float(value)
        inside = self.low < number < self.high if self.open else self.low <= number <= self.high
        return math.isfinite(number) and inside

    def convert(self, value: Any) -> float:
        """Return the number as a float."""
        return float(value)

    def __str__(self) -> str:
        less = "<" if self.open else "<="
        left = "" if self.low == -math.inf else f"{self.low} {less} "
        right = "" if self.high == math.inf else f" {less} {self.high}"
        return f"a number with {left}value{right}"


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`.

    >>> Whole(1).accepts(0), Whole(1).accepts(2.0), Whole(1).accepts(2)
    (False, False, True)
    """

    low: int = 0
    high: int = 2**53

    def accepts(self, value: Any) -> bool:
        """Whether `value` is an integer (not a bool) in the range."""
        return is_whole(value) and self.low <= int(value) <= self.high

    def convert(self, value: Any) -> int:
        """Return the number as an int."""
        return int(value)

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Optional:
    """Whatever the other constraint allows, or None.

    >>> print(Optional(Whole(1, 9)))
    None or a whole number from 1 to 9
    """

    other: Constraint

    def accepts(self, value: Any) -> bool:
        """Whether `value` is None or an accepted value."""
        return value is None or self.other.accepts(value)

    def convert(self, value: Any) -> Any:
        """Return None, or the value as the other constraint does."""
        return None if value is None else self.other.convert(value)

    def __str__(self) -> str:
        return f"None or {self.other}"


@dataclass(frozen=True)
class Choice:
    """One of a few names (or True and False).

    >>> print(Choice("ordinal", "one-hot"))
    one of 'ordinal', 'one-hot'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def accepts(self, value: Any) -> bool:
        """Whether `value` is one of the choices, of the same type."""
        return any(type(value) is type(choice) and value == choice for choice in self.values)

    def convert(self, value: Any) -> Any:
        """Return the choice."""
        return value

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.values))


FLAG = Choice(True, False)
LENGTH = Whole(1, 10**8)
"""How many rounds or rewards can be remembered one by one."""


def is_whole(value: Any) -> bool:
    """Whether `value` is an integer, Python's or numpy's, and not a bool."""
    if type(value) is int:  # by far the most frequent, and ten times as fast
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """Return a real number as a float: nan if it is none, infinity if it is too large.

    >>> as_float("1"), as_float(True), as_float(10**400), as_float(-(10**400))
    (nan, nan, inf, -inf)
    """
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def require_instance(value: Any, kind: type, name: str, hint: str = "") -> None:
    """Refuse `value` unless it is of this kind.

    >>> require_instance(5, list, "seeds", "for instance [0, 1, 2]")
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidParameter: seeds is 5, but it must be of type list: give one, for \
instance [0, 1, 2].
    """
    if not isinstance(value, kind):
        example = f", {hint}" if hint else ""
        raise InvalidParameter(
            f"{name} is {value!r}, but it must be of type {kind.__name__}: give one{example}."
        )


def check_parameter(name: str, value: Any, allowed: Constraint, *, owner: str) -> Any:
    """Return `value`, converted, or refuse it unless `allowed` accepts it.

    >>> check_parameter("delta", 1.5, Real(0, 1, open=True), owner="NCCUCRL2")
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidParameter: NCCUCRL2's delta is 1.5, but it must be a number with 0 < \
value < 1: choose another value.
    """
    if not allowed.accepts(value):
        raise InvalidParameter(
            f"{owner}'s {name} is {value!r}, but it must be {allowed}: choose another value."
        )
    return allowed.convert(value)
