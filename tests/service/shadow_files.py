"""Policies with shadows, in files, and cases for them."""

import random
from pathlib import Path
from typing import Any

from service.engines import EngineHarness

REST = """
[[features]]
name = "income"
levels = ["low", "high"]
price = 0.4

[[features]]
name = "history"
levels = ["none", "clean", "arrears"]
price = 1.5

[[features]]
name = "age"
levels = ["young", "old"]
free = true

[actions]
names = ["decline", "approve"]

[rewards]
unit = "EUR"
low = -900
high = 120
"""
OUTCOMES = """
[outcomes]
names = ["repaid", "default"]
[outcomes.rewards]
decline = 0
approve = {repaid = 120, default = -900}
"""
LEVELS = {"income": ("low", "high"), "history": ("none", "clean", "arrears")}


def write(
    folder: Path, name: str, policy: str, more: str = "", *, outcomes: str = OUTCOMES
) -> Path:
    """Write the file of one policy."""
    path = folder / f"{name}.toml"
    head = f'[policy]\nname = "{name}"\npolicy = "{policy}"\nseed = 1\n{more}\n'
    path.write_text(head + REST + outcomes, encoding="utf-8")
    return path


def with_shadows(
    folder: Path,
    *,
    policy: str = "linucb",
    shadows: dict[str, str] | None = None,
    more: str = "",
    outcomes: str = OUTCOMES,
) -> Path:
    """Write a policy and its shadows, given as kinds by name; return the path of the policy."""
    shadows = {"careful": "scout", "coin": "uniform"} if shadows is None else shadows
    for name, kind in shadows.items():
        write(folder, name, kind, outcomes=outcomes)
    listed = ", ".join(f'"{name}.toml"' for name in shadows)
    return write(folder, "lending", policy, f"shadow = [{listed}]\n{more}", outcomes=outcomes)


async def play(harness: EngineHarness, cases: int, seed: int = 0, **opening: Any) -> list[str]:
    """Play cases in which most people with a clean history repay; return their ids."""
    rng, ids = random.Random(seed), []
    for _ in range(cases):
        case = await harness.open(**{"age": rng.choice(("young", "old")), **opening})
        ids.append(case.case)
        history = rng.choice(LEVELS["history"])
        while case.body.get("buy"):
            values = {"history": history, "income": rng.choice(LEVELS["income"])}
            bought = {name: values[name] for name in case.body["buy"]}
            case = await harness.observe(case.case, bought)
        repaid = rng.random() < (0.95 if history == "clean" else 0.4)
        if harness.projection.spec.problem.outcomes is None:
            reward = 0.0 if case.body["action"] == "decline" else 120.0 if repaid else -900.0
            await harness.reward(case.case, reward)
        else:
            await harness.reward(case.case, outcome="repaid" if repaid else "default")
    await harness.settled()
    return ids
