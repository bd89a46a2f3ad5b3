"""How long a fresh process waits for its import and its first decision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from benchmarks.measuring import Say, Times, run_python
from benchmarks.report import Goal, Part, Table, format_goals

METHOD = """\
Each repetition is a process of its own, and the clock starts in front of its first import, when the
interpreter runs. A first decision is everything up to the action: the import, the policy, its
purchase, an observation, its action; a first round is that and the update. The compilation cache is
empty (a new `NUMBA_CACHE_DIR`), or warm (the folder that such a process has filled). The cache
is filled once for an installation. Medians of {repetitions} repetitions, {few} with the empty
cache; spread is min .. max."""
HEADERS = ("what", "cache", "s", "spread", "target")

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
DECISION = """\
from time import perf_counter
start = perf_counter()
from thrifty import NCCUCRL2, Observation, Problem
problem = Problem.anonymous(levels=(4, 4, 3, 2, 3), n_actions=3)
policy = NCCUCRL2(problem, horizon=10_000, seed=0)
purchase = policy.choose_features()
seen = Observation([0] * 5, [0.05] * 5, purchase.purpose)
action = policy.choose_action(seen)
decided = perf_counter() - start
policy.update(seen, action, 1.0)
print([decided, perf_counter() - start])
"""
IMPORT_SECONDS, DECISION_SECONDS = 0.3, 1.5


def measure(quick: bool, say: Say) -> Part:
    """Measure imports, then first decisions with an empty cache and with a warm one."""
    repetitions, few = (2, 1) if quick else (9, 3)
    rows: list[tuple[str, ...]] = []
    goals: list[Goal] = []
    for what, statement in IMPORTS.items():
        say(what)
        taken = Times(tuple(_import_seconds(statement) for _ in range(repetitions)))
        stated = [_goal(what, taken, IMPORT_SECONDS)] if statement == "import thrifty" else []
        goals += stated
        rows.append(_row(what, "", taken, stated))
    for cache, firsts in _first_decisions(repetitions, few, say).items():
        decision = firsts["decision"]
        what = f"first decision, {cache} cache"
        stated = [_goal(what, decision, DECISION_SECONDS)] if cache == "warm" else []
        goals += stated
        rows.append(_row("first decision", cache, decision, stated))
        rows.append(_row("first round", cache, firsts["round"], []))
    tables = (Table("NCC-UCRL2 from nothing", HEADERS, tuple(rows)),)
    method = METHOD.format(repetitions=repetitions, few=few)
    return Part("Cold start", method, tables, tuple(goals))


def _import_seconds(statement: str) -> float:
    return float(run_python("-c", IMPORT.format(statement=statement)))


def _first_decisions(repetitions: int, few: int, say: Say) -> Mapping[str, Mapping[str, Times]]:
    empty, warm = [], []
    for turn in range(few):
        say(f"first decision, empty cache: {turn + 1} of {few}")
        with TemporaryDirectory() as folder:
            empty.append(_decide(folder))
            if turn == few - 1:
                say("first decision, warm cache")
                warm = [_decide(folder) for _ in range(repetitions)]
    return {"warm": _times(warm), "empty": _times(empty)}


def _decide(folder: str) -> tuple[float, float]:
    decision, whole = json.loads(run_python("-c", DECISION, NUMBA_CACHE_DIR=folder))
    return decision, whole


def _times(pairs: list[tuple[float, float]]) -> Mapping[str, Times]:
    decisions, rounds = zip(*pairs, strict=True)
    return {"decision": Times(decisions), "round": Times(rounds)}


def _goal(what: str, times: Times, limit: float) -> Goal:
    return Goal(f"fresh process: {what}", times.median, limit, "s")


def _row(what: str, cache: str, times: Times, goals: list[Goal]) -> tuple[str, ...]:
    return (what, cache, times.shown("s"), times.spread("s"), format_goals(goals))
