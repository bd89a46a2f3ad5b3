"""Code columns in full detail, as plans are learnt from them.

Plans choose their own thresholds, so a number keeps up to 250 edges and a category all levels that
occur more than a few times. Edges and levels depend on the values alone, never on the outcomes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.features import date_interval_names, interval_names, unused_name
from thrifty.frames.coding import as_points, normalise
from thrifty.policy_file.model import ColumnSection
from thrifty.tables.columns import (
    MAX_LEVELS,
    Codes,
    Coding,
    as_text,
    encode_few_numbers,
    encode_normalised,
    with_missing_level,
)

Floats = NDArray[np.float64]

MAX_EDGES = 250
MAX_EDGES_OF_FEW = 64
"""Limit on the edges of a number in a table of fewer than `MANY_CASES` cases."""
MANY_CASES = 2_000
MAX_CATEGORIES = 254
"""Limit on the levels of a category, those of rare and missing values included."""
MIN_OCCURRENCES = 5
"""Values of a category that occur less often are grouped."""
MAX_COARSE = 24
"""Declared edges and levels beyond this number are not used for the coarse coding."""
OTHER = "(other)"
DAY = 86_400.0


class EncodedColumn(NamedTuple):
    """A column that is coded twice: with few levels, and in full detail."""

    coarse: tuple[Codes, Coding]
    fine: tuple[Codes, Coding]


def encode_twice(
    values: pl.Series, settings: ColumnSection, missing: tuple[str, ...] = ()
) -> EncodedColumn:
    """Code a column with few levels and in full detail.

    Levels and edges that `settings` give are used as they are. `missing` is text that means a
    missing value in any column.
    """
    name = settings.name
    normalised = normalise(name, values, (*missing, *settings.absent))
    few = _coarse_settings(settings)
    coarse = encode_normalised(name, normalised, few, missing)
    if settings.levels is None and settings.edges is None:
        return EncodedColumn(coarse, _encode_finely(normalised, coarse[1], settings))
    if few is settings:
        return EncodedColumn(coarse, coarse)
    return EncodedColumn(coarse, encode_normalised(name, normalised, settings, missing))


def _coarse_settings(settings: ColumnSection) -> ColumnSection:
    """Return the settings without the many edges and levels of a policy file for a plan."""
    n_edges = len(settings.edges or ()) if settings.levels is None else 0
    n_categories = len(settings.levels or ()) if settings.other is not None else 0
    if max(n_edges, n_categories) <= MAX_COARSE:
        return settings
    return settings.model_copy(update={"edges": None, "levels": None, "other": None})


def _encode_finely(
    values: pl.Series, coarse: Coding, settings: ColumnSection
) -> tuple[Codes, Coding]:
    has_missing = values.null_count() > 0
    if coarse.edges is None:
        texts = as_text(values)
        coding = with_missing_level(_category(coarse, texts), settings, has_missing)
        return coding.encode_text(texts), coding
    points = as_points(coarse.kind, values)
    coding = with_missing_level(_intervals(coarse, points), settings, has_missing)
    return coding.encode_points(points), coding


def _category(coarse: Coding, texts: pl.Series) -> Coding:
    """Return a coding that keeps every value that occurs more than a few times."""
    counts = texts.drop_nulls().alias("value").value_counts()
    # Equal counts are ordered by name, so that the same table always gives the same levels.
    counts = counts.sort(["count", "value"], descending=[True, False])
    frequent = counts.filter(pl.col("count") >= MIN_OCCURRENCES)["value"]
    kept = sorted(frequent.head(MAX_CATEGORIES - 2).to_list())
    # Every category has this level, so that a value that is new later on is not refused.
    other = unused_name(OTHER, kept)
    return replace(
        coarse,
        levels=(*kept, other),
        description=f"category, {len(kept)} levels and others",
        other=other,
        missing=None,
    )


def _intervals(coarse: Coding, points: pl.Series) -> Coding:
    """Return a coding of numbers or dates by fine edges."""
    distinct, counts = np.unique(points.drop_nulls().to_numpy(), return_counts=True)
    is_date = coarse.kind == "date"
    if not is_date and 1 < len(distinct) <= MAX_LEVELS:
        return replace(encode_few_numbers(coarse.name, distinct), absent=coarse.absent)
    max_edges = MAX_EDGES if len(points) >= MANY_CASES else MAX_EDGES_OF_FEW
    edges = fine_edges(distinct, counts, max_edges, is_date=is_date)
    return replace(
        coarse,
        kind="date" if is_date else "number",
        levels=date_interval_names(edges) if is_date else interval_names(edges),
        description=f"{'date' if is_date else 'numeric'}, {len(edges)} edges",
        edges=edges,
        missing=None,
        by_period=False,
    )


def fine_edges(
    distinct: Floats,
    counts: NDArray[np.int64],
    max_edges: int = MAX_EDGES,
    *,
    is_date: bool = False,
) -> tuple[float, ...]:
    """Return edges midway between distinct values, at equal frequency if there are too many.

    Parameters
    ----------
    distinct : array of float
        Distinct values in increasing order.
    counts : array of int
        How often each of them occurs.
    max_edges : int
        Limit on the number of edges.
    is_date : bool
        True for seconds since 1970: edges are whole days where possible.

    Returns
    -------
    tuple of float
        Edges in increasing order. A single value is its own edge.

    Examples
    --------
    >>> fine_edges(np.array([1.0, 2.0, 4.0]), np.array([5, 1, 1]))
    (1.5, 3.0)
    >>> fine_edges(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 1, 1]), max_edges=1)
    (2.5,)
    """
    if len(distinct) == 1:
        return (float(distinct[0]),)
    last_below = np.arange(len(distinct) - 1)
    if len(last_below) > max_edges:
        last_below = _cuts(counts.astype(np.float64), max_edges)
    midway = _midway_date if is_date else _midway
    return tuple(map(midway, distinct[last_below].tolist(), distinct[last_below + 1].tolist()))


def _cuts(counts: Floats, n_cuts: int) -> NDArray[np.intp]:
    """Return the positions of the last values below the cuts, at equal frequency."""
    # A value that fills more than a bin counts as one bin: half of all cases being 0 should not
    # cost the other half its edges.
    weights = counts
    for _ in range(50):
        weights = np.minimum(weights, weights.sum() / (n_cuts + 1))
    total = np.cumsum(weights)
    shares = np.arange(1, n_cuts + 1) / (n_cuts + 1) * total[-1]
    cuts = np.searchsorted(total, shares * (1 - 1e-9))
    return np.unique(cuts[cuts < len(counts) - 1])


def _midway(low: float, high: float) -> float:
    """Return a short number in [low, high), near the middle."""
    middle = low / 2 + high / 2
    for digits in (6, 9, 12, 15):
        short = float(f"{middle:.{digits}g}")
        if low + (high - low) / 4 <= short <= high - (high - low) / 4:
            return short
    # Between neighbouring floats the middle is rounded to one of them.
    return middle if low <= middle < high else low


def _midway_date(low: float, high: float) -> float:
    """Return a moment in [low, high) near the middle: a midnight, a second or a microsecond."""
    for unit in (DAY, 1.0):
        below = (low + high) / 2 // unit * unit
        for rounded in (below, below + unit):
            if low <= rounded < high:
                return rounded
    # ISO text has microseconds, so a finer edge would not survive being written to a file.
    return (round(low * 1e6) + round(high * 1e6)) // 2 / 1e6
