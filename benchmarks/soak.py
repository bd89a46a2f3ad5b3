"""`python -m benchmarks.soak`: run two policies for a long time while rewards drift.

At the end, the totals on the dashboard are compared with those of the exported log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.kills import LEVELS, POLICY, THRIFTY, end, start
from benchmarks.load import CaseSource, Tally, connect, run_case


@dataclass
class Drift:
    """Rewards that depend on a different feature every few seconds."""

    every: float = 20.0

    def reward(self, rng: random.Random, values: Mapping[str, str], action: str) -> float:
        """Return 1 for the right action most of the time, and 0 otherwise."""
        feature = ("income", "history", "age")[int(time.monotonic() / self.every) % 3]
        level = values.get(feature)
        right = "approve" if level in ("high", "clean", "old") else "decline"
        return float(rng.random() < (0.9 if level is not None and action == right else 0.3))


async def soak(
    port: int, policies: list[str], keep_going: Callable[[Tally], bool], connections: int
) -> Tally:
    """Run cases of all policies while `keep_going` returns True."""
    tally, source = Tally(keep_cases=False), CaseSource(LEVELS, reward=Drift().reward)
    line = await connect(port)
    for policy in policies:  # compiles, the first time
        await run_case(line, policy, source, random.Random(policy), tally)
    line.transport.close()

    async def one(k: int) -> None:
        line, rng = await connect(port), random.Random(k)
        while keep_going(tally):
            await run_case(line, policies[k % len(policies)], source, rng, tally)
        line.transport.close()

    await asyncio.gather(*(one(k) for k in range(connections)))
    return tally


def fetch(port: int, path: str) -> Any:
    """Return the JSON at a path of the service."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return json.load(answer)


def log_totals(log: Path, policy: str) -> dict[str, float]:
    """Return the totals of a policy, from the exported log alone."""
    rows = pl.read_parquet(log).filter(pl.col("policy") == policy)
    reward = float(rows.filter(pl.col("learnt"))["reward"].sum())
    spend = float(rows["spend"].sum())
    return {"reward": reward, "spend": spend, "gain": reward - spend}


def compare_totals(
    folder: Path, keep_going: Callable[[Tally], bool], connections: int = 8
) -> list[dict[str, Any]]:
    """Run the service in a folder; return the totals of the dashboard and of the log, by policy."""
    policies = ["lending", "borrowing"]
    files = []
    for name in policies:
        files.append(folder / f"{name}.toml")
        files[-1].write_text(POLICY.replace('"lending"', f'"{name}"'))
    store, log = folder / "store.db", folder / "log.parquet"
    for path in files:  # each declares its policy; the last one serves both
        process, port = start(path, store)
        if path is not files[-1]:
            end(process)
    try:
        tally = asyncio.run(soak(port, policies, keep_going, connections))
        assert not tally.errors, tally.errors[:3]
        pages = {page["policy"]: page for page in fetch(port, "/v1/policies")}
        series = {name: fetch(port, f"/v1/policies/{name}/activity")["series"] for name in policies}
    finally:
        end(process)
    subprocess.run([str(THRIFTY), "export", str(store), "--out", str(log)], check=True)
    return [
        {
            "policy": name,
            "decisions": pages[name]["counts"]["acted"],
            "noticed": pages[name]["noticed"],
            "shown": {key: pages[name][key] for key in ("reward", "spend", "gain")},
            "drawn": {
                key: sum(point[key] for point in series[name]) for key in ("reward", "spend")
            },
            "log": log_totals(log, name),
        }
        for name in policies
    ]


def main() -> int:
    """Run, compare and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        rows = compare_totals(Path(folder), lambda _: time.monotonic() < until)
    wrong = 0
    for row in rows:
        print(json.dumps(row))
        for key, value in row["log"].items():
            wrong += abs(row["shown"][key] - value) > 1e-6 * max(1.0, abs(value))
    print("the dashboard and the exported log agree" if not wrong else "THEY DIFFER")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
