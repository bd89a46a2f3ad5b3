"""The cluster: a real scheduler and real workers of Dask, and the same table whatever happens."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import polars as pl
import pytest

from experiments.small_experiments import EXPERIMENT, SPEC, THRIFTY, files_below, written
from thrifty.commands.execution import open_session
from thrifty.errors import ClusterError, UnknownName
from thrifty.experiments import cluster
from thrifty.experiments.cluster import ClusterExecutor
from thrifty.experiments.executors import Executor, ProcessExecutor, SerialExecutor, make_executor
from thrifty.experiments.results import Results
from thrifty.experiments.runner import CACHE_FOLDER, RunCache, run_all
from thrifty.experiments.spec import find
from waiting import LIMIT, wait_until

DASK = Path(sys.executable).with_name("dask")
MANY_SEEDS = replace(EXPERIMENT, seeds=tuple(range(12)))
LONG = SPEC.replace("0:4", "0:60")
HANGS = """
import time
from pathlib import Path

from thrifty.experiments.single_runs import SingleRun


def hang(self):
    Path("hanging").touch()
    time.sleep(600)


SingleRun.compute = hang
"""
OTHER_CODE = """
from thrifty.experiments import sources

sources.code_digest = lambda: "changed"
"""
OTHER_NUMPY = """
from importlib import metadata

real = metadata.version
metadata.version = lambda name, real=real: "1.0" if name == "numpy" else real(name)
"""
NO_THRIFTY = """
import sys

sys.modules["thrifty"] = None
"""


def thrifty(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command, which must end in time."""
    command = [str(THRIFTY), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=LIMIT
    )


