"""Overhead of a cluster: bytes and seconds per run, Dask's time per task, the client's per file.

Run it with `python benchmarks/cluster.py`. Everything runs on this machine, with one worker per
core. The number of workers is an estimate of how many one scheduler and one client can keep busy:
the runs per second that they can pass on, times the seconds per run. The megabytes are the data
that then come back through the scheduler.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from thrifty.experiments.cluster import ClusterExecutor
from thrifty.experiments.executors import Executor
from thrifty.experiments.runner import RunCache, _batches, _compute, run_all
from thrifty.experiments.single_runs import single_runs
from thrifty.experiments.spec import catalogue

DASK = Path(sys.executable).with_name("dask")
EXPERIMENTS = ("nursery/tuning", "nursery/published", "theory/changes")
SWEPT = "nursery/tuning"
TRIVIAL = 5000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, machines(Path(folder)) as address:
        with ClusterExecutor(address) as executor:
            empty_tasks(executor, 100)
            tasks_per_second = TRIVIAL / empty_tasks(executor, TRIVIAL)
            swept = sweep(executor, Path(folder))
        files_per_second = files_written(Path(folder) / "kept")
    console = Console(width=100)
    rates = Table("what", "per second", box=MARKDOWN)
    rates.add_row("empty tasks, there and back", f"{tasks_per_second:.0f}")
    rates.add_row("runs written by the command", f"{files_per_second:.0f}")
    rates.add_row(f"runs of {SWEPT}, {os.cpu_count()} workers", f"{swept:.0f}")
    console.print(rates)
    headings = ("runs per task", "bytes out", "bytes back", "ms", "workers", "MB per second")
    weights = Table("experiment", *headings, box=MARKDOWN)
    for name in EXPERIMENTS:
        runs, out, back, seconds = measure_runs(name)
        limit = min(tasks_per_second * runs, files_per_second)
        numbers = (f"{runs:.1f}", f"{out:.0f}", f"{back:.0f}", f"{seconds * 1e3:.0f}")
        weights.add_row(name, *numbers, f"{limit * seconds:.0f}", f"{limit * back / 1e6:.0f}")
    console.print(weights)


def measure_runs(name: str) -> tuple[float, float, float, float]:
    """Return runs per task, and per run the bytes sent out and back and the seconds."""
    experiment = replace(catalogue()[name], seeds=(0, 1))
    batches = _batches(list(dict.fromkeys(single_runs(experiment).values())))
    _compute(batches[0])  # compiles
    start = time.perf_counter()
    files = [_compute(batch) for batch in batches]
    seconds = time.perf_counter() - start
    count = sum(map(len, batches))
    out = sum(len(pickle.dumps(partial(_compute, batch))) for batch in batches)
    back = sum(len(file) for batch in files for file in batch)
    return count / len(batches), out / count, back / count, seconds / count


def files_written(folder: Path) -> float:
    """Return the number of runs per second that the client writes to its disk."""
    runs = list(single_runs(catalogue()[SWEPT]).values())
    (content,) = _compute(runs[:1])
    cache = RunCache(folder)
    start = time.perf_counter()
    for run in runs:
        cache.add(run, content)
    return len(runs) / (time.perf_counter() - start)


def empty_tasks(executor: Executor, count: int) -> float:
    """Return the seconds that this many empty tasks take."""
    start = time.perf_counter()
    for _ in executor.run([partial(abs, 1)] * count):
        pass
    return time.perf_counter() - start


def sweep(executor: Executor, folder: Path) -> float:
    """Return the runs per second of a whole experiment, after the workers have compiled it."""
    experiment = catalogue()[SWEPT]
    times = []
    for k in range(3):
        start = time.perf_counter()
        run_all([experiment], RunCache(folder / str(k)), executor=executor)
        times.append(time.perf_counter() - start)
    return len(single_runs(experiment)) / min(times)


@contextmanager
def machines(folder: Path) -> Iterator[str]:
    """Start a scheduler and a worker for each core; yield the scheduler's address."""
    with ExitStack() as stack:

        def start(*arguments: str) -> None:
            log = stack.enter_context((folder / "log").open("ab"))
            own = "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"
            process = subprocess.Popen([DASK, *arguments, *own], stdout=log, stderr=log, cwd=folder)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("scheduler", "--port", "0")
        address = wait_for_log(folder, r"Scheduler at: +(tcp://\S+)\n", 1)[0]
        workers = os.cpu_count() or 1
        for _ in range(workers):
            start("worker", address, "--nthreads", "1", "--no-nanny")
        wait_for_log(folder, r"Register worker addr: (\S+)", workers)
        yield address


def wait_for_log(folder: Path, pattern: str, times: int) -> list[str]:
    """Wait until the log matches the pattern this many times, and return the matches."""
    deadline = time.monotonic() + 60
    while len(found := re.findall(pattern, (folder / "log").read_text())) < times:
        if time.monotonic() > deadline:
            raise TimeoutError("the cluster did not start")
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    main()
