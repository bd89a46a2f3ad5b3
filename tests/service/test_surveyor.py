"""Surveyor in the service: it learns plans live, is killed while it does so, and is audited."""

import json
import subprocess
from functools import partial
from pathlib import Path

import httpx
import numpy as np

from small_service import THRIFTY, served
from thrifty.client import Client
from waiting import wait_until

POLICY = """
[policy]
name = "clinic"
policy = "surveyor"
seed = 3
horizon = 10000

[[features]]
name = "age"
free = true
edges = [40, 65]

[[features]]
name = "test"
price = 2.0
edges = [1, 2, 3, 4]

[[features]]
name = "noise"
price = 1.0
edges = [1, 2, 3]

[actions]
names = ["treat", "wait"]

[outcomes]
names = ["ill", "well"]

[outcomes.rewards.treat]
ill = 50
well = -20

[outcomes.rewards.wait]
ill = -60
well = 0

[reward_rule]
deadline = "30d"
"""
KILLS = (45, 130)
"""The first fit is due after 40 cases; the service is killed after these cases."""


def play(client: Client, rng: np.random.Generator) -> str:
    """Play a case; somebody is ill if the test is above 3. Return why it stopped buying."""
    test, noise = rng.uniform(0, 5, 2).tolist()
    case = client.ask(free={"age": float(rng.uniform(20, 90))})
    while case.buy:
        values = {"test": test, "noise": noise}
        case = client.observe(case, {name: values[name] for name in case.buy})
    client.tell(case, outcome="ill" if test > 3 else "well")
    explain = client.explain(case)["explain"]
    assert " estimated reward" in explain["action_why"]
    stopped = explain["action_reasons"] or explain["reasons"]  # the latter if it bought nothing
    return str(stopped["why"])


def fits_used(client: Client) -> int:
    return int(client.policy("clinic")["counts"].get("fitted", 0))


def test_plans_are_learnt_live_and_survive_kills(store_address: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    rng, reasons = np.random.default_rng(1), []
    for start, stop in zip((0, *KILLS[:-1]), KILLS, strict=True):
        with served(policy, "--store", store_address) as service, Client(service.url) as client:
            if start:  # the fit that was running at the kill is run again
                wait_until(partial(fits_used, client), "the first fit")
            reasons += [play(client, rng) for _ in range(start, stop)]
            service.kill()
    assert "Bought everything to learn" in reasons[0]
    with served(policy, "--store", store_address) as service, Client(service.url) as client:

        def a_plan_is_carried_out() -> bool:
            reasons.append(play(client, rng))
            return "o further look pays." in reasons[-1]

        wait_until(a_plan_is_carried_out, "a plan that buys")
        shown = httpx.get(f"{service.url}/v1/policies/clinic/status", trust_env=False).json()
        assert "test" in shown["plan"]["buy"]
        assert shown["plan"]["condition"] == "In every case"
        assert shown["status"]["explored"]["cases"] >= 40
        assert "plan" not in shown["status"]
    found = subprocess.run(
        [str(THRIFTY), "audit", store_address, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    (audited,) = json.loads(found.stdout)
    assert audited["difference"] is None
    assert audited["learnt"] == len(reasons)
    assert audited["fits"] >= 2
