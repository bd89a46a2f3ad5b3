"""A table becomes cases: from files and DataFrames, with prices, bundles and rewards."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from thrifty.data import Settings, cases_of, read_settings, read_table
from thrifty.data.policy_file import policy_toml, read_policy_file
from thrifty.data.rewards import rewards_of
from thrifty.data.settings import Bundle, parse_settings
from thrifty.errors import InvalidSpec, InvalidTable

TABLE: dict[str, list[Any]] = {
    "day": [f"2024-01-{k % 28 + 1:02d}" for k in range(60)],
    "income": ["low", "high", "high"] * 20,
    "age": [20 + k % 31 for k in range(60)],
    "owner": [True, False] * 30,
    "cost": [0.1 + k % 3 for k in range(60)],
    "outcome": ["repaid", "default", "repaid"] * 20,
}
SETTINGS = Settings(target="outcome", prices={"income": 0.4, "age": "cost"}, free=("owner",))


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(TABLE), pd.DataFrame(TABLE), pa.table(TABLE), TABLE],
    ids=["polars", "pandas", "pyarrow", "columns"],
)
def test_any_dataframe_gives_the_same_cases(frame: Any) -> None:
    cases = cases_of(frame, SETTINGS, in_order=True)
    assert cases.names == ("owner", "income", "age")
    assert cases.free.tolist() == [True, False, False]
    assert cases.features[1].levels == ("high", "low")
    assert cases.codes[1].tolist() == [1, 0, 0] * 20
    assert cases.mean_prices.tolist() == pytest.approx([0, 0.4, 1.1])
    assert np.asarray(cases.price_by_case((1, 2)))[:3].tolist() == pytest.approx([0.5, 1.5, 2.5])
    assert cases.rewards.actions == ("default", "repaid")


def test_files_give_the_same_cases(tmp_path: Path) -> None:
    frame = pl.DataFrame(TABLE)
    frame.write_csv(tmp_path / "cases.csv")
    frame.write_parquet(tmp_path / "cases.parquet")
    one = cases_of(tmp_path / "cases.csv", SETTINGS)
    other = cases_of(tmp_path / "cases.parquet", SETTINGS)
    assert np.array_equal(one.codes, other.codes)
    assert one.problem == other.problem


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InvalidTable, match="a float is no table"):
        read_table(3.5)
    table = {"x": [[1]] * 50, "outcome": ["a", "b"] * 25}
    with pytest.raises(InvalidTable, match=r"column 'x' holds values of type List"):
        cases_of(table, Settings(target="outcome", prices={"x": 1.0}))


def test_cases_are_ordered_by_time_or_shuffled_or_left() -> None:
    by_time = cases_of(TABLE, Settings(target="outcome", time="day", prices={"income": 1.0}))
    assert by_time.order == "in the order of day"
    assert by_time.times is not None
    assert list(by_time.times) == sorted(TABLE["day"])
    shuffled = cases_of(TABLE, Settings(target="outcome", prices={"income": 1.0}), seed=3)
    assert shuffled.order.startswith("shuffled")
    left = cases_of(TABLE, Settings(target="outcome", prices={"income": 1.0}), in_order=True)
    assert left.codes[0].tolist() == [1, 0, 0] * 20
    assert shuffled.codes[0].tolist() != left.codes[0].tolist()


def test_cases_without_an_outcome_are_left_out_and_that_is_said() -> None:
    table = {**TABLE, "outcome": [None, *TABLE["outcome"][1:]]}
    cases = cases_of(table, SETTINGS, in_order=True)
    assert cases.number == 59
    assert cases.said[0] == "1 of 60 cases have no outcome and are left out"


def test_what_is_left_out_is_said() -> None:
    table = {**TABLE, "who": [f"person {k}" for k in range(60)], "more": ["x", "y"] * 30}
    settings = Settings(target="outcome", prices={"income": 1.0}, leave_out=("age",))
    said = cases_of(table, settings).said
    assert "left out (as told): 'age'" in said
    assert "left out (identifiers): 'who'" in said
    assert "left out (no price): 'day', 'owner', 'cost', 'more'" in said


def test_columns_of_any_type_may_stand_beside_what_is_used() -> None:
    frame = pl.DataFrame(TABLE).with_columns(
        day=pl.col("day").str.to_date(),
        kind=pl.Series(["a", "b"] * 30, dtype=pl.Categorical),
        many=pl.Series([[1]] * 60),
        count=pl.int_range(60),
    )
    settings = Settings(target="outcome", prices={"income": 1.0, "kind": 1.0, "day": 1.0})
    cases = cases_of(frame, settings)
    assert "left out (identifiers): 'count'" in cases.said
    assert cases.features[1].levels == ("a", "b")
    assert cases.features[2].parts[0].kind == "date"


def test_a_bundle_is_one_feature_of_combinations() -> None:
    settings = Settings(target="outcome", bundles=(Bundle("report", ("income", "owner"), 0.5),))
    cases = cases_of(TABLE, settings, in_order=True)
    assert cases.names == ("report",)
    assert cases.features[0].levels == (
        "high & false",
        "high & true",
        "low & false",
        "low & true",
    )
    assert cases.codes[0].tolist()[:3] == [3, 0, 1]


def test_rare_combinations_are_one_level() -> None:
    rng = np.random.default_rng(1)
    table = {
        "a": rng.integers(0, 9, 3000).astype(str),
        "b": rng.integers(0, 9, 3000).astype(str),
        "outcome": rng.integers(0, 2, 3000),
    }
    settings = Settings(target="outcome", bundles=(Bundle("both", ("a", "b"), 0.5),))
    feature = cases_of(pl.DataFrame(table), settings).features[0]
    assert len(feature.levels) == 24
    assert feature.other == "(other)"


def test_a_replay_has_rewards_and_prices_in_units_of_the_span() -> None:
    given = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    settings = Settings(target="outcome", prices={"income": 10.2}, rewards=given)
    world = cases_of(TABLE, settings, in_order=True).replay()
    np.testing.assert_allclose(world.costs, 0.01)
    np.testing.assert_allclose(world.rewards[:2], [[1, 900 / 1020], [0, 900 / 1020]])


def test_default_rewards_are_one_for_being_right() -> None:
    assert rewards_of(None, ["a", "b"]).table.tolist() == [[1, 0], [0, 1]]


def test_rewards_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('currency = "EUR"\nincome = 0.4\n', encoding="utf-8")
    (tmp_path / "bare.toml").write_text("[go]\nyes = 1\nno = 0\n[stay]\nyes = 0\nno = 1\n")
    (tmp_path / "rewards.toml").write_text('currency = "CHF"\n[rewards]\ngo = 1\nstay = 0\n')
    bare = read_settings(tmp_path / "prices.toml", tmp_path / "bare.toml")
    assert bare.rewards == {"go": {"yes": 1, "no": 0}, "stay": {"yes": 0, "no": 1}}
    assert (bare.prices, bare.currency) == ({"income": 0.4}, "EUR")
    named = read_settings(tmp_path / "prices.toml", tmp_path / "rewards.toml")
    assert (named.rewards, named.currency) == ({"go": 1, "stay": 0}, "CHF")


def test_prices_may_be_written_in_several_ways() -> None:
    content = {
        "prices": {
            "a": 1,
            "b": "b_price",
            "c": {"column": "c_price"},
            "d": {"columns": ["x", "y"], "price": 2},
        }
    }
    settings = parse_settings(content, "prices.toml")
    assert settings.prices == {"a": 1.0, "b": "b_price", "c": "c_price"}
    assert settings.bundles == (Bundle("d", ("x", "y"), 2.0),)


def test_a_dataframe_with_one_name_twice_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]] * 50, columns=["x", "x"])
    with pytest.raises(InvalidTable, match="the DataFrame cannot be read"):
        read_table(frame)


def test_a_bundle_needs_columns_and_a_price() -> None:
    with pytest.raises(InvalidSpec, match="bundle 'r' needs `columns`"):
        parse_settings({"bundles": {"r": {"price": 1}}}, "prices.toml")
    with pytest.raises(InvalidSpec, match="two columns or more"):
        parse_settings({"bundles": {"r": {"price": 1, "columns": ["a"]}}}, "prices.toml")


def test_a_policy_file_comes_back_as_it_was(tmp_path: Path) -> None:
    table = {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}
    settings = Settings(
        target="outcome",
        currency="EUR",
        prices={"income": 0.4, "score": 0.1, "day": 0.2},
        free=("owner",),
        bundles=(Bundle("report", ("age", "cost"), 0.5),),
    )
    cases = cases_of(table, settings, in_order=True)
    (tmp_path / "policy.toml").write_text(policy_toml(cases, name="mine", seed=4), encoding="utf-8")
    read = read_policy_file(tmp_path / "policy.toml")
    assert read.problem == cases.problem
    assert (read.name, read.policy, read.seed) == ("mine", "scout", 4)
    assert read.agent == tmp_path / "agent.npz"
    assert read.prices == pytest.approx(tuple(cases.mean_prices.tolist()))
    for feature, mine in zip(read.features, cases.features, strict=True):
        assert (feature.free, feature.other) == (mine.free, mine.other)
        for part, same in zip(feature.parts, mine.parts, strict=True):
            assert (part.levels, part.edges, part.missing) == (
                same.levels,
                same.edges,
                same.missing,
            )
    assert read.level_of("score", {"score": None}) == "(missing)"
    assert read.level_of("day", {"day": "2024-01-02"}) == cases.features[3].levels[0]


def test_the_service_codes_values_as_the_cases_were_coded(tmp_path: Path) -> None:
    from thrifty.service.specification import read_spec

    table = {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}
    settings = Settings(
        target="outcome",
        prices={"income": 0.4, "score": 0.1, "day": 0.2},
        free=("owner",),
        bundles=(Bundle("report", ("age", "cost"), 0.5),),
    )
    cases = cases_of(table, settings, in_order=True)
    written = policy_toml(cases, name="my cases.csv", seed=4).replace('agent = "agent.npz"', "")
    (tmp_path / "policy.toml").write_text(written, encoding="utf-8")
    spec, read = read_spec(tmp_path / "policy.toml"), read_policy_file(tmp_path / "policy.toml")
    assert (spec.name, spec.problem) == ("my-cases", cases.problem)
    edges = spec.by_name["score"].edges
    assert edges
    for value in [*edges, *(it + 0.1 for it in edges), -1.0]:
        level = read.level_of("score", {"score": str(value)})
        assert spec.by_name["score"].level(value) == level
    assert {it.name for it in spec.features if it.free} == {"owner"}


def test_a_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[policy]\nname = 'x'\n", encoding="utf-8")
    with pytest.raises(InvalidSpec, match="is no policy file"):
        read_policy_file(tmp_path / "policy.toml")
