"""SQLite: one file, one process, every commit on the disk before it is acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from thrifty.errors import SaveError, StoreError, StoreInUse, StoreUnavailable
from thrifty.files import replace_file
from thrifty.service.events import Event, Position
from thrifty.service.snapshots import SIZE_LIMIT
from thrifty.service.stores.base import CHUNK, Lease, Places, Store, to_event, to_row, unavailable
from thrifty.service.stores.schema import events
from thrifty.specification import PolicySpec

_KEPT = 2
_SMALLEST = 512
"""Bytes of the smallest database; SQLite would write over a file of one byte."""


class SqliteStore(Store):
    """A file in WAL mode with synchronous FULL, held by one process.

    Snapshots are files in the folder PATH.snapshots.
    """

    exclusive = True

    def __init__(self, path: Path, *, create: bool = True, read_only: bool = False) -> None:
        if not create and not path.is_file():
            raise StoreError(f"there is no store {path}: give the path of one.")
        if path.is_dir():
            raise StoreError(f"{path} is a folder: give the path of a file.")
        if not read_only:
            _require_database(path)
        self.path = path
        self._lock = None if read_only else _held(path)
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"check_same_thread": False, "timeout": 10},
        )
        sa.event.listen(engine, "connect", _set_up_reading if read_only else _set_up)
        try:
            with _refusing_others(path):
                super().__init__(engine, create=create)
            if self._lock is not None:
                self._remove_drafts()
        except BaseException:
            self._let_go()
            raise

    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events together, and wait until they are on the disk."""
        del lease  # nobody else can hold one
        with unavailable(), self.engine.begin() as connection:
            places = self._insert_new(connection, list(map(to_row, drafts)))
        return [_placed(draft, places) for draft in drafts]

    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of the log, in the order of their numbers."""
        query = sa.select(events).where(events.c.seq > after.seq).order_by(events.c.seq)
        with unavailable(), self.engine.connect() as connection:
            return [to_event(row) for row in connection.execute(query.limit(limit))]

    def snapshots(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the files of a policy, newest first."""
        for path in reversed(self._files(spec)):
            try:
                if path.stat().st_size <= SIZE_LIMIT:
                    yield path.read_bytes()
            except OSError:
                continue

    def save_snapshot(
        self, spec: PolicySpec, position: Position, data: bytes, lease: Lease
    ) -> None:
        """Write a file, and remove all but the one before it.

        Those after it are of a log that has been replaced by an older copy.
        """
        del lease
        newest = self._folder / f"{_stem(spec)}.{position.seq:015d}.snapshot"
        try:
            self._folder.mkdir(exist_ok=True)
            replace_file(newest, data)
            files = self._files(spec)
            kept = [path for path in files if path <= newest][-_KEPT:]
            for other in set(files).difference(kept):
                other.unlink(missing_ok=True)
        except (OSError, SaveError) as error:
            raise StoreUnavailable(f"no snapshot could be written: {error}") from error

    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Return the lease: who holds the file holds all of them."""
        del seconds
        return Lease(policy, holder, 1)

    def close(self) -> None:
        """Let go of the file."""
        super().close()
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def _folder(self) -> Path:
        return _beside(self.path, "snapshots")

    def _files(self, spec: PolicySpec) -> list[Path]:
        return sorted(self._folder.glob(f"{_stem(spec)}.*.snapshot"))

    def _remove_drafts(self) -> None:
        """Remove what a process left behind that was killed while it wrote a snapshot."""
        for draft in self._folder.glob(".*.snapshot.*.tmp"):
            with suppress(OSError):
                draft.unlink()

    def _insert(self, table: sa.Table) -> Any:
        return insert(table)


def _stem(spec: PolicySpec) -> str:
    return f"{spec.tenant}.{spec.name}"


def _placed(draft: Event, places: Places) -> Event | None:
    position = places.pop((draft.case, draft.step, draft.key), None)
    return None if position is None else replace(draft, position=position)


def _require_database(path: Path) -> None:
    """Refuse a file that holds something else before even a lock is made beside it.

    Only SQLite may look into it: when a process closes a file, all of its locks on it are gone,
    also those of a store that the process has open, and what that one writes then may be lost.
    """
    if not path.is_file() or _beside(path, "lock").exists():
        return
    with (
        suppress(sqlite3.DatabaseError),  # whatever else is wrong, opening it says what
        _refusing_others(path),
        closing(sqlite3.connect(path)) as connection,
    ):
        connection.execute("PRAGMA schema_version")


@contextmanager
def _refusing_others(path: Path) -> Iterator[None]:
    """Say that a file is no database; an empty one, or none, becomes one."""
    refusal = StoreError(f"{path} is no database, and stays as it is: give the path of a store.")
    if path.is_file() and 0 < path.stat().st_size < _SMALLEST:
        raise refusal
    try:
        yield
    except (sqlite3.DatabaseError, StoreUnavailable) as error:
        cause = getattr(error.__cause__, "orig", error)
        if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise refusal from error
        raise


def _beside(path: Path, kind: str) -> Path:
    """Return the path of what belongs to a file: beside it, wherever links lead."""
    return Path(f"{path.resolve()}.{kind}")


def _held(path: Path) -> sqlite3.Connection:
    """Hold a lock beside the file, wherever links lead, until the process ends, however it ends."""
    beside, lock = _beside(path, "lock"), None
    try:
        lock = sqlite3.connect(beside, timeout=0, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if lock is not None:
            lock.close()
        if "locked" in str(error):
            raise StoreInUse(
                f"another process holds {path}, and only one can: stop it, let this one wait "
                "(--standby), or use PostgreSQL for several (--store postgresql://...)."
            ) from error
        raise StoreError(
            f"{path} cannot be opened ({beside}: {error}): choose a folder that exists and "
            "is writable, and has no such file of something else."
        ) from error
    return lock


def _set_up(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _set_up_reading(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA query_only=ON")
