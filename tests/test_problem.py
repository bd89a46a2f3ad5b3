"""Features, actions, and what makes no problem."""

import json
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from thrifty.errors import InvalidProblem, UnknownName
from thrifty.problem import Bundle, Feature, Group, Outcomes, PriceList, Problem, RewardRange

LOAN = Problem(
    features=(Feature("income", ("low", "high")), Feature("age", ("young", "middle", "old"))),
    actions=("reject", "accept"),
)


def test_a_problem_by_hand() -> None:
    assert (LOAN.n_features, LOAN.n_actions) == (2, 2)
    assert LOAN.levels.tolist() == [2, 3]
    assert LOAN.feature_index("age") == 1
    assert LOAN.action_index("accept") == 1
    assert LOAN.features[1].code("old") == 2
    # Psi_tot = sum over subsets of the products of levels: 1 + 2 + 3 + 6.
    assert LOAN.log_psi_tot == pytest.approx(math.log(12))


def test_levels_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        LOAN.levels[0] = 5


def test_an_anonymous_problem_has_counted_names() -> None:
    problem = Problem.anonymous((2, 1), 2)
    assert [feature.name for feature in problem.features] == ["x1", "x2"]
    assert problem.actions == ("a1", "a2")
    assert problem.features[0].levels == ("0", "1")


def test_lists_become_tuples() -> None:
    problem = Problem([Feature("f", ["a"])], ["act"])  # type: ignore[arg-type]
    assert problem == Problem((Feature("f", ("a",)),), ("act",))
    assert hash(problem) == hash(Problem((Feature("f", ("a",)),), ("act",)))


def test_psi_tot_of_a_thousand_features_is_no_overflow() -> None:
    assert Problem.anonymous([9] * 1000, 1).log_psi_tot == pytest.approx(1000 * math.log(10))


@pytest.mark.parametrize(
    ("features", "actions", "culprit"),
    [
        ((), ("a",), "at least one feature"),
        ((Feature("f", ("x",)),), (), "at least one action"),
        ((Feature("f", ("x",)), Feature("f", ("y",))), ("a",), "feature 'f' appears twice"),
        ((Feature("f", ("x",)),), ("a", "b", "a"), "action 'a' appears twice"),
        ((Feature("", ("x",)),), ("a",), "feature '' is not a name"),
        ((Feature("f", ("x",)),), ("a", 3), "action 3 is not a name"),
    ],
)
def test_what_makes_no_problem_is_refused(features: Any, actions: Any, culprit: str) -> None:
    with pytest.raises(InvalidProblem, match=culprit):
        Problem(features, actions)


@pytest.mark.parametrize(
    ("levels", "culprit"),
    [((), "no levels"), (("a", "a"), "'a' appears twice"), (("a", ""), "'' is not a name")],
)
def test_a_feature_without_distinct_levels_is_refused(levels: Any, culprit: str) -> None:
    with pytest.raises(InvalidProblem, match=f"'f'.*{culprit}"):
        Feature("f", levels)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="no feature 'ages': use one of 'income', 'age'"):
        LOAN.feature_index("ages")
    with pytest.raises(UnknownName, match="no action 'deny': use one of 'reject', 'accept'"):
        LOAN.action_index("deny")
    with pytest.raises(UnknownName, match="'income' has no level 'mid': use one of 'low', 'high'"):
        LOAN.features[0].code("mid")


names = st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True)


@given(st.dictionaries(st.text(min_size=1), names, min_size=1, max_size=5), names)
@settings(derandomize=True, deadline=None, max_examples=50)
def test_a_problem_survives_json(features: dict[str, list[str]], actions: list[str]) -> None:
    problem = Problem(
        tuple(Feature(name, tuple(levels)) for name, levels in features.items()), tuple(actions)
    )
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    np.testing.assert_array_equal(again.levels, problem.levels)


# Numbers, outcomes and prices.


def test_a_number_is_cut_at_its_edges() -> None:
    age = Feature.number("age", edges=(18, 30, 45, 70))
    assert age.levels == ("up to 18", "18 to 30", "30 to 45", "45 to 70", "over 70")
    assert age.ordered
    found = [age.code(value) for value in (-5, 18, 18.5, 30, 70, 1e9, "18 to 30")]
    assert found == [0, 0, 1, 1, 3, 4, 1]
    with pytest.raises(UnknownName, match="no level for missing values"):
        age.code(None)


def test_a_missing_value_is_a_level_of_its_own() -> None:
    tsh = Feature.number("TSH", edges=(0.3, 6), missing=True)
    assert tsh.levels[-1] == tsh.missing == "(missing)"
    assert [tsh.code(value) for value in (None, math.nan, "(missing)", 7)] == [3, 3, 3, 2]
    named = Feature.number("TSH", edges=(6,), levels=("low", "high"), missing="not taken")
    assert named.levels == ("low", "high", "not taken")


def test_up_to_255_intervals() -> None:
    assert len(Feature.number("x", edges=range(254)).levels) == 255
    assert len(Feature.number("x", edges=range(254), missing=True).levels) == 256
    with pytest.raises(InvalidProblem, match="256 intervals, and at most 255"):
        Feature.number("x", edges=range(255))


