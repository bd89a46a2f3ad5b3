"""A plan is served as it is: killed, continued, audited, exported and replayed."""

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from postgres_server import PostgresServer
from random_plans import thyroid_plan
from small_service import THRIFTY, served
from thrifty import Agent
from thrifty.client import Client
from thrifty.errors import InvalidField
from thrifty.plans.files import write_plan

POLICY = """
[policy]
name = "{name}"
policy = "plan"
plan = "plan.json"

[reward_rule]
deadline = "30d"
"""


def policy_with_plan(folder: Path, name: str = "thyroid") -> Path:
    write_plan(thyroid_plan(), folder / "plan.json")
    path = folder / f"{name}.toml"
    path.write_text(POLICY.format(name=name), encoding="utf-8")
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [str(THRIFTY), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_killed_between_two_purchases(address: str, tmp_path: Path) -> None:
    policy = policy_with_plan(tmp_path)
    with served(policy, "--store", address) as service, Client(service.url) as client:
        with pytest.raises(InvalidField, match=r"free\.sex"):
            client.ask()
        case = client.ask(free={"sex": "F"}, key="ask")
        assert (case.buy, case.unit) == (("TSH",), "CAD")
        assert case.expected_price == pytest.approx(22.78)
        case = client.observe(case, {"TSH": 7.3}, key="first")
        assert (case.buy, case.expected_price) == (("TT4",), 12.41)
        service.kill()
    # The store holds the plan: neither policy.toml nor plan.json is needed any more.
    (tmp_path / "plan.json").unlink()
    with served("--store", address) as service, Client(service.url, policy="thyroid") as client:
        assert client.observe(str(case.id), {"TSH": 7.3}, key="first") == case
        case = client.observe(case, {"TT4": 60})
        assert case.action == "hyper"
        assert client.tell(case, outcome="hyper").use == "learnt"
        shown = client.explain(case)
        assert [step["buy"] for step in shown["steps"]] == [["TSH"], ["TT4"]]
        assert shown["steps"][0]["reasons"]["why"].startswith("First, buy TSH. What comes next")
        assert shown["steps"][1]["reasons"]["path"] == ["TSH is above 6.05"]
        assert shown["explain"]["action_reasons"]["path"] == [
            "TSH is above 6.05",
            "TT4 is at most 64",
        ]
        rng = np.random.default_rng(1)
        for k in range(20):
            live(client, rng, k)
    (found,) = json.loads(run("audit", address, "--json").stdout)
    assert found["difference"] is None
    log = tmp_path / "log.parquet"
    run("export", address, "--out", log)
    rows = pl.read_parquet(log).filter(pl.col("case") == str(case.id))
    assert rows["buy"].to_list()[:2] == [["TSH"], ["TT4"]]
    assert rows["spend"].to_list()[1:3] == pytest.approx([22.78, 12.41])
    fresh = policy_with_plan(tmp_path, "fresh")
    said = run("replay", log, fresh, "--of", "thyroid", "--save", tmp_path / "agent.npz")
    assert f"fresh: learnt {found['learnt']} rounds" in said.stdout
    assert Agent.load(tmp_path / "agent.npz").ask(free={"sex": "M"}).buy == ("TSH",)


def live(client: Client, rng: np.random.Generator, k: int) -> None:
    """Play a case; some values are missing or unavailable, and some rewards never come."""
    case = client.ask(free={"sex": "FM"[k % 2]})
    while case.buy:
        value = None if rng.random() < 0.2 else float(rng.exponential(9.0))
        case = client.observe(case, dict.fromkeys(case.buy, value))
    if k % 5 == 0:
        client.abandon(case)
    elif k % 5 < 4:
        client.tell(case, outcome=("normal", "sub", "hyper")[int(rng.integers(3))])
