"""Frontiers of gain by average spend: by hand, by brute force, and of known distributions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_markets import best_stepwise
from thrifty.environments.markets import FAMILIES
from thrifty.plans.exact import KnownDistribution
from thrifty.plans.frontier import Frontier, Mix, Point, mixed
from thrifty.prices import Group, PriceList

amounts = st.floats(0, 100).map(lambda value: round(value, 2))
points = st.lists(st.builds(Point, amounts, amounts), min_size=1, max_size=8)


def naive_gain(plans: list[Point], spend: float) -> float:
    """Return the best gain of one plan, or of two mixed, with at most this average spend."""
    found = [plan.gain for plan in plans if plan.spend <= spend]
    for low in plans:
        for high in plans:
            if low.spend <= spend < high.spend:
                share = (spend - low.spend) / (high.spend - low.spend)
                found.append(low.gain + share * (high.gain - low.gain))
    return max(found)


@settings(max_examples=200, deadline=None)
@given(points, st.floats(0, 1))
def test_the_gain_is_that_of_the_best_two_plans(plans: list[Point], where: float) -> None:
    frontier = Frontier.of(plans)
    lowest = min(plan.spend for plan in plans)
    spend = lowest + where * (100 - lowest)
    assert frontier.gain(spend) == pytest.approx(naive_gain(plans, spend), abs=1e-6)
    corners = frontier.points
    assert all(a.spend < b.spend and a.gain < b.gain for a, b in pairwise(corners))


def test_a_mix_meets_the_spend() -> None:
    frontier = Frontier.of([Point(1, 0), Point(3, 4), Point(7, 6)])
    assert frontier.mix(0.5) == Mix(0, 0, 0.0, 2.0)
    assert frontier.mix(2.5) == Mix(0, 1, 0.75, 2.0)
    assert frontier.mix(3.0) == Mix(1, 2, 0.0, 0.5)
    assert frontier.mix(7.0) == frontier.mix(9.0) == Mix(2, 2, 0.0, 0.0)
    assert Frontier((Point(0, 5),)).mix(-1.0) == Mix(0, 0, 0.0, 0.0)


def test_two_kinds_of_cases_share_a_budget() -> None:
    """A quarter of the cases gains 3 per unit up to 4; the others gain 1 per unit up to 2."""
    rare, usual = Frontier((Point(0, 0), Point(4, 12))), Frontier((Point(0, 0), Point(2, 2)))
    together = mixed([rare, usual], [1, 3])
    assert together.points == (Point(0, 0), Point(1, 3), Point(2.5, 4.5))


def screening(**prices: float) -> KnownDistribution:
    """Return a screen (high in a fifth of the cases) and a test; both are high if one is ill."""
    joint = np.zeros((2, 2, 2))
    joint[0, :, 1] = 0.4
    joint[1, 0, 1] = joint[1, 1, 0] = 0.1
    rewards = np.array([[100.0, -100.0], [-100.0, 0.0]])
    groups = [Group("lab", ("screen", "test"), 0.5)] if prices.pop("fee", 0) else []
    return KnownDistribution(joint, rewards, ["screen", "test"], (), PriceList(prices, groups))


def test_an_exact_frontier_by_hand() -> None:
    """Waiting loses 100 in a tenth of the cases.

    The screen alone costs 1 and loses nothing else: after a high one, treating is right in half of
    the cases. With the test (8 in a fifth of the cases) all who are ill are treated.
    """
    plans = screening(screen=1.0, test=8.0).frontier()
    found = [(plan.spend, plan.value) for plan in plans]
    assert found == [pytest.approx(p) for p in [(0, -10), (1, -1), (2.6, 10 - 2.6)]]


def test_a_setup_fee_is_part_of_the_spend() -> None:
    plans = screening(screen=1.0, test=8.0, fee=1).frontier()
    found = [(plan.spend, plan.value) for plan in plans]
    assert found == [pytest.approx(p) for p in [(0, -10), (1.5, -1.5), (3.1, 10 - 3.1)]]


def test_nothing_to_buy_is_a_single_plan() -> None:
    (plan,) = screening(screen=60.0, test=60.0).frontier()
    assert plan.spend == 0.0
    assert plan.value == pytest.approx(-10)


@pytest.mark.parametrize("name", ["fees", "lending", "shop", "subgroup", "triage"])
@pytest.mark.parametrize("factor", [1.0, 1.7, 4.0, 20.0])
def test_a_frontier_has_the_best_plan_at_any_prices(name: str, factor: float) -> None:
    """The best value at multiplied prices is that of a corner: the frontier determines it."""
    (table,) = FAMILIES[name](7).distributions
    prices = table.prices
    dearer = PriceList(
        {feature: factor * price for feature, price in prices.prices.items()},
        [Group(group.name, group.features, factor * group.setup) for group in prices.groups],
    )
    corners = table.frontier()
    best = max(plan.value - (factor - 1) * plan.spend for plan in corners)
    assert best == pytest.approx(best_stepwise(replace(table, prices=dearer)))


@pytest.mark.parametrize("name", ["fees", "triage"])
def test_a_plan_of_a_frontier_spends_and_gains_what_it_says(name: str) -> None:
    market = FAMILIES[name](7, rounds=50_000)
    ((_, _, levels),), cases = market._by_regime(3), market.stream(3)
    corners = market.distributions[0].frontier()
    plan = corners[len(corners) // 2]
    costs, gains = plan.costs(plan.follow(levels)), plan.gains(levels, cases.outcomes)
    for found, expected in ((costs, plan.spend), (gains, plan.value)):
        # Four standard errors: a false alarm in one of 16,000.
        assert abs(found.mean() - expected) <= 4 * found.std() / np.sqrt(len(found))


def test_the_frontier_of_a_market_ends_at_the_best_plans_of_its_regimes() -> None:
    market = FAMILIES["lending-crisis"](7)
    assert market.frontier.points[-1].gain == pytest.approx(market.truth.stepwise)
    assert market.frontier.points[0] == pytest.approx((0.0, market.truth.free))