@pytest.mark.parametrize(
    "edges", [(), (1, math.nan), (2, 1), (1, 1), (math.inf,), ("1",), "12", 3, (True, 2)]
)
def test_edges_that_cut_nothing_are_refused(edges: Any) -> None:
    with pytest.raises(InvalidProblem, match=r"'x'.*edges"):
        Feature.number("x", edges=edges)


def test_outcomes_give_every_action_its_reward() -> None:
    rewards = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    problem = Problem((Feature("f", ("a",)),), ("decline", "approve"), outcomes=rewards)
    assert problem.outcomes is not None
    assert problem.outcomes.names == ("repaid", "default")
    assert problem.outcomes.table.tolist() == [[0, 0], [120, -900]], "in the order of the actions"
    assert (problem.rewards.low, problem.rewards.high) == (-900, 120)
    assert problem.outcomes.explaining(1, 120) == [0]
    assert problem.outcomes.explaining(0, 0) == [0, 1]
    pair = Problem(problem.features, problem.actions, outcomes=(("repaid", "default"), rewards))  # type: ignore[arg-type]
    assert pair == problem
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize(
    ("outcomes", "culprit"),
    [
        ({"approve": {"repaid": 1, "default": 0}}, "exactly these actions"),
        ({"decline": 0, "approve": 0}, "two"),
        ({"decline": 0, "approve": {"repaid": 1}}, "two"),
        ({"decline": {"repaid": 0}, "approve": {"repaid": 1, "default": 0}}, "lack"),
        ({"decline": 0, "approve": {"repaid": math.nan, "default": 0}}, "finite"),
        ({"decline": 5, "approve": {"repaid": 5, "default": 5}}, "all actions are equal"),
        ("repaid", "give"),
        ((("a", "a"), {"decline": 0, "approve": 1}), "appears twice"),
    ],
)
def test_outcomes_that_decide_nothing_are_refused(outcomes: Any, culprit: str) -> None:
    with pytest.raises(InvalidProblem, match=culprit):
        Problem((Feature("f", ("a",)),), ("decline", "approve"), outcomes=outcomes)


def test_prices_by_hand() -> None:
    prices = PriceList(
        {"a": 1.0, "b": 2.0},
        groups=[Group("g", ("a", "b"), setup=0.5)],
        bundles=[Bundle("s", ("c", "d"), price=3.0)],
    )
    assert prices.total(["b", "a"]) == 3.5
    assert prices.costs(["b", "a"]) == {"b": 2.5, "a": 1.0}
    assert prices.costs(["a"], owned=["b"]) == {"a": 1.0}
    assert prices.costs(["c", "d"]) == {"c": 1.5, "d": 1.5}
    assert prices.total(["e"]) is None
    assert PriceList.from_dict(json.loads(json.dumps(prices.to_dict()))) == prices


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: PriceList({"a": -1}), "price of 'a' is -1"),
        (lambda: PriceList({"a": math.nan}), "nan"),
        (lambda: Group("g", ("a",), setup=-0.5), "setup fee of 'g' is -0.5"),
        (lambda: Bundle("b", ("a",), price=1), "at least two"),
        (lambda: Bundle("b", ("a", "b"), price=math.inf), "inf"),
        (lambda: PriceList(bundles=[Bundle("b", ("a", "b")), Bundle("c", ("b", "c"))]), "'b'"),
        (lambda: PriceList({"a": 1}, bundles=[Bundle("b", ("a", "b"), 2)]), "has its own price"),
        (lambda: priced(PriceList({"z": 1})), "'z', which is not a feature"),
        (lambda: priced(PriceList(groups=[Group("g", ("z",), 1)])), "group 'g' contains 'z'"),
        (lambda: priced(PriceList(bundles=[Bundle("a", ("a", "b"))])), "name of a feature"),
    ],
)
def test_prices_that_cannot_be_are_refused(make: Any, culprit: str) -> None:
    with pytest.raises(InvalidProblem, match=culprit):
        make()


def priced(prices: PriceList) -> Problem:
    return Problem((Feature("a", ("0",)), Feature("b", ("0",))), ("x",), prices=prices)


def test_a_range_beside_outcomes_is_kept() -> None:
    table = {"x": 0.2, "y": {"good": 0.2, "bad": 0.8}}
    problem = Problem((Feature("a", ("0",)),), ("x", "y"), outcomes=table, rewards=RewardRange())
    assert Problem.from_dict(problem.to_dict()) == problem


def test_the_level_of_missing_values_comes_after_the_intervals() -> None:
    with pytest.raises(InvalidProblem, match="after them"):
        Feature("n", ("(missing)", "low", "high"), edges=(5,), missing="(missing)")


def test_equal_problems_have_equal_hashes() -> None:
    one, other = PriceList({"a": 1, "b": 2}), PriceList({"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    rows: list[tuple[str, Any]] = [("x", 0), ("y", {"good": 1, "bad": -0.0})]
    forward, backward = (
        Outcomes(("good", "bad"), dict(rows)),
        Outcomes(("good", "bad"), dict(rows[::-1])),
    )
    assert forward != backward, "the order of the actions matters"
    assert hash(forward) == hash(Outcomes(("good", "bad"), {"x": 0, "y": {"good": 1, "bad": 0}}))


def test_a_number_beyond_all_floats_keeps_its_sign() -> None:
    age = Feature.number("age", edges=(18, 30))
    assert [age.code(value) for value in (-(10**400), 10**400)] == [0, 2]
