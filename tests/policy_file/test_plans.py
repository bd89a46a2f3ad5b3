"""`policy = "plan"` in policy.toml."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from random_plans import random_plan, thyroid_plan
from thrifty import Agent
from thrifty.errors import InvalidSpec
from thrifty.plans.files import plan_from_dict, write_plan
from thrifty.policy_file import parse_spec, read_spec
from thrifty.problem import PriceList
from thrifty.specification import PolicySpec

SHORT = """
[policy]
name = "thyroid"
policy = "plan"
plan = "plan.json"
"""
FEATURES = """
[[features]]
name = "TSH"
price = 5.0

[[features]]
name = "sex"
free = true

[[features]]
name = "TT4"
"""


def spec_of(folder: Path, text: str = SHORT) -> PolicySpec:
    write_plan(thyroid_plan(), folder / "plan.json")
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return read_spec(folder / "policy.toml")


def test_everything_may_come_from_the_plan(tmp_path: Path) -> None:
    spec, plan = spec_of(tmp_path), thyroid_plan()
    assert spec.problem == plan.problem
    assert spec.free == ("sex",)
    assert spec.unit == "CAD"
    again = PolicySpec.from_dict(spec.to_dict())
    assert again.digest == spec.digest
    assert plan_from_dict(again.parameters["plan"]).problem == plan.problem


def test_prices_of_the_file_win_and_levels_come_from_the_plan(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, SHORT + FEATURES)
    assert spec.problem.features == thyroid_plan().problem.features
    assert spec.problem.prices == PriceList(
        {"TSH": 5.0, "TT4": 12.41},
        groups=thyroid_plan().problem.prices.groups,  # type: ignore[union-attr]
    )
    agent = Agent.from_spec(spec)
    case = agent.ask(free={"sex": "F"})
    assert (case.buy, case.expected_price) == (("TSH",), 7.10)


def test_bundles_of_the_file_replace_prices_of_the_plan(tmp_path: Path) -> None:
    panel = '[[bundles]]\nname = "panel"\nfeatures = ["TSH", "TT4"]\nprice = 30.0\n'
    features = FEATURES.replace("price = 5.0", "")
    spec = spec_of(tmp_path, SHORT + features + panel)
    assert spec.problem.prices is not None
    assert dict(spec.problem.prices.prices) == {}
    case = Agent.from_spec(spec).ask(free={"sex": "F"})
    assert (case.buy, case.expected_price) == (("TSH", "TT4"), 32.10)


def test_rewards_of_the_file_win(tmp_path: Path) -> None:
    rewards = "[outcomes.rewards]\nnormal = {normal = 0, sub = -9, hyper = -9}\nsub = 0\nhyper = -1"
    spec = spec_of(tmp_path, f'{SHORT}\n[rewards]\nunit = "EUR"\n{rewards}')
    assert (spec.problem.rewards.low, spec.problem.rewards.high, spec.unit) == (-9.0, 0.0, "EUR")


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        (SHORT.replace('plan = "plan.json"', ""), 'add plan = "plan.json"'),
        (SHORT.replace("plan.json", "other.json"), "other.json cannot be read"),
        (SHORT.replace('"plan.json"', "3"), "does not say which plan"),
        (SHORT + 'agent = "agent.npz"', "a plan learns nothing"),
        (SHORT + "epsilon = 0.1", "no parameter 'epsilon'"),
        (SHORT + FEATURES.replace("TT4", "T3"), "has feature 'TT4', which is not in"),
        (SHORT + FEATURES + '[[features]]\nname = "age"', "'age' is not in the plan"),
        (SHORT + FEATURES.replace("free = true", "price = 1"), "'sex' has a price, but the plan"),
        (SHORT + FEATURES + "edges = [64.0, 151.0]", "'TT4' has other levels or edges"),
        (SHORT + '[actions]\nnames = ["a", "b"]', "normal"),
        (SHORT + "[outcomes.rewards]\nwait = {normal = 0, sub = 1}", "wait"),
    ],
)
def test_files_that_do_not_fit_the_plan(tmp_path: Path, text: str, culprit: str) -> None:
    with pytest.raises(InvalidSpec, match=rf"(?s)policy\.toml.*{culprit}"):
        spec_of(tmp_path, text)


def test_content_without_a_file_cannot_name_a_plan() -> None:
    with pytest.raises(InvalidSpec, match="relative to policy"):
        parse_spec(tomllib.loads(SHORT))


def test_a_damaged_plan_is_refused_with_its_path(tmp_path: Path) -> None:
    spec_of(tmp_path)
    path = tmp_path / "plan.json"
    path.write_text(path.read_text(encoding="utf-8").replace("6.05", "7.05"), encoding="utf-8")
    with pytest.raises(InvalidSpec, match=r"policy\.toml: .*plan\.json: the checksum"):
        read_spec(tmp_path / "policy.toml")


def test_the_agent_of_the_file_decides_as_the_plan_does(tmp_path: Path) -> None:
    for seed in range(8):
        plan = random_plan(seed)
        write_plan(plan, tmp_path / "plan.json")
        (tmp_path / "policy.toml").write_text(SHORT, encoding="utf-8")
        agent = Agent.from_file(tmp_path / "policy.toml")
        rng = np.random.default_rng(seed)
        for _ in range(20):
            codes = rng.integers(0, plan.problem.levels)
            levels: dict[str, Any] = {
                feature.name: feature.levels[code]
                for feature, code in zip(plan.problem.features, codes, strict=True)
            }
            free = {name: levels[name] for name in agent._free}
            case = agent.ask(free=free)
            while case.buy:
                case = agent.observe(case, {name: levels[name] for name in case.buy})
            decided = plan.decide(codes[None].astype(np.int16))
            assert case.action == plan.problem.actions[int(decided.actions[0])]


def test_a_saved_agent_holds_its_plan(tmp_path: Path) -> None:
    agent = Agent.from_spec(spec_of(tmp_path))
    case = agent.ask(free={"sex": "F"})
    agent.save(tmp_path / "agent.npz")
    (tmp_path / "plan.json").unlink()
    again = Agent.load(tmp_path / "agent.npz")
    case = again.observe(case, {"TSH": 7.0})
    assert case.buy == ("TT4",)
    assert again.observe(case, {"TT4": None}).action == "hyper"
