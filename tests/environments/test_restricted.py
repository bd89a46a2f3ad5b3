"""Restricted environments: numbers that a reader can check by hand."""

import numpy as np
import pytest

from thrifty.environments import Replay, families
from thrifty.environments.restricted import best_fixed_set, restricted, with_all_features
from thrifty.errors import InvalidProblem, InvalidPurchase
from thrifty.prices import Bundle, Group, PriceList
from thrifty.problem import Feature, Problem
from thrifty.regret import expected_regret, uniform_regret, value_of_information
from thrifty.rounds import Run
from thrifty.simulation import simulate

# Two fair coins. The second says which action pays, the first nothing.
COINS = [[0, 0], [0, 1], [1, 0], [1, 1]]
REWARDS = [[1, 0], [0, 1], [1, 0], [0, 1]]


def coins(prices: list[float], **options: object) -> Replay:
    return Replay(COINS, REWARDS, [prices] * 4, **options)  # type: ignore[arg-type]


def test_the_informative_feature_is_chosen_if_it_is_worth_its_price() -> None:
    assert best_fixed_set(coins([0.01, 0.4])).tolist() == [False, True]  # 1 - 0.4 > 0.5 - 0.01


def test_at_least_one_feature_is_bought() -> None:
    """The informative one would gain 1 - 0.6, the cheap one 0.5 - 0.01; nothing would gain 0.5."""
    assert best_fixed_set(coins([0.01, 0.6])).tolist() == [True, False]


def test_free_features_are_always_in_the_set() -> None:
    replay = coins([0.01, 0.4], free=[True, False])
    assert best_fixed_set(replay).tolist() == [True, True]
    assert best_fixed_set(coins([0.5, 0.4], free=[False, True])).tolist() == [False, True]


def test_the_set_is_one_for_the_whole_run() -> None:
    """The first coin decides for 6 rounds and the second for 2: both together cost too much."""
    contexts = COINS * 2
    rewards = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]]
    long = Replay(
        contexts[:4] * 3 + contexts[:4],
        rewards[:4] * 3 + rewards[4:],
        [[0.3, 0.3]] * 16,
        reward_changes=[12],
    )
    assert best_fixed_set(long).tolist() == [True, False]
    late = Replay(
        contexts[:4] + contexts[:4] * 3,
        rewards[:4] + rewards[4:] * 3,
        [[0.3, 0.3]] * 16,
        reward_changes=[4],
    )
    assert best_fixed_set(late).tolist() == [False, True]
    assert best_fixed_set(late, rounds=4).tolist() == [True, False]


def test_where_no_feature_is_relevant_the_cheapest_one_is_chosen() -> None:
    replay = families.nothing_worth_buying(3, rounds=400).draw(3)
    prices = np.bincount(replay.truth.cost_piece) @ replay.truth.costs
    assert best_fixed_set(replay).tolist() == (prices == prices.min()).tolist()


def test_the_set_is_the_best_of_all_by_a_slow_search() -> None:
    replay = families.dear_noisy_prices(1, rounds=600).draw(1)
    truth, values = replay.truth, {}
    for number in range(1, 2**5):
        mask = tuple(bool(number >> (4 - i) & 1) for i in range(5))
        values[mask] = sum(truth.best_gain(mask, t) for t in range(replay.horizon))
    assert tuple(best_fixed_set(replay).tolist()) == max(values, key=lambda mask: values[mask])


def test_a_restricted_table_has_the_columns_that_are_kept() -> None:
    one = restricted(coins([0.1, 0.2]), [False, True])
    assert one.contexts[:, 0].tolist() == [0, 1, 0, 1]
    assert one.costs[:, 0].tolist() == [0.2] * 4
    assert one.problem.feature_names == ("x2",)
    assert one.rewards.tolist() == REWARDS
    with pytest.raises(InvalidPurchase, match="keep at least one"):
        restricted(one, [False])
    with pytest.raises(InvalidPurchase, match="one entry per feature"):
        restricted(one, [True, True])


def test_the_oracle_of_restricted_rounds_uses_means_over_the_other_features() -> None:
    useless = restricted(coins([0.1, 0.2]), [True, False]).truth.oracle_plan
    assert useless.gains.tolist() == [0.5]
    assert useless.masks.tolist() == [[False]]
    useful = restricted(coins([0.1, 0.2]), [False, True]).truth.oracle_plan
    assert useful.gains.tolist() == [pytest.approx(0.8)]


def test_a_run_is_the_same_with_all_columns() -> None:
    """LinUCB buys what it is offered: only the features of the set are paid for."""
    replay = families.one_relevant(0, rounds=300).draw(0)
    mask = best_fixed_set(replay)
    run = simulate("linucb", restricted(replay, mask), seeds=[0], workers=1)[0]
    whole = with_all_features(run, mask)
    assert (whole.observed == mask).all()
    assert whole.costs.sum() == pytest.approx(replay.costs[:, mask].sum())
    assert expected_regret(whole, replay).shape == (300,)
    best = replay.truth.oracle_plan
    gap = best.gains[best.plan_of_round].sum() - expected_regret(whole, replay).sum()
    assert gap == pytest.approx(run.gains.sum(), abs=40)  # the noise of 300 rewards


def test_groups_and_bundles_are_restricted_too() -> None:
    problem = Problem(
        [Feature("a", ("0", "1")), Feature("b", ("0", "1")), Feature("c", ("0", "1"))],
        ["left", "right"],
        prices=PriceList(
            {"a": 0.1}, groups=[Group("lab", ("a", "b"), 0.2)], bundles=[Bundle("pair", ("b", "c"))]
        ),
    )
    replay = Replay([[0, 0, 0]], [[1, 0]], [[0.1, 0.1, 0.1]], problem=problem)
    one = restricted(replay, [True, False, False]).problem.prices
    assert one is not None
    assert (one.prices, one.bundles) == ({"a": 0.1}, ())
    assert [group.features for group in one.groups] == [("a",)]
    pair = restricted(replay, [False, True, True]).problem.prices
    assert pair is not None
    assert [bundle.name for bundle in pair.bundles] == ["pair"]
    with pytest.raises(InvalidProblem, match="sold together"):
        restricted(replay, [False, True, False])


def test_regret_of_the_uniform_choice() -> None:
    replay = coins([0.1, 0.2])
    assert uniform_regret(replay).tolist() == [pytest.approx(0.3)] * 4  # 0.8 - 0.5
    blind = Run(
        np.zeros((4, 2), bool), np.array([0, 1, 1, 0]), np.array([1.0, 1, 0, 0]), np.zeros(4)
    )
    assert expected_regret(blind, replay).mean() == pytest.approx(0.3)
    assert (uniform_regret(replay) >= value_of_information(replay) - 1e-12).all()
