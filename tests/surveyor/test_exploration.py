"""How much is spent on exploring, by hand and over whole runs."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.surveyor.exploration import (
    Exploration,
    headroom,
    learning_pays,
    optimistic_headroom,
)

LENDING = np.array([[10.0, -90.0], [0.0, 0.0]])


def test_headroom_by_hand() -> None:
    # Foresight earns 10 in 80 % of the cases. Without it, declining earns 0.
    assert headroom(np.array([0.8, 0.2]), LENDING) == pytest.approx(8.0)
    # With fewer defaults approving earns 10 - 100 / 50, and foresight 10 - 10 / 50.
    assert headroom(np.array([0.98, 0.02]), LENDING) == pytest.approx(9.8 - 8.0)
    assert headroom(np.array([1.0, 0.0]), LENDING) == 0.0


def test_a_model_may_become_better_by_three_standard_errors() -> None:
    assert optimistic_headroom(10.0, informed_gain=3.0, n_rare=100) == pytest.approx(6.0)
    assert optimistic_headroom(10.0, informed_gain=-3.0, n_rare=400) == pytest.approx(1.5)
    assert optimistic_headroom(10.0, informed_gain=9.0, n_rare=100) == 10.0
    assert optimistic_headroom(10.0, informed_gain=0.0, n_rare=0) == 10.0


def test_another_complete_case_pays_until_the_plan_lacks_little() -> None:
    # With 50 rare outcomes the plan lacks 10 * 10 / 50 = 2 a case. Of 500 cases each is worth a
    # 500th of it in each of the 1,000 cases that are left: 4.
    assert learning_pays(10.0, n_rows=500, n_rare=50, n_left=1_000, cost=3.9)
    assert not learning_pays(10.0, n_rows=500, n_rare=50, n_left=1_000, cost=4.1)
    assert not learning_pays(10.0, n_rows=500, n_rare=50, n_left=0, cost=0.1)


def test_at_first_every_case_is_explored_until_the_budget_is_spent() -> None:
    exploring = Exploration(1000)  # 6 % of 1000 cases with a headroom of 5: 300
    assert exploring.rate(0, headroom=5.0, cost=2.0) == 1.0
    exploring.spent = 299.0
    assert exploring.rate(0, headroom=5.0, cost=2.0) == 1.0
    exploring.spent = 300.0
    assert exploring.rate(0, headroom=5.0, cost=2.0) == 0.0
    exploring.advance(150, n_rows=150, has_plan=False, is_clear=False, headroom=5.0)
    assert (exploring.is_first, exploring.spent, exploring.start) == (False, 0.0, 150)


def test_the_first_phase_ends_when_a_plan_is_confirmed_by_twice_the_cases() -> None:
    exploring = Exploration(8_000)
    exploring.advance(99, n_rows=99, has_plan=False, is_clear=False, headroom=5.0)
    exploring.advance(100, n_rows=100, has_plan=True, is_clear=True, headroom=5.0)
    exploring.advance(199, n_rows=199, has_plan=True, is_clear=True, headroom=5.0)
    assert exploring.is_first
    exploring.advance(200, n_rows=200, has_plan=True, is_clear=True, headroom=5.0)
    assert not exploring.is_first
    assert exploring.start_rows == 200


@pytest.mark.parametrize(
    ("horizon", "n_rows", "needed"),
    [(8_000, 40, 120), (8_000, 1000, 600), (64_000, 40, 480), (1_000, 1000, 150)],
)
def test_very_early_and_very_late_plans(horizon: int, n_rows: int, needed: int) -> None:
    """The limits grow with the power 2/3 of the horizon: four times for eight times as many."""
    exploring = Exploration(horizon)
    exploring.advance(n_rows, n_rows=n_rows, has_plan=True, is_clear=True, headroom=5.0)
    assert 2 * exploring.planned_rows == needed


def test_a_plan_that_is_not_clearly_better_does_not_end_the_first_phase() -> None:
    exploring = Exploration(1000)
    for rows in (100, 200, 300):
        assert not exploring.advance(rows, rows, has_plan=True, is_clear=False, headroom=5.0)
    assert exploring.advance(301, 301, has_plan=True, is_clear=True, headroom=5.0)


def test_the_first_phase_ends_if_nothing_more_may_be_lost() -> None:
    exploring = Exploration(1000)
    assert exploring.advance(50, 50, False, False, headroom=5.0, can_go_on=False)
    assert not exploring.is_first
    assert not exploring.advance(51, 51, False, False, headroom=5.0, can_go_on=False)


def test_the_cost_of_exploring_is_added_up_over_phases() -> None:
    exploring = Exploration(1000)
    exploring.add(3.0)
    exploring.restart(10)
    exploring.add(2.0)
    assert (exploring.spent, exploring.total, exploring.n_cases) == (2.0, 5.0, 2)


def test_a_trickle_follows_by_hand() -> None:
    exploring = Exploration(1000, is_first=False, start=100, start_rows=20)
    # 10 % of a headroom of 5, by the root of 10 % of all cases, by sqrt(300 + 100) - sqrt(100).
    allowed = 0.1 * 5.0 * sqrt(100) * (20 - 10)
    assert exploring.rate(399, headroom=5.0, cost=200.0) == pytest.approx(allowed / 200)
    exploring.spent = allowed - 2.0
    assert exploring.rate(399, headroom=5.0, cost=8.0) == pytest.approx(0.25)
    exploring.spent = allowed + 2.0
    assert exploring.rate(399, headroom=5.0, cost=8.0) == 0.0


def test_after_a_change_a_third_may_be_spent() -> None:
    exploring = Exploration(1000, is_first=False, spent=50.0, planned_rows=60)
    exploring.restart(700)
    assert (exploring.is_first, exploring.spent, exploring.start) == (True, 0.0, 700)
    assert exploring.planned_rows == 0
    exploring.spent = 99.9  # 2 % of 1000 cases with a headroom of 5
    assert exploring.rate(700, headroom=5.0, cost=2.0) == 1.0
    exploring.spent = 100.1
    assert exploring.rate(700, headroom=5.0, cost=2.0) == 0.0


def test_a_plan_that_disappoints_needs_half_as_many_cases_more() -> None:
    exploring = Exploration(8_000, is_first=False)
    exploring.resume(5_000, n_rows=400)
    assert exploring.is_first
    assert not exploring.advance(5_199, 599, has_plan=True, is_clear=True, headroom=5.0)
    assert exploring.advance(5_200, 600, has_plan=True, is_clear=True, headroom=5.0)


def test_past_cases_take_the_place_of_the_first_phase() -> None:
    exploring = Exploration(1000)
    exploring.skip_first(0)
    assert exploring.is_first
    exploring.skip_first(500)
    assert not exploring.is_first
    assert exploring.rate(0, headroom=5.0, cost=2.0) < 0.2


@given(
    gap=st.floats(0, 100),
    cost=st.floats(0.01, 50),
    horizon=st.integers(1, 3000),
    seed=st.integers(0, 1000),
)
def test_never_much_more_is_spent_than_allowed(
    gap: float, cost: float, horizon: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    exploring, total = Exploration(horizon), 0.0
    for t in range(min(horizon, 300)):
        rate = exploring.rate(t, gap, cost)
        assert 0 <= rate <= 1
        if rng.random() < rate:
            exploring.spent += cost
            total += cost
        exploring.advance(t, n_rows=t + 1, has_plan=False, is_clear=False, headroom=gap)
    trickle = 0.1 * gap * sqrt(0.1 * horizon) * sqrt(horizon)
    assert total <= 0.06 * gap * horizon + trickle + 2 * cost


def test_counters_are_saved_exactly() -> None:
    exploring = Exploration(1000, False, 0.02, 1 / 3, 7, 20, 60, 3, 0.1)
    assert Exploration(**json.loads(json.dumps(exploring.to_dict()))) == exploring
