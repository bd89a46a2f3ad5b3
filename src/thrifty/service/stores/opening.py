"""Open a store by its address: the path of a file, or the URL of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from thrifty.service.stores.sql import SqlStore
from thrifty.service.stores.sqlite import SqliteStore


def is_shared(address: str) -> bool:
    """Return True if several processes can write to the store at an address.

    Parameters
    ----------
    address : str
        Path or URL.

    Returns
    -------
    bool
        True for PostgreSQL.

    Examples
    --------
    >>> is_shared("thrifty.db"), is_shared("postgresql://user@host/db")
    (False, True)
    """
    return address.startswith(("postgresql://", "postgres://"))


def open_store(address: str, *, create: bool = True, read_only: bool = False) -> SqlStore:
    """Open a store.

    Parameters
    ----------
    address : str
        Path of a file, or postgresql://...
    create : bool
        True creates a missing store and migrates an old one.
    read_only : bool
        True only reads, so that a service can keep writing to the store.

    Returns
    -------
    SqlStore
        The open store; close it when done.

    Raises
    ------
    StoreError
        If the store cannot be opened, or another process holds it.
    """
    if is_shared(address):
        from thrifty.service.stores.postgres import PostgresStore  # psycopg is slow to import

        return PostgresStore(address, create=create and not read_only, read_only=read_only)
    return SqliteStore(Path(address), create=create and not read_only, read_only=read_only)
