"""Work on other machines: a scheduler of Dask hands it out to its workers.

Nothing but the network is shared. A task goes out pickled, what it returns comes back through the
scheduler. If a worker dies, the scheduler gives its tasks to others, up to the number of deaths
that it was started with (`distributed.scheduler.allowed-failures`, 3 by default).
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
from thrifty.experiments.cells import code_digest
from thrifty.experiments.results import reason_of

T = TypeVar("T")
TO_CONNECT = 6.0
"""Seconds to wait for the scheduler, and as many for its first worker."""
WITHOUT_WORKERS = 60.0
"""Seconds without a result after which there must be a worker left."""
_PAUSE = 0.02
_SAME = "install the same on every machine and start the workers again."


class Cluster:
    """Does tasks on the workers of the scheduler at an address, such as tcp://10.0.0.1:8786.

    Every worker must have the code and the versions that this process has, or nothing is done.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def __enter__(self) -> Self:
        self._client = _connected(self._address)
        try:
            self._require_workers()
            _require_same(self._client.run(installation, on_error="return"))
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do the tasks; what is not done when the engine closes is cancelled."""
        here = installation()
        # In parts, because Dask warns of a message above 10 MB.
        futures = self._client.map(do, tasks, here=here, pure=False, batch_size=1000)
        places = {future.key: place for place, future in enumerate(futures)}
        arrivals = as_completed(
            futures, loop=self._client.loop, with_results=True, raise_errors=False
        )
        del futures  # a result that has come is forgotten by the cluster
        for future, result in self._each(arrivals):
            yield places[future.key], self._checked(future, result)

    def _each(self, arrivals: as_completed) -> Iterator[tuple[Future, Any]]:
        """Yield what arrives, also what came before an interrupt; give up without workers."""
        last = time.monotonic()
        try:
            while not arrivals.is_empty():
                arrived = arrivals.next_batch(block=False)
                yield from arrived
                if arrived:
                    last = time.monotonic()
                elif time.monotonic() - last > WITHOUT_WORKERS:
                    self._require_workers()
                    last = time.monotonic()
                else:
                    time.sleep(_PAUSE)
        except KeyboardInterrupt:
            yield from arrivals.next_batch(block=False)
            raise

    def _checked(self, future: Future, result: Any) -> Any:
        """Return a result; what was raised in its place is raised here."""
        if isinstance(result, CancelledError):
            raise ClusterError(
                f"the scheduler at {self._address} is lost: what was finished is kept; start it "
                "and its workers, and run again to go on."
            )
        if future.status != "error":
            return result
        error: Exception = result[1]
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"a task is given up, because {error.allowed_failures + 1} of the workers that "
                "had it died (of too little memory?): what was finished is kept; see the workers' "
                "logs, and run again to go on."
            ) from error
        raise error.with_traceback(result[2])

    def _require_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=TO_CONNECT)
        except OSError as error:
            raise ClusterError(
                f"the scheduler at {self._address} has no workers: start some with `dask worker "
                f"{self._address} --nthreads 1`, and run again; what was finished is kept."
            ) from error


def do(task: Callable[[], T], here: Mapping[str, str]) -> T:
    """Do a task on a worker, which may have come later, if it is as it is `here`."""
    _require_same({get_worker().address: installation()}, here)
    return task()


@cache
def installation() -> dict[str, str]:
    """Return what must be the same on every machine, so that it makes the same numbers."""
    packages = ("numpy", "numba", "llvmlite", "polars", "distributed")
    return {
        "Thrifty": __version__,
        "Thrifty's code": code_digest()[:12],
        "Python": platform.python_version(),
        **{name: version(name) for name in packages},
        "processor": platform.machine(),
    }


def _require_same(
    workers: Mapping[str, dict[str, str] | Exception], here: Mapping[str, str] | None = None
) -> None:
    here = installation() if here is None else here
    for worker, its in workers.items():
        if isinstance(its, Exception):
            raise ClusterError(
                f"worker {worker} has no Thrifty that can be used ({reason_of(its)}): {_SAME}"
            )
        for name, mine in here.items():
            if its.get(name) != mine:
                raise ClusterError(
                    f"worker {worker} has {name} {its.get(name)}, but here it is {mine}: {_SAME}"
                )


def _connected(address: str) -> Client:
    # What goes wrong is said once, by an error.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _require_address(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # versions are compared below
            return Client(address, timeout=TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"there is no scheduler at {address!r} ({reason_of(error)}): start one with `dask "
            "scheduler`, and give the address that it prints, such as tcp://10.0.0.1:8786."
        ) from error


def _require_address(address: str) -> None:
    # Dask refuses it too, but then waits for a client that never was.
    if not re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        raise ValueError("an address is tcp://HOST:PORT")
