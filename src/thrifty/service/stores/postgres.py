"""PostgreSQL: several replicas write, all read the events in the same order.

Transactions do not commit in the order in which they get numbers, so a reader that asks for higher
numbers would miss some events. Events are therefore ordered by (transaction, number), and a reader
gets only those whose transaction is older than every running one: no event can appear before them.

Each server counts its transactions separately. Events that were restored from a dump may have
transaction numbers that this server has not reached. They get new numbers, in the same order, when
the store is opened.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from thrifty.errors import StoreError
from thrifty.service.events import Event, Position
from thrifty.service.stores.base import (
    CHUNK,
    EventIndex,
    Lease,
    LeaseLost,
    LeaseStore,
    SnapshotStore,
)
from thrifty.service.stores.schema import events, leases, snapshots
from thrifty.service.stores.sql import SqlLog, SqlStore, to_event, to_row, translate_errors
from thrifty.specification import PolicySpec

_SNAPSHOTS_KEPT = 2
_OLDER_THAN_RUNNING = sa.text(
    '"transaction" < pg_snapshot_xmin(pg_current_snapshot())::text::bigint'
)
_FROM_ANOTHER_SERVER = sa.text(
    'SELECT max("transaction") >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM events'
)
_RENUMBERING = (  # in two steps: a number must not be assigned while another event still has it
    'UPDATE events SET "transaction" = 0, seq = -place FROM '
    '(SELECT seq AS old, row_number() OVER (ORDER BY "transaction", seq) AS place FROM events) '
    "numbered WHERE seq = old",
    "UPDATE events SET seq = -seq",
    "DELETE FROM snapshots",  # they refer to the old numbers
)
SERVICE_OPTIONS = "-c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000"
READER_OPTIONS = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
"""An audit of a long log sorts for minutes; a service must answer or report an error."""
_NOW = sa.func.extract("epoch", sa.func.clock_timestamp())


class PostgresStore(SqlStore):
    """A database that several processes can write to.

    Parameters
    ----------
    url : str
        Address of the database, postgresql://...
    create : bool
        True creates missing tables and migrates old ones.
    read_only : bool
        True lets queries take as long as they need.
    """

    exclusive = False

    def __init__(self, url: str, *, create: bool = True, read_only: bool = False) -> None:
        options = READER_OPTIONS if read_only else SERVICE_OPTIONS
        engine = sa.create_engine(
            sa.make_url(url).set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=8,
            connect_args={
                "connect_timeout": 5,
                "application_name": "thrifty",
                "options": f"{options} -c synchronous_commit=on",
            },
        )
        super().__init__(engine, insert, create=create)
        self.log = PostgresLog(engine, self.index)
        self.snapshots, self.leases = SnapshotTable(engine), LeaseTable(engine)

    def probe(self) -> None:
        """Write more than a page of events and roll back, which needs room on the disk."""
        super().probe()
        case, body = f"probe-{uuid.uuid4().hex}", {"room": "." * 1500}
        rows = [
            _without_transaction(to_row(Event("", "", case, step, "probe", 0, body)))
            for step in range(8)
        ]
        with translate_errors(), self.engine.connect() as connection:  # without a commit
            connection.execute(insert(events), rows)

    def _migrate(self, connection: sa.Connection, *, create: bool) -> None:
        _disable_timeout(connection)
        super()._migrate(connection, create=create)
        if connection.scalar(_FROM_ANOTHER_SERVER):
            if not create:
                raise StoreError(
                    "the store was restored from another server, whose transaction numbers this "
                    "one has not reached: start `thrifty serve` once, which renumbers the events."
                )
            _renumber(connection)


class PostgresLog(SqlLog):
    """The log of a database that several processes write to."""

    def __init__(self, engine: sa.Engine, index: EventIndex) -> None:
        super().__init__(engine, insert)
        self._index = index

    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events in one transaction.

        If the connection was lost after a commit, the batch is repeated. Its events are then found
        in the log, and returned as if they had just been written.
        """
        rows = [_without_transaction(to_row(draft)) for draft in drafts]
        with translate_errors(), self._engine.begin() as connection:
            if lease is not None:
                _require_lease(connection, lease)
            written = self._insert_new(connection, drafts, rows)
        inserted = {(event.case, event.step) for event in written if event is not None}
        missing = [draft.case for draft in drafts if (draft.case, draft.step) not in inserted]
        known = self._index.cases(missing) if missing else {}
        return [
            event or _find_same(draft, known) for draft, event in zip(drafts, written, strict=True)
        ]

    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of transactions that are older than every running one."""
        order = sa.tuple_(events.c.transaction, events.c.seq)
        query = (
            sa.select(events)
            .where(order > sa.tuple_(*map(sa.literal, after)), _OLDER_THAN_RUNNING)
            .order_by(events.c.transaction, events.c.seq)
            .limit(limit)
        )
        with translate_errors(), self._engine.connect() as connection:
            return [to_event(row) for row in connection.execute(query)]


class SnapshotTable(SnapshotStore):
    """Snapshots as rows of a table."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def load(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the snapshots of a policy, newest first."""
        query = (
            sa.select(snapshots.c.data)
            .where(snapshots.c.policy == spec.id)
            .order_by(snapshots.c.transaction.desc(), snapshots.c.seq.desc())
        )
        with translate_errors(), self._engine.connect() as connection:
            yield from connection.scalars(query)

    def save(self, spec: PolicySpec, position: Position, data: bytes, lease: Lease) -> None:
        """Insert a row if the lease is still held, and delete all but the newest two."""
        row = {
            "policy": spec.id,
            "transaction": position.transaction,
            "seq": position.seq,
            "fence": lease.fence,
            "data": data,
        }
        place = sa.tuple_(snapshots.c.transaction, snapshots.c.seq)
        kept = (
            sa.select(snapshots.c.transaction, snapshots.c.seq)
            .where(snapshots.c.policy == spec.id)
            .order_by(snapshots.c.transaction.desc(), snapshots.c.seq.desc())
            .limit(_SNAPSHOTS_KEPT)
        )
        with translate_errors(), self._engine.begin() as connection:
            _require_lease(connection, lease)
            connection.execute(insert(snapshots).on_conflict_do_nothing(), row)
            connection.execute(
                sa.delete(snapshots).where(snapshots.c.policy == spec.id, place.not_in(kept))
            )


