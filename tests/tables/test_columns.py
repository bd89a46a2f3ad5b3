"""How columns are recognised and coded."""

from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.errors import InvalidTable
from thrifty.frames.values import parse_dates, parse_numbers
from thrifty.policy_file.model import ColumnSection
from thrifty.tables.columns import Coding, bins_for, encode_column
from thrifty.tables.features import TableFeature


def at_midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def coded(values: list[Any], **keys: Any) -> tuple[list[str], Coding]:
    codes, coding = encode_column("x", pl.Series("x", values), ColumnSection(name="x", **keys))
    return [coding.levels[code] for code in codes.tolist()], coding


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", "-2.5", "1e3"], [1, -2.5, 1000]),
        (["€ 1.234,50", "7,5", "12"], [1234.5, 7.5, 12]),
        (["1.234", "7,5"], [1234, 7.5]),
        (["1.234", "7.5"], [1.234, 7.5]),
        (["1,234.50", "$2"], [1234.5, 2]),
        (["12 %", "3,5 %"], [12, 3.5]),
        (["1 234", "5\u00a0678,9"], [1234, 5678.9]),
        (["one", "2"], [None, 2]),
    ],
)
def test_numbers_as_people_write_them(written: list[str], expected: list[float | None]) -> None:
    assert parse_numbers(pl.Series(written)).to_list() == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["2024-05-31", "31.05.2024", "31/05/2024"], [date(2024, 5, 31)] * 3),
        (["05/31/2024", "01/02/2024"], [date(2024, 5, 31), date(2024, 1, 2)]),
        (["31 May 2024", "May 31, 2024"], [date(2024, 5, 31)] * 2),
        (["2024-05-31T10:00:00Z", "2024-05-31 10:00"], [datetime(2024, 5, 31, 10)] * 2),
        (["soon", "2024-05-31"], [None, date(2024, 5, 31)]),
    ],
)
def test_dates_as_people_write_them(written: list[str], expected: list[Any]) -> None:
    parsed = parse_dates(pl.Series(written))[0].to_list()
    assert parsed == [at_midnight(day) if type(day) is date else day for day in expected]


def test_categories_keep_their_names() -> None:
    levels, coding = coded(["b", " a ", "b", "NA", None, "?"])
    assert levels == ["b", "a", "b", "(missing)", "(missing)", "(missing)"]
    assert (coding.kind, coding.missing) == ("category", "(missing)")
    assert coding.description == "category, 2 levels; 50% missing (separate level)"


def test_the_word_none_is_not_a_missing_value() -> None:
    """A person without a history differs from one whose history is unknown."""
    assert coded(["none", "clean", "arrears"])[1].levels == ("arrears", "clean", "none")


def test_words_that_mean_missing_can_be_added() -> None:
    levels, coding = coded([str(k) for k in range(30)] + ["unknown"], absent=("unknown",))
    assert coding.kind == "number"
    assert levels[-1] == "(missing)"


def test_a_level_with_a_reserved_name_stays_separate() -> None:
    levels, coding = coded(["(missing)", None, "a", "(missing)"])
    assert levels == ["(missing)", "(missing 2)", "a", "(missing)"]
    words = [f"w{k % 30}" for k in range(600)] + ["(other)"] * 300
    levels, coding = coded(words)
    assert coding.other == "(other 2)"
    assert levels[-1] == "(other)"


def test_few_numbers_are_levels_and_many_are_binned() -> None:
    levels, coding = coded([1, 2, 3, 2] * 20)
    assert coding.levels == ("1", "2", "3")
    assert coding.edges == (1.5, 2.5)
    levels, coding = coded(list(range(1000)))
    assert coding.levels == ("up to 333", "333 to 666", "over 666")
    assert levels[:2] == ["up to 333"] * 2
    assert coded(list(range(1000)), bins=2)[1].edges == (499.0,)
    assert coded(list(range(1000)), edges=(10.0, 20.0))[0][10:12] == ["up to 10", "10 to 20"]


def test_bins_grow_with_the_number_of_cases() -> None:
    assert [bins_for(n) for n in (50, 1000, 10_000, 10**6)] == [2, 3, 7, 10]


def test_a_number_of_which_most_cases_are_equal_still_has_two_bins() -> None:
    levels, coding = coded([0.0] * 900 + [float(k) for k in range(1, 101)])
    assert len(set(levels)) == 2
    assert coding.levels[0] == "up to 0"


