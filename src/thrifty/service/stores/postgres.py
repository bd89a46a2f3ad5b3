"""PostgreSQL: several replicas write, all of them read one order, one learner at a time.

Transactions commit in another order than they take numbers in, so a reader that asks for higher
numbers misses some. Events are ordered by (transaction, number), and only those are read whose
transaction is older than every one still running: before these nothing can appear any more.

Another server counts its transactions from elsewhere. The events of a dump that was restored may
have numbers that this one has not reached: they get new ones, in their order, when it is opened.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from thrifty.errors import StoreError
from thrifty.service.events import Event, Position
from thrifty.service.stores.base import (
    CHUNK,
    Lease,
    LeaseLost,
    Places,
    Store,
    to_event,
    to_row,
    unavailable,
)
from thrifty.service.stores.schema import events, leases, snapshots
from thrifty.specification import PolicySpec

_KEPT = 2
_OLDEST_RUNNING = sa.text('"transaction" < pg_snapshot_xmin(pg_current_snapshot())::text::bigint')
_FROM_ANOTHER_SERVER = sa.text(
    'SELECT max("transaction") >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM events'
)
_RENUMBERING = (  # in two steps: a number must not be taken while another event still has it
    'UPDATE events SET "transaction" = 0, seq = -place FROM '
    '(SELECT seq AS old, row_number() OVER (ORDER BY "transaction", seq) AS place FROM events) it '
    "WHERE seq = old",
    "UPDATE events SET seq = -seq",
    "DELETE FROM snapshots",  # they stand at the old numbers
)
SERVICE_OPTIONS = "-c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000"
READER_OPTIONS = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
"""A service answers or says that it cannot; an audit of a long log sorts it for minutes."""
_NOW = sa.func.extract("epoch", sa.func.clock_timestamp())


class PostgresStore(Store):
    """A database that several processes may write to."""

    exclusive = False

    def __init__(self, url: str, *, create: bool = True, read_only: bool = False) -> None:
        options = READER_OPTIONS if read_only else SERVICE_OPTIONS
        address = sa.make_url(url).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(
            address,
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=8,
            connect_args={
                "connect_timeout": 5,
                "application_name": "thrifty",
                "options": f"{options} -c synchronous_commit=on",
            },
        )
        super().__init__(engine, create=create)

    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events together; one that a lost connection left behind is found again."""
        rows = [_without_transaction(to_row(draft)) for draft in drafts]
        with unavailable(), self.engine.begin() as connection:
            if lease is not None:
                _require(connection, lease)
            places = self._insert_new(connection, rows)
        missing = [
            draft.case for draft in drafts if (draft.case, draft.step, draft.key) not in places
        ]
        known = self.cases(missing) if missing else {}
        return [_placed(draft, places, known) for draft in drafts]

    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of transactions that are older than every running one."""
        order = sa.tuple_(events.c.transaction, events.c.seq)
        query = (
            sa.select(events)
            .where(order > sa.tuple_(*map(sa.literal, after)), _OLDEST_RUNNING)
            .order_by(events.c.transaction, events.c.seq)
            .limit(limit)
        )
        with unavailable(), self.engine.connect() as connection:
            return [to_event(row) for row in connection.execute(query)]

    def snapshots(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the rows of a policy, newest first."""
        query = (
            sa.select(snapshots.c.data)
            .where(snapshots.c.policy == spec.id)
            .order_by(snapshots.c.transaction.desc(), snapshots.c.seq.desc())
        )
        with unavailable(), self.engine.connect() as connection:
            yield from connection.scalars(query)

    def save_snapshot(
        self, spec: PolicySpec, position: Position, data: bytes, lease: Lease
    ) -> None:
        """Write a row if the lease still holds, and remove all but the one before it."""
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
            .limit(_KEPT)
        )
        with unavailable(), self.engine.begin() as connection:
            _require(connection, lease)
            connection.execute(insert(snapshots).on_conflict_do_nothing(), row)
            connection.execute(
                sa.delete(snapshots).where(snapshots.c.policy == spec.id, place.not_in(kept))
            )

    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Take the lease if it is free or has expired, by the server's clock."""
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
        with unavailable(), self.engine.begin() as connection:
            fence = connection.scalar(statement)
        return None if fence is None else Lease(policy, holder, fence)

    def probe(self) -> None:
        """Write more events than a page holds, and take them back: that needs room on the disk."""
        super().probe()
        case, body = f"probe-{uuid.uuid4().hex}", {"room": "." * 1500}
        rows = [
            _without_transaction(to_row(Event("", "", case, step, "probe", 0, body)))
            for step in range(8)
        ]
        with unavailable(), self.engine.connect() as connection:  # without a commit
            connection.execute(insert(events), rows)

    def _insert(self, table: sa.Table) -> Any:
        return insert(table)

    def _migrate(self, connection: sa.Connection, *, create: bool) -> None:
        _take_time(connection)
        super()._migrate(connection, create=create)
        if connection.scalar(_FROM_ANOTHER_SERVER):
            if not create:
                raise StoreError(
                    "the store was restored from another server, whose numbers of transactions "
                    "this one has not reached: thrifty serve numbers its events anew."
                )
            _renumber(connection)


def _renumber(connection: sa.Connection) -> None:
    """Put the events of another server before all that this one will write, in their order."""
    _take_time(connection)
    connection.execute(sa.text("LOCK TABLE events IN EXCLUSIVE MODE"))
    if connection.scalar(_FROM_ANOTHER_SERVER):  # or another replica was faster
        for statement in _RENUMBERING:
            connection.execute(sa.text(statement))
    connection.commit()


def _take_time(connection: sa.Connection) -> None:
    """Let this transaction take as long as it needs: a store is made ready, and nobody asks yet."""
    connection.execute(sa.text("SET LOCAL statement_timeout = 0"))


def _without_transaction(row: dict[str, Any]) -> dict[str, Any]:
    """Leave it to the server, which knows the transaction's number."""
    return {name: value for name, value in row.items() if name != "transaction"}


def _require(connection: sa.Connection, lease: Lease) -> None:
    """Refuse to write unless nobody has taken the lease since; nobody can until this commits."""
    query = sa.select(leases.c.fence).where(leases.c.policy == lease.policy).with_for_update()
    if connection.scalar(query) != lease.fence:
        raise LeaseLost(f"the lease of {lease.policy} went to another process: nothing is written.")


def _placed(draft: Event, places: Places, known: dict[str, list[Event]]) -> Event | None:
    position = places.pop((draft.case, draft.step, draft.key), None)
    if position is not None:
        return replace(draft, position=position)
    found = next((event for event in known.get(draft.case, ()) if event.step == draft.step), None)
    return found if found is not None and found.same_as(draft) else None
