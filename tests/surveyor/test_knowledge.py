"""Plans of small tables, and models that are fitted again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surveyor_cases import SCREENING, drawn_cases, two_step_cases
from thrifty.plans.cases import PastCases
from thrifty.plans.tree import ActionRule, Leaf, PlanTree
from thrifty.surveyor.knowledge import Knowledge, learn_plans, refit_models
from thrifty.surveyor.partial_bank import PartialCases


def no_partial_cases(cases: PastCases) -> PartialCases:
    nothing = np.zeros((0, len(cases.looks)), np.bool_)
    return PartialCases(cases.codes[:0], cases.outcomes[:0], nothing, False)


def learnt(cases: PastCases, *, one_purchase: bool = False) -> Knowledge:
    return learn_plans(cases, no_partial_cases(cases), seed=1, one_purchase=one_purchase)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return learnt(drawn_cases(SCREENING, 400, seed=1))


def test_the_plan_buys_the_test_and_nothing_else(knowledge: Knowledge) -> None:
    """90 % right: 50 in nine cases, -50 in the tenth, and 5 for the test."""
    assert knowledge.buys
    assert knowledge.plan.used == (1,)
    assert knowledge.spend == 5.0
    assert knowledge.gain == pytest.approx(0.8 * 50 - 5, abs=5)
    assert knowledge.nothing_gain == pytest.approx(0, abs=5)
    assert knowledge.informed_gain == pytest.approx(knowledge.gain + 5 - knowledge.nothing_gain)
    assert knowledge.gain_error == pytest.approx(60 / 20, rel=0.2)
    assert 0.8 < knowledge.trust <= 1
    assert 0.8 < knowledge.confidence <= 1
    assert knowledge.clearness == pytest.approx(
        (knowledge.gain - knowledge.nothing_gain) / knowledge.gain_error
    )
    assert knowledge.n_cases == 400
    decided = knowledge.plan.decide(np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.int16))
    assert decided.actions.tolist() == [1, 1, 0, 0]  # a low test means that the patient is well


def test_a_useless_test_is_not_bought() -> None:
    found = learnt(drawn_cases(SCREENING, 400, seed=1, chances=(0.3, 0.3)))
    assert not found.buys
    assert (found.spend, found.trust, found.gain_error) == (0.0, 0.0, 0.0)
    assert found.gain == found.nothing_gain
    assert found.informed_gain <= 2.0


def test_frequencies_of_outcomes_by_leaf() -> None:
    """A screen is bought first, and a test only where the screen is positive."""
    cases = two_step_cases(2_000, seed=0)
    found = learnt(cases)
    leaves = found.plan.leaves
    assert len(leaves) == len(found.leaf_frequencies) >= 2
    for leaf, frequencies in zip(leaves, found.leaf_frequencies, strict=True):
        assert frequencies.sum() == pytest.approx(1)
        if leaf.looks == ():
            assert frequencies[1] > 0.99  # a low screen: well
    single = learnt(cases, one_purchase=True).plan
    assert single.used == (0, 1)
    assert single.root.looks == (0, 1)
    assert all(leaf is single.root or leaf.looks == () for leaf in single.leaves)


def test_without_purchases_the_constant_action_remains(knowledge: Knowledge) -> None:
    without = knowledge.without_purchases()
    assert not without.buys
    assert without.plan is knowledge.nothing
    assert (without.gain, without.spend, without.trust) == (knowledge.nothing_gain, 0.0, 0.0)
    assert len(without.leaf_frequencies) == len(without.plan.leaves) == 1


def constant_action(tree: PlanTree) -> int:
    assert isinstance(tree.root, Leaf)
    assert isinstance(tree.root.rule, ActionRule)
    return tree.root.rule.action


def test_labelled_partial_cases_change_the_constant_action() -> None:
    cases = drawn_cases(SCREENING, 60, seed=1, chances=(0.6, 0.6))
    before = learnt(cases)
    assert constant_action(before.nothing) == 1  # most are well: wait
    ill = np.zeros(300, np.int64)
    unseen = np.full((300, 2), -1, np.int16)
    partial = PartialCases(unseen, ill, np.zeros((300, 2), np.bool_), True)
    after = refit_models(before, cases, partial, seed=2)
    assert constant_action(after.nothing) == 0
    assert constant_action(after.plan) == 0
    # Their values are not known, so the model of all values does not learn from them.
    codes = cases.codes
    np.testing.assert_allclose(
        after.everything.expected_rewards(codes),
        refit_models(before, cases, no_partial_cases(cases), seed=2).everything.expected_rewards(
            codes
        ),
    )


def test_partial_cases_make_models_sharper(knowledge: Knowledge) -> None:
    """Cases with a bought test teach the plan that the test has turned round."""
    cases = drawn_cases(SCREENING, 40, seed=1)
    turned = drawn_cases(SCREENING, 400, seed=2, chances=(0.1, 0.9))
    seen = turned.codes.copy()
    seen[:, 0] = -1
    bought = np.tile([False, True], (400, 1))
    partial = PartialCases(seen, turned.outcomes, bought, True)
    after = refit_models(knowledge, cases, partial, seed=2)
    assert after.plan.used == knowledge.plan.used
    codes = np.array([[0, 0], [0, 1]], np.int16)
    assert knowledge.plan.decide(codes).actions.tolist() == [1, 0]
    assert after.plan.decide(codes).actions.tolist() == [0, 1]


def test_saved_knowledge_decides_in_the_same_way(knowledge: Knowledge) -> None:
    again = Knowledge.from_dict(json.loads(json.dumps(knowledge.to_dict())))
    codes = drawn_cases(SCREENING, 100, seed=7).codes
    for name in ("nothing", "plan", "everything"):
        one, other = getattr(knowledge, name), getattr(again, name)
        np.testing.assert_array_equal(one.decide(codes).actions, other.decide(codes).actions)
        np.testing.assert_array_equal(one.expected_rewards(codes), other.expected_rewards(codes))
        np.testing.assert_array_equal(one.decide(codes).bought, other.decide(codes).bought)
    assert again.to_dict() == knowledge.to_dict()


def test_the_same_seed_gives_the_same_knowledge() -> None:
    cases = drawn_cases(SCREENING, 200, seed=1)
    assert learnt(cases).to_dict() == learnt(cases).to_dict()
