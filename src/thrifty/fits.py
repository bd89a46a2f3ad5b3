"""Fits: expensive calculations of a policy, which another process can run.

A policy that fits models prepares a `Fit` in `update`, and uses its result in `apply_fit`. Between
the two, `FitWorker` can run it in another process, while the policy decides with its old models.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import signal
import struct
import subprocess
import sys
import traceback
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Protocol

from thrifty.errors import FitFailed

_MAX_ATTEMPTS = 3
_NICENESS = 10
_COMMAND = "from thrifty.fits import run_requests; run_requests()"
_SIZE = struct.Struct("<Q")
_DONE, _FAILED = b"\0", b"\1"


class Fit(Protocol):
    """A calculation that a policy has prepared.

    A fit has its own copy of everything it needs, and its content never changes. It can be pickled,
    so that another process can run it, and its class is defined in a module.

    Attributes
    ----------
    number : int
        Number of the fit; each fit of a policy has the next number.
    """

    @property
    def number(self) -> int:
        """Number of the fit; each fit of a policy has the next number."""

    def run(self) -> bytes:
        """Return the result, which depends on the content of the fit only.

        Returns
        -------
        bytes
            The result as JSON. The same fit has the same result, bit for bit, on any machine with
            the same kind of arithmetic (see `describe_machine`).
        """


class FitWorker:
    """Run fits in another process, one after the other.

    The process is started at the first fit and has a low priority. If it dies, it is started again
    and repeats the fit. It ends when this process ends, even if this process is killed.

    Examples
    --------
    >>> worker = FitWorker()
    >>> worker.close()
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Fit, Future[bytes]] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._closing = False

    @property
    def pid(self) -> int | None:
        """Id of the process, or None if none is running."""
        process = self._process
        return None if process is None else process.pid

    def submit(self, fit: Fit) -> Future[bytes]:
        """Run a fit after those that were submitted before.

        Parameters
        ----------
        fit : Fit
            The fit.

        Returns
        -------
        Future
            Its result. The future raises `FitFailed` if the fit raises an error or if its process
            dies repeatedly.
        """
        if self._thread is None:
            self._thread = Thread(target=self._work, name="fits", daemon=True)
            self._thread.start()
        future: Future[bytes] = Future()
        self._jobs.put((fit, future))
        return future

    def close(self) -> None:
        """Stop the process. Fits that have not finished are dropped, and raise `FitFailed`.

        The next `submit` starts another process.
        """
        if self._thread is None:
            return
        with self._lock:
            self._closing = True
            if self._process is not None:
                self._process.kill()
        self._jobs.put(None)
        self._thread.join()
        self._thread, self._closing = None, False

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            fit, future = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._run(fit))
                except Exception as error:
                    future.set_exception(error)
            del job, fit, future  # do not keep them until the next one comes
        self._stop()

    def _run(self, fit: Fit) -> bytes:
        try:
            content = pickle.dumps(fit)
        except Exception as error:
            raise FitFailed(
                f"fit {fit.number} cannot be sent to another process ({error!r}), so the policy "
                "keeps its models: let the fit contain only what can be pickled."
            ) from error
        for _ in range(_MAX_ATTEMPTS):
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                _write_block(process.stdin, content)
                outcome, answer = _read(process.stdout, 1), _read_block(process.stdout)
            except (EOFError, OSError):  # the process has died
                self._stop()
                continue
            if outcome == _FAILED:
                raise FitFailed(
                    f"fit {fit.number} has failed, so the policy keeps its models: correct the "
                    f"policy. Its process says:\n{answer.decode()}"
                )
            return answer
        raise FitFailed(
            f"the process of fit {fit.number} died {_MAX_ATTEMPTS} times, so the policy keeps its "
            "models: check that the machine has enough memory."
        )

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closing:
                raise FitFailed("the fit was dropped, because its process was stopped.")
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _COMMAND],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": _module_path()},
                )
            return self._process

    def _stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # the process may not have read everything
                if pipe is not None:
                    pipe.close()
        process.wait()


def run_requests() -> None:
    """Run the fits that arrive on the standard input, until it ends; `FitWorker` calls this."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the other process, which ends this
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a fit prints must not get between the results
    with contextlib.suppress(BrokenPipeError, EOFError):
        while True:
            content = _read_block(requests)
            try:
                fit: Fit = pickle.loads(content)
                outcome, answer = _DONE, fit.run()
            except Exception:
                outcome, answer = _FAILED, traceback.format_exc().encode()
            answers.write(outcome)
            _write_block(answers, answer)


def describe_machine() -> str:
    """Return the kind of arithmetic of this machine, on which the last bits of a fit depend.

    Returns
    -------
    str
        Processor and the versions of numpy and numba.
    """
    import llvmlite.binding
    import numba
    import numpy as np

    processor = f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()}"
    return f"{processor}, numpy {np.__version__}, numba {numba.__version__}"


def _write_block(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_SIZE.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _read_block(pipe: IO[bytes]) -> bytes:
    (size,) = _SIZE.unpack(_read(pipe, _SIZE.size))
    return _read(pipe, size)


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError("the other process has ended")
    return data


def _module_path() -> str:
    """Return where this process finds its modules; an empty entry is the present folder."""
    return os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
