"""Run by Alembic: migrate the database of the given connection."""

from __future__ import annotations

from alembic import context

from thrifty.service.stores.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # also for SQLite: a killed migration must leave nothing behind
)
with context.begin_transaction():
    context.run_migrations()
