"""The families: what each promises, by numbers that can be checked, and what all have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature

import numpy as np
import pytest
from numpy.typing import NDArray

from thrifty.environments import Truth, World, families
from thrifty.environments.families import FAMILIES
from thrifty.environments.family_tables import PRICES, REWARD_CHANGES
from thrifty.errors import InvalidParameter
from thrifty.regret import expected_regret
from thrifty.simulation import simulate

ROUNDS = 400
CHANGEABLE = [name for name, make in FAMILIES.items() if "changes" in signature(make).parameters]
EVERY: dict[str, Callable[..., World]] = {
    **FAMILIES,
    "random-3x2": partial(families.random_tables, n_features=3, n_actions=2),
    "random-5x2": partial(families.random_tables, n_actions=2),
    "random-5x5": partial(families.random_tables, n_actions=5),
    "random-8x3": partial(families.random_tables, n_features=8),
    "15-features": partial(families.many_features, n_features=15),
    "twenty-changes": partial(families.random_tables, changes=20),
    **{f"stationary {name}": partial(FAMILIES[name], changes=0) for name in CHANGEABLE},
}
BUYING = [name for name in EVERY if not name.endswith("nothing-worth-buying")]


def mean_of_plans(truth: Truth, values: NDArray[np.float64 | np.int64]) -> float:
    """Return the mean over the rounds of what holds for each plan."""
    return float(values[truth.oracle_plan.plan_of_round].mean())


def blind_gain(truth: Truth) -> float:
    """Return what the best action gains on average, if nothing is ever bought."""
    nothing = np.zeros(len(truth.levels), dtype=np.bool_)
    return float(truth.best_rewards(nothing)[truth.reward_piece].mean())


@pytest.mark.parametrize("name", EVERY)
def test_a_seed_is_a_world(name: str) -> None:
    make = EVERY[name]
    one, again, other = make(3, rounds=ROUNDS), make(3, rounds=ROUNDS), make(4, rounds=ROUNDS)
    assert np.array_equal(one.truth.rewards, again.truth.rewards)
    assert np.array_equal(one.truth.costs, again.truth.costs)
    assert np.array_equal(one.draw(3).contexts, again.draw(3).contexts)
    assert not (
        np.array_equal(one.truth.costs, other.truth.costs)
        and np.array_equal(one.truth.probabilities, other.truth.probabilities)
    )
    assert one.problem == other.problem  # so that many seeds fit into one simulation


@pytest.mark.parametrize("name", EVERY)
def test_the_oracle_has_no_regret(name: str) -> None:
    make = partial(EVERY[name], rounds=ROUNDS)
    regret = expected_regret(simulate("oracle", make, seeds=[0, 1], workers=1), make)
    # By its means, only the chance of which partial state comes up is left: six deviations.
    assert np.abs(regret.mean(axis=1)).max() <= 6 * regret.std() / np.sqrt(ROUNDS) + 1e-12


@pytest.mark.parametrize("name", BUYING)
def test_looking_is_worth_its_price(name: str) -> None:
    truths = [EVERY[name](seed, rounds=ROUNDS).truth for seed in range(8)]
    more = [mean_of_plans(truth, truth.oracle_plan.gains) - blind_gain(truth) for truth in truths]
    assert min(more) >= -1e-12
    least = {"dear-noisy-prices": 0.03, "winter": 0.03, "rare-outcomes": 0.01}
    assert np.mean(more) >= least.get(name, 0.05)
    bought = [
        mean_of_plans(truth, truth.oracle_plan.masks.max(axis=1).astype(np.int64))
        for truth in truths
    ]
    assert np.mean(bought) >= 0.5


@pytest.mark.parametrize("name", EVERY)
def test_changes_are_at_shares_of_any_horizon(name: str) -> None:
    short, long = EVERY[name](0, rounds=ROUNDS).truth, EVERY[name](0, rounds=5 * ROUNDS).truth
    # A share such as 1/9 is rounded; a step of a ramp is a share of the ramp.
    assert (short.reward_piece != long.reward_piece[::5]).mean() < 0.05
    assert np.array_equal(short.cost_piece, long.cost_piece[::5])
    assert np.array_equal(short.rewards, long.rewards)


def test_too_short_a_world_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="rounds is 99"):
        families.one_relevant(0, rounds=99)
    with pytest.raises(InvalidParameter, match="n_features is 11"):
        families.random_tables(0, n_features=11)
    with pytest.raises(InvalidParameter, match="n_actions is 0"):
        families.random_tables(0, n_actions=0)
    with pytest.raises(InvalidParameter, match="n_relevant is 6"):
        families.many_features(0, n_features=5, n_relevant=6)


@pytest.mark.parametrize("name", CHANGEABLE)
def test_as_many_changes_as_wanted_at_even_distances(name: str) -> None:
    world = FAMILIES[name](0, changes=3, rounds=ROUNDS)
    assert world.draw(0).reward_changes == (100, 200, 300)
    assert len(world.truth.rewards) == 4
    still = FAMILIES[name](0, changes=0, rounds=ROUNDS)
    assert still.draw(0).reward_changes == still.draw(0).cost_changes == ()
    assert len(still.truth.rewards) == len(still.truth.costs) == 1
    with pytest.raises(InvalidParameter, match="changes is -1"):
        FAMILIES[name](0, changes=-1, rounds=ROUNDS)


def test_defaults() -> None:
    world = families.random_tables(0)
    assert world.horizon == 10_000
    assert world.draw(0).reward_changes == tuple(10_000 * share for share in REWARD_CHANGES)
    assert world.draw(0).cost_changes == (4000, 7000)
    costs = world.truth.costs
    assert ((costs > PRICES[0]) & (costs < PRICES[1])).all()
    best = world.truth.rewards.max(axis=1)
    assert best.min() >= 0.7
    assert (np.sort(world.truth.rewards, axis=1)[:, :-1] <= 0.4).all()


def test_xor_among_many() -> None:
    for seed in range(5):
        truth = families.xor_among_many(seed, rounds=ROUNDS).truth
        nothing = np.zeros(30, dtype=np.bool_)
        assert truth.best_rewards(nothing) == pytest.approx(0.5)
        for plan in range(len(truth.oracle_plan.masks)):
            mask = truth.oracle_plan.masks[plan]
            assert mask.sum() == 2
            piece = int(truth.reward_piece[truth.oracle_plan.plan_of_round == plan][0])
            assert truth.best_rewards(mask)[piece] == pytest.approx(0.85)
            for i in np.flatnonzero(mask):
                alone = np.arange(30) == i
                assert truth.best_rewards(alone)[piece] == pytest.approx(0.5)
        assert (truth.costs > 0.005).all()
        assert (truth.costs < 0.03).all()
    with pytest.raises(InvalidParameter, match="changes is 8"):
        families.xor_among_many(0, changes=8)


def relevant_in(truth: Truth, piece: int) -> list[int]:
    """Return the features on which some mean reward of the piece depends."""
    table = truth.rewards[piece].reshape(-1, *truth.levels)
    return [i for i in range(len(truth.levels)) if np.ptp(table, axis=i + 1).max() > 0]


def test_three_features_decide_in_a_random_table() -> None:
    truth = families.random_tables(1, n_features=8, rounds=ROUNDS).truth
    sets = [relevant_in(truth, piece) for piece in range(5)]
    assert {len(features) for features in sets} == {3}
    assert len({tuple(features) for features in sets}) > 1


def test_xor_tells_nothing_by_halves() -> None:
    truth = families.xor_of_two(2, rounds=ROUNDS).truth
    for piece in range(5):
        one, other = relevant_in(truth, piece)
        nothing = np.zeros(8, dtype=np.bool_)
        for i in (one, other):
            alone = np.arange(8) == i
            np.testing.assert_allclose(truth.mean_rewards(alone)[piece], 0.5)
        both = nothing | np.isin(np.arange(8), [one, other])
        means = truth.mean_rewards(both)[piece]
        np.testing.assert_allclose(np.sort(means, axis=0), [[0.15] * 4, [0.85] * 4])
        assert truth.best_rewards(both)[piece] == pytest.approx(0.85)


def test_additive_means_are_sums() -> None:
    truth = families.additive(0, rounds=ROUNDS).truth
    table = truth.rewards[0].reshape(3, 3, 3, 3, 3, 3)
    effects = np.zeros_like(table)
    for i in range(1, 6):
        others = tuple(axis for axis in range(1, 6) if axis != i)
        effects = effects + table.mean(axis=others, keepdims=True)
    mean = table.mean(axis=(1, 2, 3, 4, 5), keepdims=True)
    np.testing.assert_allclose(effects - 4 * mean, table, atol=1e-12)


def test_flipping_prices_flip_the_best_set() -> None:
    truth = families.flipping_prices(0, rounds=1000).truth
    plan = truth.oracle_plan
    masks = plan.masks[plan.plan_of_round[100::200]]
    bought = [np.flatnonzero(mask).tolist() for mask in masks]
    assert bought == [bought[0], bought[1]] * 2 + [bought[0]]
    assert bought[0] != bought[1]
    assert (truth.states[:, bought[0][0]] == truth.states[:, bought[1][0]]).all()


def test_dear_prices_are_dear_and_noisy() -> None:
    drawn = families.dear_noisy_prices(0).draw(0)
    assert drawn.truth.costs.mean() > 0.1
    first = drawn.costs[: drawn.cost_changes[0]]
    dear = int(first.mean(axis=0).argmax())
    assert first[:, dear].std() == pytest.approx(0.1, abs=0.01)


def test_drift_takes_four_fifths_of_the_rounds() -> None:
    drawn = families.gradual_drift(0).draw(0)
    steps = np.diff([*drawn.reward_changes, 10_000])
    assert (steps == 200).sum() == 40
    assert drawn.cost_changes == (4000, 7000)


def test_graded_rewards_spread_as_a_beta_does() -> None:
    drawn = families.graded_rewards(0).draw(0)
    truth = drawn.truth
    m = (truth.rewards[0] * truth.probabilities).sum(axis=1)
    within = (truth.rewards[0] * (1 - truth.rewards[0]) / 5) @ truth.probabilities
    between = truth.rewards[0] ** 2 @ truth.probabilities - m**2
    first = drawn.rewards[: drawn.reward_changes[0]]
    np.testing.assert_allclose(first.var(axis=0), within + between, atol=0.02)
    assert ((first > 0) & (first < 1)).mean() > 0.99


def test_blurred_views_of_one_class_are_correlated() -> None:
    truth = families.correlated_features(0, rounds=ROUNDS).truth
    p = truth.probabilities.reshape(3, 3, 3, 3, 3)
    pair = p.sum(axis=(2, 3, 4))
    assert np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).max() > 0.02
    alone = [truth.best_rewards(np.arange(5) == i)[0] for i in range(5)]
    assert min(alone) > truth.best_rewards([False] * 5)[0]
    assert truth.best_rewards([True] * 5)[0] > max(alone)


def test_rare_states_matter() -> None:
    truth = families.rare_states(0, rounds=ROUNDS).truth
    np.testing.assert_allclose(np.sort(truth.probabilities)[-3:], [0.063, 0.063, 0.81])
    more = truth.best_rewards([True] * 5) - truth.best_rewards([False] * 5)
    assert more.min() > 0.02


def test_thirty_features_are_exact() -> None:
    world = families.many_features(0)
    assert world.truth.relevant.sum() == 3
    plan = world.truth.oracle_plan
    assert (plan.masks <= world.truth.relevant).all()
    oracle = simulate("oracle", world, seeds=[0], workers=1)
    regret = expected_regret(oracle, world)
    # The oracle's realised gain against its expectation, six standard errors.
    gap = oracle.gains - plan.gains[plan.plan_of_round]
    assert abs(gap.mean()) <= 6 * gap.std() / 100
    assert abs(regret.mean()) <= 6 * regret.std() / 100
