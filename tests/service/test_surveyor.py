"""Surveyor in the service: it learns plans live, is killed while it does so, and is audited."""

import json
import subprocess
from pathlib import Path

import numpy as np

from small_service import THRIFTY, served
from thrifty.client import Client

POLICY = """
[policy]
name = "clinic"
policy = "surveyor"
seed = 3
horizon = 2000

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
CASES, KILLS = 200, (45, 130)
"""The first plan is learnt in case 40; the service is killed after these cases."""


def play(client: Client, rng: np.random.Generator) -> str:
    """Play a case; somebody is ill if the test is above 3. Return the reasons of its end."""
    test, noise = rng.uniform(0, 5, 2).tolist()
    case = client.ask(free={"age": float(rng.uniform(20, 90))})
    while case.buy:
        values = {"test": test, "noise": noise}
        case = client.observe(case, {name: values[name] for name in case.buy})
    client.tell(case, outcome="ill" if test > 3 else "well")
    why: str = client.explain(case)["explain"]["action_reasons"]["why"]
    return why


def test_plans_are_learnt_live_and_survive_kills(store_address: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    rng, reasons = np.random.default_rng(1), []
    for start, stop in zip((0, *KILLS), (*KILLS, CASES), strict=True):
        with served(policy, "--store", store_address) as service, Client(service.url) as client:
            reasons += [play(client, rng) for _ in range(start, stop)]
            service.kill()
    assert "Bought everything to learn" in reasons[0]
    assert any("o further look pays." in why for why in reasons[130:])
    found = subprocess.run(
        [str(THRIFTY), "audit", store_address, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    (audited,) = json.loads(found.stdout)
    assert audited["difference"] is None
    assert audited["learnt"] == CASES