class LeaseTable(LeaseStore):
    """Leases as rows of a table; they expire by the clock of the server."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Take the lease if it is free or has expired, or renew it."""
        row = {"policy": policy, "holder": holder, "fence": 1, "expires": _NOW + seconds}
        mine = leases.c.holder == holder
        statement = (
            insert(leases)
            .values(row)
            .on_conflict_do_update(
                index_elements=["policy"],
                set_={
                    "holder": holder,
                    "expires": _NOW + seconds,
                    "fence": leases.c.fence + sa.case((mine, 0), else_=1),
                },
                where=sa.or_(mine, leases.c.expires < _NOW),
            )
            .returning(leases.c.fence)
        )
        with translate_errors(), self._engine.begin() as connection:
            fence = connection.scalar(statement)
        return None if fence is None else Lease(policy, holder, fence)

    def release(self, lease: Lease) -> None:
        """Let the lease expire now."""
        self.acquire(lease.policy, lease.holder, 0)


def _renumber(connection: sa.Connection) -> None:
    """Put the events of another server before all that this one will write, in the same order."""
    _disable_timeout(connection)
    connection.execute(sa.text("LOCK TABLE events IN EXCLUSIVE MODE"))
    if connection.scalar(_FROM_ANOTHER_SERVER):  # another replica may have done it meanwhile
        for statement in _RENUMBERING:
            connection.execute(sa.text(statement))
    connection.commit()


def _disable_timeout(connection: sa.Connection) -> None:
    """Let this transaction take as long as it needs: no request waits while a store is opened."""
    connection.execute(sa.text("SET LOCAL statement_timeout = 0"))


def _without_transaction(row: dict[str, Any]) -> dict[str, Any]:
    """Leave the column out, so that the server sets it to the number of the transaction."""
    return {name: value for name, value in row.items() if name != "transaction"}


def _require_lease(connection: sa.Connection, lease: Lease) -> None:
    """Raise `LeaseLost` if the lease was taken; it cannot be taken until this commits."""
    query = sa.select(leases.c.fence).where(leases.c.policy == lease.policy).with_for_update()
    if connection.scalar(query) != lease.fence:
        raise LeaseLost(
            f"another process has taken the lease of {lease.policy}: nothing was written."
        )


def _find_same(draft: Event, known: Mapping[str, Sequence[Event]]) -> Event | None:
    events = known.get(draft.case, ())
    return next((event for event in events if event.same_as(draft)), None)
