"""What a column is, and how its values become a few levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.features import MISSING, Feature, interval_names, short_number, unused_name
from thrifty.policy_file.model import ColumnSection
from thrifty.tables.values import cleaned, dates, numbers

Codes = NDArray[np.int16]

FEW = 12
"""A column with at most so many values keeps each of them as a level."""
MOST_BINS = 10
MOST_PERIODS = 12
ALMOST_ALL = 0.9
"""A text with more distinct values than this share of the cases is an identifier."""
_PERIODS = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}


@dataclass(frozen=True)
class Coding:
    """How a column's values become levels, kept so that later cases are coded alike.

    `edges` are the ends of the bins of a number, each bin with its upper end; of a date they are
    the beginnings of periods, in seconds since 1970. `missing` and `other` name the levels of
    values that are absent, and of values that are none of the others.
    """

    name: str
    kind: str
    levels: tuple[str, ...]
    said: str
    edges: tuple[float, ...] | None = None
    missing: str | None = None
    other: str | None = None
    absent: tuple[str, ...] = ()
    """More words that mean that a value is missing."""

    @property
    def feature(self) -> Feature:
        """The feature as policies know it; a date is a category."""
        edges = self.edges if self.kind == "number" and self.edges is not None else ()
        return Feature(self.name, self.levels, edges, self.missing, self.other)

    def apply(self, values: pl.Series) -> Codes:
        """Return the code of every value.

        >>> coding = Coding("age", "number", ("up to 30", "over 30"), "", edges=(30.0,))
        >>> coding.apply(pl.Series(["18", "30", "31.5"])).tolist()
        [0, 0, 1]
        """
        values = tidy(self.name, values, self.absent)
        if self.edges is None:
            return self._by_name(_as_text(values))
        points = _as_points(self.kind, values)
        if points.null_count() > values.null_count():
            strange = values.filter(points.is_null() & values.is_not_null())[0]
            raise InvalidTable(
                f"column {self.name!r} holds {strange!r}, which is not a {self.kind}: correct it, "
                "or add it to `absent` in its [[features]] entry if it means: no value."
            )
        side: Literal["left", "right"] = "right" if self.kind == "date" else "left"
        codes = np.searchsorted(np.array(self.edges), points.fill_null(0).to_numpy(), side=side)
        return self._with_missing(codes, points.is_null())

    def _by_name(self, values: pl.Series) -> Codes:
        known, places = list(self.levels), list(range(len(self.levels)))
        unknown = -1 if self.other is None else self.levels.index(self.other)
        codes = values.replace_strict(known, places, default=unknown, return_dtype=pl.Int64)
        absent = values.is_null()
        found = codes.fill_null(0).to_numpy()
        if (found[~absent.to_numpy()] < 0).any():
            strange = values.filter((codes < 0) & ~absent)[0]
            raise InvalidTable(
                f"column {self.name!r} holds {strange!r}, which is none of its levels "
                f"{', '.join(map(repr, self.levels))}: use one of them."
            )
        return self._with_missing(found, absent)

    def _with_missing(self, codes: NDArray[Any], absent: pl.Series) -> Codes:
        if absent.any():
            if self.missing is None:
                raise InvalidTable(
                    f"column {self.name!r} has no value in a case, and none was missing in the "
                    "cases that it was coded by: give the value."
                )
            codes = np.where(absent.to_numpy(), self.levels.index(self.missing), codes)
        return codes.astype(np.int16)


def tidy(name: str, values: pl.Series, absent: tuple[str, ...] = ()) -> pl.Series:
    """Return a column as text, number, boolean or point in time, null where it is missing."""
    kind = values.dtype
    if kind == pl.String:
        return cleaned(values, absent)
    if kind == pl.Null:
        return values.cast(pl.String)
    if kind.is_(pl.Categorical) or isinstance(kind, pl.Enum | pl.Categorical):
        return cleaned(values.cast(pl.String), absent)
    if kind == pl.Boolean:
        return values
    if kind.is_numeric():
        floats = values.cast(pl.Float64)
        return floats.fill_nan(None)
    if kind in (pl.Date, pl.Datetime):
        if isinstance(kind, pl.Datetime) and kind.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return values.cast(pl.Datetime("us"))
    if kind == pl.Object:
        return cleaned(pl.Series(name, [None if it is None else str(it) for it in values]), absent)
    raise InvalidTable(
        f"column {name!r} holds values of type {kind}, which are no levels: leave it out, or "
        "write it as text or numbers."
    )


def code_column(
    name: str, values: pl.Series, settings: ColumnSection, missing: tuple[str, ...] = ()
) -> tuple[Codes, Coding]:
    """Find out what a column is, and code it; levels that are given are taken as they are."""
    told = coding_of(settings, missing)
    if told is not None:
        return told.apply(values), told
    absent = (*missing, *settings.absent)
    found = tidy(name, values, absent)
    if found.null_count() == len(found):
        raise InvalidTable(
            f"column {name!r} has no value in any case: it cannot tell anything, so remove its "
            "price or fill it in."
        )
    kind = settings.kind or _kind_of(name, found)
    coding = _CODERS[kind](name, found, settings)
    coding = replace(coding, absent=absent)
    if found.null_count() or settings.missing_level is not None:
        level = settings.missing_level or unused_name(MISSING, coding.levels)
        share = found.null_count() / len(found)
        coding = replace(
            coding,
            levels=coding.levels if level in coding.levels else (*coding.levels, level),
            missing=level,
            said=f"{coding.said}; missing in {_percent(share)}, a level of its own",
        )
    return coding.apply(values), coding


def coding_of(section: ColumnSection, missing: tuple[str, ...] = ()) -> Coding | None:
    """Return the coding that a policy file gives a column, or None if it gives no levels."""
    feature = section.feature()
    if section.levels is None or feature is None:
        return None
    edges: tuple[float, ...] | None = feature.edges or None
    if section.kind == "date" and section.edges is not None:
        moments = [datetime.fromisoformat(str(it)) for it in section.edges]
        edges = tuple(it.replace(tzinfo=UTC).timestamp() for it in moments)
    return Coding(
        section.name,
        section.kind or ("number" if edges else "category"),
        feature.levels,
        f"{len(feature.levels)} levels as given",
        edges=edges,
        missing=feature.missing,
        other=feature.other,
        absent=tuple(dict.fromkeys((*missing, *section.absent))),
    )


def bins_for(cases: int) -> int:
    """Return how many bins a number is divided into, by the number of cases.

    >>> [bins_for(n) for n in (100, 1000, 10_000, 1_000_000)]
    [2, 3, 7, 10]
    """
    return int(min(max(round(cases ** (1 / 3) / 3), 2), MOST_BINS))


def is_identifier(values: pl.Series) -> bool:
    """Whether almost every case has a text of its own, or numbers just count the cases."""
    if (values.dtype.is_numeric() or values.dtype == pl.String) and _counts_up(values):
        return True
    if values.dtype != pl.String or values.n_unique() <= max(ALMOST_ALL * len(values), 50):
        return False
    some = values.drop_nulls().head(1000)
    unread = min(numbers(some).null_count(), dates(some)[0].null_count())
    return unread > len(some) / 2


def _counts_up(values: pl.Series) -> bool:
    """Whether the values are numbers that are all different and leave few gaps."""
    counted = values.cast(pl.Float64, strict=False).drop_nulls()
    if len(counted) < max(len(values), 2) or counted.n_unique() < len(counted):
        return False
    low, high = float(counted.min()), float(counted.max())  # type: ignore[arg-type]
    return bool((counted % 1 == 0).all()) and high - low < 2 * len(counted)


def _kind_of(name: str, values: pl.Series) -> str:
    if values.dtype == pl.Boolean:
        return "boolean"
    if values.dtype == pl.Datetime:
        return "date"
    if values.dtype != pl.String:
        return "number"
    known = values.drop_nulls()
    distinct = known.unique()
    if len(distinct) == 2 and set(distinct.str.to_lowercase()) in _YES_AND_NO:
        return "boolean"
    as_numbers = numbers(distinct)
    if as_numbers.null_count() == 0:
        return "number"
    as_dates = dates(distinct)[0]
    if as_dates.null_count() == 0:
        return "date"
    for read, what in ((as_numbers, "number"), (as_dates, "date")):
        strange = _strange(distinct, read)
        if strange is not None:
            raise InvalidTable(_mixed(name, known, strange, what))
    if is_identifier(values):
        raise InvalidTable(
            f"column {name!r} has {len(distinct):,} distinct values in {len(values):,} cases: it "
            "is an identifier, which tells nothing about the next case. Remove its price, or "
            'group its values before; `kind = "text"` in its [[features]] entry keeps the most '
            "frequent."
        )
    return "category" if len(distinct) <= FEW else "text"


def strange_words(values: pl.Series) -> list[str]:
    """Return the words in a text of numbers or of dates that are none, in order.

    >>> strange_words(pl.Series([*map(str, range(50)), "unknown"]))
    ['unknown']
    """
    if values.dtype != pl.String:
        return []
    distinct = values.drop_nulls().unique()
    for read in (numbers(distinct), dates(distinct)[0]):
        strange = _strange(distinct, read)
        if strange is not None:
            return [str(it) for it in strange.sort()]
    return []


def _strange(distinct: pl.Series, read: pl.Series) -> pl.Series | None:
    """Return the values that could not be read, if most could be and are more than a few."""
    strange = distinct.filter(read.is_null())
    mostly = len(distinct) - len(strange) > FEW and len(strange) <= len(distinct) / 2
    return strange if mostly and len(strange) else None


def _mixed(name: str, known: pl.Series, strange: pl.Series, what: str) -> str:
    word = strange.sort()[0]
    row = int((known == word).arg_max() or 0) + 1
    cases = int(known.is_in(strange.implode()).sum())
    return (
        f"column {name!r} mixes {what}s with other things: {word!r} (value {row} of it), and "
        f"{cases:,} values in all are no {what}. If they mean that there is no value, write "
        f'`absent = [{word!r}]` in its [[features]] entry; if all are words, `kind = "text"`.'
    )


_YES_AND_NO = (
    {"true", "false"},
    {"yes", "no"},
    {"y", "n"},
    {"t", "f"},
    {"ja", "nein"},
    {"oui", "non"},
)


def _code_boolean(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    coding = _code_category(name, values, settings)
    return replace(coding, kind="boolean", said=f"boolean: {', '.join(coding.levels)}")


def _code_category(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    counted = _as_text(values).drop_nulls().value_counts(sort=True)
    names = sorted(counted[counted.columns[0]].to_list())
    most = settings.max_levels or FEW
    if len(names) > most:
        return _code_text(name, values, settings)
    return Coding(name, "category", tuple(names), f"category of {len(names)} levels")


def _code_text(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    texts = _as_text(values).drop_nulls()
    counted = (
        texts.value_counts(sort=True).rename({texts.name: "value"})
        if texts.name
        else (texts.alias("value").value_counts(sort=True))
    )
    # Equal counts are told apart by name, so that the same table always gives the same levels.
    counted = counted.sort(["count", "value"], descending=[True, False])
    most = settings.max_levels or FEW
    if len(counted) <= most:
        names = tuple(sorted(counted["value"].to_list()))
        return Coding(name, "category", names, f"category of {len(names)} levels")
    enough = counted["count"].to_numpy() >= max(10, len(values) / 500)
    kept = counted["value"].to_list()[: max(1, min(most - 1, int(enough.sum())))]
    other = unused_name("(other)", kept)
    covered = float(counted["count"][: len(kept)].sum()) / len(texts)
    said = (
        f"text of {len(counted):,} values: the {len(kept)} most frequent, {_percent(covered)} of "
        "the cases, and the others together"
    )
    return Coding(name, "text", (*kept, other), said, other=other)


def _code_number(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    points = _as_points("number", values)
    if points.null_count() > values.null_count():
        strange = values.filter(points.is_null() & values.is_not_null())[0]
        raise InvalidTable(
            f"column {name!r} is said to be a number and holds {strange!r}: correct it, add it to "
            "`absent` in its [[features]] entry, or choose another kind."
        )
    _require_finite(name, points)
    known = points.drop_nulls()
    if settings.number_edges:
        levels = interval_names(settings.number_edges)
        said = f"numeric, {len(levels)} bins as given"
        return Coding(name, "number", levels, said, edges=settings.number_edges)
    distinct = known.unique().sort().to_numpy()
    if settings.bins is None and len(distinct) <= FEW:
        edges = tuple(((distinct[1:] + distinct[:-1]) / 2).tolist())
        names = tuple(short_number(it) for it in distinct.tolist())
        if len(set(names)) < len(names):
            names = tuple(repr(it) for it in distinct.tolist())
        said = f"numeric, {len(names)} values, each a level"
        if not edges:
            return Coding(name, "category", names, f"the same number, {names[0]}, in every case")
        return Coding(name, "number", names, said, edges=edges)
    bins = settings.bins or bins_for(len(values))
    shares = np.arange(1, bins) / bins
    cuts = np.unique(np.quantile(known.to_numpy(), shares, method="lower"))
    cuts = cuts[cuts < distinct[-1]]
    edges = tuple(cuts.tolist()) or (float(distinct[0]),)
    levels = interval_names(edges)
    return Coding(name, "number", levels, f"numeric, {len(levels)} quantile bins", edges=edges)


def _code_date(name: str, values: pl.Series, settings: ColumnSection) -> Coding:
    day_first = False
    if values.dtype == pl.String:
        points, day_first = dates(values)
    else:
        points = values
    if points.null_count() > values.null_count():
        strange = values.filter(points.is_null() & values.is_not_null())[0]
        raise InvalidTable(
            f"column {name!r} is said to be a date and holds {strange!r}: write it as 2024-05-31, "
            "add it to `absent` in its [[features]] entry, or choose another kind."
        )
    known = points.drop_nulls()
    period = settings.period or _finest_period(known)
    starts = known.dt.truncate(_PERIODS[period]).unique().sort()
    levels = tuple(_period_name(it, period) for it in starts.to_list())
    edges = tuple((starts.dt.epoch("us") / 1e6).to_list()[1:])
    said = f"date, by {period}: {levels[0]} to {levels[-1]}" + (
        ", days before months" if day_first else ""
    )
    if not edges:
        edges = (float(starts.dt.epoch("us")[0] / 1e6),)
        levels = (f"before {levels[0]}", levels[0])
    return Coding(name, "date", levels, said, edges=edges)


_CODERS = {
    "boolean": _code_boolean,
    "category": _code_category,
    "text": _code_text,
    "number": _code_number,
    "date": _code_date,
}


def _finest_period(known: pl.Series) -> str:
    for period, every in _PERIODS.items():
        if known.dt.truncate(every).n_unique() <= MOST_PERIODS:
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


def _as_text(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values.replace_strict([True, False], ["true", "false"], return_dtype=pl.String)
    if values.dtype == pl.Float64:
        whole = (values.drop_nulls() % 1 == 0).all()
        return (values.cast(pl.Int64, strict=False) if whole else values).cast(pl.String)
    return values.cast(pl.String)


def _as_points(kind: str, values: pl.Series) -> pl.Series:
    """Return numbers, or dates as seconds since 1970."""
    if kind == "date":
        points = dates(values)[0] if values.dtype == pl.String else values
        return points.dt.epoch("us") / 1e6
    if values.dtype == pl.String:
        return numbers(values)
    return values.cast(pl.Float64)


def _require_finite(name: str, points: pl.Series) -> None:
    infinite = points.is_infinite() | points.is_nan()
    if infinite.any():
        row = int(infinite.arg_max() or 0) + 1
        raise InvalidTable(
            f"column {name!r} holds {points[row - 1]} in case {row}: it can be put into no bin. "
            "Write the number, or leave the value empty if it is not known."
        )


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
