"""`python -m benchmarks.worth`: time and memory of `thrifty worth`.

Each file is processed twice, in new processes: the first one may have to compile. Then the time
that the replay of Surveyor adds is measured in this process, on two tables of 10,000 cases.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.auto_policy import example_cases
from benchmarks.kills import THRIFTY
from thrifty.policy_file import from_prices
from thrifty.tables import Cases, read_cases
from thrifty.worth.evaluation import SURVEYOR_PART, evaluate_in_steps

REPLAYED, COLUMNS = 10_000, 20
MAX_SECONDS = 20.0
"""The replay of Surveyor on 10,000 cases may add this much."""


def write_example(folder: Path, rows: int) -> list[str]:
    """Write an example with this many rows, and return the command to run on it."""
    cases, policy = folder / f"{rows}.csv", folder / "policy.toml"
    example = [str(THRIFTY), "example", "lending"]
    with cases.open("w") as file:
        subprocess.run([*example, "--rows", str(rows)], stdout=file, check=True)
    with policy.open("w") as file:
        subprocess.run([*example, "--policy"], stdout=file, check=True)
    return [str(THRIFTY), "worth", str(cases), "--policy", str(policy), "--out", str(folder / "o")]


def run_measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return its time in seconds and its peak memory in megabytes."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return time.perf_counter() - begun, used.ru_maxrss / 1e3


def wide_cases(rows: int, columns: int, seed: int) -> Cases:
    """Return a table of numbers, four of which say something about the outcome."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns)).round(3)
    score = values[:, 0] + values[:, 1] * (values[:, 2] > 0) + 0.5 * values[:, 3] - 2
    table = {f"x{k}": values[:, k] for k in range(columns)}
    table["outcome"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "bad", "good")
    prices: dict[str, float | str] = {f"x{k}": 0.01 * (k % 5 + 1) for k in range(columns)}
    return read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))


def replay_times(cases: Cases) -> tuple[float, float]:
    """Return the seconds of an evaluation without the replay of Surveyor, and with it."""
    begun, without = time.perf_counter(), 0.0
    for evaluation in evaluate_in_steps(cases):
        if evaluation.missing == (SURVEYOR_PART,):
            without = time.perf_counter() - begun
    return without, time.perf_counter() - begun


def print_replay_times() -> bool:
    """Print what the replay of Surveyor adds; return True if it is not too much."""
    tables = {
        f"lending, {REPLAYED:,} rows": example_cases("lending", REPLAYED, 1),
        f"{REPLAYED:,} x {COLUMNS} numbers": wide_cases(REPLAYED, COLUMNS, 1),
    }
    replay_times(example_cases("lending", 1000, 1))  # compiles
    is_fast = True
    for name, cases in tables.items():
        without, total = replay_times(cases)
        added = total - without
        is_fast &= added <= MAX_SECONDS
        print(
            f"{name}: {without:.1f} s without Surveyor, {total:.1f} s with it, {added:.1f} s more "
            f"({'within' if added <= MAX_SECONDS else 'above'} {MAX_SECONDS:g} s)",
            flush=True,
        )
    return is_fast


def main() -> int:
    """Print time and memory for files of several sizes, then the time of the replay of Surveyor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worth", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            command = write_example(Path(folder), rows)
            run_measured(command)
            seconds, megabytes = run_measured(command)
            print(f"{rows:10,} rows: {seconds:6.1f} s {megabytes:8.0f} MB", flush=True)
    return 0 if print_replay_times() else 1


if __name__ == "__main__":
    sys.exit(main())
