"""Where the log is kept: SQLite for one process, PostgreSQL for several."""

from __future__ import annotations

from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.service.stores.opening import is_shared, open_store

__all__ = ["Lease", "LeaseLost", "Store", "is_shared", "open_store"]
