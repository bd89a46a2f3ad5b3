"""A policy in this process: its projection, its lease and its snapshots."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from thrifty.errors import SaveError
from thrifty.fits import Fit
from thrifty.service.events import Event, Position
from thrifty.service.panel import PanelMember
from thrifty.service.projection import Projection
from thrifty.service.snapshots import prepare_snapshot, restore_snapshot
from thrifty.service.stores.base import Lease, Store
from thrifty.specification import PolicySpec

logger = logging.getLogger("thrifty.service")


@dataclass(frozen=True)
class EngineSettings:
    """Settings of an engine; the defaults suit one process on one machine.

    Parameters
    ----------
    max_open : int
        Maximum number of open cases of a policy.
    tick : float
        Seconds between two checks of deadlines, leases and snapshots.
    poll : float
        Seconds between two looks for events of other replicas.
    snapshot_events : int
        Number of events after which a snapshot is saved.
    snapshot_seconds : float
        Seconds after which a snapshot is saved if there were any events.
    lease_seconds : float
        Seconds after which another process may take a lease that was not renewed.
    patience : float
        Seconds for which a lost connection to a shared store is tried again.
    """

    max_open: int = 100_000
    tick: float = 0.25
    poll: float = 0.05
    snapshot_events: int = 2000
    snapshot_seconds: float = 60.0
    lease_seconds: float = 3.0
    patience: float = 10.0


@dataclass
class ServedPolicy:
    """A projection, and the state of this process that belongs to it.

    Parameters
    ----------
    projection : Projection
        State of the policy.
    lease : Lease, optional
        Held if this process closes the policy's cases, saves its snapshots and runs its fits.
    snapshot_time : float
        Time of the last snapshot.
    settling : set of str
        Cases whose closing event is being written.
    new_events : int
        Number of the policy's events since the last snapshot.
    new_events_of_all : int
        Number of events of all policies since the last snapshot.
    running_fits : dict
        Numbers of the fits that are being run, by policy of the panel.
    last_fits : dict
        Number of the last fit of each that was written to the log or has failed.
    """

    projection: Projection
    lease: Lease | None = None
    snapshot_time: float = field(default_factory=monotonic)
    settling: set[str] = field(default_factory=set)
    new_events: int = 0
    new_events_of_all: int = 0
    running_fits: dict[tuple[str, int], int] = field(default_factory=dict)
    last_fits: dict[tuple[str, int], int] = field(default_factory=dict)

    def next_fits(self) -> list[tuple[PanelMember, Fit]]:
        """Return the fits that this process has to run now, each with its policy."""
        if self.lease is None:
            return []
        return [
            (member, fit)
            for member, fit in self.projection.panel.due_fits()
            if fit.number > self.last_fits.get(member.key, -1)
            and fit.number != self.running_fits.get(member.key)
        ]

    def is_snapshot_due(self, settings: EngineSettings) -> bool:
        """Return True if enough events or time have passed since the last snapshot."""
        every, seconds = settings.snapshot_events, monotonic() - self.snapshot_time
        waited = self.new_events > 0 and seconds >= settings.snapshot_seconds
        # A quiet policy needs snapshots too: at a start the log is read from the oldest one.
        return waited or self.new_events >= every or self.new_events_of_all >= 10 * every

    def snapshot_saver(
        self, store: Store, position: Position, last: Event | None
    ) -> Callable[[], None]:
        """Copy the state now, and return a function that saves it, which any thread may call."""
        lease = self.lease
        assert lease is not None, "only the holder of the lease saves snapshots"
        spec, pack = self.projection.spec, prepare_snapshot(self.projection, store.id, last)
        self.snapshot_time, self.new_events, self.new_events_of_all = monotonic(), 0, 0
        return lambda: store.snapshots.save(spec, position, pack(), lease)

    def release(self, store: Store) -> None:
        """Release the lease, so that the next holder need not wait until it expires."""
        if self.lease is not None:
            store.leases.release(self.lease)
            self.lease = None


def recover_projection(store: Store, spec: PolicySpec) -> Projection:
    """Return the projection of the newest valid snapshot, or an empty one."""
    for data in store.snapshots.load(spec):
        try:
            return restore_snapshot(data, spec, store)
        except SaveError as error:
            logger.warning("ignoring a snapshot, reading the log instead: %s", error)
    return Projection(spec)
