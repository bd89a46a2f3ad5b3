"""Constraints on parameters, declared as data next to the parameter."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

from thrifty.errors import InvalidParameter


class Constraint(Protocol):
    """The set of values that a parameter accepts.

    `str` of a constraint completes the sentence "it must be ...".
    """

    def accepts(self, value: Any) -> bool:
        """Return True if the parameter accepts the value.

        Parameters
        ----------
        value : Any
            Any value.

        Returns
        -------
        bool
            True if the value is accepted.
        """

    def convert(self, value: Any) -> Any:
        """Return an accepted value as a plain Python value.

        Parameters
        ----------
        value : Any
            An accepted value.

        Returns
        -------
        Any
            A float, int, string, bool or None.
        """

    def __str__(self) -> str:
        """Complete the sentence "it must be ..."."""


@dataclass(frozen=True)
class Real:
    """A finite number in an interval.

    Parameters
    ----------
    low : float
        Lower end.
    high : float
        Upper end.
    open : bool
        True if the ends themselves are excluded.

    Examples
    --------
    >>> Real(0, 1, open=True).accepts(1)
    False
    >>> print(Real(0, 1, open=True))
    a number with 0 < value < 1
    """

    low: float = -math.inf
    high: float = math.inf
    open: bool = False

    def accepts(self, value: Any) -> bool:
        """Return True if the value is a real number (not a bool) in the interval.

        Parameters
        ----------
        value : Any
            Any value.

        Returns
        -------
        bool
            True if the value is accepted.
        """
        number = as_float(value)
        inside = self.low < number < self.high if self.open else self.low <= number <= self.high
        return math.isfinite(number) and inside

    def convert(self, value: Any) -> float:
        """Return the number as a float.

        Parameters
        ----------
        value : Any
            An accepted value.

        Returns
        -------
        float
            The number.
        """
        return float(value)

    def __str__(self) -> str:
        less = "<" if self.open else "<="
        left = "" if self.low == -math.inf else f"{self.low} {less} "
        right = "" if self.high == math.inf else f" {less} {self.high}"
        return f"a number with {left}value{right}"


@dataclass(frozen=True)
class Whole:
    """A whole number in a range.

    Parameters
    ----------
    low : int
        Smallest value.
    high : int
        Largest value.

    Examples
    --------
    >>> Whole(1).accepts(0), Whole(1).accepts(2.0), Whole(1).accepts(2)
    (False, False, True)
    """

    low: int = 0
    high: int = 2**53

    def accepts(self, value: Any) -> bool:
        """Return True if the value is an integer (not a bool) in the range.

        Parameters
        ----------
        value : Any
            Any value.

        Returns
        -------
        bool
            True if the value is accepted.
        """
        return is_whole(value) and self.low <= int(value) <= self.high

    def convert(self, value: Any) -> int:
        """Return the number as an int.

        Parameters
        ----------
        value : Any
            An accepted value.

        Returns
        -------
        int
            The number.
        """
        return int(value)

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Optional:
    """None, or a value that another constraint accepts.

    Parameters
    ----------
    other : Constraint
        The other constraint.

    Examples
    --------
    >>> print(Optional(Whole(1, 9)))
    None or a whole number from 1 to 9
    """

    other: Constraint

    def accepts(self, value: Any) -> bool:
        """Return True for None, and for values that the other constraint accepts.

        Parameters
        ----------
        value : Any
            Any value.

        Returns
        -------
        bool
            True if the value is accepted.
        """
        return value is None or self.other.accepts(value)

    def convert(self, value: Any) -> Any:
        """Return None, or the value as the other constraint converts it.

        Parameters
        ----------
        value : Any
            An accepted value.

        Returns
        -------
        Any
            None, or the converted value.
        """
        return None if value is None else self.other.convert(value)

    def __str__(self) -> str:
        return f"None or {self.other}"


@dataclass(frozen=True)
class Choice:
    """One of a few values.

    Parameters
    ----------
    *values : Any
        The values, such as names, or True and False.

    Examples
    --------
    >>> print(Choice("ordinal", "one-hot"))
    one of 'ordinal', 'one-hot'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def accepts(self, value: Any) -> bool:
        """Return True if the value is one of the choices and has the same type.

        Parameters
        ----------
        value : Any
            Any value.

        Returns
        -------
        bool
            True if the value is accepted.
        """
        return any(type(value) is type(choice) and value == choice for choice in self.values)

    def convert(self, value: Any) -> Any:
        """Return the value unchanged.

        Parameters
        ----------
        value : Any
            An accepted value.

        Returns
        -------
        Any
            The same value.
        """
        return value

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.values))


FLAG = Choice(True, False)
LENGTH = Whole(1, 10**8)
"""Number of rounds or rewards that a policy remembers one by one."""


def is_whole(value: Any) -> bool:
    """Return True if the value is an integer of Python or numpy, and not a bool."""
    if type(value) is int:  # the usual case, ten times as fast
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """Return a real number as a float: nan if it is not a number, infinity if it is too large.

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
    """Raise `InvalidParameter` unless the value is an instance of `kind`.

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
    """Return the converted value, or raise `InvalidParameter` if it is not allowed.

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
