"""Surveyor on problems whose best plan is known by hand."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surveyor_cases import LENDING, SCREENING, drawn_cases, joined, two_step_cases
from thrifty import Agent
from thrifty.checks import check_policy
from thrifty.environments import Replay
from thrifty.environments.past_cases import replay_of
from thrifty.errors import DamagedFile, InvalidParameter, InvalidTable, StaleFit
from thrifty.plans.cases import PastCases
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.problem import Problem
from thrifty.rounds import Observation, Run
from thrifty.surveyor.frequencies import OutcomeCounts
from thrifty.surveyor.history import History
from thrifty.surveyor.purposes import CAUTION, EXPLORE, FOLLOW

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="takes minutes, and its kernels are covered by tests/kernels/test_boosting.py",
)

NAN = float("nan")
NOTHING = Observation([-1, -1], [NAN, NAN])


def risky(n: int, seed: int) -> PastCases:
    """Return loans of which six in ten of those with a low score default."""
    return drawn_cases(LENDING, n, seed, chances=(0.6, 0.05))


def assert_same(one: Run, other: Run) -> None:
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.actions, other.actions)


# With past cases.


def test_a_warm_start_buys_the_test_and_not_the_noise() -> None:
    """90 % right: 50 in nine cases, -50 in the tenth, and 5 for the test."""
    policy = Surveyor(SCREENING, history=drawn_cases(SCREENING, 400, 1), horizon=1_000, seed=1)
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    run = play(policy, replay_of(drawn_cases(SCREENING, 600, 2)))
    assert run.observed[:, 1].all()
    assert run.observed[:, 0].mean() < 0.4  # only to learn more
    followed = ~run.observed[:, 0]
    gains = SCREENING.rewards.span * run.gains[followed] + SCREENING.rewards.low
    assert gains.mean() == pytest.approx(35, abs=4 * 30 / np.sqrt(followed.sum()))
    assert policy.changes == []


def with_gaps(n: int) -> History:
    """Return a log in which most noise was not bought and some outcomes are not known."""
    cases = drawn_cases(SCREENING, n, 3)
    rng = np.random.default_rng(30)
    settled, codes = np.ones((n, 2), np.bool_), cases.codes.copy()
    settled[:, 0] = rng.random(n) < 0.4
    codes[~settled] = -1
    possible = np.eye(2, dtype=np.bool_)[cases.outcomes]
    possible[rng.random(n) < 0.3] = True
    return History(codes, settled, possible, np.zeros(2, np.bool_))


def test_a_history_with_gaps() -> None:
    history = with_gaps(600)
    policy = Surveyor(SCREENING, history=history, seed=1)
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    assert policy.knowledge.n_cases == history.is_complete.sum()


def test_a_history_without_complete_cases_leaves_everything_to_explore() -> None:
    history = with_gaps(600)
    known = np.flatnonzero(~history.is_complete & history.is_labelled)
    rows = History(
        history.codes[known], history.settled[known], history.possible[known], history.free
    )
    policy = Surveyor(SCREENING, history=rows, seed=1)
    assert policy.knowledge is None
    assert policy.exploring_rate == 1.0


def test_a_history_of_another_problem_is_refused() -> None:
    with pytest.raises(InvalidTable, match="read the history with this problem"):
        Surveyor(Problem.anonymous((2, 2), 2), history=drawn_cases(SCREENING, 50, 1))


# Without past cases.


def test_a_cold_start_looks_at_everything_and_then_only_at_the_test() -> None:
    policy = Surveyor(SCREENING, horizon=3_000, seed=1)
    run = play(policy, replay_of(drawn_cases(SCREENING, 800, 2)))
    assert run.observed[:40].all()
    assert run.observed[-300:, 1].all()
    assert run.observed[-300:, 0].mean() < 0.4
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    assert policy.ledger.surplus > 0
    assert not policy.is_cautious


def test_the_same_seed_gives_the_same_run() -> None:
    world = replay_of(risky(400, 2))
    runs = [play(Surveyor(LENDING, horizon=10_000, seed=seed), world) for seed in (1, 1, 2)]
    assert_same(runs[0], runs[1])
    assert (runs[0].actions != runs[2].actions).any()


def test_nothing_is_bought_if_nothing_may_be_lost() -> None:
    policy = Surveyor(SCREENING, max_loss=0.0, seed=1)
    assert policy.is_cautious
    assert not play(policy, replay_of(drawn_cases(SCREENING, 300, 2))).observed.any()


def test_losses_stay_within_what_is_allowed() -> None:
    """Nothing tells the outcome, so whatever is bought is lost: 10 for everything."""
    policy = Surveyor(SCREENING, max_loss=2.0, seed=1)  # 200, as rewards range from -50 to 50
    run = play(policy, replay_of(drawn_cases(SCREENING, 600, 2, chances=(0.2, 0.2))))
    assert policy.max_loss == 200.0
    assert -200.0 <= policy.ledger.surplus < -50.0
    assert not run.observed[-100:].any()


def test_losses_stay_below_a_share_of_what_the_constant_action_gains() -> None:
    """Waiting earns 30 per case, and everything costs 10: about every sixth case is explored."""
    policy = Surveyor(SCREENING, max_loss_share=0.05, seed=1)
    run = play(policy, replay_of(drawn_cases(SCREENING, 600, 2, chances=(0.8, 0.8))))
    assert SCREENING.outcomes is not None
    constant = float(policy._evidence.counts.values(SCREENING.outcomes.table).max())
    assert constant == pytest.approx(30, abs=6)
    assert policy.max_loss == pytest.approx(0.05 * constant * 600)
    assert policy.ledger.surplus >= -policy.max_loss
    assert 20 < run.observed.all(axis=1).sum() < 100
    assert run.observed[300:].any()
    with pytest.raises(InvalidParameter, match="give one of them"):
        Surveyor(SCREENING, max_loss=1.0, max_loss_share=0.1)


def test_at_most_one_purchase_in_a_case() -> None:
    past, world = two_step_cases(1_000, 1), replay_of(two_step_cases(200, 2))
    steps = {}
    for max_steps in (None, 1):
        policy = Surveyor(past.problem, history=past, max_steps=max_steps, seed=1)
        steps[max_steps] = max(_number_of_purchases(policy, world, t) for t in range(200))
    assert steps == {None: 2, 1: 1}
    with pytest.raises(InvalidParameter, match="max_steps"):
        Surveyor(past.problem, max_steps=2)


def _number_of_purchases(policy: Surveyor, world: Replay, t: int) -> int:
    """Play the next case, the first one if t is 0, and return how often something was bought."""
    if t == 0:
        world.reset()
    n, seen = 0, world.known()
    while (purchase := policy.choose_features(seen)).mask.any():
        seen, n = world.reveal(purchase), n + 1
    seen = world.reveal(purchase)
    action = policy.choose_action(seen)
    policy.update(seen, action, world.step(action))
    return n


def test_labels_that_a_safe_action_hides_are_sometimes_bought() -> None:
    policy, world = Surveyor(LENDING, horizon=5_000, seed=1), replay_of(risky(500, 2))
    world.reset()
    n_bought = {EXPLORE: 0, FOLLOW: 0}
    n_cases = {EXPLORE: 0, FOLLOW: 0}
    for _ in range(500):
        seen = world.known()
        while (purchase := policy.choose_features(seen)).mask.any():
            seen = world.reveal(purchase)
        seen = world.reveal(purchase)
        values = policy.action_values(seen)
        assert values is not None
        action = policy.choose_action(seen)
        n_cases[seen.purpose] += 1
        n_bought[seen.purpose] += action == 0 and values.argmax() == 1
        policy.update(seen, action, world.step(action))
    assert n_cases[FOLLOW] > 100
    assert n_bought[FOLLOW] == 0
    assert 0.1 < n_bought[EXPLORE] / n_cases[EXPLORE] < 0.9


def test_a_change_of_the_informative_feature_is_noticed_and_the_new_plan_is_learnt() -> None:
    before, after = (drawn_cases(SCREENING, 600, 11 + k, column=1 - k) for k in range(2))
    policy = Surveyor(SCREENING, horizon=3_000, seed=1)
    run = play(policy, replay_of(joined(before, after)))
    assert len(policy.changes) == 1
    assert abs(policy.changes[0] - 600) <= 50
    assert run.observed[500:600, 1].all()
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (0,)
    assert run.observed[-100:, 0].all()
    assert run.observed[-100:, 1].mean() < 0.5


def test_outcomes_that_never_vary_need_no_plan() -> None:
    policy = Surveyor(SCREENING, horizon=200, seed=1)
    run = play(policy, replay_of(drawn_cases(SCREENING, 200, 2, chances=(0.0, 0.0))))
    assert policy.knowledge is None
    assert (run.actions[1:] == 0).all()
    assert not run.observed[-50:].any()


def test_rewards_without_declared_outcomes() -> None:
    """One action is right where x2 is 1 and the other where it is 0, in 90 % of the cases."""
    rng = np.random.default_rng(5)
    problem, codes = Problem.anonymous((2, 2), 2), rng.integers(0, 2, (900, 2))
    first = rng.random(900) < np.where(codes[:, 1] == 1, 0.9, 0.1)
    rewards = np.stack([first, ~first], axis=1).astype(float)
    policy = Surveyor(problem, horizon=3_000, seed=1)
    run = play(policy, Replay(codes, rewards, np.full((900, 2), 0.05), problem=problem))
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    assert run.observed[:40].mean() > 0.9
    assert run.observed[-200:, 1].all()
    assert run.gains[-200:].mean() == pytest.approx(0.85, abs=0.1)


def only_rewards(n: int, seed: int) -> Replay:
    """Cases of the lending problem in which a policy is not told what outcomes there are."""
    cases = risky(n, seed)
    problem = Problem(LENDING.features, LENDING.actions, None, LENDING.prices, LENDING.rewards)
    stream = replay_of(cases)
    return Replay(stream.contexts, stream.rewards, stream.costs, problem=problem)


def test_without_declared_outcomes_a_safe_action_is_recognised() -> None:
    stream = only_rewards(600, 2)
    policy = Surveyor(stream.problem, horizon=10_000, seed=1)
    play(policy, stream)
    scale = LENDING.rewards
    wanted = [sorted(set(scale.low + scale.span * row)) for row in stream.rewards.T]
    levels = [[row.min(), row.max()] for row in policy._evidence.table.table]
    for found, seen in zip(levels, wanted, strict=True):
        assert found == pytest.approx([seen[0], seen[-1]])
    assert policy._evidence.table.tells.tolist() == [len(seen) > 1 for seen in wanted]
    assert policy.knowledge is not None
    assert policy.knowledge.buys


def test_every_action_is_tried_evenly_before_anything_is_known() -> None:
    stream = only_rewards(40, 3)
    policy = Surveyor(stream.problem, horizon=10_000, seed=1)
    run = play(policy, stream, rounds=19)
    assert set(np.bincount(run.actions).tolist()) == {9, 10}


@pytest.mark.parametrize("n", [20, 35, 300])
def test_without_declared_outcomes_a_restored_policy_goes_on(n: int) -> None:
    first, second = (
        Surveyor(only_rewards(1, 0).problem, horizon=10_000, seed=seed) for seed in (1, 2)
    )
    play(first, only_rewards(n, 2))
    second.set_state(first.get_state())
    second.rng.bit_generator.state = first.rng.bit_generator.state
    later = only_rewards(200, 3)
    assert_same(play(first, later), play(second, later))
    for name, array in first.get_state().items():
        np.testing.assert_array_equal(array, second.get_state()[name])


def test_free_values_are_used_and_not_bought() -> None:
    cases = drawn_cases(SCREENING, 400, 2, free=(False, True))
    policy = Surveyor(SCREENING, horizon=3_000, seed=1)
    run = play(policy, replay_of(cases))
    assert not run.observed[:, 1].any()
    wanted = 1 - cases.codes[-150:, 1]  # a low test means that the patient is well
    assert (run.actions[-150:] == wanted).mean() > 0.95


# State.


@pytest.mark.parametrize("problem", [SCREENING, LENDING], ids=["screening", "lending"])
@pytest.mark.parametrize("n", [20, 300])
def test_a_restored_policy_goes_on_like_the_one_that_was_saved(problem: Problem, n: int) -> None:
    cases = drawn_cases(problem, n, 2) if problem is SCREENING else risky(n, 2)
    first, second = (Surveyor(problem, horizon=10_000, seed=seed) for seed in (1, 2))
    play(first, replay_of(cases))
    state = first.get_state()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in state.values())
    kept = {name: array.copy() for name, array in state.items()}
    second.set_state(state)
    second.rng.bit_generator.state = first.rng.bit_generator.state
    # Later the test turns round, so that both notice a change and learn again.
    later = replay_of(drawn_cases(problem, 300, 3, chances=(0.1, 0.9)))
    assert_same(play(first, later), play(second, later))
    for name, array in first.get_state().items():
        np.testing.assert_array_equal(array, second.get_state()[name])
        np.testing.assert_array_equal(state[name], kept[name])
    assert first.knowledge is not None


def test_a_state_of_another_policy_or_problem_is_refused() -> None:
    policy = Surveyor(SCREENING, seed=1)
    before = policy.get_state()
    wider = Surveyor(Problem.anonymous((2, 2, 2), 2), seed=1).get_state()
    for state in ({"sums": np.zeros(2)}, wider):
        with pytest.raises(DamagedFile, match="not those of a Surveyor"):
            policy.set_state(state)
    for name, array in policy.get_state().items():
        np.testing.assert_array_equal(array, before[name])


def advance(agent: Agent, cases: PastCases) -> list[tuple[Any, ...]]:
    """Let an agent decide cases by name, and return what it bought and did."""
    features, names = SCREENING.features, ("ill", "well")
    decided = []
    for codes, outcome in zip(cases.codes.tolist(), cases.outcomes.tolist(), strict=True):
        values = {f.name: f.levels[code] for f, code in zip(features, codes, strict=True)}
        case, bought = agent.ask(), []
        while case.buy:
            bought.append(case.buy)
            case = agent.observe(case, {name: values[name] for name in case.buy})
        agent.tell(case, outcome=names[outcome])
        decided.append((*bought, case.action))
    return decided


def test_a_loaded_agent_goes_on_like_the_one_that_was_saved(tmp_path: Path) -> None:
    agent = Agent(SCREENING, "surveyor", horizon=3_000, max_loss=2_000, seed=1)
    advance(agent, drawn_cases(SCREENING, 200, 2))
    agent.save(tmp_path / "agent.npz")
    loaded = Agent.load(tmp_path / "agent.npz")
    assert isinstance(loaded.policy, Surveyor)
    assert loaded.policy.max_loss == 2_000
    assert loaded.policy.knowledge is not None
    later = drawn_cases(SCREENING, 150, 3)
    assert advance(loaded, later) == advance(agent, later)


def test_an_agent_learns_from_past_cases_first() -> None:
    agent = Agent(SCREENING, "surveyor", history=drawn_cases(SCREENING, 400, 1), seed=3)
    decided = advance(agent, drawn_cases(SCREENING, 50, 2))
    assert {action for *_, action in decided} == {"treat", "wait"}
    assert all("test" in bought[0] for *bought, _ in decided)


# Fits beside decisions.


def test_a_fit_that_runs_beside_decisions_gives_the_same_plans_as_one_at_once() -> None:
    world = replay_of(drawn_cases(SCREENING, 40, 2))
    at_once, beside = (Surveyor(SCREENING, horizon=3_000, seed=1) for _ in range(2))
    beside.fits_beside = True
    assert_same(play(at_once, world), play(beside, world))
    assert at_once.knowledge is not None
    assert beside.knowledge is None
    fit = beside.due_fit
    assert fit is not None
    assert fit.number == 0
    result = fit.run()
    assert result == pickle.loads(pickle.dumps(fit)).run()  # as another process computes it
    with pytest.raises(StaleFit):
        beside.apply_fit(1, result)
    beside.apply_fit(0, result)
    assert beside.due_fit is None
    assert beside.knowledge is not None
    for name, array in at_once.get_state().items():
        np.testing.assert_array_equal(array, beside.get_state()[name])
    later = replay_of(drawn_cases(SCREENING, 20, 3))
    assert_same(play(at_once, later), play(beside, later))


def test_a_due_fit_is_saved_with_what_it_needs() -> None:
    first, second = (Surveyor(LENDING, horizon=10_000, seed=seed) for seed in (1, 2))
    first.fits_beside = True
    play(first, replay_of(risky(60, 2)))
    assert first.due_fit is not None
    second.set_state(first.get_state())
    assert second.due_fit is not None
    assert second.due_fit.run() == first.due_fit.run()
    assert first.rounds > 40  # cases went on while the fit was due
    assert len(first.due_fit.complete.numbers) == 40


def test_a_due_fit_keeps_the_rewards_that_it_was_prepared_with() -> None:
    """The bounds of undeclared rewards may move while a fit is computed elsewhere."""
    first, second = (
        Surveyor(only_rewards(1, 0).problem, horizon=10_000, seed=seed) for seed in (1, 2)
    )
    first.fits_beside = second.fits_beside = True
    play(first, only_rewards(50, 2))
    fit = first.due_fit
    assert fit is not None
    # Before 30 cases of declining, the declared range counts for it: all rewards are possible.
    assert fit.problem.outcomes is not None
    assert np.ptp(fit.problem.outcomes.table[1]) == 50
    while first._evidence.table.tells[1]:
        first.update(Observation([-1, -1], [NAN, NAN], purpose=CAUTION), 1, 0.8)
    second.set_state(first.get_state())
    assert second.due_fit is not None
    assert second.due_fit.run() == fit.run()
    for policy in (first, second):
        policy.apply_fit(fit.number, fit.run())
        policy.rng = np.random.default_rng(3)
    later = only_rewards(100, 3)
    assert_same(play(first, later), play(second, later))


def test_a_change_replaces_the_due_fit() -> None:
    policy = Surveyor(SCREENING, history=drawn_cases(SCREENING, 400, 1), horizon=3_000, seed=1)
    policy.fits_beside = True
    play(policy, replay_of(drawn_cases(SCREENING, 300, 2, chances=(0.1, 0.9))))
    assert policy.changes
    assert policy.due_fit is not None
    assert policy.due_fit.settings.since == policy.changes[-1]
    assert policy.due_fit.settings.search


# Reasons.


def test_reasons_for_exploring() -> None:
    policy = Surveyor(SCREENING, seed=1)
    purchase = policy.choose_features(NOTHING)
    assert policy.reasons(purchase, NOTHING)() == {
        "kind": "explore",
        "why": "Buys everything to learn: better plans may gain up to 50.00 more per case, and "
        "exploring has cost 0.00 in this phase.",
    }
    seen = Observation([0, 1], [0.05, 0.05], purpose=purchase.purpose)
    told = policy.reasons(policy.choose_features(seen), seen)()
    assert told["kind"] == "explore"
    assert told["why"].startswith("Bought everything to learn: ")


def test_reasons_for_following_the_plan() -> None:
    policy = Surveyor(SCREENING, history=drawn_cases(SCREENING, 400, 1), horizon=1, seed=1)
    purchase = policy.choose_features(NOTHING)
    assert purchase.mask.tolist() == [False, True]
    told = policy.reasons(purchase, NOTHING)()
    assert (told["kind"], told["path"]) == ("follow", [])
    assert told["why"].startswith("First, buy test.")
    seen = Observation([-1, 1], [NAN, 0.05], purpose=purchase.purpose)
    stop = policy.choose_features(seen)
    assert not stop.mask.any()
    assert policy.reasons(stop, seen)()["kind"] == "follow"


def test_reasons_for_caution() -> None:
    policy = Surveyor(SCREENING, max_loss=0.0, seed=1)
    assert policy.reasons(policy.choose_features(NOTHING), NOTHING)() == {
        "kind": "caution",
        "why": "Buys nothing and takes the best constant action: the loss against it is 0.00, "
        "another case may lose 110.00, and at most 0.00 is allowed in all.",
    }


def test_reasons_without_a_plan() -> None:
    policy = Surveyor(SCREENING, horizon=1, max_loss=100.0, seed=1)
    play(policy, replay_of(drawn_cases(SCREENING, 5, 2)))
    purchase = policy.choose_features(NOTHING)
    assert not purchase.mask.any()
    told = policy.reasons(purchase, NOTHING)()
    assert told["why"] == "Buys nothing: after 5 cases there is no plan yet."


def test_it_keeps_the_promises_of_its_interface_when_outcomes_are_hidden() -> None:
    check_policy("surveyor", problem=LENDING, seed=1)


def test_probabilities_of_actions_are_probabilities() -> None:
    """An action may be certain to be tried for its label; rounding must not leave -1e-16."""
    rng = np.random.default_rng(1)
    policy, seen = Surveyor(LENDING, seed=1), Observation([0, 0], [0.01, 0.01], purpose=EXPLORE)
    for _ in range(300):
        policy._evidence.outcome_counts = counts = OutcomeCounts(2)
        for known in np.eye(2, dtype=np.bool_):
            counts.add(known, float(rng.integers(0, 50) + rng.random()))

        chances = policy._action_probabilities(seen, np.ones(2, np.bool_))
        assert (chances >= 0).all()
        assert chances.sum() == pytest.approx(1)
