"""Past cases as an environment."""

import numpy as np

from thrifty.environments.past_cases import replay_of
from thrifty.plans.cases import PastCases
from thrifty.problem import Bundle, Feature, Group, PriceList, Problem
from thrifty.rounds import Purchase

NAMES = ("age", "TSH", "T3", "T4")
PROBLEM = Problem(
    [Feature(name, ("low", "high")) for name in NAMES],
    ["wait", "treat"],
    outcomes={"wait": {"well": 0, "ill": -90}, "treat": {"well": -10, "ill": 10}},
    prices=PriceList(
        {"TSH": 20.0}, [Group("blood", ("TSH", "T3", "T4"), 2.0)], [Bundle("T", ("T3", "T4"), 5.0)]
    ),
)
PAST = PastCases(
    PROBLEM,
    np.array([[0, 1, 0, 1], [1, 0, 1, 0]]),
    np.array([1, 0]),
    np.array([True, False, False, False]),
    {"T": np.array([4.0, 8.0])},
)


def test_prices_and_rewards_are_on_the_scale_of_the_policy() -> None:
    replay = replay_of(PAST)
    np.testing.assert_allclose(replay.costs, [[0, 0.2, 0.02, 0.02], [0, 0.2, 0.04, 0.04]])
    np.testing.assert_allclose(replay.rewards, [[0.0, 1.0], [0.9, 0.8]])
    assert replay.free.tolist() == [True, False, False, False]


def test_what_is_paid_is_what_past_cases_cost() -> None:
    replay = replay_of(PAST)
    seen = replay.reveal(Purchase([False, False, True, False]))  # the whole bundle, and the fee
    assert seen.codes.tolist() == [0, -1, 0, 1]
    looks = [k for k, look in enumerate(PAST.looks) if look.name == "T"]
    np.testing.assert_allclose(seen.total_cost * 100, PAST.cost(looks)[0])
    replay.step(0)
    assert replay.outcome() is None  # only the reward tells it
