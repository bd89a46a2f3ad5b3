"""Speed-up with a second worker: 400 seeds in threads, and in processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring import Say, Times, interleaved, number, run_command
from benchmarks.report import Goal, Part, Table, format_goals
from thrifty import simulate
from thrifty.environments import nursery

METHOD = """\
NCC-UCRL2 (`ncc-ucrl2-published`) on the published arrays, {seeds} seeds of {rounds:,} rounds, with
one worker and with two. `simulate` uses threads. `thrifty run` is a command that uses processes and
writes its measures; its time includes the start. Processes start once, however long the run, so the
last row is the command's time minus that of the same command with {few} seeds. Medians of
{repetitions} repetitions, taken in turn; spread is min .. max. *speed-up* is the ratio of the
medians."""
HEADERS = (
    "what",
    "1 worker, s",
    "spread",
    "2 workers, s",
    "spread",
    "speed-up",
    "spread",
    "target",
)
EXPERIMENT = """\
title = "Seeds"
seeds = "0:{seeds}"
rounds = {rounds}

[environment]
name = "nursery/published"

[[policies]]
policy = "ncc-ucrl2-published"
"""
POLICY = "ncc-ucrl2-published"
WORKERS = (1, 2)
FEW = len(WORKERS)
"""Smallest number of seeds with which every process starts."""


def measure(quick: bool, say: Say) -> Part:
    """Measure threads and processes."""
    seeds, rounds, repetitions = (8, 40, 1) if quick else (400, 10_000, 5)
    method = METHOD.format(seeds=seeds, rounds=rounds, repetitions=repetitions, few=FEW)
    world = nursery.published()

    def in_threads(workers: int) -> None:
        say(f"simulate, workers={workers}")
        simulate(POLICY, world, seeds=range(seeds), rounds=rounds, workers=workers)

    with TemporaryDirectory() as folder:
        file = Path(folder) / "seeds.toml"
        file.write_text(EXPERIMENT.format(seeds=seeds, rounds=rounds), encoding="utf-8")

        def in_processes(workers: int) -> None:
            say(f"thrifty run --workers {workers}")
            _run(file, workers)

        def start_only(workers: int) -> None:
            say(f"thrifty run --workers {workers}: start")
            _run(file, workers, "--seeds", f"0:{FEW}")

        simulate(POLICY, world, seeds=[0], rounds=rounds, workers=1)
        threads = _timed(in_threads, repetitions)
        start_only(1)
        starts, commands = _timed(start_only, repetitions), _timed(in_processes, repetitions)
    running = _subtract(commands[0], starts[0]), _subtract(commands[1], starts[1])
    goals = (_goal("`simulate`", *threads), _goal("`thrifty run`, without start-up", *running))
    rows = (
        _row("`simulate`", *threads, format_goals(goals[:1])),
        _row("`thrifty run`", *commands),
        _row("`thrifty run`, without start-up", *running, format_goals(goals[1:])),
    )
    return Part("A second worker", method, (Table(f"{seeds} seeds", HEADERS, rows),), goals)


def _run(file: Path, workers: int, *options: str) -> None:
    thrifty = Path(sys.executable).with_name("thrifty")
    out = ["--workers", str(workers), "--out", str(file.parent / "out"), "--fresh"]
    run_command([thrifty, "run", file, *out, *options])


def _timed(job: Callable[[int], None], repetitions: int) -> tuple[Times, Times]:
    jobs = {str(workers): partial(job, workers) for workers in WORKERS}
    one, two = interleaved(jobs, repetitions).values()
    return one, two


def _subtract(whole: Times, start: Times) -> Times:
    return Times(tuple(seconds - start.median for seconds in whole.seconds))


def _goal(what: str, one: Times, two: Times) -> Goal:
    ratio = one.median / two.median
    return Goal(f"{what}: speed-up with 2 workers", ratio, 1.8, "times", at_least=True)


def _row(what: str, one: Times, two: Times, verdict: str = "") -> tuple[str, ...]:
    ratio = number(one.median / two.median)
    return (what, *_shown(one), *_shown(two), ratio, _ratios(one, two), verdict)


def _shown(times: Times) -> tuple[str, str]:
    return times.shown("s"), times.spread("s")


def _ratios(one: Times, two: Times) -> str:
    ratios = [a / b for a, b in zip(one.seconds, two.seconds, strict=True)]
    return f"{number(min(ratios))} .. {number(max(ratios))}"
