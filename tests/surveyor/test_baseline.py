"""A given plan as the baseline of the largest loss."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from surveyor_cases import SCREENING, drawn_cases
from thrifty import Agent, Plan
from thrifty.environments.past_cases import replay_of
from thrifty.errors import InvalidParameter, InvalidSpec
from thrifty.plans.cases import PastCases
from thrifty.plans.files import plan_to_dict, write_plan
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.policy_file import parse_spec, read_spec
from thrifty.problem import Problem
from thrifty.rounds import Observation, Run
from thrifty.surveyor.baseline import Baseline, GainRecord

NAN = float("nan")
TREAT, WAIT = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))
needs_compiled_code = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="takes minutes, and its kernels are covered by tests/kernels/test_boosting.py",
)


def buying(column: int) -> PlanTree:
    """Return the plan that buys one feature, and treats where it is high."""
    is_low = np.array([True, False, True])
    root = Split((column,), column, is_low, low=WAIT, high=TREAT, n_cases=10)
    return PlanTree(SCREENING, np.zeros(2, np.bool_), root)


def losses(policy: Surveyor, tree: PlanTree, cases: PastCases) -> tuple[Run, np.ndarray]:
    """Play cases; return the run, and how far its gain is below the plan's after each case."""
    run = play(policy, replay_of(cases))
    scale = SCREENING.rewards
    gains = scale.low + scale.span * (run.rewards - run.costs)
    return run, np.cumsum(tree.decide(cases.codes).gains(cases) - gains)


# What the plan would have done.


def test_what_the_plan_would_have_done() -> None:
    """The test was bought for 0.05 in the first case, and not in the second one."""
    baseline = Baseline(buying(1))
    assert baseline.would_do(Observation([0, 1], [0.02, 0.05])) == (0, 0.05)
    assert baseline.would_do(Observation([-1, 0], [NAN, 0.05])) == (1, 0.05)
    assert baseline.would_do(Observation([-1, -1], [NAN, 0.05])) == (1, 0.05)  # not obtained
    assert baseline.would_do(Observation([0, -1], [0.02, NAN])) is None


def test_gains_that_stay_hidden_are_bounded_from_above() -> None:
    """Two standard errors above the mean of gains of 10 and -2, if there are enough of them."""
    baseline = Baseline(buying(1))
    assert baseline.hidden_gain(most=50.0) == 50.0
    for k in range(36):
        baseline.record.add(10.0 if k % 2 else -2.0)
    assert baseline.record.mean == pytest.approx(4.0)
    assert baseline.record.error == pytest.approx(1.0)
    assert baseline.hidden_gain(most=50.0) == pytest.approx(6.0)
    assert baseline.hidden_gain(most=5.0) == 5.0
    assert not baseline.is_beaten(4.9)
    assert baseline.is_beaten(5.1)


def test_the_record_is_the_mean_and_its_error() -> None:
    record = GainRecord()
    gains = [4.0, -1.0, 0.0, 5.0]
    for gain in gains:
        record.add(gain)
    assert record.n == 4
    assert record.mean == pytest.approx(2.0)
    assert record.error == pytest.approx(np.std(gains) / 2)


# Runs.


def test_without_anything_to_lose_the_plan_is_carried_out_in_every_case() -> None:
    policy, tree = Surveyor(SCREENING, baseline=buying(1), max_loss=0.0, seed=1), buying(1)
    cases = drawn_cases(SCREENING, 100, 2)
    run, behind = losses(policy, tree, cases)
    assert (run.observed == [False, True]).all()
    assert np.abs(behind).max() < 1e-9
    assert policy.is_cautious
    assert policy.ledger.surplus == pytest.approx(0.0)


@needs_compiled_code
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_against_the_plan_stays_within_what_is_allowed(seed: int) -> None:
    """The plan is the best one, so that everything else loses. Every outcome becomes known."""
    policy = Surveyor(SCREENING, baseline=buying(1), max_loss=10.0, horizon=3_000, seed=seed)
    run, behind = losses(policy, buying(1), drawn_cases(SCREENING, 500, 20 + seed))
    assert run.observed[:5].all()  # it explores
    assert policy.max_loss == 1_000.0
    assert 500.0 < behind.max() <= 1_000.0
    assert policy.ledger.surplus == pytest.approx(-behind[-1])


