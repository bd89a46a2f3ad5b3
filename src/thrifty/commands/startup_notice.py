"""Print a notice if startup is slow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import typer


@contextmanager
def notice_if_slow(seconds: float = 3.0) -> Iterator[None]:
    """Print what is going on if the block takes longer than this many seconds."""
    text = "Starting: compiling policies (only the first time) and reading the log."
    timer = Timer(seconds, typer.echo, [text], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
