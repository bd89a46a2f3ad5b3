"""`python -m benchmarks.worth`: time and memory of `thrifty worth`.

Each file is processed twice, in new processes: the first one may have to compile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.kills import THRIFTY


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


def main() -> int:
    """Print time and memory for files of several sizes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worth", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            command = write_example(Path(folder), rows)
            run_measured(command)
            seconds, megabytes = run_measured(command)
            print(f"{rows:10,} rows: {seconds:6.1f} s {megabytes:8.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
