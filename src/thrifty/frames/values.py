"""Parse numbers and dates in the formats that are common in spreadsheets."""

from __future__ import annotations

import polars as pl

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--")
"""Text that means a missing value, in lower or upper case."""

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


def clean_text(values: pl.Series, missing: tuple[str, ...]) -> pl.Series:
    """Strip spaces, and return null for text that means a missing value."""
    stripped = values.str.strip_chars()
    absent = stripped.str.to_lowercase().is_in([*MISSING, *(word.lower() for word in missing)])
    return stripped.set(absent.fill_null(True), None)


def parse_numbers(values: pl.Series) -> pl.Series:
    """Parse numbers such as 1234.5, 1,234.50, € 1.234,50 and 12 %; null for other text.

    >>> parse_numbers(pl.Series(["€ 1.234,50", "7,5", "none"])).to_list()
    [1234.5, 7.5, None]
    >>> parse_numbers(pl.Series(["1,234.5", "2"])).to_list()
    [1234.5, 2.0]
    """
    plain = values.cast(pl.Float64, strict=False)
    if plain.null_count() == values.null_count():
        return plain
    digits = values.str.replace_all(_DECORATION, "")
    plain = digits.cast(pl.Float64, strict=False)
    unparsed = digits.filter(plain.is_null() & digits.is_not_null())
    decimal_comma = unparsed.str.contains(_CONTINENTAL) & ~unparsed.str.contains(_ENGLISH)
    if decimal_comma.any():
        fitting = digits.set(~digits.str.contains(_CONTINENTAL).fill_null(False), None)
        continental = fitting.str.replace_all(".", "", literal=True).str.replace(",", ".")
        parsed = continental.cast(pl.Float64, strict=False)
        # In a column with 7,5 the point of 1.234 separates thousands; otherwise it is a decimal.
        return _coalesce(parsed, plain)
    english = digits.set(~digits.str.contains(_ENGLISH).fill_null(False), None)
    return _coalesce(plain, english.str.replace_all(",", "").cast(pl.Float64, strict=False))


def parse_dates(values: pl.Series) -> tuple[pl.Series, bool]:
    """Parse dates, null for other text; also return True if days come before months.

    >>> parse_dates(pl.Series(["2024-05-31", "31.05.2024", "31/05/2024"]))[0].dt.date().n_unique()
    1
    """
    parsed = pl.Series(values.name, [None] * len(values), dtype=pl.Datetime("us"))
    # Trying all formats is slow, and most columns are not dates.
    if not values.str.contains(_LOOKS_LIKE_DATE).any():
        return parsed, False
    for format_ in _FORMATS:
        parsed = _coalesce(parsed, _parse(values, format_))
    # 03/04/2024 is ambiguous: the reading that fits more values of the column is used.
    by_day, by_month = (
        _coalesce(parsed, _parse(values, format_)) for format_ in (_DAY_FIRST, _MONTH_FIRST)
    )
    if by_day.null_count() == by_month.null_count() == parsed.null_count():
        return parsed, False
    day_first = by_day.null_count() <= by_month.null_count()
    return (by_day if day_first else by_month), day_first


def _parse(values: pl.Series, format_: str) -> pl.Series:
    if "%H" in format_:
        return values.str.to_datetime(format_, strict=False, time_unit="us")
    return values.str.to_date(format_, strict=False).cast(pl.Datetime("us"))


def _coalesce(first: pl.Series, second: pl.Series) -> pl.Series:
    return first.zip_with(first.is_not_null(), second)
