"""A plan as a policy decides as its tree does, from the observation alone."""

import json
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_plans import plan_for, random_codes, random_plan, thyroid_plan
from thrifty import Agent, simulate
from thrifty.environments import World
from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.plans.files import plan_to_dict
from thrifty.plans.tree import PlanTree
from thrifty.policies import PlanPolicy
from thrifty.problem import Feature, PriceList, Problem
from thrifty.rounds import Observation


def carried_out(policy: PlanPolicy, codes: Any, free: Any) -> tuple[list[int], int]:
    """Return the features that are bought, in order, and the action."""
    seen = np.where(free, codes, -1)
    costs = np.full(len(codes), np.nan)
    bought: list[int] = []
    while (mask := policy.choose_features(Observation(seen, costs)).mask).any():
        assert not mask[free].any()
        bought += np.flatnonzero(mask).tolist()
        seen, costs = np.where(mask, codes, seen), np.where(mask, 0.1, costs)
    return bought, policy.choose_action(Observation(seen, costs))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_it_decides_as_the_tree_does(seed: int) -> None:
    plan = random_plan(seed)
    content = json.loads(json.dumps(plan_to_dict(plan)))
    policy = PlanPolicy(plan.problem, plan=content)
    codes = random_codes(plan, 25, seed)
    decisions = plan.decide(codes)
    for row, action, looks in zip(codes, decisions.actions, decisions.bought, strict=True):
        bought, chosen = carried_out(policy, row, plan.free)
        columns = {i for k in np.flatnonzero(looks) for i in plan.looks[k].columns}
        assert len(bought) == len(set(bought))
        assert set(bought) == columns - set(np.flatnonzero(plan.free).tolist())
        assert chosen == action


def test_known_and_settled_features_are_not_bought_again() -> None:
    policy = PlanPolicy(thyroid_plan().problem, plan=thyroid_plan())
    nan = np.nan
    # TSH is known for free and high: only TT4 is bought.
    assert policy.choose_features(Observation([0, 2, -1], [nan] * 3)).mask.tolist() == [
        False,
        False,
        True,
    ]
    # TSH was bought and not obtained: such cases go low, where nothing more is bought.
    gone = Observation([0, -1, -1], [nan, 22.78, nan])
    assert not policy.choose_features(gone).mask.any()
    assert policy.choose_action(gone) == 0
    # TSH is missing, which is a level of its own and goes high.
    missing = Observation([0, 4, -1], [nan, 22.78, nan])
    assert policy.choose_features(missing).mask.tolist() == [False, False, True]


def test_only_available_actions_are_taken() -> None:
    policy = PlanPolicy(thyroid_plan().problem, plan=thyroid_plan())
    low = Observation([0, 0, -1], [np.nan, 22.78, np.nan])
    assert policy.choose_action(low) == 0
    assert policy.choose_action(low, available=[False, True, True]) == 1
    values = policy.action_values(low)
    assert values is not None
    assert policy.problem.rewards.money(float(values[0])) == pytest.approx(-20.0)


def test_it_says_why_it_buys_and_why_it_stops() -> None:
    policy = PlanPolicy(thyroid_plan().problem, plan=thyroid_plan())
    seen = Observation([0, -1, -1], [np.nan] * 3)
    assert policy.reasons(policy.choose_features(seen), seen)() == {
        "why": "First, buy TSH. What comes next depends on whether TSH is above 6.05 or missing. "
        "7,200 of 7,200 past cases came here.",
        "path": [],
    }
    seen = Observation([0, 2, -1], [np.nan, 22.78, np.nan])
    told = policy.reasons(policy.choose_features(seen), seen)()
    assert told["path"] == ["TSH is above 6.05"]
    assert told["why"].startswith("TSH is above 6.05: buy TT4. What comes next depends on whether")
    seen = Observation([0, 0, -1], [np.nan, 22.78, np.nan])
    assert policy.reasons(policy.choose_features(seen), seen)()["why"] == (
        "TSH is at most 6.05: no further look pays. 6,500 of 7,200 past cases ended here with a "
        "mean gain of -30.00 CAD."
    )


