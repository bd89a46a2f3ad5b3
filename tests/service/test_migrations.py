"""A database of every released schema is kept here; each is upgraded, and its log still holds.

`tests/keep_database.py` makes them: a file of SQLite, and a dump of PostgreSQL.
"""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from threading import Timer

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from postgres_server import PostgresServer
from service.desks import spec_of
from thrifty.errors import StoreError, UnsupportedVersion
from thrifty.service.auditing import audit, folded
from thrifty.service.desk import Desk
from thrifty.service.events import START
from thrifty.service.migrations import upgrading
from thrifty.service.standby import get_ready
from thrifty.service.stores import Store, open_store
from thrifty.service.stores.checks import draft
from thrifty.service.stores.schema import REVISION, metadata
from thrifty.service.stores.sqlite import SqliteStore

FOLDER = Path(__file__).parent / "databases"
DATABASES = sorted([*FOLDER.glob("*.db"), *FOLDER.glob("*.sql")])


def restored(path: Path, folder: Path, request: pytest.FixtureRequest) -> str:
    """Put a copy of a kept database where a service finds it, and return its address."""
    if path.suffix == ".db":
        return shutil.copy(str(path), str(folder / "store.db"))
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    with psycopg.connect(url) as connection:
        connection.execute(path.read_bytes())
    return url


@pytest.mark.parametrize("ending", ["db", "sql"])
def test_there_is_one_of_every_revision(ending: str) -> None:
    versions = FOLDER.parents[2] / "src/thrifty/service/migrations/versions"
    revisions = sorted(it.name[1:5] for it in versions.glob("v*.py"))
    assert revisions[-1] == REVISION
    assert sorted(it.stem for it in FOLDER.glob(f"*.{ending}")) == revisions


@pytest.mark.parametrize("path", DATABASES, ids=lambda it: it.name)
def test_it_is_upgraded_and_its_log_holds(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = open_store(restored(path, tmp_path, request))
    spec = store.specs()[0]
    found = audit(store, spec)
    assert found.difference is None
    assert found.decisions == 40
    assert found.learnt == 15
    assert Desk(store).book("default", "lending").digest() == folded(store, spec).digest()
    (new,) = store.append([draft("new")])
    assert store.read(START)[-1] == new
    assert store.count() == 56
    store.close()


def test_a_dump_of_a_server_that_had_counted_further(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its numbers of transactions are ahead of this server's, which would hide its events."""
    url = restored(FOLDER / "0001.sql", tmp_path, request)
    with psycopg.connect(url) as connection:
        connection.execute('UPDATE events SET "transaction" = "transaction" + 1000000000000')
    with pytest.raises(StoreError, match="restored from another server"):
        open_store(url, read_only=True)
    for _ in range(2):  # the second time there is nothing left to do
        store = open_store(url)
        spec = store.specs()[0]
        assert audit(store, spec).learnt == 15
        assert audit(store, spec).difference is None
        assert Desk(store).book("default", "lending").digest() == folded(store, spec).digest()
        store.close()
    open_store(url, read_only=True).close()


def test_events_of_another_server_keep_their_order(postgres: PostgresServer) -> None:
    """Numbers that fall where transactions rise, as when the first to come was last to commit."""
    url = postgres.new_database()
    store = open_store(url)
    for k in range(5):
        store.append([draft(f"c{k}")])
    store.close()
    with psycopg.connect(url) as connection:
        connection.execute('UPDATE events SET "transaction" = 1000000000000 - seq')
    store = open_store(url)
    (new,) = store.append([draft("new")])
    found = store.read(START)
    assert [it.case for it in found] == ["c4", "c3", "c2", "c1", "c0", "new"]
    assert [tuple(it.position) for it in found[:5]] == [(0, k) for k in range(1, 6)]
    assert found[-1] == new
    store.close()


def test_a_long_log_of_another_server_may_take_its_time(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a request is given would not do, and trying again would not help."""
    monkeypatch.setattr("thrifty.service.stores.postgres._HURRIED", "-c statement_timeout=1000")
    url = postgres.new_database()
    with psycopg.connect(url) as other:  # another replica makes the tables, slowly
        other.execute(f"SELECT pg_advisory_lock({upgrading._LOCK})")
        Timer(1.5, other.execute, ["SELECT pg_advisory_unlock_all()"]).start()
        store = open_store(url)
    store.append([draft("old")])
    store.close()
    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END'"
        )
        connection.execute('UPDATE events SET "transaction" = 1000000000000')
        connection.execute("CREATE TRIGGER slow AFTER UPDATE ON events EXECUTE FUNCTION slowly()")
    store = open_store(url)
    assert [it.case for it in store.read(START)] == ["old"]
    with store.engine.connect() as connection_after:
        assert connection_after.scalar(sa.text("SHOW statement_timeout")) == "1s"
    store.close()


def test_the_migrations_lead_to_the_tables_of_the_code(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    for address in (str(tmp_path / "store.db"), postgres.new_database()):
        store: Store = open_store(address)
        with store.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        store.close()


def test_a_store_from_the_future_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    store.declare(spec_of())
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(UnsupportedVersion, match="does not know"):
        get_ready(str(tmp_path / "store.db"), [])  # who stands by says so before it waits
    store.close()
    for read_only in (False, True):
        with pytest.raises(UnsupportedVersion, match="does not know"):
            open_store(str(tmp_path / "store.db"), read_only=read_only)


def test_reading_brings_nothing_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(StoreError, match=f"revision None, and this release reads {REVISION}"):
        open_store(str(path), read_only=True)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("statement", [1, 2, 5, 8, 9])
def test_who_is_killed_while_it_makes_the_tables_leaves_nothing_behind(
    tmp_path: Path, statement: int
) -> None:
    path = tmp_path / "store.db"
    code = f"""
        import itertools, os
        import sqlalchemy as sa
        from thrifty.service.stores import open_store
        written = itertools.count(1)
        @sa.event.listens_for(sa.engine.Engine, "after_cursor_execute")
        def note(connection, cursor, statement, *more):
            if statement.split()[0] in ("CREATE", "INSERT") and next(written) == {statement}:
                os.kill(os.getpid(), 9)
        open_store({str(path)!r})
        """
    ended = subprocess.run([sys.executable, "-c", dedent(code)], check=False)
    assert ended.returncode == -signal.SIGKILL
    store = open_store(str(path))
    assert store.count() == 0
    store.close()
