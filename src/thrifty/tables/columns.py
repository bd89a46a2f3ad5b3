"""Recognise the kind of a column, and code its values as a few levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.features import (
    MISSING,
    Feature,
    date_interval_names,
    interval_names,
    short_number,
    unused_name,
)
from thrifty.frames.coding import as_points, normalise
from thrifty.frames.values import parse_dates, parse_numbers
from thrifty.policy_file.model import ColumnSection

Codes = NDArray[np.int16]

MAX_LEVELS = 12
"""A column with at most this many distinct values keeps each of them as a level."""
MAX_BINS = 10
MAX_PERIODS = 12
IDENTIFIER_SHARE = 0.9
"""A text column with more distinct values than this share of the cases is an identifier."""
_PERIODS = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
_YES_AND_NO = (
    {"true", "false"},
    {"yes", "no"},
    {"y", "n"},
    {"t", "f"},
    {"ja", "nein"},
    {"oui", "non"},
)


@dataclass(frozen=True)
class Coding:
    """How the values of a column become levels; later cases are coded in the same way.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : str
        `number`, `category`, `boolean`, `date` or `text`.
    levels : tuple of str
        Names of the levels.
    description : str
        How the column is coded, for people.
    edges : tuple of float, optional
        Upper ends of the bins of a number, or of a date in seconds since 1970. Starts of the
        periods if `by_period`.
    missing : str, optional
        The level of missing values.
    other : str, optional
        The level of values that are not among the levels.
    absent : tuple of str
        Additional text that means a missing value.
    by_period : bool
        True if a date is coded by named periods. For policies these are a category.
    """

    name: str
    kind: str
    levels: tuple[str, ...]
    description: str
    edges: tuple[float, ...] | None = None
    missing: str | None = None
    other: str | None = None
    absent: tuple[str, ...] = ()
    by_period: bool = False

    @property
    def feature(self) -> Feature:
        """The feature as policies use it; periods are a category."""
        edges = () if self.by_period or self.edges is None else self.edges
        is_date = bool(edges) and self.kind == "date"
        return Feature(self.name, self.levels, edges, self.missing, self.other, is_date)

    def apply(self, values: pl.Series) -> Codes:
        """Return the code of every value.

        >>> coding = Coding("age", "number", ("up to 30", "over 30"), "", edges=(30.0,))
        >>> coding.apply(pl.Series(["18", "30", "31.5"])).tolist()
        [0, 0, 1]
        """
        return self.encode(normalise(self.name, values, self.absent))

    def encode(self, values: pl.Series) -> Codes:
        """Return the code of every value of a column that `normalise` returned."""
        if self.edges is None:
            return self.encode_text(as_text(values))
        points = as_points(self.kind, values)
        unparsed = _first_unparsed(values, points)
        if unparsed is not None:
            raise InvalidTable(
                f"column {self.name!r} contains {unparsed!r}, which is not a {self.kind}: correct "
                "it, or add it to `absent` in its [[features]] entry if it means a missing value."
            )
        return self.encode_points(points)

    def encode_points(self, points: pl.Series) -> Codes:
        """Return the code of every number, or of every date in seconds since 1970."""
        # A number belongs to the bin that ends with it, a date to the period that starts with it.
        side: Literal["left", "right"] = "right" if self.by_period else "left"
        codes = np.searchsorted(np.array(self.edges), points.fill_null(0).to_numpy(), side=side)
        return self._with_missing(codes, points.is_null())

    def encode_text(self, values: pl.Series) -> Codes:
        """Return the code of every name of a level."""
        unknown = -1 if self.other is None else self.levels.index(self.other)
        codes = values.replace_strict(
            list(self.levels),
            list(range(len(self.levels))),
            default=unknown,
            return_dtype=pl.Int64,
        )
        absent = values.is_null()
        found = codes.fill_null(0).to_numpy()
        if (found[~absent.to_numpy()] < 0).any():
            unexpected = values.filter((codes < 0) & ~absent)[0]
            raise InvalidTable(
                f"column {self.name!r} contains {unexpected!r}, which is not one of its levels "
                f"{', '.join(map(repr, self.levels))}: correct it, or add it to the levels."
            )
        return self._with_missing(found, absent)

    def _with_missing(self, codes: NDArray[Any], absent: pl.Series) -> Codes:
        if absent.any():
            if self.missing is None:
                raise InvalidTable(
                    f"column {self.name!r} has a missing value, and no value was missing when it "
                    "was coded: give the value, or add `missing = true` to its [[features]] entry."
                )
            codes = np.where(absent.to_numpy(), self.levels.index(self.missing), codes)
        return codes.astype(np.int16)


def encode_column(
    name: str, values: pl.Series, settings: ColumnSection, missing: tuple[str, ...] = ()
) -> tuple[Codes, Coding]:
    """Recognise the kind of a column and code it; levels given in `settings` are used as they are.

    `missing` is text that means a missing value in any column.
    """
    normalised = normalise(name, values, (*missing, *settings.absent))
    return encode_normalised(name, normalised, settings, missing)


def encode_normalised(
    name: str, values: pl.Series, settings: ColumnSection, missing: tuple[str, ...] = ()
) -> tuple[Codes, Coding]:
    """Code a column that `normalise` returned, as `encode_column` does."""
    declared = declared_coding(settings, missing)
    # Edges without levels leave open whether values are missing, which the table shows.
    if declared is not None and settings.levels is not None:
        return declared.encode(values), declared
    n_missing = values.null_count()
    if n_missing == len(values):
        raise InvalidTable(
            f"column {name!r} is empty in every case, so its worth cannot be estimated: remove it "
            "from [[features]], or fill it in."
        )
    kind = settings.kind or _recognise(name, values)
    absent = tuple(dict.fromkeys((*missing, *settings.absent)))
    coding = replace(_ENCODERS[kind](name, values, settings), absent=absent)
    coding = with_missing_level(coding, settings, n_missing > 0)
    if coding.missing is not None:
        share = _percent(n_missing / len(values))
        description = f"{coding.description}; {share} missing (separate level)"
        coding = replace(coding, description=description)
    return coding.encode(values), coding


def with_missing_level(coding: Coding, settings: ColumnSection, has_missing: bool) -> Coding:
    """Return the coding with a level for missing values, if there are any or if it is declared."""
    if not has_missing and settings.missing_level is None:
        return coding
    level = settings.missing_level or unused_name(MISSING, coding.levels)
    levels = coding.levels if level in coding.levels else (*coding.levels, level)
    return replace(coding, levels=levels, missing=level)


def declared_coding(section: ColumnSection, missing: tuple[str, ...] = ()) -> Coding | None:
    """Return the coding that a policy file gives a column, or None if it gives no levels."""
    feature = section.feature()
    if feature is None:
        return None
    edges = section.edge_values or None
    return Coding(
        section.name,
        section.kind or ("number" if edges else "category"),
        feature.levels,
        f"{len(feature.levels)} levels from policy.toml",
        edges=edges,
        missing=feature.missing,
        other=feature.other,
        absent=tuple(dict.fromkeys((*missing, *section.absent))),
        by_period=section.by_period,
    )


def bins_for(n_cases: int) -> int:
    """Return the number of bins of a numeric column.

    >>> [bins_for(n_cases) for n_cases in (100, 1000, 10_000, 1_000_000)]
    [2, 3, 7, 10]
    """
    return int(min(max(round(n_cases ** (1 / 3) / 3), 2), MAX_BINS))


def is_identifier(values: pl.Series) -> bool:
    """Return True if almost every case has its own text, or if numbers only count the cases."""
    if (values.dtype.is_numeric() or values.dtype == pl.String) and _counts_up(values):
        return True
    if values.dtype != pl.String or values.n_unique() <= max(IDENTIFIER_SHARE * len(values), 50):
        return False
    # Amounts and dates can be distinct in every case too, and are no identifiers.
    sample = values.drop_nulls().head(1000)
    unparsed = min(parse_numbers(sample).null_count(), parse_dates(sample)[0].null_count())
    return unparsed > len(sample) / 2


def _counts_up(values: pl.Series) -> bool:
    """Return True if the values are distinct whole numbers with few gaps."""
    counts = values.cast(pl.Float64, strict=False).drop_nulls()
    if len(counts) < max(len(values), 2) or counts.n_unique() < len(counts):
        return False
    low, high = float(counts.min()), float(counts.max())  # type: ignore[arg-type]
    return bool((counts % 1 == 0).all()) and high - low < 2 * len(counts)


def _recognise(name: str, values: pl.Series) -> str:
    """Return the kind of a column."""
    if values.dtype == pl.Boolean:
        return "boolean"
    if values.dtype == pl.Datetime:
        return "date"
    if values.dtype != pl.String:
        return "number"
    present = values.drop_nulls()
    distinct = present.unique()
    if len(distinct) == 2 and set(distinct.str.to_lowercase()) in _YES_AND_NO:
        return "boolean"
    as_numbers, as_dates = parse_numbers(distinct), parse_dates(distinct)[0]
    for parsed, kind in ((as_numbers, "number"), (as_dates, "date")):
        if parsed.null_count() == 0:
            return kind
    for parsed, kind in ((as_numbers, "number"), (as_dates, "date")):
        exceptions = _exceptions(distinct, parsed)
        if exceptions is not None:
            raise InvalidTable(_mixed_values(name, present, exceptions, kind))
    if is_identifier(values):
        raise InvalidTable(
            f"column {name!r} has {len(distinct):,} distinct values in {len(values):,} cases: it "
            "looks like an identifier, which says nothing about the next case. Remove it from "
            '[[features]], group its values, or add `kind = "text"` to its [[features]] entry to '
            "keep the most frequent ones."
        )
    return "category" if len(distinct) <= MAX_LEVELS else "text"


def unparsed_words(values: pl.Series) -> list[str]:
    """Return the few words in a column of numbers or dates that are neither, sorted.

    >>> unparsed_words(pl.Series([*map(str, range(50)), "unknown"]))
    ['unknown']
    """
    if values.dtype != pl.String:
        return []
    distinct = values.drop_nulls().unique()
    for parsed in (parse_numbers(distinct), parse_dates(distinct)[0]):
        exceptions = _exceptions(distinct, parsed)
        if exceptions is not None:
            return [str(word) for word in exceptions.sort()]
    return []


def _exceptions(distinct: pl.Series, parsed: pl.Series) -> pl.Series | None:
    """Return the values that could not be parsed, if most values could be."""
    exceptions = distinct.filter(parsed.is_null())
    n_parsed = len(distinct) - len(exceptions)
    mostly_parsed = n_parsed > MAX_LEVELS and len(exceptions) <= len(distinct) / 2
    return exceptions if mostly_parsed and len(exceptions) else None


def _mixed_values(name: str, present: pl.Series, exceptions: pl.Series, kind: str) -> str:
    word = exceptions.sort()[0]
    row = int((present == word).arg_max() or 0) + 1
    n_exceptions = int(present.is_in(exceptions.implode()).sum())
    return (
        f"column {name!r} mixes {kind}s with other values: {word!r} (non-empty value {row}), "
        f"{n_exceptions:,} in total. If these mean a missing value, add `absent = [{word!r}]` to "
        'its [[features]] entry; if the column is text, add `kind = "text"`.'
    )


def _first_unparsed(values: pl.Series, parsed: pl.Series) -> Any | None:
    """Return the first value that is present but could not be parsed."""
    unparsed = values.filter(parsed.is_null() & values.is_not_null())
    return unparsed[0] if len(unparsed) else None


def _encode_boolean(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    coding = _encode_category(name, values, settings)
    return replace(coding, kind="boolean", description=f"boolean: {', '.join(coding.levels)}")


def _encode_category(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    levels = sorted(as_text(values).drop_nulls().unique().to_list())
    if len(levels) > (settings.max_levels or MAX_LEVELS):
        return _encode_text(name, values, settings)
    return Coding(name, "category", tuple(levels), f"category, {_count_levels(len(levels))}")


def _encode_text(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    texts = as_text(values).drop_nulls().alias("value")
    # Equal counts are ordered by name, so that the same table always gives the same levels.
    counts = texts.value_counts().sort(["count", "value"], descending=[True, False])
    max_levels = settings.max_levels or MAX_LEVELS
    if len(counts) <= max_levels:
        levels = tuple(sorted(counts["value"].to_list()))
        return Coding(name, "category", levels, f"category, {_count_levels(len(levels))}")
    n_frequent = int((counts["count"].to_numpy() >= max(10, len(values) / 500)).sum())
    kept = counts["value"].to_list()[: max(1, min(max_levels - 1, n_frequent))]
    other = unused_name("(other)", kept)
    covered = float(counts["count"][: len(kept)].sum()) / len(texts)
    frequent = "most frequent one" if len(kept) == 1 else f"{len(kept)} most frequent"
    description = (
        f"text, {len(counts):,} distinct values: the {frequent} ({_percent(covered)} of cases), "
        "others grouped"
    )
    return Coding(name, "text", (*kept, other), description, other=other)


def _encode_number(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    points = as_points("number", values)
    unparsed = _first_unparsed(values, points)
    if unparsed is not None:
        raise InvalidTable(
            f'column {name!r} has kind = "number" and contains {unparsed!r}: correct it, add it to '
            "`absent` in its [[features]] entry, or choose another kind."
        )
    _require_finite(name, points)
    present = points.drop_nulls()
    if settings.edges is not None:
        levels = interval_names(settings.edge_values)
        description = f"numeric, {len(levels)} bins from policy.toml"
        return Coding(name, "number", levels, description, edges=settings.edge_values)
    distinct = present.unique().sort().to_numpy()
    if settings.bins is None and len(distinct) <= MAX_LEVELS:
        return encode_few_numbers(name, distinct)
    bins = settings.bins or bins_for(len(values))
    shares = np.arange(1, bins) / bins
    cuts = np.unique(np.quantile(present.to_numpy(), shares, method="lower"))
    # An edge at the maximum would leave the last bin empty.
    cuts = cuts[cuts < distinct[-1]]
    edges = tuple(cuts.tolist()) or (float(distinct[0]),)
    levels = interval_names(edges)
    return Coding(name, "number", levels, f"numeric, {len(levels)} quantile bins", edges=edges)


def encode_few_numbers(name: str, distinct: NDArray[np.float64]) -> Coding:
    """Keep each number as a level."""
    # Edges lie halfway between values, so a new value goes to the nearest level.
    edges = tuple(((distinct[1:] + distinct[:-1]) / 2).tolist())
    levels = tuple(map(short_number, distinct.tolist()))
    if len(set(levels)) < len(levels):
        levels = tuple(map(repr, distinct.tolist()))
    if not edges:
        # One edge, so that a later case may have another number.
        edges = (float(distinct[0]),)
        description = f"constant, {levels[0]} in every case"
        return Coding(name, "number", interval_names(edges), description, edges=edges)
    return Coding(name, "number", levels, f"numeric, {len(levels)} distinct values", edges=edges)


def _encode_date(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    is_text = values.dtype == pl.String
    points, day_first = parse_dates(values) if is_text else (values, False)
    unparsed = _first_unparsed(values, points)
    if unparsed is not None:
        raise InvalidTable(
            f'column {name!r} has kind = "date" and contains {unparsed!r}: write it as 2024-05-31, '
            "add it to `absent` in its [[features]] entry, or choose another kind."
        )
    if settings.edges is not None:
        levels = date_interval_names(settings.edge_values)
        description = f"date, {len(levels)} intervals from policy.toml"
        return Coding(name, "date", levels, description, edges=settings.edge_values)
    present = points.drop_nulls()
    period = settings.period or _finest_period(present)
    starts = present.dt.truncate(_PERIODS[period]).unique().sort()
    levels = tuple(_period_name(start, period) for start in starts.to_list())
    edges = tuple((starts.dt.epoch("us") / 1e6).to_list()[1:])
    note = " (day before month)" if day_first else ""
    description = f"date, by {period}: {levels[0]} to {levels[-1]}{note}"
    # All dates are in one period: a feature needs two levels, so that earlier dates can be coded.
    if not edges:
        edges = (float(starts.dt.epoch("us")[0] / 1e6),)
        levels = (f"before {levels[0]}", levels[0])
    return Coding(name, "date", levels, description, edges=edges, by_period=True)


_ENCODERS = {
    "boolean": _encode_boolean,
    "category": _encode_category,
    "text": _encode_text,
    "number": _encode_number,
    "date": _encode_date,
}


def _finest_period(present: pl.Series) -> str:
    for period, every in _PERIODS.items():
        if present.dt.truncate(every).n_unique() <= MAX_PERIODS:
            return period
    return "year"


def _period_name(start: datetime, period: str) -> str:
    if period == "year":
        return f"{start:%Y}"
    if period == "quarter":
        return f"{start:%Y} Q{(start.month + 2) // 3}"
    if period == "month":
        return f"{start:%Y-%m}"
    return f"{start:%Y-%m-%d}" if period == "day" else f"week of {start:%Y-%m-%d}"


def as_text(values: pl.Series) -> pl.Series:
    """Return a column that `normalise` returned as the names of levels."""
    if values.dtype == pl.Boolean:
        return values.replace_strict([True, False], ["true", "false"], return_dtype=pl.String)
    if values.dtype == pl.Float64:
        # Numbers with gaps are read as floats: 3.0 should be shown as 3.
        whole = (values.drop_nulls() % 1 == 0).all()
        return (values.cast(pl.Int64, strict=False) if whole else values).cast(pl.String)
    return values.cast(pl.String)


def read_prices(frame: pl.DataFrame, name: str, column: str) -> NDArray[np.float64]:
    """Return the prices of a feature or bundle that are in a column, one for each case."""
    values = normalise(column, frame[column])
    prices = as_points("number", values)
    unusable = ~(prices.is_finite() & (prices >= 0)).fill_null(False)
    if unusable.any():
        row = int(unusable.arg_max() or 0)
        raise InvalidTable(
            f"column {column!r}, the price of {name!r}, is {frame[column][row]!r} in case "
            f"{row + 1}; every case needs a price of at least 0: correct the value, or give one "
            "number as the price."
        )
    return prices.to_numpy().astype(np.float64)


def _require_finite(name: str, points: pl.Series) -> None:
    infinite = points.is_infinite() | points.is_nan()
    if infinite.any():
        row = int(infinite.arg_max() or 0) + 1
        raise InvalidTable(
            f"column {name!r} contains {points[row - 1]} in case {row}, which belongs to no bin: "
            "correct the number, or leave the value empty if it is unknown."
        )


def _count_levels(number: int) -> str:
    return "1 level" if number == 1 else f"{number} levels"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
