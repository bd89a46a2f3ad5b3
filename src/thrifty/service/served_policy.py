"""Served policies: a projection, its lease and its snapshots in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from thrifty.errors import SaveError
from thrifty.service.events import Event, Position
from thrifty.service.projection import Projection
from thrifty.service.snapshots import prepare_snapshot, restore_snapshot
from thrifty.service.stores.base import Lease, Store
from thrifty.specification import PolicySpec

log = logging.getLogger("thrifty.service")


@dataclass(frozen=True)
class EngineSettings:
    """How a engine works; the defaults suit one process on one machine."""

    max_open: int = 100_000
    """Cases that a policy may have open at once."""
    tick: float = 0.25
    """Seconds between two looks at deadlines, leases and snapshots."""
    poll: float = 0.05
    """Seconds between two looks at what other replicas wrote."""
    snapshot_events: int = 2000
    snapshot_seconds: float = 60.0
    lease_seconds: float = 3.0
    patience: float = 10.0
    """Seconds for which a lost connection to a shared store is waited for."""


@dataclass
class ServedPolicy:
    """A projection, and what belongs to it in this process alone."""

    projection: Projection
    lease: Lease | None = None
    snapshot_time: float = field(default_factory=monotonic)
    settling: set[str] = field(default_factory=set)
    news: int = 0
    """Events of the policy since the last snapshot."""
    passed: int = 0
    """Events of all policies since then."""

    def snapshot_due(self, settings: EngineSettings) -> bool:
        """Whether enough has happened, or enough time has passed, since the last snapshot."""
        every, seconds = settings.snapshot_events, monotonic() - self.snapshot_time
        waited = self.news > 0 and seconds >= settings.snapshot_seconds
        return waited or self.news >= every or self.passed >= 10 * every

    def snapshot_saver(
        self, store: Store, position: Position, last: Event | None
    ) -> Callable[[], None]:
        """Copy what a snapshot needs now, and return what writes it, in any thread."""
        lease = self.lease
        assert lease is not None, "only who holds the lease saves snapshots"
        spec, pack = self.projection.spec, prepare_snapshot(self.projection, store.id, last)
        self.snapshot_time, self.news, self.passed = monotonic(), 0, 0
        return lambda: store.save_snapshot(spec, position, pack(), lease)

    def hand_over(self, store: Store, holder: str) -> None:
        """Let the lease end now, so that the next holder need not wait for it."""
        if self.lease is not None:
            store.acquire(self.projection.spec.id, holder, 0)
            self.lease = None


def recover_projection(store: Store, spec: PolicySpec) -> Projection:
    """Return the projection of the newest snapshot that holds, or an empty one."""
    for data in store.snapshots(spec):
        try:
            return restore_snapshot(data, spec, store)
        except SaveError as error:
            log.warning("a snapshot is not used, the log is read instead: %s", error)
    return Projection(spec)
