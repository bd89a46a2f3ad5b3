"""Features: categories, and numbers or dates cut into intervals.

A `Feature` turns values into codes. All other modules handle codes only.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
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

    Codes count the levels from 0. Use `Feature.number` for a number and `Feature.date` for a date:
    their levels are intervals.

    Parameters
    ----------
    name : str
        Name of the feature, unique within a problem.
    levels : sequence of str
        Names of the levels, in the order of their codes.
    edges : sequence of float
        Upper ends of the intervals, if the feature is a number or a date. Every interval but the
        last includes its upper end.
    missing : str, optional
        Level of a missing value. It must be one of `levels`.
    other : str, optional
        Level of a name that is not among `levels`. It must be one of `levels`.
    is_date : bool
        True if the feature is a date. Its edges are seconds since 1970, in UTC.

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
    is_date: bool = False

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
        return cls._intervals(name, _edges(name, edges), levels, missing, is_date=False)

    @classmethod
    def date(
        cls,
        name: str,
        edges: Sequence[str | float | date],
        *,
        levels: Sequence[str] | None = None,
        missing: bool | str = False,
    ) -> Feature:
        """Make an ordered feature: a date, cut into intervals.

        Parameters
        ----------
        name : str
            Name of the feature.
        edges : sequence of str, date or float
            Upper ends of the intervals, in increasing order: dates such as `2024-05-31`, or seconds
            since 1970. A date without a time is its first moment, and one without a time zone is in
            UTC.
        levels : sequence of str, optional
            Names of the intervals, the earliest first. By default they are made from the edges.
        missing : bool or str
            Same as for `number`.

        Returns
        -------
        Feature
            The ordered feature.

        Examples
        --------
        >>> opened = Feature.date("opened", edges=("2024-01-01", "2024-07-01"))
        >>> opened.levels
        ('up to 2024-01-01', '2024-01-01 to 2024-07-01', 'after 2024-07-01')
        >>> opened.code("2024-05-31"), opened.code("2024-07-01T12:00:00Z")
        (1, 2)
        """
        given = as_names(edges, f"feature {name!r}: edges")
        ends = _edges(name, [date_seconds(edge) for edge in given])
        return cls._intervals(name, ends, levels, missing, is_date=True)

    @classmethod
    def _intervals(
        cls,
        name: str,
        ends: tuple[float, ...],
        levels: Sequence[str] | None,
        missing: bool | str,
        *,
        is_date: bool,
    ) -> Feature:
        if not ends:
            raise InvalidProblem(
                f"feature {name!r} has no edges, so all numbers would be one level: give at least "
                "one."
            )
        if levels is None:
            names = date_interval_names(ends) if is_date else interval_names(ends)
        else:
            names = as_names(levels, f"levels of {name!r}")
        if missing is False:
            return cls(name, names, ends, is_date=is_date)
        gap = unused_name(MISSING, names) if missing is True else missing
        return cls(name, (*names, gap), ends, missing=gap, is_date=is_date)

    @property
    def ordered(self) -> bool:
        """True if the levels are intervals of a number or of a date."""
        return bool(self.edges)

    def code(self, value: Any) -> int:
        """Return the code of a value.

        Parameters
        ----------
        value : str, float, bool, date or None
            Name of a level, a number (or its text, as read from a CSV file) if the feature is
            ordered, a date (or its text, such as `2024-05-31`) if it is a date, or None if the
            value is missing. Where levels are names, `3` means the level "3" and True the level
            "true".

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
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if self.missing is None:
                raise UnknownName(
                    f"feature {self.name!r} has no level for missing values: give the value, or "
                    "leave the feature out if it could not be obtained."
                )
            return self._codes[self.missing]
        return self._interval_code(value) if self.edges else self._category_code(value)

    def _interval_code(self, value: Any) -> int:
        number = date_seconds(value) if self.is_date else _number_from_text(value)
        if not math.isnan(number):
            return bisect_left(self.edges, number)
        if self.other is not None and isinstance(value, str):
            return self._codes[self.other]
        kind = "a date such as 2024-05-31" if self.is_date else "a number"
        raise UnknownName(
            f"feature {self.name!r} has no level {value!r}: use {kind}, or one of "
            f"{_shown(self.levels)}."
        )

    def _category_code(self, value: Any) -> int:
        name = _level_name(value)
        if name in self._codes:
            return self._codes[name]
        if self.other is not None and name is not None:
            return self._codes[self.other]
        if not math.isnan(as_float(value)):
            raise UnknownName(
                f"feature {self.name!r} got the number {value!r}, but its levels are names: use "
                f"one of {_shown(self.levels)}."
            )
        raise UnknownName(
            f"feature {self.name!r} has no level {value!r}: use one of {_shown(self.levels)}."
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
        return plain | {"is_date": True} if self.is_date else plain

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
            plain.get("is_date", False),
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


def date_interval_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return names for the intervals between dates, which are seconds since 1970.

    >>> date_interval_names((0, 86400))
    ('up to 1970-01-01', '1970-01-01 to 1970-01-02', 'after 1970-01-02')
    """
    shown = [date_text(edge) for edge in edges]
    between = (f"{low} to {high}" for low, high in pairwise(shown))
    return (f"up to {shown[0]}", *between, f"after {shown[-1]}")


def date_text(seconds: float) -> str:
    """Return seconds since 1970 as an ISO date, with the time unless it is midnight in UTC.

    >>> date_text(0), date_text(90061.5)
    ('1970-01-01', '1970-01-02T01:01:01.500000')
    """
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return moment.date().isoformat() if moment.time() == time() else moment.isoformat()


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


def date_seconds(value: Any) -> float:
    """Return a date, its ISO text or a number as seconds since 1970; nan for everything else.

    >>> date_seconds("1970-01-02"), date_seconds("1970-01-01T02:00:00+01:00"), date_seconds("soon")
    (86400.0, 3600.0, nan)
    """
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
        if isinstance(value, datetime):
            # Without a time zone, a time means UTC, on every computer.
            zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return zoned.timestamp()
    except (ValueError, OverflowError):
        return math.nan
    return as_float(value)


def _level_name(value: Any) -> str | None:
    """Return the name that a table gives a value of a category, or None if it has none.

    >>> _level_name(True), _level_name(3.0), _level_name(2.5), _level_name(["a"])
    ('true', '3', '2.5', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    number = as_float(value)
    if not math.isfinite(number):
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
