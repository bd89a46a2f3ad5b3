"""The log, the policies, snapshots, leases and facts about the store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    long = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    ours = op.get_bind().dialect.name == "postgresql"
    transaction = sa.text("pg_current_xact_id()::text::bigint") if ours else None
    op.create_table(
        "events",
        sa.Column("seq", long, primary_key=True, autoincrement=True),
        sa.Column("transaction", sa.BigInteger(), nullable=False, server_default=transaction),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("policy", sa.String(64), nullable=False),
        sa.Column("case_id", sa.String(64), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("basis", sa.BigInteger()),
        sa.Column("key", sa.String(64)),
        sa.Column("request", sa.String(64)),
        sa.Column("body", sa.Text(), nullable=False),
        sa.UniqueConstraint("case_id", "step", name="events_case_step"),
        sa.UniqueConstraint("tenant", "key", name="events_key"),
    )
    op.create_index("events_order", "events", ["transaction", "seq"])
    op.create_table(
        "policies",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("agent", sa.LargeBinary()),
        sa.Column("declared", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("policy", sa.String(129), primary_key=True),
        sa.Column("transaction", sa.BigInteger(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), primary_key=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("policy", sa.String(129), primary_key=True),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
