"""What a second worker brings: 400 seeds in threads, and in processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring import Say, Times, interleaved, number, printed_by
from benchmarks.report import Goal, Part, Table, judged
from thrifty import simulate
from thrifty.environments import nursery

METHOD = """\
NCC-UCRL2 (`ncc-ucrl2-published`) on the published arrays, {seeds} seeds of {rounds:,} rounds, with
one worker and with two. `simulate` has threads; `thrifty run`, as a command with its start and with
the measures that it writes, has processes. Medians of {repetitions} repetitions, taken in turn;
spread is min .. max. *speed-up* is the ratio of the medians."""
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

[world]
name = "nursery/published"

[[policies]]
policy = "ncc-ucrl2-published"
"""
POLICY = "ncc-ucrl2-published"
WORKERS = (1, 2)


def measure(quick: bool, say: Say) -> Part:
    """Measure threads and processes."""
    seeds, rounds, repetitions = (2, 40, 1) if quick else (400, 10_000, 3)
    method = METHOD.format(seeds=seeds, rounds=rounds, repetitions=repetitions)
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

        simulate(POLICY, world, seeds=[0], rounds=rounds, workers=1)
        threads = _row("`simulate`", in_threads, repetitions)
        if not quick:
            _run(file, 1, "--seeds", "0:1")
        processes = _row("`thrifty run`", in_processes, repetitions)
    rows = (threads[0], processes[0])
    tables = (Table(f"{seeds} seeds", HEADERS, rows),)
    return Part("A second worker", method, tables, (threads[1], processes[1]))


def _run(file: Path, workers: int, *options: str) -> None:
    thrifty = Path(sys.executable).with_name("thrifty")
    out = ["--workers", str(workers), "--out", str(file.parent / "out"), "--fresh"]
    printed_by([thrifty, "run", file, *out, *options])


def _row(what: str, job: Callable[[int], None], repetitions: int) -> tuple[tuple[str, ...], Goal]:
    jobs = {str(workers): partial(job, workers) for workers in WORKERS}
    one, two = interleaved(jobs, repetitions).values()
    ratio = one.median / two.median
    goal = Goal(f"{what}: speed-up with 2 workers", ratio, 1.8, "times", at_least=True)
    cells = (*_shown(one), *_shown(two), number(ratio), _ratios(one, two), judged([goal]))
    return (what, *cells), goal


def _shown(times: Times) -> tuple[str, str]:
    return times.shown("s"), times.spread("s")


def _ratios(one: Times, two: Times) -> str:
    ratios = [a / b for a, b in zip(one.seconds, two.seconds, strict=True)]
    return f"{number(min(ratios))} .. {number(max(ratios))}"
