"""Group commit: requests that arrive during one commit are written together in the next."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, takewhile
from time import monotonic

from thrifty.errors import StoreError, StoreUnavailable, ThriftyError
from thrifty.service.events import Event
from thrifty.service.stores.base import EventLog, Lease

logger = logging.getLogger("thrifty.service")

MAX_BATCH = 256
MAX_QUEUE = 10_000
_RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _PendingWrite:
    draft: Event
    lease: Lease | None
    result: asyncio.Future[Event | None]


class Committer:
    """Write events in the order of arrival, and report when they are on the disk.

    Parameters
    ----------
    log : EventLog
        Where to write.
    on_written : callable
        Called with the events of every batch, in order, before any request gets its result.
    on_failure : callable
        Called with the error if a batch cannot be written.
    patience : float
        Seconds for which a batch is repeated while the store is unavailable. A batch may be
        repeated because `EventLog.append` is atomic.
    """

    def __init__(
        self,
        log: EventLog,
        on_written: Callable[[Sequence[Event]], None],
        on_failure: Callable[[ThriftyError], None],
        patience: float = 0.0,
    ) -> None:
        self._log, self._on_written, self._on_failure = log, on_written, on_failure
        self._patience = patience
        self._waiting: deque[_PendingWrite] = deque()
        self._batch: list[_PendingWrite] = []
        self._stopping = False
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "committer")

    @property
    def queue(self) -> int:
        """Number of events that wait or are being written."""
        return len(self._waiting) + len(self._batch)

    async def append(self, draft: Event, lease: Lease | None = None) -> Event | None:
        """Return the event once it is written, or None if its step or key is already taken."""
        if self._stopping:
            raise _stopping_error()
        if len(self._waiting) >= MAX_QUEUE:
            raise StoreUnavailable(
                f"{MAX_QUEUE} requests are waiting to be written, which is more than the store can "
                "handle: try again later."
            )
        future: asyncio.Future[Event | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_PendingWrite(draft, lease, future))
        self._wake.set()
        return await future

    async def run(self) -> None:
        """Commit batch after batch until cancelled."""
        while True:
            await self._wake.wait()
            while self._waiting:
                self._batch = self._next_batch()
                await self._commit(self._batch)
                self._batch = []
            self._wake.clear()

    def _next_batch(self) -> list[_PendingWrite]:
        lease = self._waiting[0].lease
        same_lease = takewhile(lambda pending: pending.lease == lease, self._waiting)
        batch = list(islice(same_lease, MAX_BATCH))
        for _ in batch:
            self._waiting.popleft()
        return batch

    async def _commit(self, batch: list[_PendingWrite]) -> None:
        try:
            events = await self._append([pending.draft for pending in batch], batch[0].lease)
            self._on_written([event for event in events if event is not None])
        except ThriftyError as error:
            self._on_failure(error)
            _fail(batch, error)
            return
        except Exception as error:  # otherwise the requests of the batch would wait for ever
            logger.exception("a batch of %d events could not be written", len(batch))
            self._on_failure(StoreError(f"a batch could not be written ({error!r})."))
            _fail(batch, error)
            return
        for pending, event in zip(batch, events, strict=True):
            if not pending.result.done():
                pending.result.set_result(event)

    async def _append(self, drafts: list[Event], lease: Lease | None) -> list[Event | None]:
        loop, until = asyncio.get_running_loop(), monotonic() + self._patience
        while True:
            try:
                return await loop.run_in_executor(self._thread, self._log.append, drafts, lease)
            except StoreUnavailable:
                if monotonic() >= until:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)

    async def finish(self) -> None:
        """Accept no more events, and wait until the queue is empty."""
        self._stopping = True
        while self.queue:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Stop the thread, and fail the events that still wait."""
        _fail(self._waiting, _stopping_error())
        self._waiting.clear()
        self._thread.shutdown()


def _stopping_error() -> StoreUnavailable:
    return StoreUnavailable("the service is stopping: try again.")


def _fail(batch: Iterable[_PendingWrite], error: Exception) -> None:
    for pending in batch:
        if not pending.result.done():  # the client may have disconnected
            pending.result.set_exception(error)
