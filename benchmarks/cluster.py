"""What a cluster costs: bytes and seconds a cell, Dask's own time a task, the client's a file.

Run by `python benchmarks/cluster.py`; everything is on this machine, with one worker per core. The
workers that are fed are those that one scheduler and one client keep busy, on paper: the tasks or
the files that they manage a second, whichever are fewer cells, times the seconds of a cell. The
megabytes are what then comes back through the scheduler.
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
        with ClusterExecutor(address) as engine:
            done(engine, 100)
            tasks_a_second = TRIVIAL / done(engine, TRIVIAL)
            swept = sweep(engine, Path(folder))
        kept_a_second = kept(Path(folder) / "kept")
    console = Console(width=100)
    rates = Table("what", "a second", box=MARKDOWN)
    rates.add_row("tasks of nothing, there and back", f"{tasks_a_second:.0f}")
    rates.add_row("cells kept by the client", f"{kept_a_second:.0f}")
    rates.add_row(f"cells of {SWEPT}, {os.cpu_count()} workers", f"{swept:.0f}")
    console.print(rates)
    headings = ("cells a task", "bytes out", "bytes back", "ms", "workers fed", "MB a second")
    weights = Table("experiment", *headings, box=MARKDOWN)
    for name in EXPERIMENTS:
        cells, out, back, seconds = of_cells(name)
        most = min(tasks_a_second * cells, kept_a_second)
        numbers = (f"{cells:.1f}", f"{out:.0f}", f"{back:.0f}", f"{seconds * 1e3:.0f}")
        weights.add_row(name, *numbers, f"{most * seconds:.0f}", f"{most * back / 1e6:.0f}")
    console.print(weights)


def of_cells(name: str) -> tuple[float, float, float, float]:
    """Return cells a task, and of a cell the bytes sent out and back and the seconds."""
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


def kept(folder: Path) -> float:
    """Return how many cells a second the client writes to its disk."""
    cells = list(single_runs(catalogue()[SWEPT]).values())
    (content,) = _compute(cells[:1])
    store = RunCache(folder)
    start = time.perf_counter()
    for cell in cells:
        store.add(cell, content)
    return len(cells) / (time.perf_counter() - start)


def done(engine: Executor, count: int) -> float:
    """Return how long so many tasks of nothing take."""
    start = time.perf_counter()
    for _ in engine.run([partial(abs, 1)] * count):
        pass
    return time.perf_counter() - start


def sweep(engine: Executor, folder: Path) -> float:
    """Return the cells a second of a whole experiment, once the workers have compiled it."""
    experiment = catalogue()[SWEPT]
    times = []
    for k in range(3):
        start = time.perf_counter()
        run_all([experiment], RunCache(folder / str(k)), executor=engine)
        times.append(time.perf_counter() - start)
    return len(single_runs(experiment)) / min(times)


@contextmanager
def machines(folder: Path) -> Iterator[str]:
    """Start a scheduler and a worker for each core; give the scheduler's address."""
    with ExitStack() as stack:

        def start(*arguments: str) -> None:
            log = stack.enter_context((folder / "log").open("ab"))
            own = "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"
            process = subprocess.Popen([DASK, *arguments, *own], stdout=log, stderr=log, cwd=folder)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("scheduler", "--port", "0")
        address = told(folder, r"Scheduler at: +(tcp://\S+)\n", 1)[0]
        workers = os.cpu_count() or 1
        for _ in range(workers):
            start("worker", address, "--nthreads", "1", "--no-nanny")
        told(folder, r"Register worker addr: (\S+)", workers)
        yield address


def told(folder: Path, what: str, times: int) -> list[str]:
    """Wait until the log tells something so many times."""
    deadline = time.monotonic() + 60
    while len(found := re.findall(what, (folder / "log").read_text())) < times:
        if time.monotonic() > deadline:
            raise TimeoutError("the cluster did not start")
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    main()
