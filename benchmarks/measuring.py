"""Measure times: repetitions in turn, single steps, and fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}

T = TypeVar("T")
Say = Callable[[str], None]


def number(value: float) -> str:
    """Return a number with three significant digits, without decimals if it is large."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{2 if abs(value) < 10 else 1}f}"


@dataclass(frozen=True)
class Times:
    """Seconds per unit of work, for each repetition."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the repetitions. Tables show it, and targets refer to it."""
        return median(self.seconds)

    def of(self, unit: str) -> float:
        """Return the median in this unit."""
        return self.median * UNITS[unit]

    def shown(self, unit: str) -> str:
        """Return the median as text."""
        return number(self.of(unit))

    def spread(self, unit: str) -> str:
        """Return the minimum and the maximum of all repetitions, as text."""
        low, high = (bound(self.seconds) * UNITS[unit] for bound in (min, max))
        return f"{number(low)} .. {number(high)}"


def seconds(job: Callable[[], object]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def interleaved(
    jobs: Mapping[str, Callable[[], object]], repetitions: int, *, units: int = 1
) -> dict[str, Times]:
    """Run all jobs in turn, several times, so that disturbances affect all of them.

    `units` is the number of units of work, such as rounds, that a job does.
    """
    turns = [{name: seconds(job) / units for name, job in jobs.items()} for _ in range(repetitions)]
    return {name: Times(tuple(turn[name] for turn in turns)) for name in jobs}


class Stopwatch:
    """Adds up the time of single calls by step. The time to read the clock is included."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, step: str, call: Callable[..., T], *args: Any) -> T:
        """Make the call and return its result; steps keep the order of their first call."""
        start = perf_counter()
        result = call(*args)
        taken = perf_counter() - start
        self.seconds[step] = self.seconds.get(step, 0.0) + taken
        return result


def run_command(command: Sequence[str | Path], **environment: str) -> str:
    """Run a command in a new process and return its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed: {done.stderr.strip()}")
    return done.stdout


def run_python(*arguments: str, **environment: str) -> str:
    """Run a new Python interpreter and return its output."""
    return run_command([sys.executable, *arguments], **environment)
