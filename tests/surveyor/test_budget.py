"""An average spend: the account, the ladder of cheaper plans, and Surveyor with a budget."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from surveyor_cases import SCREENING, drawn_cases, two_step_cases
from thrifty import Agent
from thrifty.checks import check_policy
from thrifty.environments.past_cases import replay_of
from thrifty.errors import InvalidParameter
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.rounds import Observation, Purchase
from thrifty.surveyor.budget import Account, CheaperPlans
from thrifty.surveyor.knowledge import Knowledge, learn_plans, refit_models
from thrifty.surveyor.partial_bank import PartialCases
from thrifty.surveyor.purposes import FOLLOW, FOLLOW_CHEAPER

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="takes minutes, and its kernels are covered by tests/kernels/test_boosting.py",
)

NAN = float("nan")
PAST = two_step_cases(2_000, 0)
"""Waiting loses 10. A screen for 1 brings that to 0; with tests, 1.6 more, 10 are earned."""
SPAN = PAST.problem.rewards.span
NO_PARTIAL = PartialCases(PAST.codes[:0], PAST.outcomes[:0], np.zeros((0, 2), np.bool_), False)


def learnt(budget: float | None, *, one_purchase: bool = False) -> Knowledge:
    return learn_plans(PAST, NO_PARTIAL, seed=1, budget=budget, one_purchase=one_purchase)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return learnt(1.8)


# The account.


def test_an_account_by_hand() -> None:
    account = Account.open(2.0, horizon=10_000)
    assert (account.settling, account.target, account.mean) == (500, 2.0, 0.0)
    for paid in (5.0, 0.0, 0.0):
        account = account.after(paid)
    assert (account.n_cases, account.spent, account.balance) == (3, 5.0, 1.0)
    assert account.target == 2.0 + 1.0 / 500
    assert Account.open(2.0, horizon=100).settling == 200
    assert Account.from_dict(json.loads(json.dumps(account.to_dict()))) == account


def test_what_is_not_spent_is_saved_for_a_while_only_but_debts_remain() -> None:
    account = Account.open(2.0, horizon=1)
    for _ in range(1_000):
        account = account.after(0.0)
    assert account.balance == 400.0  # the ceiling of 200 cases
    assert account.target == 4.0
    for _ in range(1_000):
        account = account.after(3.0)
    assert account.balance == -600.0
    assert account.target == -1.0


def test_exploring_has_a_share_of_the_ceiling_or_what_the_plan_leaves() -> None:
    account = Account.open(2.0, horizon=1_000)

    def limit(
        explored: float, first_cases: int = 0, *, price: float = 10.0, spend: float = 2.0
    ) -> float:
        return account.exploring_limit(price, explored, first_cases, spend)

    share = limit(0.0) * 10.0 / 2.0
    assert 0 < share < 0.1
    assert limit(199.0, first_cases=1_000) == 1.0
    assert limit(200.0, first_cases=1_000) == share * 2.0 / 10.0
    assert limit(0.0, price=0.0) == 1.0
    assert limit(0.0, spend=0.5) == pytest.approx(0.15)


# Plans that spend less.


def test_the_ladder_by_hand(knowledge: Knowledge) -> None:
    nothing, screen = knowledge.ladder
    assert (nothing.plan.used, screen.plan.used, knowledge.plan.used) == ((), (0,), (0, 1))
    assert (nothing.spend, screen.spend) == (0.0, 1.0)
    assert knowledge.spend == pytest.approx(2.6, abs=0.2)
    assert nothing.gain == pytest.approx(-10, abs=3)
    assert screen.gain == pytest.approx(-1, abs=3)
    # 9 for 1, then 8.4 for 1.6. Price factors are 1.25 apart, and the cases are drawn.
    assert nothing.shadow_price == pytest.approx(9, rel=0.4)
    assert screen.shadow_price == pytest.approx(5.25, rel=0.4)
    for rung in knowledge.ladder:
        assert len(rung.leaf_frequencies) == len(rung.plan.leaves)
        decided = rung.plan.decide(PAST.codes)
        assert decided.costs(PAST).mean() == pytest.approx(rung.spend)


def test_a_ladder_needs_a_budget_that_is_too_small_for_the_plan() -> None:
    assert learnt(None).ladder == learnt(3.0).ladder == ()
    assert learnt(1.8).without_purchases().ladder == ()


def test_a_ladder_keeps_to_one_purchase() -> None:
    for rung in learnt(0.5, one_purchase=True).ladder:
        root = rung.plan.root
        assert all(leaf is root or not leaf.looks for leaf in rung.plan.leaves)


def test_saved_ladders_decide_in_the_same_way(knowledge: Knowledge) -> None:
    again = Knowledge.from_dict(json.loads(json.dumps(knowledge.to_dict())))
    assert again.to_dict() == knowledge.to_dict()
    for one, other in zip(knowledge.ladder, again.ladder, strict=True):
        np.testing.assert_array_equal(
            one.plan.expected_rewards(PAST.codes), other.plan.expected_rewards(PAST.codes)
        )
    plain = knowledge.to_dict()
    del plain["ladder"]
    assert Knowledge.from_dict(plain).ladder == ()


def test_models_of_a_ladder_are_fitted_again(knowledge: Knowledge) -> None:
    """If nobody is ill any more, no plan treats."""
    healthy = two_step_cases(2_000, 1)
    healthy.outcomes[:] = 1
    healthy.outcomes[::100] = 0
    after = refit_models(knowledge, healthy, NO_PARTIAL, seed=1)
    sick = np.array([[1, 0], [1, 1]], np.int16)
    assert 0 in knowledge.ladder[1].plan.decide(sick).actions
    assert after.ladder[1].plan.decide(sick).actions.tolist() == [1, 1]
    assert [rung.spend for rung in after.ladder] == [rung.spend for rung in knowledge.ladder]


def test_which_plan_is_followed(knowledge: Knowledge) -> None:
    cheaper = CheaperPlans.of(knowledge)
    assert [point.spend for point in cheaper.frontier.points] == [0.0, 1.0, knowledge.spend]
    account = Account.open(1.8, horizon=1)
    share = 0.8 / (knowledge.spend - 1.0)
    assert cheaper.mix(account).share == pytest.approx(share)
    assert cheaper.mix(account).shadow_price == pytest.approx(knowledge.ladder[1].shadow_price)
    assert cheaper.choose(account, lambda: share - 0.01) is None  # the plan
    assert cheaper.choose(account, lambda: share + 0.01) == 1
    in_debt = account.after(1_000.0)
    assert cheaper.choose(in_debt, lambda: 0.0) == 0
    assert cheaper.place(7) == 1  # there were more plans when the case began


def test_without_a_ladder_the_plan_and_nothing_are_mixed() -> None:
    known = learnt(None)
    cheaper = CheaperPlans.of(known)
    assert cheaper.trees == (known.nothing,)
    low, high = cheaper.frontier.points
    assert low == pytest.approx((0.0, known.nothing_gain))
    assert high == (known.spend, known.gain)
    without = CheaperPlans.of(known.without_purchases())
    assert without.choose(Account.open(1.0, horizon=1), lambda: 0.0) is None


# Surveyor.


def surveyor(budget: float | None, *, seed: int = 1) -> Surveyor:
    """Return Surveyor with a budget in money; with a horizon of one case it hardly explores."""
    scaled = None if budget is None else budget / SPAN
    return Surveyor(PAST.problem, history=PAST, horizon=1, max_loss=1e6, budget=scaled, seed=seed)


@pytest.mark.parametrize("budget", [0.5, 1.8])
def test_the_average_spend_is_kept(budget: float) -> None:
    policy = surveyor(budget)
    costs = SPAN * play(policy, replay_of(two_step_cases(4_000, 2))).costs
    assert policy.account is not None
    assert policy.account.spent == pytest.approx(costs.sum())
    # The balance of 200 cases varies by about 10 times the deviation of a case: less than 40.
    assert costs.mean() == pytest.approx(budget, abs=40 / 4_000)
    assert policy.changes == []


def test_a_wrong_idea_of_the_spend_is_corrected() -> None:
    """Far more cases have a high screen than in the past, so the plan spends more than it says."""
    cases = two_step_cases(6_000, 2)
    high = cases.codes[:, 0] == 1
    few = cases.subset(high | (np.arange(6_000) % 4 == 0))
    assert few.codes[:, 0].mean() > 0.45
    policy = surveyor(1.8)
    costs = SPAN * play(policy, replay_of(few)).costs
    assert costs[-1_000:].mean() == pytest.approx(1.8, abs=0.2)


def test_a_budget_that_is_large_enough_changes_nothing() -> None:
    world = replay_of(two_step_cases(500, 2))
    limited, unlimited = surveyor(5.0), surveyor(None)
    runs = [play(policy, world) for policy in (limited, unlimited)]
    np.testing.assert_array_equal(runs[0].observed, runs[1].observed)
    np.testing.assert_array_equal(runs[0].actions, runs[1].actions)
    assert (limited.shadow_price, unlimited.shadow_price) == (0.0, None)


def test_a_budget_of_nothing_buys_nothing() -> None:
    run = play(surveyor(0.0), replay_of(two_step_cases(300, 2)))
    assert not run.observed.any()


def first_look(policy: Surveyor) -> Purchase:
    return policy.choose_features(Observation([-1, -1], [NAN, NAN]))


def test_many_cases_may_be_open_at_once() -> None:
    """Decisions change no state: 150 cases are decided before the first reward comes."""
    policy, cases = surveyor(1.8), two_step_cases(4_500, 2)
    spent = 0.0
    for batch in np.split(np.arange(cases.n_cases), 30):
        before = policy.get_state()
        seen = [decide(policy, cases.codes[t]) for t in batch]
        for name, array in policy.get_state().items():
            np.testing.assert_array_equal(array, before[name])
        for t, observation in zip(batch, seen, strict=True):
            spent += observation.total_cost * SPAN
            action = policy.choose_action(observation)
            reward = cases.rewards[action, cases.outcomes[t]] - cases.rewards.min()
            policy.update(observation, action, reward / SPAN)
    assert spent / cases.n_cases == pytest.approx(1.8, rel=0.04)


def decide(policy: Surveyor, codes: np.ndarray) -> Observation:
    """Return everything that the policy bought in a case."""
    prices = np.array([1.0, 8.0]) / SPAN
    mask, purpose = np.zeros(2, np.bool_), 0
    while True:
        seen = Observation(np.where(mask, codes, -1), np.where(mask, prices, NAN), purpose=purpose)
        purchase = policy.choose_features(seen)
        mask, purpose = mask | purchase.mask, purchase.purpose
        if not purchase.mask.any():
            return Observation(seen.codes, seen.costs, purpose=purpose)


def test_a_case_keeps_to_the_plan_that_it_began_with() -> None:
    policy = surveyor(1.8)
    after_screen = [1, -1], [1.0 / SPAN, NAN]
    for purpose, buys in ((FOLLOW, True), (FOLLOW_CHEAPER + 1, False)):
        for _ in range(30):  # a new choice would be another one in about half of the cases
            purchase = policy.choose_features(Observation(*after_screen, purpose=purpose))
            assert (purchase.mask.tolist(), purchase.purpose) == ([False, buys], purpose)


def test_a_restored_policy_goes_on_with_its_account() -> None:
    first, second = surveyor(1.8), surveyor(1.8, seed=2)
    play(first, replay_of(two_step_cases(300, 2)))
    second.set_state(first.get_state())
    second.rng.bit_generator.state = first.rng.bit_generator.state
    assert second.account == first.account
    later = replay_of(two_step_cases(1_200, 3))
    runs = [play(policy, later) for policy in (first, second)]
    np.testing.assert_array_equal(runs[0].observed, runs[1].observed)
    for name, array in first.get_state().items():
        np.testing.assert_array_equal(array, second.get_state()[name])


def test_reasons_say_what_is_spent_and_what_more_would_gain() -> None:
    policy = surveyor(1.8)
    play(policy, replay_of(two_step_cases(200, 2)))
    told = policy.reasons(first_look(policy))()
    assert policy.account is not None
    assert policy.shadow_price is not None
    assert told["why"].endswith(
        f"Spends {policy.account.mean:.2f} per case of 1.80 allowed; another unit of spend would "
        f"gain about {policy.shadow_price:.2f}."
    )
    state = {"spent": policy.account.mean, "shadow_price": policy.shadow_price}
    assert told["budget"] == policy.status()["budget"] == {"allowed": pytest.approx(1.8), **state}
    assert "budget" not in surveyor(None).reasons(Purchase([True, False], FOLLOW))()


def test_reasons_before_there_is_a_plan() -> None:
    policy = Surveyor(SCREENING, budget=0.02, seed=1)
    told = policy.reasons(first_look(policy))()
    assert told["why"].endswith("Spends 0.00 per case of 2.00 allowed.")
    assert told["budget"]["shadow_price"] is None


def test_a_cold_start_pays_its_exploring_back() -> None:
    policy = Surveyor(SCREENING, horizon=3_000, budget=0.02, seed=1)  # 2 in money; the test is 5
    run = play(policy, replay_of(drawn_cases(SCREENING, 3_000, 2)))
    costs = SCREENING.rewards.span * run.costs
    assert costs[:40].mean() == 10.0  # everything
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    assert costs.mean() == pytest.approx(2.0, rel=0.05)


def test_agents_take_the_budget_in_money() -> None:
    agent = Agent(PAST.problem, "surveyor", budget=1.8, seed=1)
    assert isinstance(agent.policy, Surveyor)
    assert agent.policy.account is not None
    assert agent.policy.account.ceiling == pytest.approx(1.8)
    with pytest.raises(InvalidParameter, match="budget"):
        Surveyor(PAST.problem, budget=-1.0)


def test_it_keeps_the_promises_of_its_interface() -> None:
    check_policy("surveyor", problem=PAST.problem, seed=1, budget=1.8)
