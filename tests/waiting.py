"""Waiting for a condition instead of a time."""

import asyncio
import time
from collections.abc import Callable

LIMIT = 600.0
"""Seconds until a wait is given up: far more than a busy machine needs."""
PAGE_LIMIT = 60.0
"""The same for what a page does by itself once it is loaded."""


def wait_until(condition: Callable[[], object], message: str = "") -> None:
    """Wait until a condition holds; fail after `LIMIT` seconds."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, _expired(message)
        time.sleep(0.01)


async def until(condition: Callable[[], object], message: str = "") -> None:
    """Wait in a coroutine until a condition holds; fail after `LIMIT` seconds."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, _expired(message)
        await asyncio.sleep(0.005)


def _expired(message: str) -> str:
    return f"{message or 'the condition'} did not happen within {LIMIT:.0f} s"
