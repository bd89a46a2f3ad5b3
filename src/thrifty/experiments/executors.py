"""Executors: run tasks in this process, in worker processes, or on other machines.

A task is a function without arguments that can be pickled. A task may run twice, because a worker
that dies may have finished part of it. Results come back to the process that asked for them. Only
that process writes files, so workers do not need to share its disk.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from types import TracebackType
from typing import Protocol, Self, TypeVar

from thrifty.errors import ClusterError, SaveError

T = TypeVar("T")
Task = Callable[[], object]
MAX_WORKER_DEATHS = 10
POLARS_THREADS = "POLARS_MAX_THREADS"


class Executor(Protocol):
    """Runs tasks while its `with` block is open."""

    def __enter__(self) -> Self:
        """Open the executor."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release workers and connections."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Run the tasks in any order, and yield the index and the result of each.

        After an interrupt, finished results are still yielded; then the interrupt is raised.
        """


class SerialExecutor:
    """Runs tasks one after the other in this process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Run the tasks in order."""
        for index, task in enumerate(tasks):
            yield index, task()


class ProcessExecutor:
    """Runs tasks in worker processes, which start with the first task."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Run the tasks; if a worker dies, restart the pool with the remaining tasks."""
        remaining = dict(enumerate(tasks))
        for _ in range(MAX_WORKER_DEATHS):
            try:
                for index, result in self._attempt(remaining):
                    del remaining[index]
                    yield index, result
                return
            except BrokenProcessPool:
                self._stop()
        raise SaveError(
            f"worker processes died {MAX_WORKER_DEATHS} times, perhaps because memory ran out: "
            "finished results are kept; run again with fewer workers to continue."
        )

    def _attempt(self, remaining: dict[int, Callable[[], T]]) -> Iterator[tuple[int, T]]:
        pool = self._open_pool()
        with _single_polars_thread():  # worker processes start when tasks are submitted
            futures = {pool.submit(task): index for index, task in remaining.items()}
        try:
            yield from _results(futures)
        except KeyboardInterrupt:
            under_way = {future: futures[future] for future in futures if not future.cancel()}
            with suppress(BrokenProcessPool):
                yield from _results(under_way)
            raise
        finally:
            for future in futures:
                future.cancel()

    def _open_pool(self) -> ProcessPoolExecutor:
        # Spawned, not forked: the parent may hold threads and compiled code.
        # Workers ignore interrupts: the parent waits for the tasks that are under way.
        self._pool = self._pool or ProcessPoolExecutor(
            self._workers,
            mp_context=get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        return self._pool

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@contextmanager
def _single_polars_thread() -> Iterator[None]:
    """Let worker processes that start now use one polars thread each: there is one per core."""
    if POLARS_THREADS in os.environ:
        yield
        return
    os.environ[POLARS_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[POLARS_THREADS]


def _results(futures: dict[Future[T], int]) -> Iterator[tuple[int, T]]:
    """Yield the index and the result of each future as it finishes, and remove it."""
    for future in as_completed(list(futures)):
        yield futures.pop(future), future.result()


def make_executor(workers: int | None, cluster: str | None = None) -> Executor:
    """Return an executor with this many workers (default: one per core), or for a cluster.

    >>> type(make_executor(1)).__name__, type(make_executor(3)).__name__
    ('SerialExecutor', 'ProcessExecutor')
    """
    if cluster is not None:
        return _connect_cluster(cluster)
    count = workers or os.cpu_count() or 1
    return SerialExecutor() if count == 1 else ProcessExecutor(count)


def _connect_cluster(address: str) -> Executor:
    try:
        from thrifty.experiments.cluster import ClusterExecutor  # slow to import, rarely needed
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"a cluster needs {error.name}, which is not installed: pip install 'thrifty[cluster]'."
        ) from error
    return ClusterExecutor(address)
