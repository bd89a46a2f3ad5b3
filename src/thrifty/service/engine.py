"""The engine: takes requests, decides, writes events and applies them, without HTTP."""

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
    FitFailed,
    KeyReused,
    StoreError,
    StoreUnavailable,
    ThriftyError,
    TooManyOpen,
    UnknownName,
    UnknownRound,
)
from thrifty.fits import Fit, FitWorker
from thrifty.service import decisions, panel_changes
from thrifty.service.cases import CaseState
from thrifty.service.committer import Committer
from thrifty.service.decisions import NewCase, ObservationReport, RequestInfo
from thrifty.service.events import CASE_KINDS, Event, Position, new_case_id, now
from thrifty.service.fit_events import FitOwner, fitted
from thrifty.service.model import smoke_test
from thrifty.service.panel import Panel, PanelMember
from thrifty.service.panel_events import panel_id
from thrifty.service.projection import Projection
from thrifty.service.served_policy import EngineSettings, ServedPolicy, recover_projection
from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.specification import PolicySpec

logger = logging.getLogger("thrifty.service")

T = TypeVar("T")
_MAX_ATTEMPTS = 20
_READ_CHUNK = 2000
_SETTLE_CHUNK = 1000
_MAX_WAITS = 1000


class Engine:
    """Serve the policies of a store.

    A request becomes one event: the engine decides what the event says, writes it to the log, and
    applies it to the policy's projection. Repeating a request with the same idempotency key returns
    the event that was written the first time.

    Fits of the policies' models run in another process. When a fit has finished, its result is
    written to the log and applied, as every other event.

    Parameters
    ----------
    store : Store
        Where events are written. The engine closes it when it stops.
    specs : sequence of PolicySpec
        Policies to declare, in addition to those of the store.
    settings : EngineSettings
        Limits and intervals.
    clock : callable
        Returns the time in microseconds.

    Attributes
    ----------
    ready : bool
        True if the engine can decide and write.
    problem : str
        Why the engine is not ready.
    started : int
        Time of the start, in microseconds.
    """

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
        self._log_is_broken = self._stopping = False
        self.started = clock()
        self.holder = f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._tasks: list[asyncio.Task[None]] = []
        self._threads = ThreadPoolExecutor(8, "engine")
        self._fit_worker = FitWorker()
        self._fit_tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._given = specs
        for spec in {spec.id: spec for spec in (*store.policies.specs(), *specs)}.values():
            smoke_test(spec)  # before declaring anything: a declared policy cannot be removed
            for shadow in spec.shadows.specs:
                smoke_test(shadow)
        for spec in specs:
            store.policies.declare(spec)
        self._served = {
            (spec.tenant, spec.name): ServedPolicy(recover_projection(store, spec))
            for spec in store.policies.specs()
        }
        positions = [served.projection.position for served in self._served.values()]
        self.position = min(positions, default=Position())
        self._last: Event | None = None
        self._catch_up()
        for spec in specs:  # now, because a refusal is clearer before the service listens
            self._shadows_event(spec)
        for served in self._served.values():
            for member in served.projection.panel.shadows:
                smoke_test(member.spec)
        patience = 0.0 if store.exclusive else settings.patience
        self._committer = Committer(store.log, self._on_written, self._on_failure, patience)

    @property
    def projections(self) -> Mapping[tuple[str, str], Projection]:
        """The projections by tenant and name of the policy."""
        return {name: served.projection for name, served in self._served.items()}

    @property
    def queue(self) -> int:
        """Number of requests that wait to be written."""
        return self._committer.queue

    def tenant_projections(self, tenant: str) -> list[Projection]:
        """Return the projections of a tenant's policies.

        Parameters
        ----------
        tenant : str
            Name of the tenant.

        Returns
        -------
        list of Projection
            One for each policy.
        """
        return [served.projection for (owner, _), served in self._served.items() if owner == tenant]

    def projection(self, tenant: str, policy: str) -> Projection:
        """Return the projection of a policy.

        Parameters
        ----------
        tenant, policy : str
            Names of the tenant and of the policy.

        Returns
        -------
        Projection
            The current state of the policy.

        Raises
        ------
        UnknownName
            If the tenant has no such policy.
        """
        served = self._served.get((tenant, policy))
        if served is None:
            known = ", ".join(name for owner, name in self._served if owner == tenant) or "none"
            raise UnknownName(f"there is no policy {policy!r}: the policies are {known}.")
        return served.projection

    def leads(self, projection: Projection) -> bool:
        """Return True if this process closes a policy's cases, saves snapshots and runs fits.

        Parameters
        ----------
        projection : Projection
            State of a policy.

        Returns
        -------
        bool
            True if this process holds the lease of the policy.
        """
        return self._served[projection.spec.tenant, projection.spec.name].lease is not None

    async def start(self) -> None:
        """Start to write, to follow the log and to watch deadlines."""
        for served in self._served.values() if self.store.exclusive else ():
            served.lease = self.store.leases.acquire(served.projection.spec.id, self.holder, 0)
        loops = [self._committer.run(), self._watch()]
        if not self.store.exclusive:
            loops.append(self._follow())
        self._tasks = [asyncio.create_task(loop) for loop in loops]
        for spec in self._given:
            await self._declare_shadows(spec)
        self.ready, self.problem = True, ""
        self._start_fits()

    async def stop(self) -> None:
        """Write the queue, save snapshots and close the store. The next start repeats due fits."""
        self._stopping, self.ready, self.problem = True, False, "stopping"
        await self._committer.finish()
        tasks = [*self._tasks, *self._fit_tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._in_thread(self._fit_worker.close)
        for served in self._served.values():
            with contextlib.suppress(StoreError):
                await self._save_snapshot(served)
                await self._in_thread(served.release, self.store)
        self._committer.close()
        self._threads.shutdown()
        self.store.close()

    async def open_case(
        self, tenant: str, policy: str, new: NewCase, key: str, request: str
    ) -> Event:
        """Open a case: choose the features to buy for it or, if none, its action.

        Parameters
        ----------
        tenant, policy : str
            Names of the tenant and of the policy.
        new : NewCase
            What is known about the case.
        key : str
            Idempotency key.
        request : str
            Digest of the request; a repeated request must have the same one.

        Returns
        -------
        Event
            The event, which is in the log.

        Raises
        ------
        TooManyOpen
            If the policy has too many open cases.
        KeyReused
            If the key was used for another request.
        """
        projection = self.projection(tenant, policy)

        async def draft() -> Event:
            if len(projection.cases) >= self.settings.max_open:
                raise TooManyOpen(
                    f"{policy} already has {len(projection.cases)} open cases, which is the limit: "
                    "report their rewards, abandon some, or shorten the deadline."
                )
            info = RequestInfo(self.clock(), key, request)
            case = new_case_id(info.at)
            return decisions.open_case(projection.spec, projection.panel, case, new, info)

        return await self._write(tenant, key, request, draft)

    async def observe(
        self, tenant: str, case_id: str, report: ObservationReport, key: str, request: str
    ) -> Event:
        """Take the result of a purchase: choose what to buy next or, if nothing, the action.

        Parameters
        ----------
        tenant : str
            Name of the tenant.
        case_id : str
            Id of the case.
        report : ObservationReport
            Values and costs.
        key : str
            Idempotency key.
        request : str
            Digest of the request.

        Returns
        -------
        Event
            The event, which is in the log.
        """

        async def draft() -> Event:
            projection, case = await self._find(tenant, case_id)
            info = RequestInfo(self.clock(), key, request)
            return decisions.observe(projection.spec, projection.panel, case, report, info)

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
        """Take the reward or the outcome of a case.

        Parameters
        ----------
        tenant : str
            Name of the tenant.
        case_id : str
            Id of the case.
        money : float, optional
            The reward.
        outcome : str, optional
            The outcome, which determines the reward.
        key : str
            Idempotency key.
        request : str
            Digest of the request.

        Returns
        -------
        Event
            The event, which is in the log.
        """

        async def draft() -> Event:
            projection, case = await self._find(tenant, case_id)
            info = RequestInfo(self.clock(), key, request)
            return decisions.reward(projection.spec, case, money, outcome, info)

        return await self._write(tenant, key, request, draft)

    async def abandon(self, tenant: str, case_id: str, key: str, request: str) -> Event:
        """Close a case without a reward.

        Parameters
        ----------
        tenant : str
            Name of the tenant.
        case_id : str
            Id of the case.
        key : str
            Idempotency key.
        request : str
            Digest of the request.

        Returns
        -------
        Event
            The event, which is in the log.
        """

        async def draft() -> Event:
            projection, case = await self._find(tenant, case_id)
            return decisions.abandon(projection.spec, case, RequestInfo(self.clock(), key, request))

        return await self._write(tenant, key, request, draft)

    async def promote(self, tenant: str, policy: str, shadow: str, key: str, request: str) -> Event:
        """Let a shadow act from now on; the policy that acted becomes a shadow.

        Parameters
        ----------
        tenant, policy : str
            Names of the tenant and of the policy.
        shadow : str
            Name of the shadow.
        key : str
            Idempotency key.
        request : str
            Digest of the request.

        Returns
        -------
        Event
            The event, which is in the log.
        """
        projection = self.projection(tenant, policy)

        async def draft() -> Event:
            info = RequestInfo(self.clock(), key, request)
            panel = await self._newest_panel(projection)
            return panel_changes.promote(projection.spec, panel, shadow, info)

        return await self._write(tenant, key, request, draft)

    async def demote(self, tenant: str, policy: str, key: str, request: str) -> Event:
        """Go back to the policy that acted before the last promotion.

        Parameters
        ----------
        tenant, policy : str
            Names of the tenant and of the policy.
        key : str
            Idempotency key.
        request : str
            Digest of the request.

        Returns
        -------
        Event
            The event, which is in the log.
        """
        projection = self.projection(tenant, policy)

        async def draft() -> Event:
            info = RequestInfo(self.clock(), key, request)
            panel = await self._newest_panel(projection)
            return panel_changes.demote(projection.spec, panel, info)

        return await self._write(tenant, key, request, draft)

    async def _declare_shadows(self, spec: PolicySpec) -> None:
        """Give a policy the shadows of its file, and wait until it has them."""
        projection = self._served[spec.tenant, spec.name].projection
        for _ in range(_MAX_ATTEMPTS):
            await self._newest_panel(projection)
            event = self._shadows_event(spec)
            if event is None:
                return
            await self._committer.append(event)

    def _shadows_event(self, spec: PolicySpec) -> Event | None:
        """Return the event that a file with other shadows than those of the log needs."""
        projection = self._served[spec.tenant, spec.name].projection
        info = RequestInfo(self.clock())
        return panel_changes.declare(projection.spec, projection.panel, spec.shadows, info)

    async def _newest_panel(self, projection: Projection) -> Panel:
        """Return a panel once all changes of its members that are in the log are applied."""
        if self.store.exclusive:
            return projection.panel
        name = panel_id(projection.spec)
        written = len((await self._in_thread(self.store.index.cases, [name])).get(name, ()))
        for _ in range(_MAX_WAITS):
            if projection.panel.turn >= written:
                return projection.panel
            self._wake.set()
            await asyncio.sleep(self.settings.poll)
        raise StoreUnavailable("the log cannot be followed at the moment: try again.")

    async def case(self, tenant: str, case_id: str) -> tuple[PolicySpec, CaseState]:
        """Return a case as the log has it.

        Parameters
        ----------
        tenant : str
            Name of the tenant.
        case_id : str
            Id of the case.

        Returns
        -------
        tuple of PolicySpec and CaseState
            The policy and the case.

        Raises
        ------
        UnknownRound
            If the tenant has no such case.
        """
        events = (await self._in_thread(self.store.index.cases, [case_id])).get(case_id)
        if not events or events[0].tenant != tenant or events[0].kind not in CASE_KINDS:
            raise UnknownRound(
                f"there is no case {case_id!r}: use the id in the response that opened the case."
            )
        spec = self.projection(tenant, events[0].policy).spec
        return spec, CaseState.from_events(spec.problem, events)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run a call that waits for the store without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def _find(self, tenant: str, case_id: str) -> tuple[Projection, CaseState]:
        if self.store.exclusive:  # only then does memory hold every event of an open case
            for projection in self.tenant_projections(tenant):
                if case_id in projection.cases:
                    return projection, projection.cases[case_id]
        spec, case = await self.case(tenant, case_id)
        return self.projection(tenant, spec.name), case

    async def _write(
        self, tenant: str, key: str, request: str, draft: Callable[[], Awaitable[Event]]
    ) -> Event:
        """Write the event of `draft`, or return the one that was written under the same key."""
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
        raise StoreUnavailable("other requests keep changing this case: try again.")

    async def _earlier(self, tenant: str, key: str, request: str) -> Event | None:
        event = await self._in_thread(self.store.index.with_key, tenant, key)
        if event is not None and event.request != request:
            raise KeyReused(
                f"the idempotency key {key!r} was already used for another request: use a new key "
                "for every new request."
            )
        return event

    def _on_written(self, events: Sequence[Event]) -> None:
        """Apply the events that were just written, if no other process can write in between."""
        if not self.store.exclusive:
            self._wake.set()
        elif not events:
            return  # nothing was written, so this says nothing about the store
        elif events[0].position.seq == self.position.seq + 1:
            self._apply(sorted(events, key=lambda event: event.position))
        else:
            self._catch_up()
        self._start_fits()
        self._recover()

    def _recover(self) -> None:
        """Become ready again, unless the log is broken or the engine stops."""
        if not (self._log_is_broken or self._stopping):
            self.ready, self.problem = True, ""

    def _on_failure(self, error: ThriftyError) -> None:
        if isinstance(error, LeaseLost):
            return
        if self.ready:
            logger.error("not ready: %s", error)
        self.ready, self.problem = False, str(error)

    def _apply(self, events: Sequence[Event]) -> None:
        for event in events:
            served = self._served.get((event.tenant, event.policy))
            if served is not None and event.position > served.projection.position:
                served.projection.apply(event)
                served.settling.discard(event.case)
                served.new_events += 1
            self._last, self.position = event, event.position
        for served in self._served.values():
            served.new_events_of_all += len(events)

    def _catch_up(self) -> None:
        while events := self.store.log.read(self.position, _READ_CHUNK):
            self._apply(events)

    async def _follow(self) -> None:
        """Apply the events of all replicas as soon as their order is final."""
        while True:
            try:
                events = await self._in_thread(self.store.log.read, self.position, _READ_CHUNK)
                self._apply(events)
                self._start_fits()
                self._log_is_broken = False
            except StoreUnavailable as error:
                self._on_failure(error)
                events = []
            except Exception as error:  # report any error in /readyz, and try again
                self._log_is_broken, events = True, []
                self._on_failure(
                    BrokenLog(f"the log cannot be read ({error}): restore a backup of the store.")
                )
            if not events:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    # not wait_for, which may swallow a cancellation
                    async with asyncio.timeout(self.settings.poll):
                        await self._wake.wait()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.settings.tick)
            try:
                await self._maintain()
            except StoreError as error:
                self._on_failure(error)
            except Exception:
                logger.exception("checking deadlines and leases failed; trying again")

    async def _maintain(self) -> None:
        if not self.ready:
            await self._in_thread(self.store.probe)
            if self.store.exclusive:
                self._catch_up()
            self._recover()
            if self.ready:
                logger.info("ready again")
        for served in self._served.values():
            served.lease = await self._in_thread(
                self.store.leases.acquire,
                served.projection.spec.id,
                self.holder,
                self.settings.lease_seconds,
            )
            if served.lease is not None:
                await self._settle(served, served.lease)
                await self._promote_better(served, served.lease)
                if served.is_snapshot_due(self.settings):
                    await self._try_snapshot(served)
        self._start_fits()

    def _start_fits(self) -> None:
        """Run the due fits of the policies whose lease this process holds."""
        if self._stopping:
            return
        for served in self._served.values():
            for member, fit in served.next_fits():
                served.running_fits[member.key] = fit.number
                task = asyncio.get_running_loop().create_task(self._fit(served, member, fit))
                self._fit_tasks.add(task)
                task.add_done_callback(self._fit_tasks.discard)

    async def _fit(self, served: ServedPolicy, member: PanelMember, fit: Fit) -> None:
        """Run a fit, and write its result unless it has become stale."""
        try:
            result = await asyncio.wrap_future(self._fit_worker.submit(fit))
            lease = served.lease
            if lease is not None and member.model.is_due(fit.number):
                await self._write_fit(served, member, fit.number, result, lease)
        except FitFailed as error:
            if not self._stopping:
                logger.error("%s: %s", served.projection.spec.id, error)
                served.last_fits[member.key] = fit.number
        except StoreError as error:
            logger.warning("fit %d is to be repeated: %s", fit.number, error)
        finally:
            if served.running_fits.get(member.key) == fit.number:
                del served.running_fits[member.key]

    async def _write_fit(
        self, served: ServedPolicy, member: PanelMember, number: int, result: bytes, lease: Lease
    ) -> None:
        spec = served.projection.spec
        owner = None if member.name == spec.name else FitOwner(member.name, member.joined)
        draft = await self._in_thread(fitted, spec, number, result, self.clock(), owner)
        await self._committer.append(draft, None if self.store.exclusive else lease)
        served.last_fits[member.key] = number  # also if another process has written it

    async def _promote_better(self, served: ServedPolicy, lease: Lease) -> None:
        """Let a shadow take over that is better beyond doubt, if policy.toml asks for it."""
        projection = served.projection
        draft = panel_changes.promote_better(projection.spec, projection.panel, self.clock())
        if draft is None:
            return
        written = await self._committer.append(draft, None if self.store.exclusive else lease)
        if written is not None:
            logger.info("%s: %s acts from now on", projection.spec.id, draft.body["policy"])

    async def _settle(self, served: ServedPolicy, lease: Lease) -> None:
        """Close the cases whose deadline has passed."""
        at, spec = self.clock(), served.projection.spec
        overdue = (case for case in served.projection.overdue(at) if case.id not in served.settling)
        drafts = [decisions.settle(spec, case, at) for case in islice(overdue, _SETTLE_CHUNK)]
        served.settling.update(draft.case for draft in drafts)
        needed = None if self.store.exclusive else lease
        results = await asyncio.gather(
            *(self._committer.append(draft, needed) for draft in drafts), return_exceptions=True
        )
        for draft, result in zip(drafts, results, strict=True):
            if not isinstance(result, Event):  # an error, or another request was faster
                served.settling.discard(draft.case)
            if isinstance(result, LeaseLost):
                served.lease = None

    async def _try_snapshot(self, served: ServedPolicy) -> None:
        """Save a snapshot if possible; without one only the next start takes longer."""
        try:
            await self._save_snapshot(served)
        except StoreError as error:
            logger.warning("the snapshot of %s was not saved: %s", served.projection.spec.id, error)

    async def _save_snapshot(self, served: ServedPolicy) -> None:
        if served.lease is not None and served.new_events_of_all:
            save = served.snapshot_saver(self.store, self.position, self._last)
            await self._in_thread(save)
