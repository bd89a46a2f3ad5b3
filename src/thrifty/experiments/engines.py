"""Where the work is done: in this process, in others, or on other machines.

An engine does tasks: functions without arguments that can be pickled and may be done twice, because
a worker that dies takes an unknown part of its task with it. What a task returns comes back to the
process that asked for it, which alone keeps results: workers need not share its disk.
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
MOST_DEATHS = 10
THREADS = "POLARS_MAX_THREADS"


class Engine(Protocol):
    """What does tasks; it is open inside a `with` block."""

    def __enter__(self) -> Self:
        """Open the engine."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back what the engine holds."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do the tasks in any order, and yield the place and the result of each that is done.

        After an interrupt what is finished is still yielded, and then the interrupt is raised.
        """


class Here:
    """Does one task after the other in this process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do the tasks in their order."""
        for place, task in enumerate(tasks):
            yield place, task()


class Processes:
    """Does tasks in processes, which are started when there is something to do."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do the tasks; if a process dies, start again with what is left."""
        left = dict(enumerate(tasks))
        for _ in range(MOST_DEATHS):
            try:
                for place, result in self._attempt(left):
                    del left[place]
                    yield place, result
                return
            except BrokenProcessPool:
                self._stop()
        raise SaveError(
            f"worker processes died {MOST_DEATHS} times, so something kills them (too little "
            "memory?): what was finished is kept; run again with fewer workers to go on."
        )

    def _attempt(self, left: dict[int, Callable[[], T]]) -> Iterator[tuple[int, T]]:
        pool = self._started()
        with _one_thread_each():  # processes start when tasks come
            futures = {pool.submit(task): place for place, task in left.items()}
        try:
            yield from _as_they_come(futures)
        except KeyboardInterrupt:
            under_way = {future: futures[future] for future in futures if not future.cancel()}
            with suppress(BrokenProcessPool):
                yield from _as_they_come(under_way)
            raise
        finally:
            for future in futures:
                future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        # Spawned, not forked: the parent may hold threads and compiled code.
        # An interrupt is the parent's to handle: it waits for the tasks that are under way.
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
def _one_thread_each() -> Iterator[None]:
    """Let processes that start now make tables in one thread: there are as many as cores."""
    if THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]


def _as_they_come(futures: dict[Future[T], int]) -> Iterator[tuple[int, T]]:
    """Yield the place and the result of each as it is done, and take it out."""
    for future in as_completed(list(futures)):
        yield futures.pop(future), future.result()


def engine_of(workers: int | None, cluster: str | None = None) -> Engine:
    """Return the engine for so many workers here, by default one for each core, or for a cluster.

    >>> type(engine_of(1)).__name__, type(engine_of(3)).__name__
    ('Here', 'Processes')
    """
    if cluster is not None:
        return _cluster_at(cluster)
    count = workers or os.cpu_count() or 1
    return Here() if count == 1 else Processes(count)


def _cluster_at(address: str) -> Engine:
    try:
        from thrifty.experiments.cluster import Cluster  # slow to import, and often not needed
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"a cluster needs {error.name}, which is not installed: pip install 'thrifty[cluster]'."
        ) from error
    return Cluster(address)
