"""Code the columns of a frame by the features of a problem; nothing is learnt from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.features import Feature
from thrifty.frames.values import clean_text, parse_dates, parse_numbers

Codes = NDArray[np.int16]


def normalise(name: str, values: pl.Series, absent: tuple[str, ...] = ()) -> pl.Series:
    """Return a column as text, numbers, booleans or times; null where a value is missing."""
    kind = values.dtype
    if kind == pl.String:
        return clean_text(values, absent)
    if kind == pl.Null:
        return values.cast(pl.String)
    if kind.is_(pl.Categorical) or isinstance(kind, pl.Enum | pl.Categorical):
        return clean_text(values.cast(pl.String), absent)
    if kind == pl.Boolean:
        return values
    if kind.is_numeric():
        return values.cast(pl.Float64).fill_nan(None)
    if kind in (pl.Date, pl.Datetime):
        if isinstance(kind, pl.Datetime) and kind.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return values.cast(pl.Datetime("us"))
    if kind == pl.Object:
        texts = [None if value is None else str(value) for value in values]
        return clean_text(pl.Series(name, texts), absent)
    raise InvalidTable(
        f"column {name!r} has values of type {kind}, which cannot be coded: remove the column, or "
        "convert it to text or numbers."
    )


def as_points(kind: str, values: pl.Series) -> pl.Series:
    """Return a column that `normalise` returned as numbers; dates as seconds since 1970."""
    if kind == "date":
        points = parse_dates(values)[0] if values.dtype == pl.String else values
        microseconds = points.dt.epoch("us")
        # Divided by numpy, which rounds as Python does: a live date must have the same seconds.
        seconds = pl.Series(values.name, microseconds.fill_null(0).to_numpy() / 1e6)
        return seconds.set(microseconds.is_null(), None)
    if values.dtype == pl.String:
        return parse_numbers(values)
    return values.cast(pl.Float64)


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column coded by a feature.

    Parameters
    ----------
    codes : array of int, shape (n,)
        Codes; -1 where a value is missing or new and has no level of its own.
    note : str, optional
        What a reader should know about values that fit no level.
    """

    codes: Codes
    note: str | None = None


def encode_by_feature(feature: Feature, values: pl.Series) -> CodedColumn:
    """Code a column that `normalise` returned by the levels or edges of a feature.

    Parameters
    ----------
    feature : Feature
        The feature.
    values : polars.Series
        The column.

    Returns
    -------
    CodedColumn
        Its codes, and a note if there are values that fit no level.

    Examples
    --------
    >>> age = Feature.number("age", edges=(18, 65))
    >>> encode_by_feature(age, pl.Series([17.0, None, 70.0])).codes.tolist()
    [0, -1, 2]
    """
    if feature.edges:
        codes, absent, note = _interval_codes(feature, values)
    else:
        codes, absent, note = _category_codes(feature, values)
    missing = -1 if feature.missing is None else feature.levels.index(feature.missing)
    return CodedColumn(np.where(absent.to_numpy(), missing, codes).astype(np.int16), note)


def _interval_codes(feature: Feature, values: pl.Series) -> tuple[Codes, pl.Series, str | None]:
    """Return the interval of every value, True for values that are in none, and a note."""
    kind = "date" if feature.is_date and not values.dtype.is_numeric() else "number"
    points = as_points(kind, values)
    unparsed = values.filter(points.is_null() & values.is_not_null())
    codes = np.searchsorted(np.array(feature.edges), points.fill_null(0).to_numpy())
    return codes.astype(np.int16), points.is_null(), _note(feature, unparsed, f"no {kind}s")


def _category_codes(feature: Feature, values: pl.Series) -> tuple[Codes, pl.Series, str | None]:
    """Return the level of every value, True for missing values, and a note."""
    names = as_names(values)
    other = -1 if feature.other is None else feature.levels.index(feature.other)
    codes = lookup(names, feature.levels, other)
    unknown = names.filter(pl.Series(codes < 0) & names.is_not_null())
    return codes, values.is_null(), _note(feature, unknown, "new")


def _note(feature: Feature, values: pl.Series, what: str) -> str | None:
    if not len(values):
        return None
    return (
        f"{len(values):,} values of {feature.name!r} are {what}, such as {values[0]!r}, and count "
        "as missing"
    )


def as_names(values: pl.Series) -> pl.Series:
    """Return the names of levels; each whole number without a decimal point, as `Feature` does."""
    if values.dtype == pl.Boolean:
        return values.replace_strict([True, False], ["true", "false"], return_dtype=pl.String)
    if values.dtype != pl.Float64:
        return values.cast(pl.String)
    whole = values.cast(pl.Int64, strict=False).cast(pl.String)
    return whole.zip_with((values % 1 == 0).fill_null(False), values.cast(pl.String))


def lookup(names: pl.Series, levels: tuple[str, ...], other: int) -> Codes:
    """Return the position of every name among the levels, and `other` for other names."""
    codes = names.replace_strict(
        list(levels), list(range(len(levels))), default=other, return_dtype=pl.Int16
    )
    return codes.fill_null(other).to_numpy()
