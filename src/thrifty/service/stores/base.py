"""What a store owes, and what both databases have in common."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from thrifty.errors import BrokenLog, InvalidSpec, StoreError, StoreUnavailable, UnsupportedVersion
from thrifty.json_values import compact_json
from thrifty.service.events import Event, Position, now
from thrifty.service.stores import schema
from thrifty.service.stores.schema import events, facts, policies
from thrifty.specification import PolicySpec

CHUNK = 500
Places = dict[tuple[str, int, str | None], Position]
"""Where events stand, by case, step and key."""
_RETURNED = [events.c[name] for name in ("transaction", "seq", "case_id", "step", "key")]


class LeaseLost(StoreError):
    """Another process has taken over: what was to be written is not."""


@dataclass(frozen=True)
class Lease:
    """The right to close cases and to save snapshots of a policy; a higher fence beats it."""

    policy: str
    holder: str
    fence: int


class Store(ABC):
    """An append-only log of events, with snapshots beside it.

    What `append` returns is on the disk. `read` returns events in their final order: nothing
    appears later before an event that was returned. Whatever cannot be done at the moment raises
    `StoreUnavailable` and has changed nothing, or all of it: `append` may be repeated.
    """

    exclusive: bool
    """Whether no other process can write to it."""

    def __init__(self, engine: sa.Engine, *, create: bool) -> None:
        self.engine = engine
        self._insertion = self._insert(events).on_conflict_do_nothing().returning(*_RETURNED)
        try:
            with unavailable(), engine.connect() as connection:
                self._migrate(connection, create=create)
                self.id = self._store_id(connection)
        except BaseException:
            engine.dispose()
            raise

    def declare(self, spec: PolicySpec) -> None:
        """Keep a policy's specification; one of the same name must be the same."""
        row = {
            "tenant": spec.tenant,
            "name": spec.name,
            "digest": spec.digest,
            "spec": json.dumps(spec.to_dict()),
            "agent": spec.agent,
            "declared": now(),
        }
        with unavailable(), self.engine.begin() as connection:
            connection.execute(self._insert(policies).on_conflict_do_nothing(), row)
        self.require_unchanged(spec)

    def require_unchanged(self, spec: PolicySpec) -> None:
        """Refuse a policy that was declared with another specification."""
        mine = sa.and_(policies.c.tenant == spec.tenant, policies.c.name == spec.name)
        with unavailable(), self.engine.connect() as connection:
            found = connection.scalar(sa.select(policies.c.digest).where(mine))
        if found not in (None, *spec.digests):
            raise InvalidSpec(
                f"the store has a policy {spec.id} with another specification, and its decisions "
                "rest on that one: give the changed one another name (thrifty replay teaches it "
                "what the log knows), or another store."
            )

    def specs(self) -> list[PolicySpec]:
        """Return the policies that were declared."""
        with unavailable(), self.engine.connect() as connection:
            rows = connection.execute(
                sa.select(policies).order_by(policies.c.tenant, policies.c.name)
            )
            return [PolicySpec.from_dict(json.loads(row.spec), row.agent) for row in rows]

    @abstractmethod
    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events together; None stands for one whose step or key was taken before."""

    @abstractmethod
    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of the log."""

    def cases(self, ids: Sequence[str]) -> dict[str, list[Event]]:
        """Return the events of these cases, by case, in their order; unknown ones are missing."""
        found: dict[str, list[Event]] = {}
        with unavailable(), self.engine.connect() as connection:
            for start in range(0, len(ids), CHUNK):
                some = ids[start : start + CHUNK]
                query = sa.select(events).where(events.c.case_id.in_(some))
                for row in connection.execute(query.order_by(events.c.case_id, events.c.step)):
                    found.setdefault(row.case_id, []).append(to_event(row))
        return found

    def with_key(self, tenant: str, key: str) -> Event | None:
        """Return the event that was written under an idempotency key."""
        query = sa.select(events).where(events.c.tenant == tenant, events.c.key == key)
        with unavailable(), self.engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else to_event(row)

    def decisions(self, spec: PolicySpec) -> Iterator[tuple[Event, list[Event]]]:
        """Yield every decision, in the order of what was learnt before.

        With it come the earlier events of its case.
        """
        earlier = events.alias("earlier")
        mine = [column.label(f"d_{column.name}") for column in events.c]
        before = sa.and_(earlier.c.case_id == events.c.case_id, earlier.c.step < events.c.step)
        query = (
            sa.select(*mine, *(column.label(f"e_{column.name}") for column in earlier.c))
            .join(earlier, before, isouter=True)
            .where(
                events.c.tenant == spec.tenant,
                events.c.policy == spec.name,
                events.c.basis.is_not(None),
            )
            .order_by(events.c.basis, events.c.transaction, events.c.seq, earlier.c.step)
            .execution_options(yield_per=CHUNK)
        )
        with unavailable(), self.engine.connect() as connection:
            rows = (row._mapping for row in connection.execute(query))
            for _, some in groupby(rows, key=lambda row: row["d_seq"]):
                first, *others = some
                there = [row for row in (first, *others) if row["e_seq"] is not None]
                yield _labelled(first, "d_"), [_labelled(row, "e_") for row in there]

    def count(self) -> int:
        """Return the number of events."""
        with unavailable(), self.engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(events)) or 0

    @abstractmethod
    def snapshots(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the snapshots of a policy, newest first."""

    @abstractmethod
    def save_snapshot(
        self, spec: PolicySpec, position: Position, data: bytes, lease: Lease
    ) -> None:
        """Keep a snapshot, and the one before it."""

    @abstractmethod
    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Take the lease of a policy if it is free, or renew it if it is the holder's."""

    def probe(self) -> None:
        """Write something, to see whether that can be done."""
        row = {"name": "probe", "value": str(now())}
        statement = self._insert(facts).on_conflict_do_update(
            index_elements=["name"], set_={"value": row["value"]}
        )
        with unavailable(), self.engine.begin() as connection:
            connection.execute(statement, row)

    def close(self) -> None:
        """Let go of it."""
        self.engine.dispose()

    @abstractmethod
    def _insert(self, table: sa.Table) -> Any:
        """Return the database's own insert, which knows conflicts."""

    def _insert_new(self, connection: sa.Connection, rows: list[dict[str, Any]]) -> Places:
        """Insert the events whose step and key are free, and return where they stand."""
        inserted = connection.execute(self._insertion, rows).all()
        return {
            (row.case_id, row.step, row.key): Position(row.transaction, row.seq) for row in inserted
        }

    def _migrate(self, connection: sa.Connection, *, create: bool) -> None:
        found = _revision(connection)
        if found == schema.REVISION:
            return
        if found is not None and found > schema.REVISION:
            raise UnsupportedVersion(
                f"the store is of revision {found}, which this release does not know: use the "
                "release that wrote it, or a newer one."
            )
        if not create:
            raise StoreError(
                f"the store is of revision {found}, and this release reads {schema.REVISION}: "
                "thrifty serve creates stores and brings them up to date."
            )
        from thrifty.service.migrations.upgrade import upgrade  # alembic only if it is needed

        upgrade(connection)

    def _store_id(self, connection: sa.Connection) -> str:
        query = sa.select(facts.c.value).where(facts.c.name == "store")
        found = connection.scalar(query)
        if found is None:
            row = {"name": "store", "value": uuid.uuid4().hex}
            connection.execute(self._insert(facts).on_conflict_do_nothing(), row)
            connection.commit()
            found = connection.scalar(query)
        return str(found)


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return found


@contextmanager
def unavailable() -> Iterator[None]:
    """Say what the database complains of in our own words."""
    try:
        yield
    except (DBAPIError, SQLAlchemyError) as error:
        cause = getattr(error, "orig", None) or error
        raise StoreUnavailable(
            f"the store cannot be used at the moment ({str(cause).strip()}): nothing was changed, "
            "try again."
        ) from error


def to_row(event: Event) -> dict[str, Any]:
    """Return an event as a row; the database gives it its position."""
    return {
        "transaction": 0,
        "tenant": event.tenant,
        "policy": event.policy,
        "case_id": event.case,
        "step": event.step,
        "kind": event.kind,
        "at": event.at,
        "basis": event.basis,
        "key": event.key,
        "request": event.request,
        "body": compact_json(event.body),
    }


def to_event(row: Any) -> Event:
    """Return a row as an event."""
    return _labelled(row._mapping, "")


def _labelled(row: Mapping[Any, Any], prefix: str) -> Event:
    return Event(
        tenant=row[f"{prefix}tenant"],
        policy=row[f"{prefix}policy"],
        case=row[f"{prefix}case_id"],
        step=row[f"{prefix}step"],
        kind=row[f"{prefix}kind"],
        at=row[f"{prefix}at"],
        body=_body(row[f"{prefix}seq"], row[f"{prefix}body"]),
        basis=row[f"{prefix}basis"],
        key=row[f"{prefix}key"],
        request=row[f"{prefix}request"],
        position=Position(row[f"{prefix}transaction"], row[f"{prefix}seq"]),
    )


def _body(seq: int, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BrokenLog(
            f"event {seq} cannot have happened (its body is no JSON: {error}). The log was changed "
            "or damaged: restore a copy of the store."
        ) from error
