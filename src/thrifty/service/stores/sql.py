"""The parts of a store that SQLite and PostgreSQL share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from thrifty.errors import BrokenLog, InvalidSpec, StoreError, StoreUnavailable, UnsupportedVersion
from thrifty.json_values import compact_json
from thrifty.service.events import Event, Position, now
from thrifty.service.stores import schema
from thrifty.service.stores.base import CHUNK, EventIndex, EventLog, PolicyRegistry, Store
from thrifty.service.stores.schema import events, facts, policies
from thrifty.specification import PolicySpec

Insert = Callable[[sa.Table], Any]
"""The insert statement of a database, which can handle conflicts."""
_RETURNED = [events.c[name] for name in ("transaction", "seq", "case_id", "step", "key")]


class SqlStore(Store):
    """A store in a database that SQLAlchemy can open.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Connections to the database.
    insert : callable
        Returns the insert statement for a table.
    create : bool
        True creates the tables, or migrates them from an older release.
    """

    def __init__(self, engine: sa.Engine, insert: Insert, *, create: bool) -> None:
        self.engine, self._insert = engine, insert
        self.index, self.policies = SqlIndex(engine), SqlPolicies(engine, insert)
        try:
            with translate_errors(), engine.connect() as connection:
                self._migrate(connection, create=create)
                self.id = self._store_id(connection)
        except BaseException:
            engine.dispose()
            raise

    def probe(self) -> None:
        """Write a row, and raise `StoreUnavailable` if that fails."""
        row = {"name": "probe", "value": str(now())}
        statement = self._insert(facts).on_conflict_do_update(
            index_elements=["name"], set_={"value": row["value"]}
        )
        with translate_errors(), self.engine.begin() as connection:
            connection.execute(statement, row)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def _migrate(self, connection: sa.Connection, *, create: bool) -> None:
        found = _revision(connection)
        if found == schema.REVISION:
            return
        if found is not None and found > schema.REVISION:
            raise UnsupportedVersion(
                f"the store has revision {found}, which this release does not support: use the "
                "release that wrote it, or a newer one."
            )
        if not create:
            raise StoreError(
                f"the store has revision {found}, and this release reads {schema.REVISION}: start "
                "`thrifty serve` once, which creates stores and migrates them."
            )
        from thrifty.service.migrations.upgrade import upgrade  # alembic is slow to import

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


class SqlLog(EventLog):
    """Base of the logs: inserts the events whose step and key are free."""

    def __init__(self, engine: sa.Engine, insert: Insert) -> None:
        self._engine = engine
        self._insertion = insert(events).on_conflict_do_nothing().returning(*_RETURNED)

    def _insert_new(
        self, connection: sa.Connection, drafts: Sequence[Event], rows: list[dict[str, Any]]
    ) -> list[Event | None]:
        """Return the events with their positions, and None for those that were not inserted."""
        inserted = connection.execute(self._insertion, rows).all()
        positions = {
            (row.case_id, row.step, row.key): Position(row.transaction, row.seq) for row in inserted
        }
        return [_placed(draft, positions) for draft in drafts]


def _placed(draft: Event, positions: dict[Any, Position]) -> Event | None:
    # pop: if the same event is in a batch twice, only the first one was inserted
    position = positions.pop((draft.case, draft.step, draft.key), None)
    return None if position is None else replace(draft, position=position)


class SqlIndex(EventIndex):
    """Queries on the table of events."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def cases(self, ids: Sequence[str]) -> dict[str, list[Event]]:
        """Return the events of cases, by case, in the order of their steps."""
        found: dict[str, list[Event]] = {}
        with translate_errors(), self._engine.connect() as connection:
            for start in range(0, len(ids), CHUNK):
                some = ids[start : start + CHUNK]
                query = sa.select(events).where(events.c.case_id.in_(some))
                for row in connection.execute(query.order_by(events.c.case_id, events.c.step)):
                    found.setdefault(row.case_id, []).append(to_event(row))
        return found

    def with_key(self, tenant: str, key: str) -> Event | None:
        """Return the event that was written under an idempotency key."""
        query = sa.select(events).where(events.c.tenant == tenant, events.c.key == key)
        with translate_errors(), self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else to_event(row)

    def decisions(self, spec: PolicySpec) -> Iterator[tuple[Event, list[Event]]]:
        """Yield every decision with the earlier events of its case, by rounds learnt before."""
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
        with translate_errors(), self._engine.connect() as connection:
            rows = (row._mapping for row in connection.execute(query))
            for _, some in groupby(rows, key=lambda row: row["d_seq"]):
                first, *others = some
                joined = [row for row in (first, *others) if row["e_seq"] is not None]
                yield _labelled(first, "d_"), [_labelled(row, "e_") for row in joined]

    def count(self) -> int:
        """Return the number of events in the log."""
        with translate_errors(), self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(events)) or 0


class SqlPolicies(PolicyRegistry):
    """The table of declared policies."""

    def __init__(self, engine: sa.Engine, insert: Insert) -> None:
        self._engine, self._insert = engine, insert

    def declare(self, spec: PolicySpec) -> None:
        """Store a specification; the same name must have the same one."""
        row = {
            "tenant": spec.tenant,
            "name": spec.name,
            "digest": spec.digest,
            "spec": json.dumps(spec.to_dict()),
            "agent": spec.agent,
            "declared": now(),
        }
        with translate_errors(), self._engine.begin() as connection:
            connection.execute(self._insert(policies).on_conflict_do_nothing(), row)
        self.require_unchanged(spec)

    def require_unchanged(self, spec: PolicySpec) -> None:
        """Raise `InvalidSpec` if the name is declared with another specification."""
        mine = sa.and_(policies.c.tenant == spec.tenant, policies.c.name == spec.name)
        with translate_errors(), self._engine.connect() as connection:
            found = connection.scalar(sa.select(policies.c.digest).where(mine))
        if found not in (None, *spec.digests):
            raise InvalidSpec(
                f"the store has a policy {spec.id} with another specification, which its decisions "
                "depend on: use another store, or give the changed policy another name in its "
                "policy.toml. To teach it the rounds of the log, run `thrifty export STORE --out "
                f"log.parquet` and `thrifty replay log.parquet policy.toml --of {spec.name} --save "
                'agent.npz`, and add agent = "agent.npz" to policy.toml.'
            )

    def specs(self) -> list[PolicySpec]:
        """Return all declared policies, ordered by tenant and name."""
        query = sa.select(policies).order_by(policies.c.tenant, policies.c.name)
        with translate_errors(), self._engine.connect() as connection:
            rows = connection.execute(query)
            return [PolicySpec.from_dict(json.loads(row.spec), row.agent) for row in rows]


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return found


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise `StoreUnavailable` for every error of the database."""
    try:
        yield
    except (DBAPIError, SQLAlchemyError) as error:
        cause = getattr(error, "orig", None) or error
        raise StoreUnavailable(
            f"the store cannot be used at the moment ({str(cause).strip()}): nothing was changed, "
            "try again."
        ) from error


def to_row(event: Event) -> dict[str, Any]:
    """Return an event as a row; the database assigns its position."""
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
        body=_parse_body(row[f"{prefix}seq"], row[f"{prefix}body"]),
        basis=row[f"{prefix}basis"],
        key=row[f"{prefix}key"],
        request=row[f"{prefix}request"],
        position=Position(row[f"{prefix}transaction"], row[f"{prefix}seq"]),
    )


def _parse_body(seq: int, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BrokenLog(
            f"event {seq} is not valid (its body is not JSON: {error}). The log was changed or "
            "damaged: restore a backup of the store."
        ) from error
