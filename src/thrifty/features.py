"""Features: categories, and numbers cut into intervals.

A `Feature` turns values into codes. All other modules handle codes only.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from thrifty.errors import InvalidProblem, UnknownName
from thrifty.parameters import as_float

MAX_INTERVALS = 255
MISSING = "(missing)"


@dataclass(frozen=True)
class Feature:
    """A feature with a finite set of levels (the states X_i of the paper).

    Codes count the levels from 0. Use `Feature.number` for a number: its levels are intervals.

    Parameters
    ----------
    name : str
        Name of the feature, unique within a problem.
    levels : sequence of str
        Names of the levels, in the order of their codes.
    edges : sequence of float
        Upper ends of the intervals, if the feature is a number. Every interval but the last
        includes its upper end.
    missing : str, optional
        Level of a missing value. It must be one of `levels`.
    other : str, optional
        Level of a name that is not among `levels`. It must be one of `levels`.

    Examples
    --------
    >>> health = Feature("health", ("not_recom", "recommended", "priority"))
    >>> health.code("priority")
    2
    """

    name: str
    levels: tuple[str, ...]
    edges: tuple[float, ...] = ()
    missing: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        levels = as_names(self.levels, f"the levels of feature {self.name!r}")
        object.__setattr__(self, "levels", levels)
        if not self.levels:
            raise InvalidProblem(
                f"feature {self.name!r} has no levels, so it can never be observed: "
                "give it at least one."
            )
        require_distinct(self.levels, f"feature {self.name!r}: level")
        object.__setattr__(self, "edges", _edges(self.name, self.edges))
        self._require_special_levels()
        if self.edges:
            self._require_intervals()

    @classmethod
    def number(
        cls,
        name: str,
        edges: Sequence[float],
        *,
        levels: Sequence[str] | None = None,
        missing: bool | str = False,
    ) -> Feature:
        """Make an ordered feature: a number, cut into intervals.

        Parameters
        ----------
        name : str
            Name of the feature.
        edges : sequence of float
            Upper ends of the intervals: increasing, finite numbers. Every interval includes its
            upper end. One more interval holds everything above the last edge.
        levels : sequence of str, optional
            Names of the intervals, the lowest first. By default they are made from the edges.
        missing : bool or str
            True if values may be missing. Missing values get their own level, the last one. Give
            a string to choose the name of that level.

        Returns
        -------
        Feature
            The ordered feature.

        Examples
        --------
        >>> age = Feature.number("age", edges=(18, 30, 45, 70), missing=True)
        >>> age.levels
        ('up to 18', '18 to 30', '30 to 45', '45 to 70', 'over 70', '(missing)')
        >>> age.code(30), age.code(30.5), age.code(None)
        (1, 2, 5)
        """
        ends = _edges(name, edges)
        if not ends:
            raise InvalidProblem(
                f"feature {name!r} has no edges, so all numbers would be one level: give at least "
                "one."
            )
        names = interval_names(ends) if levels is None else as_names(levels, f"levels of {name!r}")
        if missing is False:
            return cls(name, names, ends)
        gap = unused_name(MISSING, names) if missing is True else missing
        return cls(name, (*names, gap), ends, missing=gap)

    @property
    def ordered(self) -> bool:
        """True if the levels are intervals of a number."""
        return bool(self.edges)

    def code(self, value: Any) -> int:
        """Return the code of a value.

        Parameters
        ----------
        value : str, float or None
            Name of a level, a number (or its text, as read from a CSV file) if the feature is
            ordered, or None if the value is missing.

        Returns
        -------
        int
            Position of the level, counted from 0.

        Raises
        ------
        UnknownName
            If no level fits the value.
        """
        try:  # a level's name, the usual case, needs one lookup
            return self._codes[value]
        except (KeyError, TypeError):
            return self._code(value)

    def level(self, value: Any) -> str:
        """Return the name of the level that a value belongs to.

        Parameters
        ----------
        value : str, float or None
            Same as for `code`.

        Returns
        -------
        str
            Name of the level.
        """
        return self.levels[self.code(value)]

    def _code(self, value: Any) -> int:
        number = _number_from_text(value) if self.edges else as_float(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if self.missing is None:
                raise UnknownName(
                    f"feature {self.name!r} has no level for missing values: give the value, or "
                    "leave the feature out if it could not be obtained."
                )
            return self._codes[self.missing]
        if self.edges and not math.isnan(number):
            return bisect_left(self.edges, number)
        if self.other is not None and isinstance(value, str):
            return self._codes[self.other]
        if not math.isnan(number):
            raise UnknownName(
                f"feature {self.name!r} got the number {value!r}, but its levels are names: use "
                f"one of {_shown(self.levels)}."
            )
        hint = "a number, or " if self.edges else ""
        raise UnknownName(
            f"feature {self.name!r} has no level {value!r}: use {hint}one of {_shown(self.levels)}."
        )

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {level: code for code, level in enumerate(self.levels)}

    def _require_special_levels(self) -> None:
        for what in ("missing", "other"):
            level = getattr(self, what)
            if level is not None and level not in self.levels:
                raise InvalidProblem(
                    f"feature {self.name!r}: {what} is {level!r}, which is not one of its levels "
                    f"{_shown(self.levels)}: add it, or correct the name."
                )

    def _require_intervals(self) -> None:
        needed = len(self.edges) + 1
        intervals = self.levels[:needed]
        if len(intervals) < needed or {self.missing, self.other} & set(intervals):
            raise InvalidProblem(
                f"feature {self.name!r}: {len(self.edges)} edges make {needed} intervals, and its "
                f"first {needed} levels are {_shown(intervals)}: name every interval, lowest "
                "first, and the level of missing values after them."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as a dictionary of JSON values.

        Returns
        -------
        dict
            Input for `from_dict`.
        """
        plain: dict[str, Any] = {"name": self.name, "levels": list(self.levels)}
        if self.edges:
            plain["edges"] = list(self.edges)
        plain |= {k: getattr(self, k) for k in ("missing", "other") if getattr(self, k) is not None}
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Feature:
        """Make a feature from the output of `to_dict`.

        Parameters
        ----------
        plain : dict
            Output of `to_dict`.

        Returns
        -------
        Feature
            An equal feature.
        """
        return cls(
            plain["name"],
            tuple(plain["levels"]),
            tuple(plain.get("edges", ())),
            plain.get("missing"),
            plain.get("other"),
        )


