"""Run tasks on other machines, with the scheduler and the workers of a Dask cluster.

Machines share nothing but the network. Tasks are pickled, and results come back through the
scheduler. If a worker dies, the scheduler gives its tasks to other workers, up to the limit that it
was started with (`distributed.scheduler.allowed-failures`, 3 by default).
"""

from __future__ import annotations

import logging
import platform
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import cache
from importlib.metadata import version
from typing import Any, Self, TypeVar

from distributed import Client, Future, KilledWorker, as_completed, get_worker
from distributed.versions import VersionMismatchWarning

from thrifty._version import __version__
from thrifty.errors import ClusterError
from thrifty.experiments.results import first_line
from thrifty.experiments.sources import code_digest

T = TypeVar("T")
CONNECT_SECONDS = 6.0
"""Time to wait for the scheduler, and again for its first worker."""
WORKER_CHECK_SECONDS = 60.0
"""Time without a result after which the scheduler must still have a worker."""
_POLL_SECONDS = 0.02
_REMEDY = "install the same on every machine and start the workers again."


class ClusterExecutor:
    """Runs tasks on the workers of the scheduler at an address, such as tcp://10.0.0.1:8786.

    Every worker must have the same code and the same versions as this process.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def __enter__(self) -> Self:
        self._client = _connect(self._address)
        try:
            self._require_workers()
            _require_same_versions(self._client.run(installation, on_error="return"))
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Run the tasks; tasks that are not finished when the executor closes are cancelled."""
        expected = installation()
        # In batches, because Dask warns about messages above 10 MB.
        futures = self._client.map(run_task, tasks, expected=expected, pure=False, batch_size=1000)
        indices = {future.key: index for index, future in enumerate(futures)}
        arrivals = as_completed(
            futures, loop=self._client.loop, with_results=True, raise_errors=False
        )
        del futures  # lets the cluster forget the results that have arrived
        for future, result in self._poll(arrivals):
            yield indices[future.key], self._result_or_raise(future, result)

    def _poll(self, arrivals: as_completed) -> Iterator[tuple[Future, Any]]:
        """Yield results as they arrive, also after an interrupt; give up if no worker is left."""
        last = time.monotonic()
        try:
            while not arrivals.is_empty():
                arrived = arrivals.next_batch(block=False)
                yield from arrived
                if arrived:
                    last = time.monotonic()
                elif time.monotonic() - last > WORKER_CHECK_SECONDS:
                    self._require_workers()
                    last = time.monotonic()
                else:
                    time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            yield from arrivals.next_batch(block=False)
            raise

    def _result_or_raise(self, future: Future, result: Any) -> Any:
        """Return a result, or raise the error that occurred in its place."""
        if isinstance(result, CancelledError):
            raise ClusterError(
                f"the connection to the scheduler at {self._address} is lost: finished results "
                "are kept; start the scheduler and its workers, and run again to continue."
            )
        if future.status != "error":
            return result
        error: Exception = result[1]
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"a task failed because {error.allowed_failures + 1} workers died while running "
                "it, perhaps because memory ran out: finished results are kept; see the workers' "
                "logs, and run again to continue."
            ) from error
        raise error.with_traceback(result[2])

    def _require_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except OSError as error:
            raise ClusterError(
                f"the scheduler at {self._address} has no workers: start some with `dask worker "
                f"{self._address} --nthreads 1`, and run again; finished results are kept."
            ) from error


def run_task(task: Callable[[], T], expected: Mapping[str, str]) -> T:
    """Run a task on a worker, which may have joined late, if its installation is as expected."""
    _require_same_versions({get_worker().address: installation()}, expected)
    return task()


@cache
def installation() -> dict[str, str]:
    """Return the versions that must be the same on every machine to get the same numbers."""
    packages = ("numpy", "numba", "llvmlite", "polars", "distributed")
    return {
        "Thrifty": __version__,
        "Thrifty's code": code_digest()[:12],
        "Python": platform.python_version(),
        **{name: version(name) for name in packages},
        "processor": platform.machine(),
    }


def _require_same_versions(
    workers: Mapping[str, dict[str, str] | Exception], expected: Mapping[str, str] | None = None
) -> None:
    expected = installation() if expected is None else expected
    for worker, versions in workers.items():
        if isinstance(versions, Exception):
            raise ClusterError(
                f"worker {worker} cannot import Thrifty ({first_line(versions)}): {_REMEDY}"
            )
        for name, own in expected.items():
            if versions.get(name) != own:
                raise ClusterError(
                    f"worker {worker} has {name} {versions.get(name)}, but this machine has {own}: "
                    f"{_REMEDY}"
                )


def _connect(address: str) -> Client:
    # Silence Dask's own messages: failures are reported once, by an exception.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _require_address(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # versions are compared later
            return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"there is no scheduler at {address!r} ({first_line(error)}): start one with `dask "
            "scheduler`, and give the address that it prints, such as tcp://10.0.0.1:8786."
        ) from error


def _require_address(address: str) -> None:
    # Dask rejects it too, but then waits for a client that was never started.
    if not re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        raise ValueError("an address has the form tcp://HOST:PORT")
