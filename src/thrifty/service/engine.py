"""The engine: takes requests, decides, writes, and folds what was written. No HTTP here."""

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
from thrifty.service.cases import CaseState
from thrifty.service.committer import Committer
from thrifty.service.decisions import NewCase, ObservationReport, RequestInfo
from thrifty.service.events import Event, Position, new_case_id, now
from thrifty.service.model import smoke_test
from thrifty.service.projection import Projection
from thrifty.service.served_policy import EngineSettings, ServedPolicy, recover_projection
from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.specification import PolicySpec

log = logging.getLogger("thrifty.service")

T = TypeVar("T")
_MAX_ATTEMPTS = 20
_READ_CHUNK = 2000


class Engine:
    """Serves the policies of a store."""

    def __init__(
        self,
        store: Store,
        specs: Sequence[PolicySpec] = (),
        settings: EngineSettings = EngineSettings(),  # noqa: B008
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
        self._threads = ThreadPoolExecutor(8, "engine")
        self._wake = asyncio.Event()
        for spec in {spec.id: spec for spec in (*store.specs(), *specs)}.values():
            smoke_test(spec)  # what cannot be made is refused before anything is written
        for spec in specs:
            store.declare(spec)
        self._served = {
            (spec.tenant, spec.name): ServedPolicy(recover_projection(store, spec))
            for spec in store.specs()
        }
        positions = [served.projection.position for served in self._served.values()]
        self.position = min(positions, default=Position())
        self._last: Event | None = None
        self._catch_up()
        self._committer = Committer(
            store, self._take, self._fail, 0.0 if store.exclusive else settings.patience
        )

    @property
    def projections(self) -> Mapping[tuple[str, str], Projection]:
        """The projections by tenant and policy."""
        return {name: served.projection for name, served in self._served.items()}

    @property
    def queue(self) -> int:
        """How many requests wait to be written."""
        return self._committer.queue

    def projection(self, tenant: str, policy: str) -> Projection:
        """Return the projection of a policy."""
        served = self._served.get((tenant, policy))
        if served is None:
            known = ", ".join(name for owner, name in self._served if owner == tenant) or "none"
            raise UnknownName(f"there is no policy {policy!r}: there is {known}.")
        return served.projection

    def leads(self, projection: Projection) -> bool:
        """Whether this process closes the policy's cases and saves its snapshots."""
        return self._served[projection.spec.tenant, projection.spec.name].lease is not None

    async def start(self) -> None:
        """Begin to commit, to follow the log and to watch deadlines."""
        for served in self._served.values() if self.store.exclusive else ():
            served.lease = self.store.acquire(served.projection.spec.id, self.holder, 0)
        loops = [self._committer.run(), self._watch()]
        if not self.store.exclusive:
            loops.append(self._follow())
        self._tasks = [asyncio.create_task(loop) for loop in loops]
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
        self, tenant: str, policy: str, given: NewCase, key: str, request: str
    ) -> Event:
        """Open a case: choose what to buy for it or, if nothing, its action."""
        projection = self.projection(tenant, policy)

        async def draft() -> Event:
            if len(projection.cases) >= self.settings.max_open:
                raise TooManyOpen(
                    f"{policy} already has {len(projection.cases)} open cases, which is the limit: "
                    "report their rewards, abandon some, or shorten the deadline."
                )
            ticket = RequestInfo(self.clock(), key, request)
            case = new_case_id(ticket.at)
            return decisions.open_case(projection.spec, projection.model, case, given, ticket)

        return await self._write(tenant, key, request, draft)

    async def observe(
        self, tenant: str, case_id: str, seen: ObservationReport, key: str, request: str
    ) -> Event:
        """Take what came of a purchase: choose what to buy next or, if nothing, the action."""

        async def draft() -> Event:
            projection, case = await self._find(tenant, case_id)
            ticket = RequestInfo(self.clock(), key, request)
            return decisions.observe(projection.spec, projection.model, case, seen, ticket)

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
            projection, case = await self._find(tenant, case_id)
            ticket = RequestInfo(self.clock(), key, request)
            return decisions.reward(projection.spec, case, money, outcome, ticket)

        return await self._write(tenant, key, request, draft)

    async def abandon(self, tenant: str, case_id: str, key: str, request: str) -> Event:
        """Close a case without a reward."""

        async def draft() -> Event:
            projection, case = await self._find(tenant, case_id)
            return decisions.abandon(projection.spec, case, RequestInfo(self.clock(), key, request))

        return await self._write(tenant, key, request, draft)

    async def case(self, tenant: str, case_id: str) -> tuple[PolicySpec, CaseState]:
        """Return everything that the log knows of a case."""
        events = (await self._in_thread(self.store.cases, [case_id])).get(case_id)
        if not events or events[0].tenant != tenant:
            raise UnknownRound(f"there is no case {case_id!r}: use the id that opening it gave.")
        spec = self.projection(tenant, events[0].policy).spec
        return spec, CaseState.from_events(spec.problem, events)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Let a call that waits for the store wait elsewhere."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def _find(self, tenant: str, case_id: str) -> tuple[Projection, CaseState]:
        if self.store.exclusive:
            for (owner, _), served in self._served.items():
                if owner == tenant and case_id in served.projection.cases:
                    return served.projection, served.projection.cases[case_id]
        spec, case = await self.case(tenant, case_id)
        return self.projection(tenant, spec.name), case

    async def _write(
        self, tenant: str, key: str, request: str, draft: Callable[[], Awaitable[Event]]
    ) -> Event:
        """Write what `draft` returns; asked for once more, return what was written then."""
        for _ in range(_MAX_ATTEMPTS):
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
            return  # nothing new was written or fold_log: who is not ready stays so
        elif events[0].position.seq == self.position.seq + 1:
            self._fold(sorted(events, key=lambda event: event.position))
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
            if served is not None and event.position > served.projection.position:
                served.projection.apply(event)
                served.settling.discard(event.case)
                served.news += 1
            self._last, self.position = event, event.position
        for served in self._served.values():
            served.passed += len(events)

    def _catch_up(self) -> None:
        while events := self.store.read(self.position, _READ_CHUNK):
            self._fold(events)

    async def _follow(self) -> None:
        """Fold what all replicas write, as soon as its order is final."""
        while True:
            try:
                events = await self._in_thread(self.store.read, self.position, _READ_CHUNK)
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
                self.store.acquire,
                served.projection.spec.id,
                self.holder,
                self.settings.lease_seconds,
            )
            if served.lease is not None:
                await self._settle(served, served.lease)
                if served.snapshot_due(self.settings):
                    await self._try_snapshot(served)

    async def _settle(self, served: ServedPolicy, lease: Lease) -> None:
        """Close the cases whose deadline has passed."""
        at = self.clock()
        overdue = (case for case in served.projection.overdue(at) if case.id not in served.settling)
        drafts = [
            decisions.settle(served.projection.spec, case, at) for case in islice(overdue, 1000)
        ]
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
            log.warning("no snapshot of %s was saved: %s", served.projection.spec.id, error)

    async def _save_snapshot(self, served: ServedPolicy) -> None:
        if served.lease is not None and served.passed:
            save = served.snapshot_saver(self.store, self.position, self._last)
            await self._in_thread(save)
