"""Clocks: repetitions side by side, single steps, and processes that start from nothing."""

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
    """Return a number with three digits that count, and whole if it is large."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{2 if abs(value) < 10 else 1}f}"


@dataclass(frozen=True)
class Times:
    """What each repetition took, in seconds for one unit of work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one: it stands in the tables and decides whether a target is met."""
        return median(self.seconds)

    def of(self, unit: str) -> float:
        """Return the median in this unit."""
        return self.median * UNITS[unit]

    def shown(self, unit: str) -> str:
        """Return the median as text."""
        return number(self.of(unit))

    def spread(self, unit: str) -> str:
        """Return the least and the most of all repetitions, as text."""
        least, most = (bound(self.seconds) * UNITS[unit] for bound in (min, max))
        return f"{number(least)} .. {number(most)}"


def seconds(job: Callable[[], object]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def interleaved(
    jobs: Mapping[str, Callable[[], object]], repetitions: int, *, units: int = 1
) -> dict[str, Times]:
    """Do all jobs in turn, again and again, so that whatever disturbs one disturbs all alike.

    `units` is how many units of work (rounds, for instance) a job does.
    """
    turns = [{name: seconds(job) / units for name, job in jobs.items()} for _ in range(repetitions)]
    return {name: Times(tuple(turn[name] for turn in turns)) for name in jobs}


class Stopwatch:
    """Adds up what single calls take, by the name of the step; reading the clock is included."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, step: str, call: Callable[..., T], *args: Any) -> T:
        """Do the call and return what it returns; steps stay in the order of their first call."""
        start = perf_counter()
        result = call(*args)
        taken = perf_counter() - start
        self.seconds[step] = self.seconds.get(step, 0.0) + taken
        return result


def printed_by(command: Sequence[str | Path], **environment: str) -> str:
    """Run a command in a process of its own and return what it printed."""
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


def printed_by_python(*arguments: str, **environment: str) -> str:
    """Run the interpreter afresh and return what it printed."""
    return printed_by([sys.executable, *arguments], **environment)
