"""Stores: SQLite for one process, PostgreSQL for several."""

from __future__ import annotations

from thrifty.service.stores.base import (
    EventIndex,
    EventLog,
    Lease,
    LeaseLost,
    LeaseStore,
    PolicyRegistry,
    SnapshotStore,
    Store,
)
from thrifty.service.stores.opening import is_shared, open_store

__all__ = [
    "EventIndex",
    "EventLog",
    "Lease",
    "LeaseLost",
    "LeaseStore",
    "PolicyRegistry",
    "SnapshotStore",
    "Store",
    "is_shared",
    "open_store",
]
