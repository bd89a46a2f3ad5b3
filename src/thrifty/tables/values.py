"""Numbers and dates in the ways that people write them."""

from __future__ import annotations

import polars as pl

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--")
"""What stands for a missing value in a file, in small or capital letters."""

_DECORATION = r"[€$£¥%'\s\u{a0}\u{202f}]|EUR|USD|GBP|CHF"
_CONTINENTAL = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_ENGLISH = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
_LOOKS_LIKE_DATE = r"^\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|^\s*\d{1,2}\.? [A-Za-z]{3}|^[A-Za-z]{3} \d"
_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d-%m-%Y",
    "%d %b %Y",
    "%b %d, %Y",
)
_DAY_FIRST, _MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"


def cleaned(values: pl.Series, missing: tuple[str, ...]) -> pl.Series:
    """Return text without spaces around it, and null where it says that there is nothing."""
    stripped = values.str.strip_chars()
    absent = stripped.str.to_lowercase().is_in([*MISSING, *(it.lower() for it in missing)])
    return stripped.set(absent.fill_null(True), None)


def numbers(values: pl.Series) -> pl.Series:
    """Return text as numbers, and null where it is none: 1234.5, 1,234.50, € 1.234,50 or 12 %.

    >>> numbers(pl.Series(["€ 1.234,50", "7,5", "none"])).to_list()
    [1234.5, 7.5, None]
    >>> numbers(pl.Series(["1,234.5", "2"])).to_list()
    [1234.5, 2.0]
    """
    plain = values.cast(pl.Float64, strict=False)
    if plain.null_count() == values.null_count():
        return plain
    bare = values.str.replace_all(_DECORATION, "")
    plain = bare.cast(pl.Float64, strict=False)
    unread = bare.filter(plain.is_null() & bare.is_not_null())
    decimal_comma = unread.str.contains(_CONTINENTAL) & ~unread.str.contains(_ENGLISH)
    if decimal_comma.any():
        fitting = bare.set(~bare.str.contains(_CONTINENTAL).fill_null(False), None)
        continental = fitting.str.replace_all(".", "", literal=True).str.replace(",", ".")
        read = continental.cast(pl.Float64, strict=False)
        # Beside 7,5 a 1.234 has a thousands separator; beside nothing of the kind it is a decimal.
        return _coalesced(read, plain)
    english = bare.set(~bare.str.contains(_ENGLISH).fill_null(False), None)
    return _coalesced(plain, english.str.replace_all(",", "").cast(pl.Float64, strict=False))


def dates(values: pl.Series) -> tuple[pl.Series, bool]:
    """Return text as points in time, and null where it is none; and if days came first.

    >>> dates(pl.Series(["2024-05-31", "31.05.2024", "31/05/2024"]))[0].dt.date().n_unique()
    1
    """
    read = pl.Series(values.name, [None] * len(values), dtype=pl.Datetime("us"))
    if not values.str.contains(_LOOKS_LIKE_DATE).any():
        return read, False
    for format_ in _FORMATS:
        read = _coalesced(read, _read(values, format_))
    slashed = {it: _coalesced(read, _read(values, it)) for it in (_DAY_FIRST, _MONTH_FIRST)}
    if all(it.null_count() == read.null_count() for it in slashed.values()):
        return read, False
    day_first = slashed[_DAY_FIRST].null_count() <= slashed[_MONTH_FIRST].null_count()
    return slashed[_DAY_FIRST if day_first else _MONTH_FIRST], day_first


def _read(values: pl.Series, format_: str) -> pl.Series:
    if "%H" in format_:
        return values.str.to_datetime(format_, strict=False, time_unit="us")
    return values.str.to_date(format_, strict=False).cast(pl.Datetime("us"))


def _coalesced(first: pl.Series, second: pl.Series) -> pl.Series:
    return first.zip_with(first.is_not_null(), second)
