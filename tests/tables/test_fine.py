"""Columns in full detail: fine edges, whole categories, dates and gaps."""

import math
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.errors import UnknownName
from thrifty.features import Feature, date_seconds, date_text
from thrifty.policy_file.model import ColumnSection
from thrifty.tables.columns import Coding
from thrifty.tables.fine import MAX_EDGES, encode_twice, fine_edges


def fine(values: list[Any], **keys: Any) -> tuple[list[int], Coding]:
    """Return the fine codes of a column and its coding."""
    codes, coding = encode_twice(pl.Series("x", values), ColumnSection(name="x", **keys)).fine
    return codes.tolist(), coding


def edges_of(values: list[float], max_edges: int = MAX_EDGES) -> tuple[float, ...]:
    distinct, counts = np.unique(np.array(values), return_counts=True)
    return fine_edges(distinct, counts, max_edges)


def naive_edges(values: list[float], max_edges: int) -> list[float]:
    """Return the middles between neighbours; bin by bin if there are too many."""
    distinct = sorted(set(values))
    between = list(pairwise(distinct))
    if len(between) > max_edges:
        # All counts are equal here, so bins of equal frequency hold equally many values.
        per_bin = len(distinct) / (max_edges + 1)
        last = [math.ceil(k * per_bin - 1e-9) - 1 for k in range(1, max_edges + 1)]
        between = [between[k] for k in last]
    return [low + (high - low) / 2 for low, high in between]


def test_edges_lie_midway() -> None:
    assert edges_of([1, 2, 2, 4]) == (1.5, 3.0)
    assert edges_of([0.1, 0.2, 0.4]) == (0.15, 0.3)
    assert edges_of([7.0, 7.0]) == (7.0,)


def test_edges_have_equal_frequency_if_there_are_too_many() -> None:
    assert edges_of([float(k) for k in range(1, 13)], max_edges=3) == (3.5, 6.5, 9.5)


def test_a_frequent_value_does_not_cost_the_others_their_edges() -> None:
    values = [0.0] * 10_000 + [float(k) for k in range(1, 1001)]
    edges = edges_of(values, 100)
    assert len(edges) == 100
    assert edges[0] < 15
    assert max(np.diff(edges)) <= 12


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(-1000, 1000), min_size=2, max_size=120), st.integers(1, 60))
def test_edges_agree_with_the_naive_ones(numbers: set[int], max_edges: int) -> None:
    values = [float(number) for number in numbers]
    assert edges_of(values, max_edges) == pytest.approx(naive_edges(values, max_edges))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60))
def test_edges_separate_all_distinct_values(values: list[float]) -> None:
    distinct = sorted(set(values))
    edges = edges_of(values)
    assert list(edges) == sorted(set(edges))
    codes = np.searchsorted(np.array(edges), np.array(distinct), side="left")
    assert codes.tolist() == list(range(len(distinct)))


def test_small_tables_have_64_edges_and_large_ones_250() -> None:
    assert len(fine([float(k) for k in range(1999)])[1].edges or ()) == 64
    assert len(fine([float(k) for k in range(2000)])[1].edges or ()) == 250


def test_edges_do_not_depend_on_the_order_of_cases() -> None:
    values = np.random.default_rng(1).normal(size=3000).tolist()
    assert fine(values)[1] == fine(sorted(values))[1]


def test_categories_are_whole_and_rare_ones_are_grouped() -> None:
    values = [f"w{k:02d}" for k in range(50)] * 5 + ["rare"] * 4 + [None]
    codes, coding = fine(values)
    assert coding.levels == (*(f"w{k:02d}" for k in range(50)), "(other)", "(missing)")
    assert codes[:50] == list(range(50))
    assert codes[-5:] == [50, 50, 50, 50, 51]
    assert coding.feature.code("never seen") == 50


def test_a_category_has_at_most_254_levels() -> None:
    values = [f"w{k:03d}" for k in range(400)] * 5 + [None]
    assert len(fine(values)[1].levels) == 254