@needs_compiled_code
def test_a_better_plan_than_the_baseline_is_found_and_carried_out() -> None:
    """The baseline buys noise, which is worth nothing; the test is right in nine of ten cases."""
    policy, tree = Surveyor(SCREENING, baseline=buying(0), horizon=3_000, seed=1), buying(0)
    run, behind = losses(policy, tree, drawn_cases(SCREENING, 500, 2))
    assert policy.knowledge is not None
    assert policy.knowledge.plan.used == (1,)
    assert (run.observed[-100:] == [False, True]).all(axis=1).mean() > 0.5
    assert behind[-1] < -5_000
    assert not policy.is_cautious


@needs_compiled_code
def test_past_cases_say_what_the_baseline_gains() -> None:
    """Nine in ten are right: 50 in nine cases, -50 in the tenth, and 5 for the test."""
    past = drawn_cases(SCREENING, 400, 1)
    policy = Surveyor(SCREENING, history=past, baseline=buying(1), seed=1)
    told = policy._guard.baseline
    assert told is not None
    assert told.record.n == 400
    assert told.record.mean == pytest.approx(buying(1).decide(past.codes).gains(past).mean())


@needs_compiled_code
def test_an_agent_with_a_baseline_goes_on_after_it_was_saved(tmp_path: Path) -> None:
    agents = [Agent(SCREENING, "surveyor", baseline=buying(1), max_loss=0.0, seed=1)]
    case = agents[0].ask()
    assert case.buy == ("test",)
    told = agents[0].explain(case)
    assert "Carries out the baseline" in str(told)
    case = agents[0].observe(case, {"test": "high"})
    assert case.action == "treat"
    agents[0].tell(case, outcome="ill")
    agents[0].save(tmp_path / "agent.npz")
    agents.append(Agent.load(tmp_path / "agent.npz"))
    for agent in agents:
        assert isinstance(agent.policy, Surveyor)
        assert agent.policy.parameters["baseline"] == plan_to_dict(buying(1))
        assert agent.ask().buy == ("test",)


def test_a_plan_for_another_problem_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="the plan was made for the features"):
        Surveyor(Problem.anonymous((2, 2), 2), baseline=buying(1))


# policy.toml.

TEXT = """
[policy]
name = "screening"
policy = "surveyor"
baseline = "plan.json"
max_loss = 100

[[features]]
name = "noise"
levels = ["low", "high"]
price = 5

[[features]]
name = "test"
levels = ["low", "high"]
price = 5

[outcomes]
names = ["ill", "well"]
rewards = {treat = {ill = 50, well = -50}, wait = {ill = -50, well = 50}}
"""


def test_a_policy_file_names_the_plan(tmp_path: Path) -> None:
    write_plan(buying(1), tmp_path / "plan.json")
    (tmp_path / "policy.toml").write_text(TEXT, encoding="utf-8")
    spec = read_spec(tmp_path / "policy.toml")
    (tmp_path / "plan.json").unlink()  # the specification holds the plan
    policy = Agent.from_spec(spec).policy
    assert isinstance(policy, Surveyor)
    assert policy.max_loss == 100
    assert policy.parameters["baseline"] == plan_to_dict(buying(1))


def test_mistakes_in_a_policy_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpec, match=r"a path relative to policy\.toml"):
        parse_spec(tomllib.loads(TEXT))
    (tmp_path / "policy.toml").write_text(TEXT.replace('"plan.json"', "3"), encoding="utf-8")
    with pytest.raises(InvalidSpec, match="give the path of a plan"):
        read_spec(tmp_path / "policy.toml")


def test_a_plan_can_be_given_as_it_was_loaded(tmp_path: Path) -> None:
    write_plan(buying(1), tmp_path / "plan.json")
    tree = Plan.load(tmp_path / "plan.json").tree
    policy = Surveyor(SCREENING, baseline=tree, seed=1)
    assert policy.parameters["baseline"] == plan_to_dict(buying(1))
