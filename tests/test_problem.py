"""Features, actions, and what makes no problem."""

import json
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from thrifty.errors import InvalidProblem, UnknownName
from thrifty.problem import Feature, Problem

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
        ((Feature("f", ("x",)), Feature("f", ("y",))), ("a",), "feature 'f' stands twice"),
        ((Feature("f", ("x",)),), ("a", "b", "a"), "action 'a' stands twice"),
        ((Feature("", ("x",)),), ("a",), "feature '' is not a name"),
        ((Feature("f", ("x",)),), ("a", 3), "action 3 is not a name"),
    ],
)
def test_what_makes_no_problem_is_refused(features: Any, actions: Any, culprit: str) -> None:
    with pytest.raises(InvalidProblem, match=culprit):
        Problem(features, actions)


@pytest.mark.parametrize(
    ("levels", "culprit"),
    [((), "no levels"), (("a", "a"), "'a' stands twice"), (("a", ""), "'' is not a name")],
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