def other(**changes: Any) -> Problem:
    problem = thyroid_plan().problem
    parts = {
        "features": problem.features,
        "actions": problem.actions,
        "prices": problem.prices,
        **changes,
    }
    return Problem(**parts)


@pytest.mark.parametrize(
    ("problem", "culprit"),
    [
        (other(features=thyroid_plan().problem.features[1:]), r"for the features 'sex', 'TSH'"),
        (other(features=thyroid_plan().problem.features[::-1]), "in the same order"),
        (
            other(
                features=(
                    thyroid_plan().problem.features[0],
                    Feature.number("TSH", edges=(0.5, 7.0, 20.0), missing=True),
                    thyroid_plan().problem.features[2],
                )
            ),
            "feature 'TSH' has other levels or edges",
        ),
        (other(actions=("normal", "sub", "other")), "for the actions 'normal', 'sub', 'hyper'"),
    ],
)
def test_a_plan_for_another_problem_is_refused(problem: Problem, culprit: str) -> None:
    with pytest.raises(InvalidParameter, match=culprit):
        PlanPolicy(problem, plan=thyroid_plan())


def test_prices_may_differ_from_those_of_the_plan() -> None:
    cheaper = replace_prices(thyroid_plan().problem, PriceList({"TSH": 1.0, "TT4": 2.0}))
    agent = Agent(cheaper, PlanPolicy(cheaper, plan=thyroid_plan()))
    case = agent.ask(free={"sex": "F"})
    assert (case.buy, case.expected_price) == (("TSH",), 1.0)
    case = agent.observe(case, {"TSH": 7.5})
    assert (case.buy, case.expected_price) == (("TT4",), 2.0)
    case = agent.observe(case, {"TT4": 60})
    assert case.action == "hyper"
    agent.tell(case, outcome="hyper")
    assert agent.policy.get_state() == {}
    steps = agent.explain(case)["steps"]
    assert [step["costs"] for step in steps] == [{"TSH": 1.0}, {"TT4": 2.0}]
    assert "buy TT4" in steps[1]["reasons"]["why"]


def replace_prices(problem: Problem, prices: PriceList) -> Problem:
    return Problem(problem.features, problem.actions, problem.outcomes, prices, problem.rewards)


def test_it_can_be_simulated() -> None:
    world = World.random(levels=(2, 3, 2), n_actions=3, rounds=40, seed=1)
    run = simulate("plan", world, seeds=[0], plan=plan_for(world.problem))[0]
    assert run.observed[:, 0].all()
    assert not run.observed[:, 2].any()
    with pytest.raises(InvalidParameter, match="give a PlanTree or the content of a plan"):
        simulate("plan", world, seeds=[0])


def test_it_has_no_state() -> None:
    policy = PlanPolicy(thyroid_plan().problem, plan=thyroid_plan())
    policy.set_state({})
    with pytest.raises(DamagedFile, match=r"\['sums'\]"):
        policy.set_state({"sums": np.zeros(2)})
    assert repr(policy).startswith("PlanPolicy(plan=<plan ")


def test_a_damaged_plan_is_refused() -> None:
    content = plan_to_dict(thyroid_plan())
    content["plan"]["if"]["at_most"] = 0.5
    with pytest.raises(DamagedFile, match="checksum"):
        PlanPolicy(thyroid_plan().problem, plan=content)


def test_the_tree_is_not_changed() -> None:
    plan = thyroid_plan()
    policy = PlanPolicy(plan.problem, plan=plan)
    assert policy.tree is plan
    assert isinstance(replace(plan, target=None), PlanTree)


def test_a_decision_takes_tens_of_microseconds() -> None:
    plan = random_plan(3)
    policy = PlanPolicy(plan.problem, plan=plan)
    codes = random_codes(plan, 300)
    carried_out(policy, codes[0], plan.free)  # compiles what models use
    times = []
    for row in codes:
        begin = perf_counter()
        policy.choose_features(seen := Observation(row, np.full(len(row), 0.1)))
        policy.choose_action(seen)
        times.append(perf_counter() - begin)
    assert np.median(times) < 1e-3
