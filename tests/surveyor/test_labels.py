"""What a reward says about the outcome, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_learner import LENDING
from thrifty.problem import Bundle, Feature, PriceList, Problem
from thrifty.surveyor.labels import OutcomeTable, planning_problem

TEST = Feature("test", ("low", "high"))
CLAIMS = Problem(
    [TEST],
    ["inspect", "pay", "refuse"],
    outcomes={
        "inspect": {"honest": -10, "wrong": 20, "fraud": 90},
        "pay": {"honest": 0, "wrong": 0, "fraud": -100},
        "refuse": -5,
    },
)


def possible(problem: Problem, action: int, money: float, draw: float = 0.5) -> list[bool]:
    reward = (money - problem.rewards.low) / problem.rewards.span
    found: list[bool] = OutcomeTable.of(problem).possible(action, reward, None, draw).tolist()
    return found


def test_a_reward_leaves_the_outcomes_for_which_the_action_pays_it() -> None:
    assert possible(LENDING, 0, -90) == [False, True]  # approved, and not repaid
    assert possible(LENDING, 1, 0) == [True, True]  # declined
    assert possible(CLAIMS, 0, 20) == [False, True, False]
    assert possible(CLAIMS, 1, 0) == [True, True, False]
    assert possible(CLAIMS, 1, -100) == [False, False, True]
    assert possible(CLAIMS, 2, -5) == [True, True, True]


def test_a_reported_outcome_is_the_only_possible_one() -> None:
    table = OutcomeTable.of(LENDING)
    assert table.possible(1, 0.9, 1, 0.5).tolist() == [False, True]


def test_without_declared_outcomes_each_action_succeeds_or_not() -> None:
    table = OutcomeTable.of(Problem.anonymous((2,), n_actions=2))
    assert table.outcomes.names == ("00", "01", "10", "11")
    assert table.table.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert table.possible(0, 1.0, None, 0.99).tolist() == [False, False, True, True]
    assert table.possible(1, 0.0, None, 0.0).tolist() == [True, False, True, False]
    assert not table.is_declared


def test_actions_pay_their_own_bounds() -> None:
    lending = Problem.anonymous((2,), n_actions=2)
    table = OutcomeTable.of(lending, np.array([[0.25, 0.25], [0.0, 0.5]]))
    assert table.table.tolist() == [[0.25] * 4, [0.0, 0.5, 0.0, 0.5]]
    assert table.tells.tolist() == [False, True]
    # The first action always pays the same, so it counts as paying its upper bound.
    assert table.possible(1, 0.5, None, 0.99).tolist() == [False, False, False, True]
    assert table.possible(1, 0.0, None, 0.0).tolist() == [False, False, True, False]
    assert table.possible(1, 0.2, None, 0.39).tolist() == [False, False, False, True]
    assert table.possible(1, 0.2, None, 0.41).tolist() == [False, False, True, False]
    assert table.possible(0, 0.25, None, 0.5).all()


def test_of_many_actions_one_succeeds() -> None:
    table = OutcomeTable.of(Problem.anonymous((2,), n_actions=4))
    np.testing.assert_array_equal(table.table, np.eye(4))
    assert table.possible(2, 1.0, None, 0.5).tolist() == [False, False, True, False]
    assert table.possible(2, 0.0, None, 0.5).tolist() == [True, True, False, True]


def test_rewards_between_the_ends_are_rounded_without_bias() -> None:
    table = OutcomeTable.of(Problem.anonymous((2,), n_actions=1))
    assert table.possible(0, 0.3, None, 0.29).tolist() == [False, True]
    assert table.possible(0, 0.3, None, 0.31).tolist() == [True, False]
    draws = (np.arange(1000) + 0.5) / 1000
    assert sum(bool(table.possible(0, 0.3, None, draw)[1]) for draw in draws) == 300


def test_information_by_hand() -> None:
    # Equal probabilities: to inspect tells everything, to refuse nothing. To pay tells fraud from
    # the others; between those two an uncertainty of log 2 remains in two of three cases.
    found = OutcomeTable.of(CLAIMS).information(np.full(3, 1 / 3))
    np.testing.assert_allclose(found, [1, 1 - 2 / 3 * log(2) / log(3), 0], atol=1e-9)


@given(weights=st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_information_is_a_share(weights: list[float]) -> None:
    found = OutcomeTable.of(CLAIMS).information(np.array(weights) / sum(weights))
    assert (found > -1e-9).all()
    assert (found < 1 + 1e-9).all()
    assert found[0] == pytest.approx(1)
    assert found[2] == pytest.approx(0, abs=1e-9)


def test_whether_every_action_tells_the_outcome() -> None:
    assert not OutcomeTable.of(LENDING).reveals_all
    pays = {"treat": {"ill": 5, "well": -1}, "wait": {"ill": -9, "well": 0}}
    assert OutcomeTable.of(Problem([TEST], tuple(pays), outcomes=pays)).reveals_all


def test_features_without_a_price_cost_nothing_at_first() -> None:
    names = ("a", "b", "c", "d")
    prices = PriceList({"a": 3.0}, bundles=[Bundle("both", ("c", "d"), 2.0)])
    problem = Problem([Feature(name, ("0", "1")) for name in names], ["x", "y"], prices=prices)
    planning = planning_problem(problem, OutcomeTable.of(problem))
    assert planning.prices is not None
    assert dict(planning.prices.prices) == {"a": 3.0, "b": 0.0}
    assert planning.prices.bundles == prices.bundles
    assert planning.outcomes is not None
    assert planning.rewards == problem.rewards


def test_what_another_action_tells_beyond_a_reward() -> None:
    table = OutcomeTable.of(CLAIMS)
    p = np.array([0.5, 0.25, 0.25])
    entropy = -float(p @ np.log(p))
    # Paying tells fraud from the others. Inspecting also tells the honest from the wrong ones.
    left = 0.75 * (log(3) - 2 / 3 * log(2))
    beyond = table.information_beyond(1, p)
    assert beyond == pytest.approx([left / entropy, 0.0, 0.0])
    assert table.information_beyond(0, p) == pytest.approx([0.0, 0.0, 0.0])
    assert table.information_beyond(2, p) == pytest.approx(table.information(p))


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_two_rewards_tell_no_less_than_the_better_one(weights: list[float]) -> None:
    table, p = OutcomeTable.of(CLAIMS), np.array(weights) / sum(weights)
    alone = table.information(p)
    for action in range(3):
        both = alone[action] + table.information_beyond(action, p)
        assert (both >= alone - 1e-9).all()
        assert (both <= 1 + 1e-9).all()
