"""One point of the growth curves, measured in a new process.

`python -m benchmarks.growth_point POINT` takes a `Point` as JSON. It prints, as JSON, the seconds
per round of each repetition, the peak memory above that of a process that has imported and compiled
everything, and the size of the policy's state.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from thrifty import NCCUCRL2, Problem, Replay

LEVELS = 3
MAX_REPETITIONS = 5
ENOUGH_SECONDS = 5.0


@dataclass(frozen=True)
class Point:
    """Size of a problem: `rounds` rounds are timed, after `before` rounds that are not."""

    features: int = 5
    actions: int = 3
    window: int = 1000
    rounds: int = 100_000
    before: int = 0
    cost_range: float = 1.0


def table(point: Point) -> Replay:
    """Draw uniform contexts, rewards that depend on three features, and prices as in Nursery.

    The joint table of a `World` would have 3^D cells, so this is a `Replay`.
    """
    rng = np.random.default_rng(0)
    size = (point.before + point.rounds, point.features)
    contexts = rng.integers(LEVELS, size=size)
    means = rng.random((LEVELS**3, point.actions))
    chances = means[contexts[:, :3] @ [LEVELS**2, LEVELS, 1]]
    rewards = (rng.random(chances.shape) < chances).astype(np.float64)
    costs = rng.uniform(0.03, 0.08, point.features) + rng.normal(0, 0.001, size)
    problem = Problem.anonymous(levels=(LEVELS,) * point.features, n_actions=point.actions)
    return Replay(contexts, rewards, costs, problem=problem)


def play_rounds(point: Point, replay: Replay) -> tuple[float, NCCUCRL2]:
    """Play all rounds; return the time of the timed rounds in seconds, and the policy."""
    policy = NCCUCRL2(
        replay.problem,
        horizon=replay.horizon,
        window=point.window,
        cost_range=point.cost_range,
        seed=0,
    )
    if point.before:
        _play_part(policy, replay, slice(0, point.before))
    start = perf_counter()
    _play_part(policy, replay, slice(point.before, replay.horizon))
    return perf_counter() - start, policy


def _play_part(policy: NCCUCRL2, replay: Replay, part: slice) -> None:
    shape = replay.contexts[part].shape
    record = (
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape[0], dtype=np.int64),
        np.zeros(shape[0]),
        np.zeros(shape[0]),
    )
    rows = Replay(
        replay.contexts[part], replay.rewards[part], replay.costs[part], problem=replay.problem
    )
    policy.run_compiled(rows, record)


def peak_megabytes() -> float:
    """Return the peak memory of the process.

    `ru_maxrss` starts with the memory of the parent process, so this reads `VmHWM` on Linux.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def reset_peak() -> None:
    """Reset the peak memory on Linux, so that it does not include the making of the table."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure_point(point: Point) -> dict[str, Any]:
    small = Point(point.features, point.actions, window=8, rounds=32, before=32)
    play_rounds(small, table(small))
    reset_peak()
    before = peak_megabytes()
    replay = table(point)
    reset_peak()
    start = perf_counter()
    taken, policy = play_rounds(point, replay)
    peak = peak_megabytes() - before
    state = sum(array.nbytes for array in policy.get_state().values()) / 2**20
    times = [taken]
    del policy
    while len(times) < MAX_REPETITIONS and perf_counter() - start < ENOUGH_SECONDS:
        times.append(play_rounds(point, replay)[0])
    return {
        "seconds": [taken / point.rounds for taken in times],
        "peak": peak,
        "state": state,
    }


if __name__ == "__main__":
    print(json.dumps(measure_point(Point(**json.loads(sys.argv[1])))))
