"""The tables, the same in every database; migrations/ upgrades the tables of older releases."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

REVISION = "0002"
"""The newest revision in migrations/versions."""

metadata = MetaData()
_LONG = BigInteger().with_variant(Integer, "sqlite")

events = Table(
    "events",
    metadata,
    Column("seq", _LONG, primary_key=True, autoincrement=True),
    Column("transaction", BigInteger, nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("policy", String(64), nullable=False),
    Column("case_id", String(64), nullable=False),
    Column("step", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("basis", BigInteger),
    Column("key", String(64)),
    Column("request", String(64)),
    Column("body", Text, nullable=False),
    UniqueConstraint("case_id", "step", name="events_case_step"),
    UniqueConstraint("tenant", "key", name="events_key"),
    Index("events_order", "transaction", "seq"),
)

policies = Table(
    "policies",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("spec", Text, nullable=False),
    Column("agent", LargeBinary),
    Column("declared", BigInteger, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("policy", String(129), primary_key=True),
    Column("transaction", BigInteger, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("policy", String(129), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("expires", Double, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
