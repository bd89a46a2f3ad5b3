"""Nobody waits long without being told what for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import typer


@contextmanager
def explained_if_slow(seconds: float = 3.0) -> Iterator[None]:
    """Say what the wait is for, once it has lasted so long."""
    waiting = "Getting ready: policies are compiled once on a machine, and a long log is read."
    timer = Timer(seconds, typer.echo, [waiting], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