def test_booleans_and_constants() -> None:
    codes, coding = fine([True, False, True] * 5)
    assert coding.levels == ("false", "true", "(other)")
    assert [coding.feature.code(value) for value in (True, False)] == [1, 0] == codes[:2]
    for constant in (["5.0"] * 9, [5.0] * 9):
        codes, coding = fine(constant)
        assert (set(codes), coding.levels) == ({0}, ("up to 5", "over 5"))
        assert coding.feature.code(6) == 1


def test_given_edges_and_levels_are_used_as_they_are() -> None:
    numbers = [float(k) for k in range(3000)]
    assert fine(numbers, edges=(10.0, 20.0))[1].edges == (10.0, 20.0)
    assert fine([None, *numbers], edges=(10.0,))[1].levels[-1] == "(missing)"
    levels = fine(["a", "b", "c"] * 9, levels=("a", "rest"), other="rest")[1].levels
    assert levels == ("a", "rest")
    codes, coding = fine([date(2024, 5, 30), date(2024, 6, 2)], kind="date", edges=("2024-05-31",))
    assert (codes, coding.feature.is_date) == ([0, 1], True)


def test_dates_are_cut_at_days() -> None:
    codes, coding = fine([date(2024, 5, 1), date(2024, 5, 2), date(2024, 5, 12)])
    assert codes == [0, 1, 2]
    assert coding.levels == (
        "up to 2024-05-01",
        "2024-05-01 to 2024-05-07",
        "after 2024-05-07",
    )


def test_live_dates() -> None:
    opened = Feature.date("opened", edges=("2024-05-31",), missing=True)
    early = ["2024-05-31", "2024-05-31T00:00:00Z", "2024-05-31T01:00:00+02:00", date(2024, 5, 31)]
    assert [opened.code(value) for value in early] == [0] * 4
    late = ["2024-05-31T00:00:01", datetime(2024, 5, 31, 12), 1.8e9]
    assert [opened.code(value) for value in late] == [1] * 3
    assert opened.code(None) == 2
    assert Feature.from_dict(opened.to_dict()) == opened
    for value in ("31.05.2024", "2024", "soon", True):
        with pytest.raises(UnknownName, match=r"'opened' has no level .*a date such as 2024-05-31"):
            opened.code(value)


NUMBERS = st.one_of(st.none(), st.floats(-1e9, 1e9), st.integers(-5, 5).map(float))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d", "1", "yes"]))
MOMENTS = st.one_of(
    st.none(),
    st.datetimes(datetime(1950, 1, 1), datetime(2050, 1, 1)),
    st.integers(0, 9).map(lambda days: datetime(2024, 5, 1) + timedelta(days=days)),
    st.integers(0, 9).map(lambda count: datetime(2024, 5, 1) + timedelta(microseconds=count)),
)


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pl.Float64, NUMBERS),
        (pl.String, WORDS),
        (pl.Datetime("us"), MOMENTS),
        (pl.Boolean, st.one_of(st.none(), st.booleans())),
    ],
    ids=["numbers", "categories", "dates", "booleans"],
)
@given(data=st.data())
def test_raw_values_have_the_codes_of_the_table(kind: Any, values: Any, data: Any) -> None:
    column = data.draw(st.lists(values, min_size=1, max_size=60))
    series = pl.Series("x", column, dtype=kind)
    if series.null_count() == len(series):
        return
    codes, coding = encode_twice(series, ColumnSection(name="x")).fine
    assert [coding.feature.code(value) for value in column] == codes.tolist()
    if kind == pl.Datetime("us"):
        edges = tuple(date_seconds(date_text(edge)) for edge in coding.edges or ())
        assert edges == coding.edges
        texts = [None if value is None else value.isoformat() for value in column]
        assert [coding.feature.code(text) for text in texts] == codes.tolist()
        zoned = [None if value is None else value.replace(tzinfo=UTC) for value in column]
        assert [coding.feature.code(value) for value in zoned] == codes.tolist()
