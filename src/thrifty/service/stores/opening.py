"""A store from its address: the path of a file, or a URL of PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from thrifty.service.stores.base import Store
from thrifty.service.stores.sqlite import SqliteStore


def is_shared(address: str) -> bool:
    """Whether several processes may write to the store at an address.

    >>> is_shared("thrifty.db"), is_shared("postgresql://user@host/db")
    (False, True)
    """
    return address.startswith(("postgresql://", "postgres://"))


def open_store(address: str, *, create: bool = True, read_only: bool = False) -> Store:
    """Open the store at a path, or at postgresql://...

    One that is opened to read is not held: a service may go on writing to it.
    """
    if is_shared(address):
        from thrifty.service.stores.postgres import PostgresStore  # psycopg only if it is needed

        return PostgresStore(address, create=create and not read_only, read_only=read_only)
    return SqliteStore(Path(address), create=create and not read_only, read_only=read_only)