def test_booleans_dates_and_long_texts() -> None:
    assert coded([True, None, False])[1].levels == ("false", "true", "(missing)")
    assert coded(["Yes", "no", "yes"] * 9)[1].kind == "category"  # written in two ways
    assert coded(["yes", "no"] * 9)[1].kind == "boolean"
    days = [date(2020 + k // 400, k % 12 + 1, 1) for k in range(1200)]
    _, coding = coded(days)
    assert coding.kind == "date"
    assert coding.levels[0] == "2020 Q1"
    assert coded(days, period="year")[1].levels == ("2020", "2021", "2022")
    words = [f"w{k % 40:02d}" for k in range(4000)]
    assert len(coded(words, max_levels=5)[1].levels) == 5


def test_an_edge_belongs_to_the_bin_below_and_a_period_to_its_first_day() -> None:
    coding = Coding("x", "number", ("low", "high"), "", edges=(10.0,))
    assert coding.apply(pl.Series([10.0, 10.1])).tolist() == [0, 1]
    second = datetime(2024, 2, 1).timestamp() - datetime(1970, 1, 1).timestamp()
    months = ("January", "February")
    coding = Coding("x", "date", months, "", edges=(second,), by_period=True)
    assert coding.apply(pl.Series(["2024-01-31", "2024-02-01"])).tolist() == [0, 1]


def test_values_that_were_never_seen() -> None:
    _, coding = coded(["a", "b"] * 9)
    with pytest.raises(InvalidTable, match=r"'x' contains 'c', which is not one of its levels"):
        coding.apply(pl.Series(["c"]))
    with pytest.raises(InvalidTable, match=r"'x' has a missing value, and no value was missing"):
        coding.apply(pl.Series([None], dtype=pl.String))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=6), st.integers(-50, 50).map(str)),
        min_size=1,
        max_size=60,
    )
)
def test_a_single_value_is_coded_as_in_its_column(values: list[str | None]) -> None:
    try:
        codes, coding = encode_column(
            "x", pl.Series("x", values, dtype=pl.String), ColumnSection(name="x")
        )
    except InvalidTable:
        return
    feature = TableFeature("x", coding.levels, (coding,))
    for value, code in zip(values, codes.tolist(), strict=True):
        assert feature.level_of({"x": value}) == coding.levels[code]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=20, max_size=300), st.integers(2, 9))
def test_bins_are_ordered_and_none_is_empty(values: list[float], bins: int) -> None:
    series = pl.Series("x", values)
    codes, coding = encode_column("x", series, ColumnSection(name="x", kind="number", bins=bins))
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    assert len(coding.levels) <= bins
    if len(set(values)) > 1:
        assert set(codes.tolist()) == set(range(len(coding.levels)))


def test_a_declared_level_for_missing_values_exists_even_if_none_is_missing() -> None:
    levels, coding = coded([1, 2, 3] * 9, missing="not known")
    assert coding.levels == ("1", "2", "3", "not known")
    assert (coding.missing, levels[0]) == ("not known", "1")
    assert coding.feature.code(None) == 3
    assert coded(["a", "b", None], missing="b")[0] == ["a", "b", "b"]


def test_given_levels_are_used_as_they_are() -> None:
    levels, coding = coded(
        ["5", "70", None], levels=("young", "old", "?!"), edges=(30,), missing="?!"
    )
    assert levels == ["young", "old", "?!"]
    assert coding.kind == "number"
    levels, _ = coded(["Rome", "Bern"], levels=("Rome", "elsewhere"), other="elsewhere")
    assert levels == ["Rome", "elsewhere"]
    declared = {"levels": ("early", "late"), "kind": "date", "edges": ("2024-05-31",)}
    assert coded(["2024-05-30", "31.05.2024"], **declared)[0] == ["early", "late"]
    with pytest.raises(InvalidTable, match="'x' contains 'many', which is not a number"):
        coded(["5", "many"], levels=("young", "old"), edges=(30,), missing=True)


def test_feature_of_a_column_has_the_same_codes() -> None:
    values = [None, *(k * 1.5 for k in range(200))]
    codes, coding = encode_column("x", pl.Series("x", values), ColumnSection(name="x", bins=5))
    assert coding.feature.ordered
    assert [coding.feature.code(value) for value in values] == codes.tolist()
    days = [date(2020 + k // 400, k % 12 + 1, 1) for k in range(1200)]
    feature = coded(days)[1].feature
    assert (feature.ordered, feature.level("2021 Q2")) == (False, "2021 Q2")


def test_the_number_of_bins_is_described() -> None:
    numbers = [float(k) for k in range(200)]
    assert coded(numbers)[1].description == "numeric, 2 quantile bins"
    assert coded(numbers, bins=3)[1].description == "numeric, 3 quantile bins"
