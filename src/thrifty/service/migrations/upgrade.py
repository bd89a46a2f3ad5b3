"""Brings a database up to date."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

_LOCK = 7_232_008  # any number, the same in every replica
_BEGIN = {
    "postgresql": f"SELECT pg_advisory_xact_lock({_LOCK})",  # replicas may start together
    "sqlite": "BEGIN IMMEDIATE",  # its driver begins none for tables, and each would stand alone
}


def upgrade(connection: sa.Connection) -> None:
    """Take the database to the newest revision, all the way or not at all."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    connection.execute(sa.text(_BEGIN[connection.dialect.name]))
    command.upgrade(config, "head")
    connection.commit()
