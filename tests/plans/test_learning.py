"""Plans on tables whose answer is known by hand, and the parts that they are learnt from."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.errors import InvalidProblem
from thrifty.plans.bank import Bank
from thrifty.plans.binning import Binning
from thrifty.plans.break_even import break_even
from thrifty.plans.cases import PastCases
from thrifty.plans.costs import Costs
from thrifty.plans.cross_fitting import cross_fitted_gains
from thrifty.plans.folds import stratified_folds
from thrifty.plans.growth import Fork, Grower, Tip
from thrifty.plans.learning import KINDS, Learnt, learn
from thrifty.plans.nested import nested_gains
from thrifty.plans.options import Option, Options
from thrifty.plans.price_curve import price_curve
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.problem import Feature, Group, PriceList, Problem

LEVELS = ("low", "high")


def two_step_cases(n: int = 3_000, seed: int = 0) -> PastCases:
    """A cheap screen that settles most cases, and a dear test that settles the others."""
    rng = np.random.default_rng(seed)
    screen = (rng.random(n) < 0.2).astype(np.int16)
    test = (rng.random(n) < 0.5).astype(np.int16)
    noise = rng.integers(0, 2, n).astype(np.int16)
    ill = (screen == 1) & (test == 1)
    problem = Problem(
        [Feature(name, LEVELS) for name in ("noise", "screen", "test")],
        ["treat", "wait"],
        outcomes={"treat": {"ill": 100, "well": -100}, "wait": {"ill": -100, "well": 0}},
        prices={"noise": 1, "screen": 1, "test": 8},
    )
    codes = np.stack([noise, screen, test], axis=1)
    return PastCases(problem, codes, np.where(ill, 0, 1), np.zeros(3, np.bool_))


@pytest.fixture(scope="module")
def learnt() -> Learnt:
    return learn(two_step_cases())


def test_the_plan_screens_first_and_tests_only_where_needed(learnt: Learnt) -> None:
    root = learnt.plan.root
    assert isinstance(root, Split)
    assert (root.looks, root.feature) == ((1,), 1)
    healthy, suspect = (root.low, root.high) if root.is_low[0] else (root.high, root.low)
    assert isinstance(healthy, Leaf)
    assert healthy.looks == ()
    assert isinstance(healthy.rule, ActionRule)
    assert healthy.rule.action == 1  # wait
    assert suspect.looks == (2,)


def test_the_plan_gains_what_can_be_computed_by_hand(learnt: Learnt) -> None:
    """100 in 10 % of the cases, minus 1 always and 8 in every fifth case."""
    new = two_step_cases(20_000, seed=9)
    decisions = learnt.plan.decide(new.codes)
    ill = new.outcomes == 0
    expected = 100 * ill.mean() - 1 - 8 * (new.codes[:, 1] == 1).mean()
    assert decisions.gains(new).mean() == pytest.approx(expected)
    assert not decisions.bought[:, 0].any()


def test_fixed_set_nothing_and_everything(learnt: Learnt) -> None:
    assert learnt.fixed.used == (1, 2)
    assert learnt.nothing.used == ()
    assert learnt.everything.used == (0, 1, 2)
    assert all(len(getattr(learnt, kind).leaves) == 1 for kind in KINDS[:3])


def test_the_printed_plan_takes_one_action_at_every_leaf(learnt: Learnt) -> None:
    assert all(isinstance(leaf.rule, ActionRule) for leaf in learnt.printed.leaves)
    new = two_step_cases(5_000, seed=9)
    printed, plan = (tree.decide(new.codes).gains(new) for tree in (learnt.printed, learnt.plan))
    assert printed.mean() == pytest.approx(plan.mean())


def test_the_gain_of_leaves_adds_up_to_the_gain_of_the_plan(learnt: Learnt) -> None:
    leaves = learnt.plan.leaves
    n_cases = sum(leaf.n_cases for leaf in leaves)
    assert n_cases == learnt.bank.cases.n_cases
    mean = sum(leaf.gain * leaf.n_cases for leaf in leaves) / n_cases
    every_case = np.arange(n_cases)
    assert mean == pytest.approx(learnt.grower.gains(learnt.grown, every_case).mean())


def test_only_what_is_bought_is_used(learnt: Learnt) -> None:
    """Values that the plan does not buy in a case may be anything."""
    codes = two_step_cases(500, seed=3).codes
    decisions = learnt.plan.decide(codes)
    hidden = np.where(decisions.bought, codes, -1).astype(np.int16)
    assert (learnt.plan.decide(hidden).actions == decisions.actions).all()


def test_the_same_seed_gives_the_same_plan_and_another_one_may_not() -> None:
    cases = two_step_cases(600)
    first, second = (learn(cases, seed=4).plan for _ in range(2))
    assert [leaf.gain for leaf in first.leaves] == [leaf.gain for leaf in second.leaves]
    assert (first.decide(cases.codes).actions == second.decide(cases.codes).actions).all()


def test_nested_gains_are_of_cases_never_seen() -> None:
    """With labels that only the case itself reveals, everything that can be learnt is noise."""
    rng = np.random.default_rng(2)
    cases = two_step_cases(800)
    shuffled = PastCases(cases.problem, cases.codes, rng.permutation(cases.outcomes), cases.free)
    nested = nested_gains(shuffled, seed=3)
    assert set(nested.gains) == set(KINDS)
    difference = nested.gains["plan"] - nested.gains["nothing"]
    # Four standard errors: a false alarm in 30,000 runs.
    assert difference.mean() < 4 * nested.standard_error("plan", "nothing") + 1e-9
    real = nested_gains(cases, seed=3)
    assert real.gains["plan"].mean() > real.gains["nothing"].mean() + 3


def test_break_even_prices_by_hand(learnt: Learnt) -> None:
    noise, screen, test = break_even(learnt.bank)
    assert not noise.is_shown
    assert noise.value < 0.5
    # A free test gains 100 x .1 - 1 after the screen, and the screen alone -1.
    assert test.is_shown
    assert test.value == pytest.approx(10, abs=1.5)
    # A free screen gains 100 x .1 - 8 x .2; without it, treating at a high test gains less than 0.
    assert screen.is_shown
    assert (screen.price, test.price) == (1, 8)


def test_the_price_curve_falls_to_what_nothing_gains(learnt: Learnt) -> None:
    points = price_curve(learnt.bank, (0.1, 1.0, 100.0))
    gains = [point.plan for point in points]
    assert gains == sorted(gains, reverse=True)
    assert points[-1].plan == pytest.approx(points[-1].nothing)
    assert points[1].plan >= points[1].fixed


def test_other_prices_need_no_new_models(learnt: Learnt) -> None:
    dear = Problem(
        learnt.bank.cases.problem.features,
        ["treat", "wait"],
        outcomes=learnt.bank.cases.problem.outcomes,
        prices={"noise": 1, "screen": 30, "test": 100},
    )
    n_models = len(learnt.bank.sets)
    other = learn(learnt.bank.cases, bank=learnt.bank.with_problem(dear))
    assert other.plan.used == ()
    assert len(learnt.bank.sets) >= n_models
    assert learnt.bank.rewards((1,)).mean() == pytest.approx(other.bank.rewards((1,)).mean())


def test_groups_pay_their_fee_once_and_bundles_come_whole() -> None:
    prices = PriceList(
        {"a": 2.0, "b": 3.0, "c": 5.0}, groups=[Group("blood", ("a", "b"), setup=10.0)]
    )
    problem = Problem(
        [Feature(name, LEVELS) for name in "abc"],
        ["go", "stop"],
        outcomes={"go": {"yes": 1, "no": -1}, "stop": 0},
        prices=prices,
    )
    cases = PastCases(
        problem,
        np.zeros((2, 3), np.int16),
        np.zeros(2, np.int64),
        np.zeros(3, np.bool_),
        {"c": np.array([5.0, 7.0])},
    )
    assert cases.cost([0]).tolist() == [12.0, 12.0]
    assert cases.cost([0, 1, 2]).tolist() == [20.0, 22.0]
    free_a = cases.costs.without_price(0)
    assert free_a.total([0, 1]).tolist() == [13.0, 13.0]
    assert cases.costs.scaled(2.0).total([2]).tolist() == [10.0, 14.0]


def test_a_feature_without_price_is_refused() -> None:
    problem = Problem([Feature("a", LEVELS)], ["go", "stop"], prices={})
    cases = PastCases(problem, np.zeros((1, 1), np.int16), np.zeros(1, np.int64), np.array([False]))
    with pytest.raises(InvalidProblem, match="no list price"):
        _ = cases.looks
    with pytest.raises(InvalidProblem, match="no outcomes"):
        _ = cases.rewards


@given(st.lists(st.integers(0, 2), min_size=6, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_folds_have_equal_sizes_overall_and_by_outcome(
    outcomes: list[int], n_folds: int, seed: int
) -> None:
    folds = stratified_folds(np.array(outcomes), n_folds, np.random.default_rng(seed))
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for outcome in set(outcomes):
        own = np.bincount(folds[np.array(outcomes) == outcome], minlength=n_folds)
        assert own.max() - own.min() <= 1


def test_bins_keep_the_order_of_numbers_and_order_categories_by_gain() -> None:
    problem = Problem(
        [
            Feature.number("age", edges=(18, 65), missing=True),
            Feature("colour", ("red", "green", "blue")),
        ],
        ["go", "stop"],
        outcomes={"go": {"yes": 1, "no": -1}, "stop": 0},
        prices={"age": 1, "colour": 1},
    )
    codes = np.array([[0, 0], [1, 1], [2, 2], [3, 1], [1, 1]], np.int16)
    outcomes = np.array([1, 0, 0, 0, 0])  # red is bad, green and blue are good
    binning = Binning.learn(PastCases(problem, codes, outcomes, np.zeros(2, np.bool_)))
    assert binning.lookups[0].tolist() == [1, 2, 3, 0, 0]
    red, green, blue = binning.lookups[1][:3].tolist()
    assert red < blue < green  # green has more good cases than blue
    assert binning.apply(codes)[:, 0].tolist() == [1, 2, 3, 0, 2]


def test_a_constant_action_is_preferred_to_a_model_that_is_no_better() -> None:
    gains = np.array([[1.0, 1.0, 0.0]] * 50)  # the model of (), and two actions
    costs = Costs((), (), (), 50)
    options = Options(((),), gains, costs)
    assert options.choose((), np.arange(50), np.arange(1)) == Option((), 0)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_first_split_is_the_best_of_all_that_are_tried_one_by_one(seed: int) -> None:
    cases = two_step_cases(300, seed=seed)
    bank = Bank(cases, seed=1)
    every_set = [s for k in range(4) for s in itertools.combinations(range(3), k)]
    options = Options.from_bank(bank, cases.costs, every_set)
    grown = Grower(bank, options).grow()
    rows = np.arange(300)
    values = {}
    for looks in every_set:
        sets = options.containing(frozenset(looks))
        gains, _ = options.available(looks, rows, sets)
        for feature in cases.columns(looks):
            low = cases.codes[:, feature] == _low_code(bank, feature)
            if min(low.sum(), (~low).sum()) < 8:
                continue
            parts = [gains[part].sum(axis=0) for part in (low, ~low)]
            if parts[0].argmax() != parts[1].argmax():
                values[looks, feature] = float(parts[0].max() + parts[1].max())
    if isinstance(grown, Tip):
        return
    assert isinstance(grown, Fork)
    assert values[grown.looks, grown.feature] == pytest.approx(max(values.values()), rel=1e-6)


def _low_code(bank: Bank, feature: int) -> int:
    return int(bank.binning.lookups[feature][:2].argmin())


def test_cross_fitted_gains_leave_out_a_look(learnt: Learnt) -> None:
    costs = learnt.bank.cases.costs
    with_test = cross_fitted_gains(learnt.bank, costs).mean()
    without = cross_fitted_gains(learnt.bank, costs, without=2).mean()
    assert with_test > without + 3


def test_a_plan_tree_of_one_leaf_acts_alike_everywhere() -> None:
    cases = two_step_cases(10)
    tree = PlanTree(cases.problem, cases.free, Leaf((0,), ActionRule(1, np.array([0.0, 1.0]))))
    decisions = tree.decide(cases.codes)
    assert decisions.actions.tolist() == [1] * 10
    assert decisions.costs(cases).tolist() == [1.0] * 10
    assert tree.used == (0,)


def many_levels(n: int, seed: int) -> PastCases:
    """Cases in which a category of 40 levels tells nothing."""
    rng = np.random.default_rng(seed)
    problem = Problem(
        [Feature("region", tuple(f"r{k}" for k in range(40)))],
        ["go", "stop"],
        outcomes={"go": {"yes": 10, "no": -8}, "stop": 0},
        prices={"region": 0.05},
    )
    codes = rng.integers(0, 40, (n, 1)).astype(np.int16)
    return PastCases(problem, codes, rng.integers(0, 2, n), np.zeros(1, np.bool_))


def test_rare_levels_share_a_bin() -> None:
    cases = many_levels(400, seed=1)
    counts = np.bincount(cases.codes[:, 0], minlength=40)
    bins = Binning.learn(cases, fewest=10).lookups[0][:-1]
    assert len(set(bins[counts < 10].tolist())) == 1
    assert len(set(bins[counts >= 10].tolist())) == (counts >= 10).sum()
    assert not set(bins[counts < 10].tolist()) & set(bins[counts >= 10].tolist())
    np.testing.assert_array_equal(
        Binning.learn(cases).lookups[0], Binning.learn(cases, fewest=0).lookups[0]
    )


def test_models_of_rare_levels_have_not_seen_the_outcomes() -> None:
    """Always going earns 1. If the bins of 40 levels know the outcomes, models seem to earn more.

    The mean of 20 tables of 120 cases has a standard error of about 0.1.
    """
    gains: dict[int, list[float]] = {0: [], 15: []}
    for fewest, found in gains.items():
        for seed in range(20):
            cases = many_levels(120, seed)
            bank = Bank(cases, seed=1, effort=(4, 1, 1), fewest=fewest)
            constant = cases.action_rewards[:, 0].mean()
            found.append(float(bank.rewards((0,)).mean() - max(constant, 0.0)))
    assert np.mean(gains[0]) > 0.5
    assert np.mean(gains[15]) < 0.2


def test_gains_are_measured_by_estimated_rewards() -> None:
    cases = two_step_cases(300)
    np.testing.assert_array_equal(
        cases.action_rewards, cases.rewards[:, cases.outcomes].T, strict=True
    )
    estimated = replace(cases, estimates=cases.action_rewards + np.array([5.0, 0.0]))
    part = estimated.subset(np.arange(10))
    assert part.estimates is not None
    np.testing.assert_array_equal(part.action_rewards, estimated.action_rewards[:10])
    bank, other = Bank(cases), Bank(estimated)
    chosen = other.rewards((1, 2)) - bank.rewards((1, 2))
    assert set(np.round(chosen, 9).tolist()) == {0.0, 5.0}  # 5 more where the action is to treat
