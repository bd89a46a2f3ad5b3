"""The desk: takes requests, decides, writes, and folds what was written. No HTTP here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from thrifty.errors import (
    BrokenLog,
    KeyReused,
    StoreError,
    StoreUnavailable,
    ThriftyError,
    TooManyOpen,
    UnknownName,
    UnknownRound,
)
from thrifty.service import decisions
from thrifty.service.cases import Case
from thrifty.service.committer import Committer
from thrifty.service.decisions import Opening, Seen, Ticket
from thrifty.service.events import Event, Position, new_case_id, now
from thrifty.service.model import smoke_test
from thrifty.service.projection import Book
from thrifty.service.served_policy import ServedPolicy, Settings, recovered
from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.specification import PolicySpec

log = logging.getLogger("thrifty.service")

T = TypeVar("T")
_MOST_TRIES = 20
_READ_TOGETHER = 2000


class Desk:
    """Serves the policies of a store."""

    def __init__(
        self,
        store: Store,
        specs: Sequence[PolicySpec] = (),
        settings: Settings = Settings(),  # noqa: B008
        clock: Callable[[], int] = now,
    ) -> None:
        self.store, self.settings, self.clock = store, settings, clock
        self.ready = False
        self.problem = "starting"
        self._stuck = self._stopping = False
        self.started = clock()
        self.holder = f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.position = Position()
        self._tasks: list[asyncio.Task[None]] = []
        self._threads = ThreadPoolExecutor(8, "desk")
        self._wake = asyncio.Event()
        for spec in {it.id: it for it in (*store.specs(), *specs)}.values():
            smoke_test(spec)  # what cannot be made is refused before anything is written
        for spec in specs:
            store.declare(spec)
        self._served = {
            (spec.tenant, spec.name): ServedPolicy(recovered(store, spec)) for spec in store.specs()
        }
        positions = [served.book.position for served in self._served.values()]
        self.position = min(positions, default=Position())
        self._last: Event | None = None
        self._catch_up()
        self._committer = Committer(
            store, self._take, self._fail, 0.0 if store.exclusive else settings.patience
        )

    @property
    def books(self) -> Mapping[tuple[str, str], Book]:
        """The books by tenant and policy."""
        return {name: served.book for name, served in self._served.items()}

    @property
    def queue(self) -> int:
        """How many requests wait to be written."""
        return self._committer.queue

    def book(self, tenant: str, policy: str) -> Book:
        """Return the book of a policy."""
        served = self._served.get((tenant, policy))
        if served is None:
            known = ", ".join(name for owner, name in self._served if owner == tenant) or "none"
            raise UnknownName(f"there is no policy {policy!r}: there is {known}.")
        return served.book

    def leads(self, book: Book) -> bool:
        """Whether this process closes the policy's cases and saves its snapshots."""
        return self._served[book.spec.tenant, book.spec.name].lease is not None

    async def start(self) -> None:
        """Begin to commit, to follow the log and to watch deadlines."""
        for served in self._served.values() if self.store.exclusive else ():
            served.lease = self.store.acquire(served.book.spec.id, self.holder, 0)
        loops = [self._committer.run(), self._watch()]
        if not self.store.exclusive:
            loops.append(self._follow())
        self._tasks = [asyncio.create_task(it) for it in loops]
        self.ready, self.problem = True, ""

    async def stop(self) -> None:
        """Write what waits, save snapshots and let go of the store."""
        self._stopping, self.ready, self.problem = True, False, "stopping"
        await self._committer.finish()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for served in self._served.values():
            with contextlib.suppress(StoreError):
                await self._save_snapshot(served)
                await self._in_thread(served.hand_over, self.store, self.holder)
        self._committer.close()
        self._threads.shutdown()
        self.store.close()

    async def open_case(
        self, tenant: str, policy: str, given: Opening, key: str, request: str
    ) -> Event:
        """Open a case: choose what to buy for it or, if nothing, its action."""
        book = self.book(tenant, policy)

        async def draft() -> Event:
            if len(book.cases) >= self.settings.most_open:
                raise TooManyOpen(
                    f"{len(book.cases)} cases of {policy} are open, and no more can be: report "
                    "their rewards, abandon some, or shorten the deadline."
                )
            ticket = Ticket(self.clock(), key, request)
            case = new_case_id(ticket.at)
            return decisions.open_case(book.spec, book.model, case, given, ticket)

        return await self._write(tenant, key, request, draft)

    async def observe(self, tenant: str, case_id: str, seen: Seen, key: str, request: str) -> Event:
        """Take what came of a purchase: choose what to buy next or, if nothing, the action."""

        async def draft() -> Event:
            book, case = await self._find(tenant, case_id)
            ticket = Ticket(self.clock(), key, request)
            return decisions.observe(book.spec, book.model, case, seen, ticket)

        return await self._write(tenant, key, request, draft)

    async def reward(
        self,
        tenant: str,
        case_id: str,
        money: float | None,
        outcome: str | None,
        key: str,
        request: str,
    ) -> Event:
        """Take a reward in money, or an outcome."""

        async def draft() -> Event:
            book, case = await self._find(tenant, case_id)
            ticket = Ticket(self.clock(), key, request)
            return decisions.reward(book.spec, case, money, outcome, ticket)

        return await self._write(tenant, key, request, draft)

    async def abandon(self, tenant: str, case_id: str, key: str, request: str) -> Event:
        """Close a case without a reward."""

        async def draft() -> Event:
            book, case = await self._find(tenant, case_id)
            return decisions.abandon(book.spec, case, Ticket(self.clock(), key, request))

        return await self._write(tenant, key, request, draft)

    async def case(self, tenant: str, case_id: str) -> tuple[PolicySpec, Case]:
        """Return everything that the log knows of a case."""
        events = (await self._in_thread(self.store.cases, [case_id])).get(case_id)
        if not events or events[0].tenant != tenant:
            raise UnknownRound(f"there is no case {case_id!r}: use the id that opening it gave.")
        spec = self.book(tenant, events[0].policy).spec
        return spec, Case.of(spec.problem, events)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Let a call that waits for the store wait elsewhere."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def _find(self, tenant: str, case_id: str) -> tuple[Book, Case]:
        if self.store.exclusive:
            for (owner, _), served in self._served.items():
                if owner == tenant and case_id in served.book.cases:
                    return served.book, served.book.cases[case_id]
        spec, case = await self.case(tenant, case_id)
        return self.book(tenant, spec.name), case

    async def _write(
        self, tenant: str, key: str, request: str, draft: Callable[[], Awaitable[Event]]
    ) -> Event:
        """Write what `draft` returns; asked for once more, return what was written then."""
        for _ in range(_MOST_TRIES):
            try:
                event = await draft()
            except ThriftyError:
                earlier = await self._earlier(tenant, key, request)
                if earlier is None:
                    raise
                return earlier
            written = await self._committer.append(event)
            if written is not None:
                return written
            earlier = await self._earlier(tenant, key, request)
            if earlier is not None:
                return earlier
        raise StoreUnavailable("others were always faster at this case: try again.")

    async def _earlier(self, tenant: str, key: str, request: str) -> Event | None:
        event = await self._in_thread(self.store.with_key, tenant, key)
        if event is not None and event.request != request:
            raise KeyReused(
                f"the idempotency key {key!r} stands for another request, which was answered "
                "before: use a new key for every new request."
            )
        return event

    def _take(self, events: Sequence[Event]) -> None:
        """Fold what was just written, if nobody else can have written in between."""
        if not self.store.exclusive:
            self._wake.set()
        elif not events:
            return  # nothing new was written or folded: who is not ready stays so
        elif events[0].position.seq == self.position.seq + 1:
            self._fold(sorted(events, key=lambda it: it.position))
        else:
            self._catch_up()
        self._recover()

    def _recover(self) -> None:
        """Be ready again, unless the log has become unreadable, or the end has come."""
        if not (self._stuck or self._stopping):
            self.ready, self.problem = True, ""

    def _fail(self, error: ThriftyError) -> None:
        if isinstance(error, LeaseLost):
            return
        if self.ready:
            log.error("not ready: %s", error)
        self.ready, self.problem = False, str(error)

    def _fold(self, events: Sequence[Event]) -> None:
        for event in events:
            served = self._served.get((event.tenant, event.policy))
            if served is not None and event.position > served.book.position:
                served.book.apply(event)
                served.settling.discard(event.case)
                served.news += 1
            self._last, self.position = event, event.position
        for served in self._served.values():
            served.passed += len(events)

    def _catch_up(self) -> None:
        while events := self.store.read(self.position, _READ_TOGETHER):
            self._fold(events)

    async def _follow(self) -> None:
        """Fold what all replicas write, as soon as its order is final."""
        while True:
            try:
                events = await self._in_thread(self.store.read, self.position, _READ_TOGETHER)
                self._fold(events)
                self._stuck = False
            except StoreUnavailable as error:
                self._fail(error)
                events = []
            except Exception as error:  # whatever it is, it must be seen, and tried again
                self._stuck, events = True, []
                self._fail(
                    BrokenLog(f"the log cannot be followed ({error}): restore a copy of it.")
                )
            if not events:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.settings.poll):  # wait_for may lose a cancel
                        await self._wake.wait()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.settings.tick)
            try:
                await self._look_after()
            except StoreError as error:
                self._fail(error)
            except Exception:
                log.exception("the watch stumbled and goes on")

    async def _look_after(self) -> None:
        if not self.ready:
            await self._in_thread(self.store.probe)
            if self.store.exclusive:
                self._catch_up()
            self._recover()
            if self.ready:
                log.info("ready again")
        for served in self._served.values():
            served.lease = await self._in_thread(
                self.store.acquire, served.book.spec.id, self.holder, self.settings.lease_seconds
            )
            if served.lease is not None:
                await self._settle(served, served.lease)
                if served.snapshot_due(self.settings):
                    await self._try_snapshot(served)

    async def _settle(self, served: ServedPolicy, lease: Lease) -> None:
        """Close the cases whose deadline has passed."""
        at = self.clock()
        overdue = (it for it in served.book.overdue(at) if it.id not in served.settling)
        drafts = [decisions.settle(served.book.spec, it, at) for it in islice(overdue, 1000)]
        served.settling.update(draft.case for draft in drafts)
        held = None if self.store.exclusive else lease
        outcomes = await asyncio.gather(
            *(self._committer.append(draft, held) for draft in drafts), return_exceptions=True
        )
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if not isinstance(outcome, Event):  # it was refused, or somebody else was faster
                served.settling.discard(draft.case)
            if isinstance(outcome, LeaseLost):
                served.lease = None

    async def _try_snapshot(self, served: ServedPolicy) -> None:
        """Save a snapshot if that can be done; without it only a start takes longer."""
        try:
            await self._save_snapshot(served)
        except StoreError as error:
            log.warning("no snapshot of %s was saved: %s", served.book.spec.id, error)

    async def _save_snapshot(self, served: ServedPolicy) -> None:
        if served.lease is not None and served.passed:
            save = served.snapshot_saver(self.store, self.position, self._last)
            await self._in_thread(save)
