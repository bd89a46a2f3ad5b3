"""Run by Alembic: migrates the database of the connection that it is handed."""

from __future__ import annotations

from alembic import context

from thrifty.service.stores.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
