"""Markets: exact gains by hand, by brute force and by drawing cases; what a policy may see."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from naive_markets import best_fixed, best_stepwise, set_gain
from thrifty.checks import check_environment
from thrifty.environments import Column, Market, Regime
from thrifty.environments.market import Rewards
from thrifty.environments.market_columns import encode
from thrifty.environments.markets import FAMILIES
from thrifty.errors import InvalidParameter, InvalidTable
from thrifty.prices import Group
from thrifty.rounds import Purchase

SICK: Rewards = {"treat": {"well": -10.0, "ill": 10.0}, "wait": 0.0}

each_family = pytest.mark.parametrize("name", FAMILIES)


def tiny(**options: object) -> Market:
    """Return a free sign, and two tests that share a setup fee of 1.

    Without the sign (half of the cases) no one is ill. With it, both tests are coins, and the
    patient is ill if the first is 1; the second is a copy of the first.
    """
    joint = np.zeros((2, 2, 2, 2))
    joint[0, :, :, 0] = 0.125
    joint[1, 0, 0, 0] = joint[1, 1, 1, 1] = 0.25
    columns = [
        Column("sign", None, levels=("no", "yes")),
        Column("test", 1.0, ends=(0.0, 95.0, 100.0)),
        Column("copy", 0.5, levels=("0", "1")),
        Column("noise", 0.1, ends=(0.0, 100.0)),
    ]
    return Market(
        columns,
        SICK,
        [Regime(joint)],
        informative=["sign", "test", "copy"],
        groups=[Group("lab", ("test", "copy"), 1.0)],
        **options,  # type: ignore[arg-type]
    )


def test_exact_gains_by_hand() -> None:
    truth = tiny().truth
    assert truth.constant == 0  # treating everybody gains .25 * 10 - .75 * 10
    assert truth.free == 0  # with the sign, half are ill
    assert truth.fixed == pytest.approx(0.25 * 10 - 1.5)  # the copy in every case, with the fee
    assert truth.stepwise == pytest.approx(0.5 * (0.5 * 10 - 1.5))  # only with the sign
    assert truth.foresight == pytest.approx(0.25 * 10)
    assert truth.share(truth.stepwise / 2) == pytest.approx(0.5)


def test_the_truth_is_the_mean_over_regimes_by_their_length() -> None:
    column = Column("test", 1.0, levels=("0", "1"))
    clear = Regime(np.array([[0.5, 0.0], [0.0, 0.5]]), 0.75)
    noise = Regime(np.array([[0.25, 0.25], [0.25, 0.25]]), 0.25)
    market = Market([column], SICK, [clear, noise], rounds=100)
    assert market.starts == (0, 75, 100)
    assert market.truth.stepwise == pytest.approx(0.75 * (5 - 1))
    assert market.truth_from(75) == market.truths[1]
    assert market.truth_from(50).foresight == pytest.approx(5)


@each_family
def test_exact_gains_are_those_of_a_slow_twin(name: str) -> None:
    market = FAMILIES[name](7)
    for table, truth in zip(market.distributions, market.truths, strict=True):
        assert truth.constant == pytest.approx(set_gain(table, ()))
        assert truth.free == pytest.approx(set_gain(table, table.free))
        assert truth.fixed == pytest.approx(best_fixed(table))
        assert truth.stepwise == pytest.approx(best_stepwise(table))


@each_family
def test_the_best_plan_gains_what_the_truth_says(name: str) -> None:
    market = FAMILIES[name](11, rounds=100_000)
    decisions, cases = market.best_decisions(3), market.stream(3)
    realised = cases.rewards[decisions.actions, cases.outcomes] - decisions.costs
    error = realised.std() / np.sqrt(len(realised))
    assert abs(realised.mean() - market.truth.stepwise) <= 4 * error + 1e-9
    expected = market.expected_rewards(3)[np.arange(100_000), decisions.actions] - decisions.costs
    error = expected.std() / np.sqrt(len(expected))
    assert abs(expected.mean() - market.truth.stepwise) <= 4 * error + 1e-9


@pytest.mark.parametrize("name", ["fees", "thresholds", "shop-turning"])
def test_the_environment_charges_and_pays_what_the_best_plan_counts(name: str) -> None:
    market = FAMILIES[name](5, rounds=200)
    market.reset(seed=9)
    decisions, cases, scale = market.best_decisions(9), market.stream(9), market.problem.rewards
    informative = [market.problem.feature_index(n) for n in market.distributions[0].names]
    levels = market._drawn(9).levels
    for t in range(market.horizon):
        plan = market.best_plans[market.regime_of_case[t]]
        bought = plan.follow(levels[[t]]).bought[0]
        market.known()
        for i in np.flatnonzero(bought)[::-1]:  # one by one, in any order
            mask = np.arange(market.problem.n_features) == informative[i]
            seen = market.reveal(Purchase(mask))
        seen = market.reveal(Purchase.nothing(market.problem))
        assert scale.price(seen.total_cost) == pytest.approx(decisions.costs[t])
        reward = scale.money(market.step(int(decisions.actions[t])))
        assert reward == pytest.approx(cases.rewards[decisions.actions[t], cases.outcomes[t]])


@each_family
def test_the_contract_of_environments(name: str) -> None:
    check_environment(FAMILIES[name](3, rounds=70))


@each_family
def test_gains_are_in_order_on_the_seeds_for_choosing(name: str) -> None:
    for seed in range(100, 120):
        market = FAMILIES[name](seed)
        gains = astuple(market.truth)
        assert (np.diff(gains) >= -1e-9).all()
        assert market.truth.has_something_to_gain == (name not in ("nothing", "permuted"))
        assert market.problem.levels.max() <= 61


@each_family
def test_each_seed_is_another_market(name: str) -> None:
    assert FAMILIES[name](1).problem == FAMILIES[name](1).problem
    assert FAMILIES[name](1).problem != FAMILIES[name](2).problem


@each_family
def test_codes_tell_the_level(name: str) -> None:
    """Every level of a number is a range of codes, however small it is."""
    market = FAMILIES[name](2, rounds=4000)
    drawn = market._drawn(0)
    for k, i in enumerate(market._informative):
        for code in np.unique(drawn.codes[:, i]):
            assert len(np.unique(drawn.levels[drawn.codes[:, i] == code, k])) == 1


def test_a_policy_is_not_told_the_outcome() -> None:
    market = FAMILIES["lending"](0, rounds=10)
    assert not hasattr(market, "outcome")
    assert market.draw(0).outcome() is None
    market.reset(seed=0)
    rewards = set()
    for _ in range(10):
        market.reveal(Purchase.nothing(market.problem))
        rewards.add(market.step(market.problem.action_index("decline")))
    assert len(rewards) == 1


def test_useless_columns_say_nothing_about_the_outcome() -> None:
    cases = FAMILIES["lending"](4, rounds=50_000).stream(0)
    base = cases.outcomes.mean()
    for name in ("noise1", "noise2", "code"):
        codes = cases.codes[:, cases.problem.feature_index(name)]
        counts = np.bincount(codes)
        shares = np.bincount(codes, weights=cases.outcomes) / counts
        z = (shares - base) / np.sqrt(base * (1 - base) / counts)
        assert np.abs(z).max() < 4.5


def test_past_cases_come_from_the_first_regime_and_not_from_the_stream() -> None:
    market = FAMILIES["lending-crisis"](0)
    past = market.past_cases(4000, 6)
    assert (past.codes == market.past_cases(4000, 6).codes).all()
    assert not (past.codes == market.stream(6).codes[:4000]).all(axis=1).any()
    default = [regime.joint[..., 1].sum() for regime in market.regimes]
    assert past.outcomes.mean() == pytest.approx(default[0], abs=0.03)
    assert market.past_cases(4000, 6, regime=1).outcomes.mean() == pytest.approx(
        default[1], abs=0.03
    )


def test_values_are_missing_at_the_rate_of_their_level() -> None:
    market = FAMILIES["thresholds"](0, rounds=20_000)
    i = market.problem.feature_index("t3")
    joint = market.regimes[0].joint
    axis = market.distributions[0].names.index("t3")
    rate = np.moveaxis(joint, axis, 0)[-1].sum()
    missing = market.stream(0).codes[:, i] == market.problem.levels[i] - 1
    assert missing.mean() == pytest.approx(rate, abs=0.01)


def test_values_of_a_number_are_even_between_thresholds() -> None:
    column = Column("x", 1.0, ends=(0.0, 95.0, 100.0))
    values = column.draw(np.repeat([0, 1], 1000), np.random.default_rng(0))
    assert values[:1000].max() < 95 < values[1000:].min()
    feature = column.feature()
    codes = encode(feature, values)
    assert codes[:1000].max() < codes[1000:].min()
    assert len(feature.levels) == 60


def test_wrong_tables_are_refused() -> None:
    column = Column("test", 1.0, levels=("0", "1"))
    with pytest.raises(InvalidTable, match=r"shape \(2, 2\) that sum to 1"):
        Market([column], SICK, [Regime(np.full((2, 2), 0.2))])
    with pytest.raises(InvalidTable, match="shape"):
        Market([column], SICK, [Regime(np.full((3, 2), 1 / 6))])
    with pytest.raises(InvalidParameter, match="shares of the regimes"):
        Market([column], SICK, [Regime(np.full((2, 2), 0.25), 0.5)])
    with pytest.raises(InvalidParameter, match="regime"):
        tiny().past_cases(5, 0, regime=1)
