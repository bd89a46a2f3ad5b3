"""Brings a database up to date."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError

from thrifty.errors import UnsupportedVersion

_LOCK = 7_232_008  # any number, the same in every replica


def upgrade(connection: sa.Connection, found: str | None) -> None:
    """Take the database from the revision that was found to the newest one."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":  # replicas may start together
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise UnsupportedVersion(
            f"the store is of revision {found}, which this release does not know: use the release "
            "that wrote it, or a newer one."
        ) from error
    connection.commit()
