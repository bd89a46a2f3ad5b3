"""SQLite: one file and one process. Every commit is on the disk before it is acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from thrifty.errors import SaveError, StoreError, StoreInUse, StoreUnavailable
from thrifty.files import replace_file
from thrifty.service.events import Event, Position
from thrifty.service.snapshots import SIZE_LIMIT
from thrifty.service.stores.base import CHUNK, Lease, LeaseStore, SnapshotStore
from thrifty.service.stores.schema import events
from thrifty.service.stores.sql import SqlLog, SqlStore, to_event, to_row, translate_errors
from thrifty.specification import PolicySpec

_SNAPSHOTS_KEPT = 2
_MIN_DATABASE_BYTES = 512
"""Size of the smallest database. SQLite would overwrite a file of one byte."""


class SqliteStore(SqlStore):
    """A file in WAL mode with synchronous FULL, which one process holds.

    Snapshots are files in the folder PATH.snapshots.

    Parameters
    ----------
    path : Path
        The file.
    create : bool
        True creates a missing file and migrates an old one.
    read_only : bool
        True reads without holding the file, so that a service can keep writing.
    """

    exclusive = True

    def __init__(self, path: Path, *, create: bool = True, read_only: bool = False) -> None:
        if not create and not path.is_file():
            raise StoreError(f"there is no store {path}: give the path of a store.")
        if path.is_dir():
            raise StoreError(f"{path} is a folder: give the path of a file.")
        if not read_only:
            _require_database(path)
        self.path = path
        self._lock = None if read_only else _lock_file(path)
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"check_same_thread": False, "timeout": 10},
        )
        sa.event.listen(engine, "connect", _set_up_reading if read_only else _set_up)
        try:
            with _refuse_other_files(path):
                super().__init__(engine, insert, create=create)
            snapshots = SnapshotFolder(_beside(path, "snapshots"))
            if self._lock is not None:
                snapshots.remove_drafts()
        except BaseException:
            self._unlock()
            raise
        self.log, self.snapshots, self.leases = SqliteLog(engine, insert), snapshots, OnlyHolder()

    def close(self) -> None:
        """Close the file, and release it for other processes."""
        super().close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class SqliteLog(SqlLog):
    """The log of a file; the order of the numbers is the order of the commits."""

    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events in one transaction, and wait until they are on the disk."""
        del lease  # the process that holds the file holds every lease
        with translate_errors(), self._engine.begin() as connection:
            return self._insert_new(connection, drafts, list(map(to_row, drafts)))

    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of the log, in the order of their numbers."""
        query = sa.select(events).where(events.c.seq > after.seq).order_by(events.c.seq)
        with translate_errors(), self._engine.connect() as connection:
            return [to_event(row) for row in connection.execute(query.limit(limit))]


class SnapshotFolder(SnapshotStore):
    """Snapshots as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the snapshots of a policy, newest first."""
        for path in reversed(self._files(spec)):
            try:
                if path.stat().st_size <= SIZE_LIMIT:
                    yield path.read_bytes()
            except OSError:
                continue

    def save(self, spec: PolicySpec, position: Position, data: bytes, lease: Lease) -> None:
        """Write a file; keep it and the one before it, and delete the others.

        Snapshots after this position belong to a log that was replaced by an older backup.
        """
        del lease
        newest = self._folder / f"{_stem(spec)}.{position.seq:015d}.snapshot"
        try:
            self._folder.mkdir(exist_ok=True)
            replace_file(newest, data)
            files = self._files(spec)
            kept = [path for path in files if path <= newest][-_SNAPSHOTS_KEPT:]
            for other in set(files).difference(kept):
                other.unlink(missing_ok=True)
        except (OSError, SaveError) as error:
            raise StoreUnavailable(f"the snapshot was not written: {error}") from error

    def remove_drafts(self) -> None:
        """Remove the drafts of a process that was killed while it wrote a snapshot."""
        for draft in self._folder.glob(".*.snapshot.*.tmp"):
            with suppress(OSError):
                draft.unlink()

    def _files(self, spec: PolicySpec) -> list[Path]:
        return sorted(self._folder.glob(f"{_stem(spec)}.*.snapshot"))


class OnlyHolder(LeaseStore):
    """Leases of a store that one process holds: it always gets them."""

    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Return the lease."""
        del seconds
        return Lease(policy, holder, 1)

    def release(self, lease: Lease) -> None:
        """Do nothing: closing the store releases every lease."""


def _stem(spec: PolicySpec) -> str:
    return f"{spec.tenant}.{spec.name}"


def _require_database(path: Path) -> None:
    """Refuse a file with other content before even a lock is created beside it.

    Only SQLite may open the file here. When a process closes a file, it loses all POSIX locks on
    that file, including those of a store that it has open, whose writes could then be lost.
    """
    if not path.is_file() or _beside(path, "lock").exists():
        return
    with (
        suppress(sqlite3.DatabaseError),  # opening the store reports any other problem
        _refuse_other_files(path),
        closing(sqlite3.connect(path)) as connection,
    ):
        connection.execute("PRAGMA schema_version")


@contextmanager
def _refuse_other_files(path: Path) -> Iterator[None]:
    """Raise `StoreError` if a file is not a database; an empty or missing one becomes one."""
    refusal = StoreError(
        f"{path} is not a database, and was not changed: give the path of a store."
    )
    if path.is_file() and 0 < path.stat().st_size < _MIN_DATABASE_BYTES:
        raise refusal
    try:
        yield
    except (sqlite3.DatabaseError, StoreUnavailable) as error:
        cause = getattr(error.__cause__, "orig", error)
        if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise refusal from error
        raise


def _beside(path: Path, kind: str) -> Path:
    """Return the path of a companion of the file, with symbolic links resolved."""
    return Path(f"{path.resolve()}.{kind}")


def _lock_file(path: Path) -> sqlite3.Connection:
    """Lock a companion of the file; the system removes the lock when the process ends."""
    beside, lock = _beside(path, "lock"), None
    try:
        lock = sqlite3.connect(beside, timeout=0, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if lock is not None:
            lock.close()
        if "locked" in str(error):
            raise StoreInUse(
                f"another process holds {path}, and only one can: stop that process, let this one "
                "wait for it (--standby), or use PostgreSQL for several processes "
                "(--store postgresql://...)."
            ) from error
        raise StoreError(
            f"{path} cannot be opened ({beside}: {error}): choose a folder that exists and "
            "is writable, without another file of this name."
        ) from error
    return lock


def _set_up(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _set_up_reading(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA query_only=ON")
