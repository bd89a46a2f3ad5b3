"""Migrate a database to the newest revision."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

_LOCK = 7_232_008  # any number, the same in every replica
_BEGIN = {
    "postgresql": f"SELECT pg_advisory_xact_lock({_LOCK})",  # replicas may start together
    "sqlite": "BEGIN IMMEDIATE",  # the driver would commit each table separately
}


def upgrade(connection: sa.Connection) -> None:
    """Migrate the database to the newest revision, completely or not at all."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    connection.execute(sa.text(_BEGIN[connection.dialect.name]))
    command.upgrade(config, "head")
    connection.commit()
