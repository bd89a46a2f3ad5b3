"""Time that a fresh process takes to import, decide, learn and simulate for the first time.

`python -m benchmarks.cold POLICY` is one such process: it prints its milestones as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from benchmarks.measuring import Say, Times, run_python
from benchmarks.report import Goal, Part, Table, format_goals

METHOD = """\
Each repetition is a process of its own. Imports are measured by the clock on the wall, the rest in
seconds of processor time (user and system) since the process started. The first decision is
everything up to the action: the interpreter, the import, `Agent.ask` and `Agent.observe`. The first
reward is `Agent.tell` after it, and the first simulation is `simulate` with 2,000 rounds of Nursery
after that: both are what they take in addition. The compilation cache is empty (a new
`NUMBA_CACHE_DIR`) or warm (the folder that such a process has filled). The cache is filled once for
an installation. Medians of {repetitions} repetitions, {few} with the empty cache; spread is
min .. max."""
HEADERS = ("policy", "cache", "what", "s", "spread", "target")

IMPORTS = {
    "`import thrifty`": "import thrifty",
    "`from thrifty import *`": "from thrifty import *",
}
IMPORT = """\
from time import perf_counter
start = perf_counter()
{statement}
print(perf_counter() - start)
"""
POLICIES = ("scout", "ncc-ucrl2", "sim-oos", "ps-linucb", "linucb", "ucb1")
PARAMETERS: Mapping[str, Mapping[str, Any]] = {"ncc-ucrl2": {"horizon": 10_000}}
MILESTONES = ("first decision", "first reward", "first simulation")
ROUNDS = 2000
IMPORT_SECONDS = 0.3
GOALS = {
    ("scout", "empty", "first decision"): 15.0,
    ("scout", "empty", "first simulation"): 10.0,
    ("scout", "warm", "first decision"): 1.5,
    ("ncc-ucrl2", "warm", "first decision"): 1.5,
}


def measure(quick: bool, say: Say) -> Part:
    """Measure imports, then every policy with an empty cache and with a warm one."""
    repetitions, few = (2, 1) if quick else (9, 3)
    imports, goals = _imports(repetitions, say)
    rows: list[tuple[str, ...]] = []
    for policy in POLICIES[-1:] if quick else POLICIES:
        for cache, milestones in _first_uses(policy, repetitions, few, say).items():
            for what, taken in milestones.items():
                limit = GOALS.get((policy, cache, what))
                stated = [] if limit is None else [_goal(f"{policy}, {what}", cache, taken, limit)]
                goals += stated
                rows.append((policy, cache, what, *_numbers(taken), format_goals(stated)))
    tables = (
        Table("Imports", ("what", "s", "spread", "target"), tuple(imports)),
        Table("Processor time of first uses", HEADERS, tuple(rows)),
    )
    method = METHOD.format(repetitions=repetitions, few=few)
    return Part("Cold start", method, tables, tuple(goals))


def _imports(repetitions: int, say: Say) -> tuple[list[tuple[str, ...]], list[Goal]]:
    rows: list[tuple[str, ...]] = []
    goals: list[Goal] = []
    for what, statement in IMPORTS.items():
        say(what)
        taken = Times(tuple(_import_seconds(statement) for _ in range(repetitions)))
        stated = []
        if statement == "import thrifty":
            stated.append(Goal(f"fresh process: {what}", taken.median, IMPORT_SECONDS, "s"))
        goals += stated
        rows.append((what, *_numbers(taken), format_goals(stated)))
    return rows, goals


def _import_seconds(statement: str) -> float:
    return float(run_python("-c", IMPORT.format(statement=statement)))


def _first_uses(
    policy: str, repetitions: int, few: int, say: Say
) -> Mapping[str, Mapping[str, Times]]:
    empty, warm = [], []
    for turn in range(few):
        say(f"{policy}, empty cache: {turn + 1} of {few}")
        with TemporaryDirectory() as folder:
            empty.append(_run(policy, folder))
            if turn == few - 1:
                say(f"{policy}, warm cache")
                warm = [_run(policy, folder) for _ in range(repetitions)]
    return {"empty": _times(empty), "warm": _times(warm)}


def _run(policy: str, folder: str) -> dict[str, float]:
    seconds: dict[str, float] = json.loads(
        run_python("-m", "benchmarks.cold", policy, NUMBA_CACHE_DIR=folder)
    )
    return seconds


def _times(runs: list[dict[str, float]]) -> Mapping[str, Times]:
    return {what: Times(tuple(run[what] for run in runs)) for what in MILESTONES}


def _goal(what: str, cache: str, times: Times, limit: float) -> Goal:
    return Goal(f"fresh process: {what}, {cache} cache", times.median, limit, "s of processor time")


def _numbers(times: Times) -> tuple[str, str]:
    return times.shown("s"), times.spread("s")


def main(policy: str) -> None:
    """Use a policy for the first time in this process; print the processor time of each part."""
    from thrifty import Agent, simulate
    from thrifty.environments import nursery

    world = nursery.published()
    features = {feature.name: feature for feature in world.problem.features}
    agent = Agent(world.problem, policy=policy, seed=0, **PARAMETERS.get(policy, {}))
    case = agent.ask()
    while case.buy:
        values = {name: features[name].levels[0] for name in case.buy}
        case = agent.observe(case, values=values, costs=dict.fromkeys(case.buy, 0.05))
    ends = [process_time()]
    agent.tell(case, reward=1.0)
    ends.append(process_time())
    simulate(policy, world, seeds=[0], workers=1, rounds=ROUNDS)
    ends.append(process_time())
    starts = [0.0, *ends]
    parts = {what: ends[k] - starts[k] for k, what in enumerate(MILESTONES)}
    print(json.dumps(parts))


if __name__ == "__main__":
    main(sys.argv[1])
