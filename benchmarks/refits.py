"""`python -m benchmarks.refits`: decisions in process while Surveyor's models are fitted.

Prints the times of all calls of an agent with `background=True`, of those made while a fit was
running, and with --inside of an agent that fits inside `tell`. Processor time is shown as well: it
does not count how long other programs kept a processor, so it is what a machine without them takes.
The world changes a few times, so that plans are searched for again. At every tenth of the cases it
prints the resident memory of the process and the size of the saved agent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any, TypeAlias, TypeVar

import numpy as np

from benchmarks.service import memory
from thrifty import Agent, Feature, Problem

TESTS = 8
MAX_STATE_MB = 50.0
MAX_P99_MS = 1.0
T = TypeVar("T")
Times: TypeAlias = "dict[str, array[float]]"
"""Pairs of seconds and processor seconds, one after the other, by name of the call."""


def make_problem() -> Problem:
    """Return eight tests, of which few are worth their price, and a free feature."""
    tests = [Feature.number(f"t{i}", edges=(1, 2, 3, 4)) for i in range(TESTS)]
    return Problem(
        [Feature.number("age", edges=(30, 50, 70)), *tests],
        ["treat", "wait"],
        outcomes={"treat": {"ill": 50, "well": -20}, "wait": {"ill": -60, "well": 0}},
        prices={f"t{i}": 1.0 + 0.3 * i for i in range(TESTS)},
    )


@dataclass
class World:
    """People who are ill if two of their tests are high; which two changes."""

    change_every: int
    seed: int = 1

    def __post_init__(self) -> None:
        self._rng, self._number = np.random.default_rng(self.seed), 0

    def draw(self) -> tuple[float, dict[str, float], str]:
        """Return the age, the tests and the outcome of the next person."""
        first = self._number // self.change_every % (TESTS - 1)
        self._number += 1
        tests = self._rng.uniform(0, 5, TESTS)
        is_ill = tests[first] + 0.5 * tests[first + 1] + 0.5 * self._rng.normal() > 4
        names = {f"t{i}": value for i, value in enumerate(tests.tolist())}
        return float(self._rng.uniform(20, 90)), names, "ill" if is_ill else "well"


@dataclass
class CallTimes:
    """Seconds and processor seconds of calls by name: of all, and of those beside a fit."""

    every: Times = field(default_factory=dict)
    during_fits: Times = field(default_factory=dict)

    def timed(self, name: str, is_fitting: bool, call: Callable[[], T]) -> T:
        """Return the result of a call, and keep how long it took."""
        start, worked = perf_counter(), thread_time()
        result = call()
        taken = perf_counter() - start, thread_time() - worked
        self.every.setdefault(name, array("d")).extend(taken)
        if is_fitting:
            self.during_fits.setdefault(name, array("d")).extend(taken)
        return result


def play_case(agent: Agent, world: World, times: CallTimes) -> None:
    """Play a case, and time every call."""
    age, tests, outcome = world.draw()
    case = times.timed("ask", is_fitting(agent), partial(agent.ask, {"age": age}))
    while case.buy:
        values = {name: tests[name] for name in case.buy}
        case = times.timed("observe", is_fitting(agent), partial(agent.observe, case, values))
    times.timed("tell", is_fitting(agent), partial(agent.tell, case, outcome=outcome))


def is_fitting(agent: Agent) -> bool:
    """Return True if a fit is running in another process."""
    return agent.policy.fits_beside and agent.policy.due_fit is not None


def show(title: str, taken: Times) -> float:
    """Print the times of calls; return the 99th percentile of all decisions."""
    decisions = taken.get("ask", array("d")) + taken.get("observe", array("d"))
    rows = {**taken, "ask, observe": decisions} if decisions else {}
    p99 = 0.0
    for name, pairs in rows.items():
        walls, works = 1e3 * np.frombuffer(pairs).reshape(-1, 2).T
        p50, p99, p999, most = np.quantile(walls, [0.5, 0.99, 0.999, 1.0])
        print(
            f"{title:16} {name:12} {len(walls):9,} calls   p50 {p50:6.3f}   p99 {p99:6.3f}   p99.9 "
            f"{p999:7.3f}   max {most:7.1f} ms   processor p99 {np.quantile(works, 0.99):6.3f} ms"
        )
    return float(p99)


def saved_size(agent: Agent) -> float:
    """Return the size of the saved agent, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        agent.save(path)
        return path.stat().st_size / 1e6


def run(cases: int, *, pause: float, background: bool) -> tuple[CallTimes, float, dict[str, Any]]:
    """Play cases; return the times of calls, the largest size of the state and the last status."""
    world, times, largest = World(max(cases // 8, 1)), CallTimes(), 0.0
    with Agent(
        make_problem(), "surveyor", seed=1, horizon=cases, keep=100, background=background
    ) as agent:
        for _ in range(50):  # loads compiled code, which a service does before its first request
            play_case(agent, world, CallTimes())
        for k in range(cases):
            play_case(agent, world, times)
            sleep(pause)
            if (k + 1) % max(cases // 10, 1) == 0:
                size = saved_size(agent)
                largest = max(largest, size)
                print(
                    f"{k + 1:9,} cases: {memory(os.getpid()):6.0f} MB of memory, "
                    f"{size:5.2f} MB saved, {agent.policy.status()['fits']} fits begun",
                    flush=True,
                )
        return times, largest, agent.policy.status()


def main() -> int:
    """Measure, print, and fail if a decision or the state is larger than promised."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refits", description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--pause", type=float, default=0.0, help="milliseconds between two cases")
    parser.add_argument("--inside", action="store_true", help="also fit inside `tell`")
    options = parser.parse_args()
    pause = options.pause / 1e3
    times, largest, status = run(options.cases, pause=pause, background=True)
    show("all calls", times.every)
    slowest = show("while a fit ran", times.during_fits)
    print(f"fits {status['fits']}, changes noticed {len(status['changes'])}")
    print(f"p99 of a decision while a fit ran: {slowest:.3f} ms, at most {MAX_P99_MS}")
    print(f"largest saved state: {largest:.2f} MB, at most {MAX_STATE_MB}")
    if options.inside:
        show("fits inside tell", run(options.cases, pause=pause, background=False)[0].every)
    return int(slowest > MAX_P99_MS or largest > MAX_STATE_MB)


if __name__ == "__main__":
    sys.exit(main())
