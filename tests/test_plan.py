"""`Plan`: the same verbs as `Agent`, and scores on tables with known outcomes."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from random_plans import random_codes, random_plan, thyroid_plan
from thrifty import Plan
from thrifty.cli import main
from thrifty.errors import (
    InvalidField,
    InvalidParameter,
    InvalidSpec,
    InvalidTable,
    OutOfTurn,
    RoundClosed,
    UnknownName,
    UnknownRound,
)
from thrifty.plan import PlanScore, mean_interval
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.policy_file import from_prices, parse_policy_file
from thrifty.problem import Feature, Problem
from thrifty.tables import read_cases

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def plan() -> Plan:
    return Plan(thyroid_plan())


def test_a_case_by_the_three_verbs(plan: Plan) -> None:
    case = plan.ask(free={"sex": "F"})
    assert (case.buy, case.unit) == (("TSH",), "CAD")
    case = plan.observe(case, {"TSH": 7.0}, {"TSH": 20.0})
    assert (case.buy, case.expected_price) == (("TT4",), 12.41)
    with pytest.raises(OutOfTurn):
        plan.tell(case, outcome="hyper")
    case = plan.observe(case, {"TT4": 60})
    assert case.action == "hyper"
    plan.tell(case, outcome="normal")
    assert (plan.totals.cases, plan.totals.reward) == (1, -2000.0)
    assert plan.totals.spend == pytest.approx(32.41)
    assert plan.totals.gain == pytest.approx(-2032.41)
    with pytest.raises(RoundClosed):
        plan.tell(case, outcome="normal")
    assert plan.totals.cases == 1


def test_it_learns_nothing(plan: Plan) -> None:
    for _ in range(3):
        case = plan.observe(plan.ask(), {"TSH": 1.0})
        assert case.action == "normal"
        plan.tell(case, reward=-2000.0)
    abandoned = plan.ask()
    plan.abandon(abandoned)
    assert plan.totals.cases == 3
    assert plan.open_cases == ()
    with pytest.raises(UnknownRound):
        plan.observe(99, {"TSH": 1.0})
    with pytest.raises(InvalidField, match=r"values\.TSH"):
        plan.observe(plan.ask(), {"TSH": "high"})


def test_only_available_actions(plan: Plan) -> None:
    case = plan.observe(plan.ask(), {"TSH": 1.0}, available=["sub", "hyper"])
    assert case.action == "sub"


def test_closed_cases_need_not_be_kept() -> None:
    plan = Plan(thyroid_plan(), keep=0)
    plan.tell(plan.observe(plan.ask(), {"TSH": 1.0}), outcome="normal")
    assert plan.totals.gain == pytest.approx(-22.78)


def test_it_explains_every_step_and_why_it_stopped(plan: Plan) -> None:
    case = plan.ask(free={"sex": "M"})
    case = plan.observe(case, {"TSH": 1.0})
    found = plan.explain(case)
    assert found["why"] == [
        "First, buy TSH. What comes next depends on whether TSH is above 6.05 or missing. "
        "7,200 of 7,200 past cases came here.",
        "TSH is at most 6.05: no further look pays. 6,500 of 7,200 past cases ended here with a "
        "mean gain of -30.00 CAD.",
    ]
    assert found["action_values"] == {"normal": -20.0, "sub": -1980.0, "hyper": -1980.0}
    case = plan.observe(plan.ask(), {"TSH": None}, {"TSH": 5.0})
    assert "TSH could not be obtained: no further look pays" in plan.explain(case)["why"][-1]
    rest = plan.explain(plan.ask())
    assert len(rest["why"]) == 1
    nothing = Plan(PlanTree(plan.problem, plan.tree.free, plan.tree.leaves[0]))
    assert nothing.explain(nothing.ask())["why"][0].startswith("No look pays.")


def test_save_and_load(tmp_path: Path) -> None:
    for seed in range(5):
        Plan(random_plan(seed)).save(tmp_path / "plan.json")
        again = Plan.load(tmp_path / "plan.json").tree
        codes = random_codes(again, 50)
        assert (again.decide(codes).actions == random_plan(seed).decide(codes).actions).all()


def test_as_text(plan: Plan) -> None:
    lines = [re.sub(r"(\S)  +", r"\1 | ", line) for line in str(plan).splitlines()]
    assert lines == [
        "buy TSH for 22.78 | 100 % of cases, spent 22.78",
        "├─ TSH is at most 6.05 or not obtained: normal | 90 % of cases, gain -30.00",
        "└─ TSH is above 6.05 or missing: buy TT4 for 12.41 | 10 % of cases, spent 35.19",
        "   ├─ TT4 is at most 64 or missing: hyper | 3 % of cases, gain -400.00",
        "   └─ TT4 is above 64: sub | 7 % of cases, gain -300.00",
    ]
    assert repr(plan) == "Plan(3 leaves, 0 open cases)"
    with pytest.raises(InvalidParameter, match=r"Plan\.load"):
        Plan("plan.json")  # type: ignore[arg-type]


# Scores.

TABLE = {
    "sex": ["F", "M", "F", "M", "F"],
    "TSH": ["1.5", "7", "", "9,5", "21"],
    "TT4": ["100", "60", "150", "?", "200"],
    "class": ["normal", "hyper", "sub", "hyper", "sub"],
}
GAINS = [-22.78, -35.19, -35.19, -35.19, -35.19]


def test_every_case_pays_for_what_it_buys(plan: Plan) -> None:
    score = plan.score(TABLE)
    assert score.costs.tolist() == pytest.approx([22.78, 35.19, 35.19, 35.19, 35.19])
    assert score.rewards.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0]
    assert score.gains.tolist() == pytest.approx(GAINS)
    assert score.to_dict() == {
        "cases": 5,
        "gain_per_case": pytest.approx(np.mean(GAINS)),
        "spend_per_case": pytest.approx(-np.mean(GAINS)),
        "reward_per_case": 0.0,
    }


def test_gaps_and_values_that_are_no_numbers_count_as_missing(plan: Plan) -> None:
    score = plan.score({**TABLE, "TSH": ["1.5", "7", "lost", "9,5", "21"]})
    assert score.gains.tolist() == pytest.approx(GAINS)
    assert score.notes == (
        "1 values of 'TSH' are no numbers, such as 'lost', and count as missing",
    )


def test_cases_without_outcome_are_skipped(plan: Plan) -> None:
    score = plan.score({**TABLE, "class": ["normal", "", "sub", None, "sub"]})
    assert score.cases == 3
    assert score.notes == ("2 of 5 cases have no value in 'class' and are skipped",)


def test_a_table_as_score_and_as_single_cases(plan: Plan) -> None:
    rng = np.random.default_rng(3)
    rows = {
        "sex": rng.choice(["F", "M"], 200).tolist(),
        "TSH": [None if rng.random() < 0.1 else x for x in rng.exponential(6, 200).tolist()],
        "TT4": rng.uniform(40, 200, 200).tolist(),
        "class": rng.choice(["normal", "sub", "hyper"], 200).tolist(),
    }
    for k in range(200):
        case = plan.ask(free={"sex": rows["sex"][k]})
        while case.buy:
            levels = {
                name: "(missing)" if rows[name][k] is None else rows[name][k] for name in case.buy
            }
            case = plan.observe(case, levels)
        plan.tell(case, outcome=rows["class"][k])
    score = plan.score(pl.DataFrame(rows))
    assert score.gains.sum() == pytest.approx(plan.totals.gain)
    assert score.cases == plan.totals.cases


def small_plan(feature: Feature) -> Plan:
    """Return a plan that buys one feature; the first level goes low."""
    problem = Problem(
        [feature, Feature("other", ("a", "b"))],
        ["stay", "go"],
        {"stay": {"no": 1, "yes": 0}, "go": {"no": 0, "yes": 1}},
        {feature.name: 0.5, "other": 2.0},
    )
    low, high = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))
    is_low = np.arange(len(feature.levels) + 1) == 0
    free = np.zeros(2, dtype=np.bool_)
    return Plan(PlanTree(problem, free, Split((0,), 0, is_low, low, high), "y"))


@pytest.mark.parametrize(
    ("feature", "values", "low"),
    [
        (Feature("x", ("a", "b", "(other)"), other="(other)"), ["a", "b", "new"], [1, 0, 0]),
        (Feature("x", ("a", "b")), ["a", "b", "new"], [1, 0, 0]),
        (Feature("x", ("true", "false")), [True, False, True], [1, 0, 1]),
        (Feature("x", ("3", "2.5")), [3.0, 2.5, 3.0], [1, 0, 1]),
        (Feature.number("x", (1.5,)), [1.0, 2.0, 1.5], [1, 0, 1]),
        (Feature.number("x", (1.5,)), ["1,5", "EUR 2", "1"], [1, 0, 1]),
        (Feature.date("x", ("2024-05-31",)), ["2024-05-30", "01.06.2024", "31.05.2024"], [1, 0, 1]),
        (Feature("x", ("a", "(missing)"), missing="(missing)"), ["a", None, "?"], [1, 0, 0]),
    ],
)
def test_raw_values_are_coded_by_the_features(
    feature: Feature, values: list[Any], low: list[int]
) -> None:
    score = small_plan(feature).score({"x": values, "y": ["no"] * 3})
    assert score.rewards.tolist() == [float(is_low) for is_low in low]
    assert score.costs.tolist() == [0.5] * 3  # the other feature need not be in the table


def test_other_prices(plan: Plan) -> None:
    cheaper = from_prices({"TSH": 1.0, "TT4": "paid"}, free=["sex"])
    table = {**TABLE, "paid": [1, 2, 3, 4, 5]}
    assert plan.score(table, prices=cheaper).costs.tolist() == [3.1, 5.1, 6.1, 7.1, 8.1]
    groups = [{"name": "blood", "features": ["TSH"], "setup": 0.5}]
    panel = parse_policy_file(
        {
            "features": [{"name": "TSH"}, {"name": "TT4"}, {"name": "age", "price": 3.0}],
            "bundles": [{"name": "panel", "features": ["TSH", "TT4"], "price": {"column": "paid"}}],
            "groups": groups,
        }
    )
    assert plan.score(table, prices=panel).costs.tolist() == [1.5, 2.5, 3.5, 4.5, 5.5]


@pytest.mark.parametrize(
    ("table", "options", "error", "culprit"),
    [
        ({"sex": ["F"], "class": ["sub"]}, {}, UnknownName, "the plan uses 'TSH'"),
        ({"TSH": [1.0], "TT4": [1.0]}, {}, UnknownName, "the target is 'class'"),
        (TABLE, {"target": "clas"}, UnknownName, "did you mean 'class'"),
        ({**TABLE, "class": ["well"] * 5}, {}, InvalidTable, "contains 'well', which is not an"),
        ({**TABLE, "class": [""] * 5}, {}, InvalidTable, "nothing to score"),
        (
            {**TABLE, "paid": ["1", "-1", "2", "3", "4"]},
            {"prices": from_prices({"TSH": "paid"})},
            InvalidTable,
            "'paid', the price of 'TSH', is '-1' in case 2",
        ),
        ({**TABLE, "TSH": [1, 2, 3, 4, 1.5]}, {}, InvalidTable, "cannot be read .*one type"),
        (TABLE, {"prices": from_prices({"TSH": "paid"})}, UnknownName, "price of 'TSH' is in"),
    ],
)
def test_tables_that_do_not_fit(
    plan: Plan, table: Any, options: dict[str, Any], error: type[Exception], culprit: str
) -> None:
    with pytest.raises(error, match=f"(?s){culprit}"):
        plan.score(table, **options)


def test_a_plan_without_target_or_outcomes() -> None:
    tree = thyroid_plan()
    with pytest.raises(InvalidSpec, match="name it with --target"):
        Plan(PlanTree(tree.problem, tree.free, tree.root)).score(TABLE)
    bare = Problem(tree.problem.features, tree.problem.actions, prices=tree.problem.prices)
    with pytest.raises(InvalidParameter, match="declares no outcomes"):
        Plan(PlanTree(bare, tree.free, tree.root, "class")).score(TABLE)


def test_a_learnt_plan_scores_its_own_table_as_its_cases(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 600
    age, marker = rng.integers(18, 90, n), rng.choice(["low", "mid", "high"], n)
    ill = (marker == "high") ^ (rng.random(n) < 0.05) | (age > 70)
    table = {
        "age": age.tolist(),
        "marker": marker.tolist(),
        "y": np.where(ill, "ill", "well").tolist(),
    }
    rewards = {"treat": {"ill": 5.0, "well": -5.0}, "wait": 0.0}
    file = from_prices({"marker": 0.1}, free=["age"], target="y", rewards=rewards)
    cases = read_cases(table, file, in_order=True).past_cases
    assert isinstance(cases, PastCases)
    learnt = learn(cases).plan
    expected = learnt.decide(cases.codes).gains(cases)
    Plan(learnt).save(tmp_path / "plan.json")
    score = Plan.load(tmp_path / "plan.json").score(table, target="y")
    assert score.gains.tolist() == pytest.approx(expected.tolist())
    assert score.gain_per_case > 1.0


def test_the_interval_of_a_mean() -> None:
    assert all(map(np.isnan, mean_interval(np.array([1.0]))))
    low, high = mean_interval(np.repeat([0.0, 1.0], 50))
    assert (low, high) == pytest.approx((0.4015, 0.5985), abs=1e-4)
    assert PlanScore(np.ones(2), np.zeros(2)).notes == ()


# The command.


@pytest.fixture
def called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Called:
    """Return a function that runs `thrifty score` in a folder with a plan and a table."""
    Plan(thyroid_plan()).save(tmp_path / "plan.json")
    pl.DataFrame(TABLE).write_csv(tmp_path / "cases.csv")
    pl.DataFrame(TABLE).write_parquet(tmp_path / "cases.parquet")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["thrifty", "score", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.out, shown.err

    return call


@pytest.mark.parametrize("cases", ["cases.csv", "cases.parquet"])
def test_the_command_prints_json(called: Called, cases: str) -> None:
    code, out, _ = called("plan.json", cases, "--json")
    assert code == 0
    assert json.loads(out) == pytest.approx(
        {
            "cases": 5,
            "gain_per_case": np.mean(GAINS),
            "spend_per_case": -np.mean(GAINS),
            "reward_per_case": 0.0,
        }
    )


def test_the_command_prints_a_table(called: Called, tmp_path: Path) -> None:
    pl.DataFrame({**TABLE, "class": ["normal", "hyper", "sub", None, "sub"]}).write_csv(
        tmp_path / "cases.csv"
    )
    code, out, _ = called("plan.json", "cases.csv")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "Note: 1 of 5 cases have no value in 'class' and are skipped"
    assert lines[1] == "4 cases, amounts in CAD"
    (gain,) = [line.split() for line in lines if line.strip().startswith("gain")]
    assert gain == ["gain", "-32.09", "-38.17", "to", "-26.01"]
    code, out, err = called("plan.json", "cases.csv", "--json")
    assert json.loads(out)["cases"] == 4
    assert err.startswith("Note: 1 of 5 cases")


def test_the_command_takes_other_prices(called: Called, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        '[[features]]\nname = "TSH"\nprice = 1.0\n[[features]]\nname = "TT4"\nprice = 2.0\n'
        '[[groups]]\nname = "none"\nfeatures = ["TSH"]\nsetup = 0\n',
        encoding="utf-8",
    )
    code, out, _ = called("plan.json", "cases.csv", "--policy", "policy.toml", "--json")
    assert (code, json.loads(out)["spend_per_case"]) == (0, pytest.approx(2.6))


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("none.json", "cases.csv"), "none.json cannot be read"),
        (("cases.csv", "cases.csv"), "cases.csv is not a plan"),
        (("plan.json", "none.csv"), "none.csv cannot be read"),
        (("plan.json", "cases.csv", "--target", "sex"), "contains 'F', which is not an outcome"),
    ],
)
def test_errors_of_the_command(called: Called, arguments: tuple[str, ...], culprit: str) -> None:
    code, _, err = called(*arguments)
    assert code == 2
    assert err.startswith("thrifty: ")
    assert culprit in err
