"""A table becomes cases: from files and DataFrames, with prices, bundles and rewards."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from thrifty.agent import Agent
from thrifty.errors import InvalidSpec, InvalidTable
from thrifty.frames.history import HistoryFormat, read_history
from thrifty.policy_file import (
    PolicyFile,
    build_spec,
    from_prices,
    parse_policy_file,
    read_policy_file,
    read_rewards,
    to_toml,
)
from thrifty.rounds import Purchase
from thrifty.surveyor.history import History
from thrifty.tables import Cases, complete_policy_file, level_of, read_cases, read_table
from thrifty.tables.cases import CaseOrder
from thrifty.tables.rewards import build_rewards

TABLE: dict[str, list[Any]] = {
    "day": [f"2024-01-{k % 28 + 1:02d}" for k in range(60)],
    "income": ["low", "high", "high"] * 20,
    "age": [20 + k % 31 for k in range(60)],
    "owner": [True, False] * 30,
    "cost": [0.1 + k % 3 for k in range(60)],
    "outcome": ["repaid", "default", "repaid"] * 20,
}
FILE = from_prices({"income": 0.4, "age": "cost"}, target="outcome", free=["owner"])


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(TABLE), pd.DataFrame(TABLE), pa.table(TABLE), TABLE],
    ids=["polars", "pandas", "pyarrow", "columns"],
)
def test_any_dataframe_gives_the_same_cases(frame: Any) -> None:
    cases = read_cases(frame, FILE, in_order=True)
    assert cases.names == ("owner", "income", "age")
    assert cases.free.tolist() == [True, False, False]
    assert cases.features[1].levels == ("high", "low")
    assert cases.codes[1].tolist() == [1, 0, 0] * 20
    assert cases.mean_prices.tolist() == pytest.approx([0, 0.4, 1.1])
    assert np.asarray(cases.total_price((1, 2)))[:3].tolist() == pytest.approx([0.5, 1.5, 2.5])
    assert cases.rewards.actions == ("default", "repaid")


def test_files_give_the_same_cases(tmp_path: Path) -> None:
    frame = pl.DataFrame(TABLE)
    frame.write_csv(tmp_path / "cases.csv")
    frame.write_parquet(tmp_path / "cases.parquet")
    one = read_cases(tmp_path / "cases.csv", FILE)
    other = read_cases(tmp_path / "cases.parquet", FILE)
    assert np.array_equal(one.codes, other.codes)
    assert one.problem == other.problem


def test_other_objects_are_not_tables() -> None:
    with pytest.raises(InvalidTable, match="a float is not a table"):
        read_table(3.5)
    table = {"x": [[1]] * 50, "outcome": ["a", "b"] * 25}
    with pytest.raises(InvalidTable, match=r"column 'x' has values of type List"):
        read_cases(table, from_prices({"x": 1.0}, target="outcome"))


def test_cases_are_ordered_by_time_or_shuffled_or_left() -> None:
    by_time = read_cases(TABLE, from_prices({"income": 1.0}, target="outcome", time="day"))
    assert by_time.order == CaseOrder(column="day")
    assert str(by_time.order) == "ordered by day"
    assert by_time.times is not None
    assert list(by_time.times) == sorted(TABLE["day"])
    shuffled = read_cases(TABLE, from_prices({"income": 1.0}, target="outcome"), seed=3)
    assert shuffled.order == CaseOrder(shuffle_seed=3)
    assert not shuffled.order.is_chronological
    left = read_cases(TABLE, from_prices({"income": 1.0}, target="outcome"), in_order=True)
    assert left.order == CaseOrder()
    assert left.order.is_chronological
    assert left.codes[0].tolist() == [1, 0, 0] * 20
    assert shuffled.codes[0].tolist() != left.codes[0].tolist()


def test_cases_without_an_outcome_are_skipped_with_a_note() -> None:
    table = {**TABLE, "outcome": [None, *TABLE["outcome"][1:]]}
    cases = read_cases(table, FILE, in_order=True)
    assert cases.n_cases == 59
    assert cases.notes[0] == "1 of 60 cases have no value in 'outcome' and are skipped"


def test_unused_columns_are_noted() -> None:
    table = {**TABLE, "who": [f"person {k}" for k in range(60)], "more": ["x", "y"] * 30}
    file = from_prices({"income": 1.0}, target="outcome", leave_out=["age"])
    notes = read_cases(table, file).notes
    assert "not used (in leave_out): 'age'" in notes
    assert "not used (identifiers): 'who'" in notes
    assert "not used (no price): 'day', 'owner', 'cost', 'more'" in notes


def test_unused_columns_may_have_any_type() -> None:
    frame = pl.DataFrame(TABLE).with_columns(
        day=pl.col("day").str.to_date(),
        kind=pl.Series(["a", "b"] * 30, dtype=pl.Categorical),
        many=pl.Series([[1]] * 60),
        count=pl.int_range(60),
    )
    file = from_prices({"income": 1.0, "kind": 1.0, "day": 1.0}, target="outcome")
    cases = read_cases(frame, file)
    assert "not used (identifiers): 'count'" in cases.notes
    assert cases.features[1].levels == ("a", "b")
    assert cases.features[2].parts[0].kind == "date"


def test_a_bundle_is_one_feature_of_combinations() -> None:
    file = from_prices({}, target="outcome", bundles={"report": (["income", "owner"], 0.5)})
    cases = read_cases(TABLE, file, in_order=True)
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
    file = from_prices({}, target="outcome", bundles={"both": (["a", "b"], 0.5)})
    feature = read_cases(pl.DataFrame(table), file).features[0]
    assert len(feature.levels) == 24
    assert feature.other == "(other)"


def test_a_replay_has_rewards_and_prices_in_units_of_the_span() -> None:
    given = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    file = from_prices({"income": 10.2}, target="outcome", rewards=given)
    world = read_cases(TABLE, file, in_order=True).replay()
    np.testing.assert_allclose(world.costs, 0.01)
    np.testing.assert_allclose(world.rewards[:2], [[1, 900 / 1020], [0, 900 / 1020]])


def test_default_rewards_are_one_for_a_correct_prediction() -> None:
    assert build_rewards(from_prices({}), ["a", "b"]).table.tolist() == [[1, 0], [0, 1]]


def test_rewards_may_be_in_a_separate_file(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('currency = "EUR"\nincome = 0.4\n', encoding="utf-8")
    (tmp_path / "bare.toml").write_text("[go]\nyes = 1\nno = 0\n[stay]\nyes = 0\nno = 1\n")
    (tmp_path / "old.toml").write_text('currency = "CHF"\n[rewards]\ngo = 1\nstay = 0\n')
    (tmp_path / "new.toml").write_text(
        "[rewards]\nlow = -5\n[outcomes.rewards]\ngo = 1\nstay = 0\n"
    )
    prices = read_policy_file(tmp_path / "prices.toml")
    bare = read_rewards(tmp_path / "bare.toml", prices)
    assert bare.outcomes is not None
    assert bare.outcomes.rewards == {"go": {"yes": 1, "no": 0}, "stay": {"yes": 0, "no": 1}}
    assert (bare.features[0].price, bare.rewards.unit) == (0.4, "EUR")
    old = read_rewards(tmp_path / "old.toml", prices)
    assert old.outcomes is not None
    assert (old.outcomes.rewards, old.rewards.unit) == ({"go": 1, "stay": 0}, "CHF")
    new = read_rewards(tmp_path / "new.toml", prices)
    assert new.outcomes == old.outcomes
    assert (new.rewards.low, new.rewards.unit) == (-5, "EUR")


def test_a_declared_range_is_the_scale() -> None:
    content = {
        "table": {"target": "outcome"},
        "features": [{"name": "income", "price": 2}],
        "rewards": {"low": -100, "high": 100},
        "outcomes": {"rewards": {"go": {"repaid": 50, "default": 0}, "stay": 0}},
    }
    world = read_cases(TABLE, parse_policy_file(content), in_order=True).replay()
    np.testing.assert_allclose(world.costs, 0.01)
    np.testing.assert_allclose(world.rewards[:2], [[0.75, 0.5], [0.5, 0.5]])
    content["rewards"] = {"low": 10}
    with pytest.raises(InvalidSpec, match="range from 0 to 50, outside low = 10"):
        read_cases(TABLE, parse_policy_file(content))


def test_actions_need_rewards_unless_they_predict_the_target() -> None:
    features = [{"name": "income", "price": 1}]
    content = {"table": {"target": "outcome"}, "features": features}
    guess = parse_policy_file({**content, "actions": {"names": ["repaid", "default"]}})
    assert read_cases(TABLE, guess).rewards.actions == ("default", "repaid")
    other = parse_policy_file({**content, "actions": {"names": ["approve", "decline"]}})
    with pytest.raises(
        InvalidSpec, match=r"add \[outcomes.rewards\] with the reward of each action"
    ):
        read_cases(TABLE, other)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"price": 1, "name": "outcome"}, "'outcome' is the target and also one of"),
        ({"price": 1, "name": "day"}, r"'day' is in \[\[features\]\] and in `leave_out`"),
        ({"name": "income"}, "no feature has a price"),
    ],
)
def test_a_column_has_one_use(more: dict[str, Any], message: str) -> None:
    table = {"target": "outcome", "leave_out": ["day"]}
    file = parse_policy_file({"table": table, "features": [{"name": "income", **more}]})
    with pytest.raises(InvalidSpec, match=message):
        read_cases(TABLE, file)


def test_setup_fee_is_paid_once_on_top_of_the_prices() -> None:
    content = {
        "table": {"target": "outcome"},
        "features": [
            {"name": "income", "price": 1},
            {"name": "age", "price": {"column": "cost"}},
            {"name": "owner", "price": 0.5},
        ],
        "groups": [{"name": "visit", "features": ["income", "age"], "setup": 2}],
    }
    cases = read_cases(TABLE, parse_policy_file(content), in_order=True)
    assert cases.total_price([2]) == 0.5
    assert cases.total_price([0]) == 3
    np.testing.assert_allclose(cases.total_price([0, 1, 2]), 3.5 + np.array(TABLE["cost"]))
    masks = np.array([[False, False, True], [True, True, True]])
    np.testing.assert_allclose(cases.mean_totals(masks), [0.5, 3.5 + 1.1])
    past = cases.past_cases
    np.testing.assert_allclose(past.cost([0, 1, 2]), 3.5 + np.array(TABLE["cost"]))
    world = cases.replay()
    seen = world.reveal(Purchase([True, True, False]))
    assert seen.total_cost == pytest.approx(3 + TABLE["cost"][0])


def test_a_bundle_without_a_price_is_refused() -> None:
    content = {
        "table": {"target": "outcome"},
        "features": [{"name": "income"}, {"name": "age"}],
        "bundles": [{"name": "both", "features": ["income", "age"]}],
    }
    with pytest.raises(InvalidSpec, match="bundle 'both' has no price"):
        read_cases(TABLE, parse_policy_file(content))


def test_a_dataframe_with_one_name_twice_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]] * 50, columns=["x", "x"])
    with pytest.raises(InvalidTable, match="the DataFrame cannot be read"):
        read_table(frame)


def coded_cases() -> Cases:
    """Return cases with a number, a date, a category, a free feature, a bundle and gaps."""
    table = {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}
    file = from_prices(
        {"income": 0.4, "score": 0.1, "day": 0.2},
        target="outcome",
        currency="EUR",
        free=["owner"],
        bundles={"report": (["age", "cost"], 0.5)},
    )
    return read_cases(table, file, in_order=True)


def test_completed_policy_file_codes_values_in_the_same_way(tmp_path: Path) -> None:
    cases = coded_cases()
    path = tmp_path / "policy.toml"
    path.write_text(
        to_toml(complete_policy_file(cases, name="my cases.csv", seed=4)), encoding="utf-8"
    )
    read = read_policy_file(path)
    assert read.policy is not None
    assert (read.policy.name, read.policy.policy, read.policy.seed) == ("my-cases", "auto", 4)
    assert read.policy.agent == "agent.npz"
    spec = build_spec(complete_policy_file(cases, name="my cases.csv", seed=4, agent=None))
    assert spec.problem == cases.problem
    assert spec.free == ("owner",)
    assert level_of(read, "score", {"score": None}) == "(missing)"
    assert level_of(read, "day", {"day": "2024-01-02"}) == cases.features[3].levels[0]
    assert level_of(read, "report", {"age": 21, "cost": 0.1}) in cases.features[-1].levels
    score = spec.problem.features[spec.problem.feature_index("score")]
    assert score.ordered
    for value in [*score.edges, *(edge + 0.1 for edge in score.edges), -1.0]:
        assert score.level(value) == level_of(read, "score", {"score": str(value)})


def test_completed_policy_file_reads_the_same_cases_again() -> None:
    cases = coded_cases()
    file = complete_policy_file(cases, name="x", seed=1)
    table = {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}
    again = read_cases(table, file, in_order=True)
    assert np.array_equal(again.codes, cases.codes)
    assert again.problem == cases.problem
    assert complete_policy_file(again, name="y", seed=1) == file


def test_new_combination_of_a_bundle_is_other_or_refused() -> None:
    file = complete_policy_file(coded_cases(), name="x", seed=1)
    with pytest.raises(InvalidTable, match="column 'cost' contains 'much', which is not a number"):
        level_of(file, "report", {"age": 21, "cost": "much"})
    section = file.feature("report")
    assert section is not None
    levels = section.levels or ()
    fewer = section.model_copy(update={"levels": levels[1:]})
    some = file.replace(features=(fewer,))
    age, cost = ((part.levels or ())[0] for part in section.parts)
    assert f"{age} & {cost}" == levels[0]
    with pytest.raises(InvalidTable, match="bundle 'report' has no level"):
        level_of(some, "report", {"age": 20, "cost": 0.1})


def test_level_of_needs_a_feature_with_levels() -> None:
    file = from_prices({"income": 0.4})
    with pytest.raises(InvalidSpec, match="'income' has no levels yet"):
        level_of(file, "income", {"income": "low"})
    with pytest.raises(KeyError, match="no feature 'incom'"):
        level_of(file, "incom", {})


def test_free_features_are_known_and_not_bought() -> None:
    world = read_cases(TABLE, FILE, in_order=True).replay()
    assert world.free.tolist() == [True, False, False]
    assert world.known().codes.tolist() == [1, -1, -1]
    assert world.outcomes is not None
    assert world.problem.outcomes is not None
    assert world.problem.outcomes.names == ("default", "repaid")
    assert world.problem.prices is not None
    assert world.problem.prices.prices == pytest.approx({"income": 0.4, "age": 1.1})


def test_a_bundle_has_separate_columns_in_past_cases() -> None:
    file = from_prices(
        {"income": 0.4},
        target="outcome",
        free=["owner"],
        bundles={"report": (["age", "cost"], 0.5)},
        groups={"visit": (["age", "cost", "income"], 2)},
    )
    cases = read_cases(TABLE, file, in_order=True)
    past = cases.past_cases
    assert past.problem.feature_names == ("owner", "income", "age", "cost")
    assert past.free.tolist() == [True, False, False, False]
    assert [(look.name, look.columns) for look in past.looks] == [
        ("income", (1,)),
        ("report", (2, 3)),
    ]
    assert [past.cost(looks)[0] for looks in ([], [0], [1], [0, 1])] == [0, 2.4, 2.5, 2.9]
    assert [cases.total_price(looks) for looks in ([], [1], [2], [1, 2])] == [0, 2.4, 2.5, 2.9]
    assert cases.groups[0].features == ("report", "income")
    assert past.codes.dtype == np.int16
    assert past.codes[:, 2].tolist() == [k % 31 for k in range(60)]


def test_price_column_of_a_bundle() -> None:
    file = from_prices({}, target="outcome", bundles={"report": (["age", "income"], "cost")})
    past = read_cases(TABLE, file, in_order=True).past_cases
    assert past.price_columns["report"].tolist() == TABLE["cost"]
    assert past.looks[0].price == pytest.approx(1.1)
    assert past.cost([0]).tolist() == TABLE["cost"]


def test_a_feature_that_costs_only_the_setup_fee_is_not_free() -> None:
    prices = {"income": 0.0, "age": 0.0, "cost": 1.0}
    file = from_prices(prices, target="outcome", groups={"visit": (["income"], 2)})
    cases = read_cases(TABLE, file)
    assert dict(zip(cases.names, cases.free.tolist(), strict=True)) == {
        "age": True,
        "income": False,
        "cost": False,
    }
    assert [look.name for look in cases.past_cases.looks] == ["income", "cost"]


def test_subset_of_cases_has_the_same_rows_in_both_views() -> None:
    cases = read_cases(TABLE, FILE, seed=5)
    rows = np.array([7, 3, 40])
    few = cases.subset(rows)
    assert np.array_equal(few.past_cases.codes, cases.past_cases.codes[rows])
    assert np.array_equal(few.past_cases.outcomes, few.outcomes)
    assert few.past_cases.price_columns["age"].tolist() == few.varying_prices[2].tolist()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"visit": (["income", "incom"], 2)}, "group 'visit' contains 'incom', which is not a"),
        ({"visit": (["income"], -2)}, "group 'visit': setup is -2: give a finite number"),
        ({"visit": ([], 2)}, "group 'visit': features is empty"),
        ({"a": (["income"], 1), "b": (["income"], 1)}, "feature of a group 'income' appears twice"),
        ({"visit": (["age"], 2)}, "bundle 'report' has some of its features in group 'visit'"),
    ],
)
def test_bad_groups_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(InvalidSpec, match=message):
        read_cases(
            TABLE,
            from_prices(
                {"income": 1.0},
                target="outcome",
                bundles={"report": (["age", "cost"], 0.5)},
                groups=groups,
            ),
        )


def plan_file(cases: Cases) -> PolicyFile:
    """Return the policy file of a plan for the cases, written and read again."""
    file = complete_policy_file(
        cases, name="x", seed=1, agent=None, problem=cases.past_cases.problem
    )
    text = to_toml(file)
    assert max(map(len, text.splitlines())) <= 100
    return parse_policy_file(tomllib.loads(text))


def test_policy_file_of_a_plan_has_the_fine_features() -> None:
    cases = read_cases(
        {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]},
        from_prices(
            {"income": 0.4, "score": 0.1, "day": 0.2},
            target="outcome",
            free=["owner"],
            bundles={"report": (["age", "cost"], 0.5)},
            groups={"visit": (["score", "income"], 2)},
        ),
        in_order=True,
    )
    file = plan_file(cases)
    spec = build_spec(file)
    assert spec.problem == cases.past_cases.problem
    assert spec.free == ("owner",)
    score = file.feature("score")
    assert score is not None
    assert score.levels is None
    again = read_cases(
        {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}, file, in_order=True
    )
    assert np.array_equal(again.past_cases.codes, cases.past_cases.codes)
    assert again.past_cases.problem == cases.past_cases.problem
    assert level_of(file, "day", {"day": "2024-01-02"}) == "2024-01-01 to 2024-01-02"
    assert spec.problem.features[3].level("2024-01-02") == "2024-01-01 to 2024-01-02"


def test_coarse_levels_do_not_follow_the_fine_edges_of_a_file() -> None:
    table = {"x": [float(k) for k in range(400)], "outcome": ["a", "b"] * 200}
    cases = read_cases(table, from_prices({"x": 1.0}, target="outcome"), in_order=True)
    again = read_cases(table, plan_file(cases), in_order=True)
    assert np.array_equal(again.codes, cases.codes)
    assert np.array_equal(again.past_cases.codes, cases.past_cases.codes)


def test_a_live_agent_takes_dates_gaps_and_new_categories() -> None:
    table = {**TABLE, "score": [None, *(k * 1.5 for k in range(1, 60))]}
    file = from_prices({"income": 0.1}, target="outcome", free=["day", "score", "owner"])
    problem = read_cases(table, file, in_order=True).past_cases.problem
    agent = Agent(problem, policy="uniform")
    case = agent.ask(free={"day": "2024-01-15", "score": None, "owner": True})
    while case.buy:
        case = agent.observe(case, values=dict.fromkeys(case.buy, "never seen"))
    assert case.action in problem.actions
    agent.tell(case, outcome="repaid")


def test_a_history_table_is_coded_as_the_cases_were() -> None:
    """`read_history` reads the same codes and outcomes from what worth writes."""
    rng = np.random.default_rng(1)
    n = 300
    day = np.datetime64("2024-01-01") + rng.integers(0, 400, n)
    table = pl.DataFrame(
        {
            "few": rng.integers(0, 4, n).astype(float),
            "amount": [f"€ {k // 10}.{k % 10:03d},50" if k % 7 else "k.A." for k in range(n)],
            "gap": [None if k % 5 == 0 else float(k % 90) for k in range(n)],
            "flag": (rng.random(n) < 0.5),
            "agrees": np.where(rng.random(n) < 0.5, "ja", "nein"),
            "when": day,
            "written": [f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2024" for k in range(n)],
            "period": day,
            "rare": [f"r{int(k**0.5)}" for k in range(n)],
            "code": pl.Series(rng.integers(0, 3, n)),
            "zone": [" north " if k % 3 else "?" for k in range(n)],
            "unused": ["x"] * n,
            "result": [None if k % 50 == 0 else k % 2 for k in range(n)],
        }
    )
    features: list[dict[str, Any]] = [
        {"name": name, "price": 0.01}
        for name in ("few", "gap", "flag", "agrees", "when", "written", "rare", "zone")
    ]
    features += [
        {"name": "amount", "price": 0.02, "absent": ["k.A."]},
        {"name": "code", "kind": "category", "free": True},
        {
            "name": "period",
            "kind": "date",
            "price": 0.01,
            "edges": ["2024-07-01"],
            "levels": ["early", "late"],
        },
    ]
    file = parse_policy_file({"table": {"target": "result"}, "features": features})
    cases = read_cases(table, file, seed=2)
    found = cases.history_table()
    assert set(found.columns) == {*cases.past_cases.problem.feature_names, "result"}
    written = complete_policy_file(
        cases, name="cases", seed=1, agent=None, problem=cases.past_cases.problem
    )
    formats = HistoryFormat(
        absent={section.name: section.absent for section in written.features},
        periods={s.name: s.edge_values for s in written.features if s.by_period},
    )
    history = read_history(
        found,
        cases.past_cases.problem,
        target="result",
        free=cases.past_cases.free,
        table_format=formats,
    )
    expected = History.from_past_cases(cases.past_cases)
    np.testing.assert_array_equal(history.codes, expected.codes)
    np.testing.assert_array_equal(history.possible, expected.possible)
    np.testing.assert_array_equal(history.settled, expected.settled)
    assert history.notes == ()
    # A part of the cases has its own rows.
    part = cases.subset(np.array([5, 3]))
    assert part.history_table().equals(found[[5, 3]])
