"""Run by Alembic: migrates the database of the connection that it is handed."""

from __future__ import annotations

from alembic import context

from thrifty.service.stores.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # also SQLite: whoever is killed in between leaves nothing behind
)
with context.begin_transaction():
    context.run_migrations()
