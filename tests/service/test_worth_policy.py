"""What `thrifty worth` writes decides well in its first case, in process and as a service."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from service.conftest import in_a_thread
from small_service import THRIFTY
from thrifty import Agent, Plan
from thrifty.client import Client
from thrifty.policies import Surveyor

POLICY = """
[policy]
name = "clinic"
horizon = 1

[table]
target = "outcome"

[[features]]
name = "age"
free = true

[[features]]
name = "test"
price = 2.0

[[features]]
name = "scan"
price = 50.0

[outcomes.rewards]
treat = {ill = 50, well = -20}
wait = {ill = -60, well = 0}
"""
PATIENT = ({"test": 4.2}, "treat"), ({"test": 1.3}, "wait")
"""With a horizon of 1 and an expensive scan, a first case explores once in 10,000 times."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the command on cases in which somebody is ill if the test is above 3."""
    folder, rng = tmp_path_factory.mktemp("clinic"), np.random.default_rng(1)
    test, scan = rng.uniform(0, 5, (2, 600)).round(2)
    table = {
        "age": rng.integers(20, 90, 600),
        "number": rng.integers(0, 10**6, 600),
        "test": test,
        "scan": scan,
        "outcome": np.where(test > 3, "ill", "well"),
    }
    pl.DataFrame(table).write_csv(folder / "cases.csv")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    command = [str(THRIFTY), "worth", "cases.csv", "--policy", "policy.toml", "--no-replay"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "worth"


def decide(decider: Any, values: dict[str, float]) -> tuple[list[tuple[str, ...]], str]:
    """Return what is bought in a case, step by step, and the action."""
    case, steps = decider.ask(free={"age": 50}), []
    while case.buy:
        steps.append(case.buy)
        case = decider.observe(case, {name: values[name] for name in case.buy})
    return steps, case.action


def test_the_files_of_a_policy_that_has_learnt(report: Path) -> None:
    found = pl.read_parquet(report / "history.parquet")
    assert sorted(found.columns) == ["age", "outcome", "scan", "test"]
    assert found.height == 600
    assert json.loads((report / "worth.json").read_text(encoding="utf-8"))["served"] == "surveyor"
    text = (report / "policy.toml").read_text(encoding="utf-8")
    assert 'policy = "surveyor"' in text
    assert 'history = "history.parquet"' in text
    assert "horizon = 1" in text


@pytest.mark.parametrize(("values", "action"), PATIENT)
def test_an_agent_follows_the_plan_in_its_first_case(
    values: dict[str, float], action: str, report: Path
) -> None:
    agent = Agent.from_file(report / "policy.toml")
    assert isinstance(agent.policy, Surveyor)
    assert decide(agent, values) == ([("test",)], action)
    assert agent.policy.rounds == 0
    assert decide(Plan.load(report / "plan.json"), values) == ([("test",)], action)


@pytest.mark.parametrize(("values", "action"), PATIENT)
def test_a_service_follows_the_plan_in_its_first_case(
    values: dict[str, float], action: str, report: Path, tmp_path: Path
) -> None:
    files = [report / "policy.toml"]
    with in_a_thread(files, str(tmp_path / "store.db")) as url, Client(url) as client:
        assert decide(client, values) == ([("test",)], action)


def test_the_folder_can_be_moved(report: Path, tmp_path: Path) -> None:
    for name in ("policy.toml", "history.parquet"):
        (tmp_path / name).write_bytes((report / name).read_bytes())
    agent = Agent.from_file(tmp_path / "policy.toml")
    assert decide(agent, {"test": 4.2}) == ([("test",)], "treat")
