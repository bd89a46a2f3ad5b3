"""Group commit: what arrives while one commit runs is written together in the next."""

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
from thrifty.service.stores.base import Lease, Store

log = logging.getLogger("thrifty.service")

MAX_BATCH = 256
MAX_QUEUE = 10_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    draft: Event
    lease: Lease | None
    written: asyncio.Future[Event | None]


class Committer:
    """Writes drafts in the order in which they came, and tells when they are on the disk.

    `written` is called with every batch, in order, before anybody is told. A store that others
    write to as well may lose its connection: the batch is then repeated for `patience` seconds.
    """

    def __init__(
        self,
        store: Store,
        written: Callable[[Sequence[Event]], None],
        failed: Callable[[ThriftyError], None],
        patience: float = 0.0,
    ) -> None:
        self._store, self._written, self._failed = store, written, failed
        self._patience = patience
        self._waiting: deque[_Waiting] = deque()
        self._batch: list[_Waiting] = []
        self._ending = False
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "committer")

    @property
    def queue(self) -> int:
        """How many drafts wait, or are being written."""
        return len(self._waiting) + len(self._batch)

    async def append(self, draft: Event, lease: Lease | None = None) -> Event | None:
        """Return the event when it is written, or None if its step or key was taken."""
        if self._ending:
            raise _stopping()
        if len(self._waiting) >= MAX_QUEUE:
            raise StoreUnavailable(
                f"{MAX_QUEUE} requests wait to be written: this is more than the store can "
                "take, so try again later."
            )
        future: asyncio.Future[Event | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(draft, lease, future))
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

    def _next_batch(self) -> list[_Waiting]:
        lease = self._waiting[0].lease
        alike = takewhile(lambda pending: pending.lease == lease, self._waiting)
        same = list(islice(alike, MAX_BATCH))
        for _ in same:
            self._waiting.popleft()
        return same

    async def _commit(self, batch: list[_Waiting]) -> None:
        try:
            events = await self._append([pending.draft for pending in batch], batch[0].lease)
            self._written([event for event in events if event is not None])
        except ThriftyError as error:
            self._failed(error)
            _refuse(batch, error)
            return
        except Exception as error:  # whatever it is, nobody may wait for ever
            log.exception("a batch of %d could not be written", len(batch))
            self._failed(StoreError(f"a batch could not be written ({error!r})."))
            _refuse(batch, error)
            return
        for pending, event in zip(batch, events, strict=True):
            if not pending.written.done():
                pending.written.set_result(event)

    async def _append(self, drafts: list[Event], lease: Lease | None) -> list[Event | None]:
        loop, until = asyncio.get_running_loop(), monotonic() + self._patience
        while True:
            try:
                return await loop.run_in_executor(self._thread, self._store.append, drafts, lease)
            except StoreUnavailable:
                if monotonic() >= until:
                    raise
                await asyncio.sleep(0.1)

    async def finish(self) -> None:
        """Take nothing more, and write what was taken."""
        self._ending = True
        while self.queue:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """End the thread; what still waits is refused."""
        _refuse(self._waiting, _stopping())
        self._waiting.clear()
        self._thread.shutdown()


def _stopping() -> StoreUnavailable:
    return StoreUnavailable("the service is stopping: try again.")


def _refuse(waiting: Iterable[_Waiting], error: Exception) -> None:
    for pending in waiting:
        if not pending.written.done():  # whoever asked may have gone
            pending.written.set_exception(error)