class Machines:
    """A scheduler and workers, as processes on this machine, which end with the `with` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        told = r"Scheduler at: +(tcp://127\.0\.0\.1:\d+)\n"
        try:
            wait_until(lambda: self._addresses(told))
        except BaseException:
            self.__exit__()
            raise
        self.address = self._addresses(told)[0]
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait()

    def add_worker(self, preload: str = "") -> "subprocess.Popen[bytes]":
        """Start a worker that first runs some code, and wait until it is there."""
        name = f"worker{len(self.started)}"
        code = written(self.folder, preload, f"{name}.py")
        where = "--host", "127.0.0.1", "--local-directory", str(self.folder)
        more = "--no-nanny", "--nthreads", "1", "--name", name, "--preload", code
        process = self._start("worker", self.address, *where, *more)
        wait_until(lambda: self._addresses(rf"Register worker addr: (\S+) name: {name}\n"))
        return process

    @contextmanager
    def worker(self, preload: str = "") -> Iterator["subprocess.Popen[bytes]"]:
        """Give a worker that is gone, and known to be gone, at the end."""
        process = self.add_worker(preload)
        try:
            yield process
        finally:
            self.dismiss(process)

    def dismiss(self, worker: "subprocess.Popen[bytes]") -> None:
        """Kill a worker, if it lives, and wait until the scheduler knows."""
        name = f"worker{self.started.index(worker)}"
        worker.kill()
        wait_until(lambda: self._addresses(rf"Remove worker addr: (\S+) name: {name} "))

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{arguments[0]}{len(self.started)}.log").open("wb") as log:
            process = subprocess.Popen(
                [DASK, *arguments, "--dashboard-address", "127.0.0.1:0"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"},
            )
        self.started.append(process)
        return process

    def _addresses(self, told: str) -> list[str]:
        """Return the addresses in what the scheduler told in this way."""
        return re.findall(told, (self.folder / "scheduler0.log").read_text())


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Give a scheduler with two workers, for tests that leave it so."""
    with Machines(tmp_path_factory.mktemp("machines")) as machines:
        machines.add_worker()
        machines.add_worker()
        yield machines


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Give a scheduler without workers, for tests that leave it so."""
    with Machines(tmp_path_factory.mktemp("scheduler")) as machines:
        yield machines


def result_of(
    executor: Executor, out: Path, progress: Callable[[int], None] | None = None
) -> Results:
    with executor:
        return run_all([MANY_SEEDS], RunCache(out), executor=executor, progress=progress)[0]


def require_same(one: Results, other: Results) -> None:
    assert one.table.equals(other.table)
    assert one.table["value"].to_numpy().tobytes() == other.table["value"].to_numpy().tobytes()


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in files_below(folder)}


def test_every_executor_gives_the_same_files(tmp_path: Path, machines: Machines) -> None:
    here = result_of(SerialExecutor(), tmp_path / "here")
    require_same(here, result_of(ProcessExecutor(2), tmp_path / "processes"))
    require_same(here, result_of(ClusterExecutor(machines.address), tmp_path / "cluster"))
    assert contents(tmp_path / "here") == contents(tmp_path / "processes")
    assert contents(tmp_path / "here") == contents(tmp_path / "cluster")
    assert len(contents(tmp_path / "cluster" / CACHE_FOLDER)) == 36


def test_a_worker_killed_in_the_middle_costs_its_tasks_only(
    tmp_path: Path, machines: Machines
) -> None:
    arrived: list[int] = []

    def kill_at_the_first(runs: int) -> None:
        arrived.append(runs)
        if runs > 0 and victim.poll() is None:
            wait_until((machines.folder / "hanging").exists)
            victim.kill()
            victim.wait()

    with machines.worker(HANGS) as victim:  # it holds tasks when it is killed
        disturbed = result_of(
            ClusterExecutor(machines.address), tmp_path / "killed", kill_at_the_first
        )
    assert victim.returncode == -signal.SIGKILL
    assert sum(arrived) == 36
    require_same(disturbed, result_of(SerialExecutor(), tmp_path / "here"))


def test_a_task_is_given_up_when_its_workers_keep_dying(scheduler: Machines) -> None:
    with (
        scheduler.worker(),
        scheduler.worker(),  # the scheduler allows one death a task
        ClusterExecutor(scheduler.address) as executor,
        pytest.raises(ClusterError, match=r"failed because 2 workers died"),
    ):
        list(executor.run([partial(os._exit, 1)]))


def test_without_workers_it_ends(scheduler: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 3)
    monkeypatch.setattr(cluster, "WORKER_CHECK_SECONDS", 1)
    with pytest.raises(ClusterError, match="has no workers: start some"):
        ClusterExecutor(scheduler.address).__enter__()
    with scheduler.worker() as worker, ClusterExecutor(scheduler.address) as executor:
        results = executor.run([partial(time.sleep, 0), *[partial(time.sleep, 600)] * 3])
        assert next(results) == (0, None)
        scheduler.dismiss(worker)
        with pytest.raises(ClusterError, match="has no workers: start some"):
            next(results)


def test_without_a_scheduler_it_ends(tmp_path: Path) -> None:
    with Machines(tmp_path) as machines:
        machines.add_worker()
        with ClusterExecutor(machines.address) as executor:
            results = executor.run([partial(time.sleep, 0), partial(time.sleep, 600)])
            assert next(results) == (0, None)
            machines.started[0].kill()
            with pytest.raises(ClusterError, match="is lost: finished results are kept"):
                next(results)


@pytest.mark.parametrize(
    ("preload", "message"),
    [
        (OTHER_CODE, r"has Thrifty's code changed, but this machine has \w{12}: install the same"),
        (OTHER_NUMPY, r"has numpy 1\.0, but this machine has \d.*: install the same"),
        (NO_THRIFTY, r"cannot import Thrifty \(.*thrifty.*\): install the same"),
    ],
    ids=["code", "numpy", "nothing"],
)
def test_a_worker_that_is_not_as_here_is_refused(
    scheduler: Machines, preload: str, message: str
) -> None:
    with scheduler.worker(preload), pytest.raises(ClusterError, match=message) as caught:
        ClusterExecutor(scheduler.address).__enter__()
    assert len(str(caught.value).splitlines()) == 1


def test_a_worker_that_comes_later_is_refused_too(scheduler: Machines) -> None:
    with scheduler.worker(), ClusterExecutor(scheduler.address) as executor:
        results = executor.run([partial(time.sleep, 0), *[partial(time.sleep, 600)] * 20])
        assert next(results) == (0, None)
        told = "has Thrifty's code changed"
        with scheduler.worker(OTHER_CODE), pytest.raises(ClusterError, match=told):
            next(results)


def test_a_task_s_own_error_comes_back_as_itself(machines: Machines) -> None:
    with ClusterExecutor(machines.address) as executor:
        with pytest.raises(UnknownName, match="there is no experiment 'nowhere'"):
            list(executor.run([partial(find, "nowhere")]))
        assert list(executor.run([partial(abs, -2)])) == [(0, 2)]  # and the executor still works
        assert list(executor.run([])) == []


def test_a_cell_s_own_error_is_told_in_one_line(tmp_path: Path, machines: Machines) -> None:
    spec = SPEC.replace('name = "random"', 'name = "nursery/published"')
    spec = spec.replace("levels = [2, 2]\nn_actions = 2\nrounds = 300\n", "")
    spec = spec.replace("[environment]", "rounds = 1000000\n\n[environment]")
    mine = written(tmp_path, spec)
    local = thrifty("run", mine, "--workers", "1", cwd=tmp_path)
    shown = thrifty("run", mine, "--cluster", machines.address, cwd=tmp_path)
    assert shown.returncode == local.returncode == 2
    assert shown.stderr == local.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_a_command_on_the_cluster_prints_what_it_prints_here(
    tmp_path: Path, machines: Machines
) -> None:
    spec = written(tmp_path, SPEC)
    local = thrifty("run", spec, "--out", "out", "--workers", "1", cwd=tmp_path)
    (tmp_path / "out").rename(tmp_path / "local")
    shown = thrifty("run", spec, "--out", "out", "--cluster", machines.address, cwd=tmp_path)
    assert shown.returncode == local.returncode == 0, shown.stderr
    assert shown.stdout == local.stdout
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def test_an_interrupt_keeps_what_is_finished_and_cancels_the_rest(
    tmp_path: Path, machines: Machines
) -> None:
    spec, out = written(tmp_path, LONG, "long.toml"), tmp_path / "out"
    with machines.worker(HANGS):  # the run cannot end by itself
        process = subprocess.Popen(
            [THRIFTY, "run", spec, "--out", out, "--cluster", machines.address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            wait_until(lambda: list((out / CACHE_FOLDER).glob("[!.]*.parquet")))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 130
    assert told.decode().strip().splitlines()[-1].startswith("Stopped. Finished runs are kept")
    for path in files_below(out):
        assert len(pl.read_parquet(path)) > 0
    wait_until(lambda: tasks_at(machines.address) == 0)


def tasks_at(address: str) -> int:
    """Return how many tasks the scheduler knows."""
    with ClusterExecutor(address) as executor:
        count: int = executor._client.run_on_scheduler(
            lambda dask_scheduler: len(dask_scheduler.tasks)
        )
        return count


def test_figures_are_drawn_here(tmp_path: Path, machines: Machines) -> None:
    with open_session(1, tmp_path, fresh=False, cluster=machines.address) as session:
        assert isinstance(session.runs, ClusterExecutor)
        assert isinstance(session.figures, SerialExecutor)


@pytest.mark.parametrize("address", ["", "here", "tcp://127.0.0.1", "http://127.0.0.1:8786"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(
        ClusterError, match=r"no scheduler at .* \(an address has the form tcp://HOST:PORT\)"
    ):
        ClusterExecutor(address).__enter__()


def test_an_address_where_nobody_listens_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        shown = thrifty("run", written(tmp_path, SPEC), "--cluster", address, cwd=tmp_path)
    assert shown.returncode == 2
    assert shown.stdout == ""
    (line,) = shown.stderr.strip().splitlines()
    assert line.startswith(f"thrifty: there is no scheduler at '{address}' (")
    assert "start one with `dask scheduler`" in line
    assert not (tmp_path / "results").exists()


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "thrifty.experiments.cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"needs distributed, .*'thrifty\[cluster\]'\.$"):
        make_executor(None, "tcp://127.0.0.1:8786")


def test_a_cluster_that_is_refused_is_told_in_one_line(tmp_path: Path, scheduler: Machines) -> None:
    spec = written(tmp_path, SPEC)
    with scheduler.worker(OTHER_CODE):
        shown = thrifty("run", spec, "--cluster", scheduler.address, cwd=tmp_path)
    assert shown.returncode == 2
    assert shown.stdout == ""
    (line,) = shown.stderr.strip().splitlines()
    assert line.startswith("thrifty: worker tcp://127.0.0.1:")
    assert not (tmp_path / "results").exists()
