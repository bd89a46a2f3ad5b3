"""Properties of evaluation from logs: unbiased, invariant, and honest about overlap."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation_logs import FREE, PROBLEM, plan_of_test, random_log, true_gain, two_step_plan
from thrifty.errors import InvalidTable, NoOverlap
from thrifty.evaluation.evaluating import METHODS, LogEvaluation, evaluate_fixed
from thrifty.evaluation.logged_cases import LoggedCases
from thrifty.evaluation.overlap import measure_overlap, require_overlap
from thrifty.evaluation.purchase_weights import action_weights, purchase_weights
from thrifty.evaluation.rejection import evaluate_learning
from thrifty.evaluation.targets import Followed, follow_plan, follow_policy
from thrifty.plans.tree import PlanTree
from thrifty.policies import UCB1, Uniform
from thrifty.policies.plan import PlanPolicy

PLANS = [plan_of_test(), two_step_plan()]


def evaluated(tree: PlanTree, log: LoggedCases) -> LogEvaluation:
    return evaluate_fixed(log, follow_plan(tree, log))


@pytest.mark.parametrize("by_feature", [False, True], ids=["all purchases", "by feature"])
@pytest.mark.parametrize("tree", PLANS, ids=["test", "two steps"])
def test_estimates_are_near_the_true_gain(tree: PlanTree, by_feature: bool) -> None:
    """Each of 12 estimates is within 4 standard errors: a false alarm once in 1,300 runs.

    The direct method has an error of its own, which is small here: two binary tests.
    """
    result = evaluated(tree, random_log(11, 20_000, by_feature=by_feature))
    for method in METHODS[1:]:
        estimate = result.estimates[method]
        assert abs(estimate.mean - true_gain(tree)) < 4 * estimate.error
    assert abs(result.estimates["direct"].mean - true_gain(tree)) < 0.5


def test_weighted_means_are_unbiased_over_many_small_logs() -> None:
    """Two-sided test at 4 standard errors."""
    tree = two_step_plan()
    means = []
    for seed in range(300):
        log = random_log(seed, 150)
        followed = follow_plan(tree, log)
        folds = np.arange(150) % 3
        weights = purchase_weights(log, followed, folds) * action_weights(log, followed)
        costs = np.where(followed.bought[:, 2], 3.0, 1.0)
        means.append(float((weights * (log.rewards - costs)).mean()))
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - true_gain(tree)) < 4 * error


def test_the_logging_policy_on_its_own_log_has_its_mean_gain() -> None:
    """The target buys and acts as the log did, so all weights are equal to those of the log.

    With probabilities 1, every estimate is the plain mean.
    """
    log = random_log(5, 400)
    sure = LoggedCases(
        PROBLEM,
        log.codes,
        log.settled,
        FREE,
        log.actions,
        log.rewards,
        log.costs,
        np.ones(400),
        np.ones(400),
    )
    steps = np.where(log.bought, 0, -1).astype(np.int8)
    itself = Followed(steps, np.ones(400, np.bool_), log.actions)
    result = evaluate_fixed(sure, itself)
    for method in ("weighted", "self-normalised", "doubly robust"):
        assert result.estimates[method].mean == pytest.approx(log.gains.mean(), abs=1e-9)
        assert result.differences[method].mean == pytest.approx(0, abs=1e-9)
    assert result.overlap.effective == pytest.approx(400)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_cases_does_not_matter_with_stated_probabilities(seed: int) -> None:
    log = random_log(7, 500, by_feature=True)
    order = np.random.default_rng(seed).permutation(500)
    one, other = evaluated(plan_of_test(), log), evaluated(plan_of_test(), log.subset(order))
    for method in ("weighted", "self-normalised"):
        assert one.estimates[method].mean == pytest.approx(other.estimates[method].mean)
        assert one.estimates[method].error == pytest.approx(other.estimates[method].error)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**4), n=st.integers(200, 400))
def test_an_evaluation_is_reproducible_and_paired(seed: int, n: int) -> None:
    log = random_log(seed, n)
    one, other = evaluated(plan_of_test(), log), evaluated(plan_of_test(), log)
    assert one.to_dict() == other.to_dict()
    for method in METHODS:
        gap = one.estimates[method].mean - one.current.mean
        assert one.differences[method].mean == pytest.approx(gap)


def test_values_that_the_target_does_not_look_at_change_nothing_in_what_it_does() -> None:
    log = random_log(9, 300)
    codes = log.codes.copy()
    codes[:, 2] = np.where(log.settled[:, 2], 1 - codes[:, 2], -1)
    other = replace(log, codes=codes)
    one, two = follow_plan(plan_of_test(), log), follow_plan(plan_of_test(), other)
    assert one.actions.tolist() == two.actions.tolist()
    assert one.shown.tolist() == two.shown.tolist()


def test_a_target_that_the_log_never_shows_is_refused() -> None:
    log = random_log(2, 500)
    rows = ~log.settled[:, 1]
    with pytest.raises(NoOverlap, match="only 0 of"):
        evaluated(plan_of_test(), log.subset(rows))


def test_a_target_that_the_log_shows_in_part_is_refused() -> None:
    """Of the old, none has the test, so only the decisions for the young are covered."""
    part = without_test_for_the_old(random_log(2, 3_000, by_feature=True))
    with pytest.raises(NoOverlap, match="covers only"):
        evaluated(plan_of_test(), part)


def without_test_for_the_old(log: LoggedCases) -> LoggedCases:
    settled = log.settled.copy()
    settled[log.codes[:, 0] == 1, 1] = False
    codes, costs = np.where(settled, log.codes, -1), np.where(settled, log.costs, 0)
    return replace(log, codes=codes, settled=settled, costs=costs)


def test_probabilities_that_are_too_low_are_noticed() -> None:
    log = random_log(4, 4_000)
    assert log.purchase_probabilities is not None
    half = replace(log, purchase_probabilities=log.purchase_probabilities / 2)
    with pytest.raises(InvalidTable, match="mean weight"):
        evaluated(plan_of_test(), half)


def test_a_few_cases_are_not_enough() -> None:
    with pytest.raises(NoOverlap, match="worth 20 cases"):
        require_overlap(measure_overlap(np.ones(20)))


def test_warnings_name_segments() -> None:
    log = random_log(6, 4_000)
    keep = (log.codes[:, 0] == 1) | (np.arange(4_000) < 130)
    result = evaluated(two_step_plan(), log.subset(keep))
    names = [segment.name for segment in result.segments]
    assert names[:2] == ["age = young", "age = old"]
    assert [name for name in names if name.startswith("leaf")] == ["leaf 1", "leaf 2", "leaf 3"]
    shares = [segment.share for segment in result.segments if segment.name.startswith("leaf")]
    assert sum(shares) == pytest.approx(1, abs=0.1)


def test_a_policy_that_draws_random_numbers_is_evaluated_as_fixed() -> None:
    """Uniform acts at random, so its gain is the mean over actions less what it buys."""
    log = random_log(8, 20_000)
    policy = Uniform(PROBLEM, seed=3)
    result = evaluate_fixed(log, follow_policy(policy, log))
    # Of the ill, 40 %, treating earns 10 and waiting -10; of the others -5 and 0.
    reward = 0.4 * 0 + 0.6 * -2.5
    spend = result.spend
    best = result.estimates["doubly robust"]
    assert abs(best.mean + spend.mean - reward) < 4 * (best.error + spend.error)


def test_a_learning_policy_is_replayed_with_rejection() -> None:
    """UCB1 buys nothing and acts the same way in every case; waiting earns -4, treating 1."""
    log = random_log(1, 20_000)
    result = evaluate_learning(log, lambda: UCB1(PROBLEM, seed=1))
    assert 200 < len(result.gains) < 20_000
    estimate = result.estimate
    assert -4 < estimate.mean < 1 + 4 * estimate.error
    assert result.difference.mean == pytest.approx(estimate.mean - log.gains.mean())


def test_accepted_cases_are_like_all_cases() -> None:
    """Cases with much data on the ill are not accepted more often: the share of ill stays 40 %.

    A constant action earns 1 by treating, whatever the log bought.
    """

    class Treat(UCB1):
        def _choose_action(self, observation: object, available: object) -> int:
            return 0

    log = random_log(21, 40_000)
    result = evaluate_learning(log, lambda: Treat(PROBLEM, seed=1))
    estimate = result.estimate
    assert abs(estimate.mean - 1.0) < 4 * estimate.error


def test_accepted_cases_are_like_all_cases_if_a_value_decides_what_else_is_bought() -> None:
    """After a high test the log has the scan, after a low one it has not, with certainty.

    Both are equally useful for a plan that buys the test alone.
    """
    tree, log = plan_of_test(), random_log(22, 20_000, sure_scan=True)
    result = evaluate_learning(log, lambda: PlanPolicy(PROBLEM, plan=tree))
    assert result.overlap.covered == pytest.approx(1, abs=0.05)
    assert abs(result.estimate.mean - true_gain(tree)) < 4 * result.estimate.error


def test_a_replay_with_cases_that_the_log_never_shows_is_refused() -> None:
    log = without_test_for_the_old(random_log(2, 3_000, by_feature=True))
    with pytest.raises(NoOverlap, match="covers only"):
        evaluate_learning(log, lambda: PlanPolicy(PROBLEM, plan=plan_of_test()))


def test_too_few_accepted_cases_are_refused() -> None:
    with pytest.raises(NoOverlap, match="were accepted"):
        evaluate_learning(random_log(1, 30), lambda: UCB1(PROBLEM, seed=1))