def interval_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return names for the intervals between edges.

    >>> interval_names((0.5, 1000))
    ('up to 0.5', '0.5 to 1,000', 'over 1,000')
    """
    shown = [short_number(edge) for edge in edges]
    if len(set(shown)) < len(shown):
        shown = [repr(edge) for edge in edges]
    between = (f"{low} to {high}" for low, high in pairwise(shown))
    return (f"up to {shown[0]}", *between, f"over {shown[-1]}")


def short_number(value: float) -> str:
    """Return a number as text: six significant digits, or commas if it is whole."""
    return f"{value:,.0f}" if value % 1 == 0 and abs(value) < 1e15 else f"{value:.6g}"


def unused_name(name: str, taken: Sequence[str]) -> str:
    """Return the name, or a numbered variant that is not taken.

    >>> unused_name("(other)", ["a", "(other)"])
    '(other 2)'
    """
    k, candidate = 1, name
    while candidate in taken:
        k += 1
        candidate = f"{name[:-1]} {k})"
    return candidate


def as_names(names: Any, what: str) -> tuple[str, ...]:
    """Return names as a tuple, or raise `InvalidProblem` if they are a single string."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidProblem(
            f"{what} are {names!r}, which is not a list of names: give a tuple of strings."
        )
    return tuple(names)


def require_distinct(names: Sequence[str], what: str) -> None:
    """Raise `InvalidProblem` if a name is empty or appears twice."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidProblem(
                f"{what} {name!r} is not a name: people and files refer to it by name, "
                "so give it a non-empty string."
            )
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InvalidProblem(
            f"{what} {repeated!r} appears twice, so the name is ambiguous: rename one of them."
        )


def _edges(name: str, edges: Any) -> tuple[float, ...]:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InvalidProblem(f"feature {name!r}: edges are {edges!r}: give increasing numbers.")
    given = tuple(edges)
    numbers = tuple(as_float(edge) for edge in given)
    if not all(map(math.isfinite, numbers)) or any(a >= b for a, b in pairwise(numbers)):
        raise InvalidProblem(
            f"feature {name!r}: edges {list(given)!r} are not finite numbers that increase: each "
            "is the upper end of an interval, so sort them and remove repeated ones."
        )
    if len(numbers) >= MAX_INTERVALS:
        raise InvalidProblem(
            f"feature {name!r}: {len(numbers)} edges make {len(numbers) + 1} intervals, and at "
            f"most {MAX_INTERVALS} are allowed: use fewer edges."
        )
    return numbers


def _number_from_text(value: Any) -> float:
    """Return a number, or the number that a text spells; nan for everything else.

    >>> _number_from_text(" 1.5e3"), _number_from_text("1_000"), _number_from_text("inf")
    (1500.0, nan, nan)
    """
    if not isinstance(value, str):
        return as_float(value)
    try:
        number = float(value)
    except ValueError:
        return math.nan
    # Python reads "1_000" and "inf" as numbers, but in a file they are more likely mistakes.
    return number if math.isfinite(number) and "_" not in value else math.nan


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
