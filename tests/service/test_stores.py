"""Both stores pass the public test suite; further tests cover each of them."""

import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import psycopg
import pytest
from sqlalchemy.dialects.sqlite import insert

from postgres_server import PostgresServer
from thrifty.errors import CheckFailed, StoreError, StoreInUse
from thrifty.service.events import START, Event, Position
from thrifty.service.stores import Lease, open_store
from thrifty.service.stores.checks import check_store, draft
from thrifty.service.stores.sqlite import SqliteLog, SqliteStore


def run_code(code: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code in another process."""
    return subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=False
    )


def test_the_public_suite(store_address: str) -> None:
    check_store(lambda: open_store(store_address))


def test_a_store_that_breaks_a_promise_is_named(tmp_path: Path) -> None:
    class ForgetfulLog(SqliteLog):
        def read(self, after: Position, limit: int = 500) -> list[Event]:
            return super().read(after, limit)[:-1]

    class Forgetful(SqliteStore):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.log = ForgetfulLog(self.engine, insert)

    with pytest.raises(CheckFailed, match="Forgetful fails events_come_back_as_they_were"):
        check_store(lambda: Forgetful(tmp_path / "store.db"))


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(str(path))
    code = f"from thrifty.service.stores import open_store; open_store({str(path)!r})"
    done = run_code(code)
    assert "StoreInUse: another process holds" in done.stderr
    with pytest.raises(StoreInUse, match="only one can"):
        open_store(str(path))
    reader = open_store(str(path), read_only=True)  # an audit needs no permission
    assert reader.index.count() == 0
    reader.close()
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with pytest.raises(StoreInUse, match="only one can"):
        open_store(str(link))
    store.close()
    open_store(str(path)).close()


def test_a_reader_does_not_release_the_lock(tmp_path: Path) -> None:
    """Otherwise the next reader could remove the write-ahead log that is in use."""
    path = tmp_path / "store.db"
    read = f"open_store({str(path)!r}, read_only=True).close()"
    written = run_code(
        f"""
        import os, subprocess, sys
        from thrifty.service.stores import open_store
        from thrifty.service.stores.checks import draft
        store = open_store({str(path)!r})
        store.log.append([draft("before")])
        {read}
        code = "from thrifty.service.stores import open_store; " + {read!r}
        subprocess.run([sys.executable, "-c", code], check=True)
        store.log.append([draft("after")])
        print("acknowledged", flush=True)
        os.kill(os.getpid(), 9)
        """
    )
    assert written.stdout == "acknowledged\n"
    store = open_store(str(path))
    assert list(store.index.cases(["before", "after"])) == ["after", "before"]
    store.close()


@pytest.mark.parametrize("content", [b"\n", b"short", b"no database at all" * 100])
def test_a_file_with_other_content_is_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="is not a database"):
            open_store(str(path), read_only=read_only)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "notes.lock").touch()  # as of a store that was there before
    with pytest.raises(StoreError, match="is not a database"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_a_lock_file_with_other_content_is_reported(tmp_path: Path) -> None:
    (tmp_path / "store.db.lock").write_text("the number of a process\n" * 100)
    with pytest.raises(StoreError, match=r"store.db.lock: file is not a database"):
        open_store(str(tmp_path / "store.db"))


def test_reading_does_not_create_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        open_store(str(tmp_path / "nowhere.db"), read_only=True)
    with pytest.raises(StoreError, match="choose a folder that exists"):
        open_store(str(tmp_path / "no" / "folder.db"))
    assert not list(tmp_path.iterdir())


def test_every_commit_is_on_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    store.close()


def test_no_event_of_a_transaction_that_commits_late_is_missed(postgres: PostgresServer) -> None:
    """10,000 events, written while other transactions with lower numbers are held open."""
    url = postgres.new_database()
    store = open_store(url)
    seen: list[str] = []
    position = START
    insert = (
        "INSERT INTO events (tenant, policy, case_id, step, kind, at, body) "
        "SELECT 'default', 'checked', %s || n, 0, 'opened', 0, '{}' FROM generate_series(1, 250) n"
    )
    for k in range(20):
        held = [psycopg.connect(url) for _ in range(2)]
        for n, connection in enumerate(held):
            connection.execute(insert, [f"held-{k}-{n}-"])
        store.log.append(
            [draft(f"quick-{k}-{n}") for n in range(250)]
        )  # a higher number, visible now
        for connection in held:
            chunk = store.log.read(position, 1000)  # read between the two commits
            seen += [event.case for event in chunk]
            position = chunk[-1].position if chunk else position
            connection.commit()
            connection.close()
        while chunk := store.log.read(position, 1000):
            seen += [event.case for event in chunk]
            position = chunk[-1].position
    assert len(seen) == len(set(seen)) == store.index.count() == 15_000
    store.close()


def test_a_lost_connection_leaves_nothing_in_doubt(postgres: PostgresServer) -> None:
    """A committed batch whose response was lost is found when it is repeated."""
    store = open_store(postgres.new_database())
    drafts = [draft(f"doubt-{k}", key=f"doubt-{k}") for k in range(5)]
    first = store.log.append(drafts)
    assert store.log.append(drafts) == first
    assert store.index.count() == 5
    store.close()


def test_readers_have_no_timeout(postgres: PostgresServer) -> None:
    """An audit of a long log sorts decisions for more than 30 s."""
    address = postgres.new_database()
    for read_only, wanted in ((False, ["30s", "1min"]), (True, ["0", "0"])):
        store = open_store(address, read_only=read_only)
        with store.engine.connect() as connection:
            shown = [
                connection.exec_driver_sql(f"SHOW {name}").scalar()
                for name in ("statement_timeout", "idle_in_transaction_session_timeout")
            ]
        store.close()
        assert shown == wanted


def test_only_one_of_many_gets_the_lease(postgres: PostgresServer) -> None:
    store = open_store(postgres.new_database())
    got: list[Lease] = []

    def try_it(k: int) -> None:
        lease = store.leases.acquire("policy", f"holder-{k}", 60)
        if lease is not None:
            got.append(lease)

    threads = [threading.Thread(target=try_it, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    assert (
        store.leases.acquire("policy", got[0].holder, 60) == got[0]
    )  # renewed, with the same fence
    store.close()
