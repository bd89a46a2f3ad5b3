"""A database of every released schema is kept here; each is upgraded, and its log still holds.

`tests/keep_database.py` makes them: a file of SQLite, and a dump of PostgreSQL. Release 0.1 wrote
`0001-free.db` and, exported, `0001-free.parquet`; their cases have free values.
"""

import shutil
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import ladder
from postgres_server import PostgresServer
from service.engines import Clock, EngineHarness, parse_spec, run_with_engine, spec_of
from small_service import policy_text
from thrifty.errors import StoreError, UnsupportedVersion
from thrifty.service.audit import audit, fold_log
from thrifty.service.engine import Engine
from thrifty.service.events import KINDS, START
from thrifty.service.export import exported_events
from thrifty.service.migrations import upgrade
from thrifty.service.projection import Projection
from thrifty.service.replay import replay
from thrifty.service.standby import get_ready
from thrifty.service.stores import open_store
from thrifty.service.stores.checks import draft
from thrifty.service.stores.schema import REVISION, metadata
from thrifty.service.stores.sqlite import SqliteStore
from waiting import wait_until

FOLDER = Path(__file__).parent / "databases"
DATABASES = sorted([*FOLDER.glob("*.db"), *FOLDER.glob("*.sql")])
KNOWN = {  # events, decisions and rounds learnt
    "0001.db": (55, 40, 15),
    "0001.sql": (55, 40, 15),
    "0001-free.db": (87, 58, 25),
    "0002.db": (79, 58, 17),
    "0002.sql": (71, 50, 17),
}
STATE = "89ffd6ac8088395a4cba4e0508182b6c34b6130463902499c9033d128b6bd371"
"""What `thrifty audit` of release 0.1 printed for 0001-free.db."""
RULE = 'deadline = "1d"\nlearn_late = true'


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", ladder.registry())


def restored(path: Path, folder: Path, request: pytest.FixtureRequest) -> str:
    """Restore a copy of a stored database, and return its address."""
    if path.suffix == ".db":
        return shutil.copy(str(path), str(folder / "store.db"))
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    with psycopg.connect(url) as connection:
        connection.execute(path.read_bytes())
    return url


@pytest.mark.parametrize("ending", ["db", "sql"])
def test_there_is_a_database_of_every_revision(ending: str) -> None:
    versions = FOLDER.parents[2] / "src/thrifty/service/migrations/versions"
    revisions = sorted(path.name[1:5] for path in versions.glob("v*.py"))
    assert revisions[-1] == REVISION
    kept = {path.stem for path in FOLDER.glob(f"*.{ending}")}
    assert sorted(kept - {"0001-free"}) == revisions
    assert {path.name for path in DATABASES} == set(KNOWN)


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: path.name)
def test_an_upgraded_store_passes_the_audit(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = open_store(restored(path, tmp_path, request))
    spec = store.policies.specs()[0]
    found = audit(store, spec)
    assert found.difference is None
    assert (found.events, found.decisions, found.learnt) == KNOWN[path.name]
    assert Engine(store).projection("default", "lending").digest() == fold_log(store, spec).digest()
    (new,) = store.log.append([draft("new")])
    assert store.log.read(START)[-1] == new
    assert store.index.count() == found.events + 1
    assert {event.kind for event in store.log.read(START)} <= set(KINDS)
    store.close()


def test_a_log_of_release_0_1_gives_the_same_state(tmp_path: Path) -> None:
    """Bit for bit: free values were bought for 0, and the policy did not see them beforehand."""
    shutil.copy(FOLDER / "0001-free.db", tmp_path / "store.db")
    store = open_store(str(tmp_path / "store.db"))
    (spec,) = store.policies.specs()
    assert fold_log(store, spec).digest() == STATE
    store.policies.require_unchanged(parse_spec(tomllib.loads(_file_of_release_0_1())))
    done = replay(spec, exported_events(FOLDER / "0001-free.parquet", "lending"))
    wanted = fold_log(store, spec).totals
    assert (done.learnt, done.cases) == (25, 30)
    assert (done.reward, done.spend) == (wanted.reward, wanted.spend)
    assert done.same_purchase == 30
    store.close()


def test_cases_that_release_0_1_left_open_go_on(tmp_path: Path) -> None:
    """They keep the contract under which they were opened; new cases have the new one."""
    shutil.copy(FOLDER / "0001-free.db", tmp_path / "store.db")
    store = open_store(str(tmp_path / "store.db"))
    (spec,) = store.policies.specs()
    projection = fold_log(store, spec)
    store.close()
    waiting, acted = _by_status(projection, "open"), _by_status(projection, "acted")
    assert (len(waiting), len(acted)) == (2, 1)

    async def scenario(harness: EngineHarness) -> None:
        values = {"income": "high", "history": None}
        for case in waiting:
            buy = harness.projection.cases[case].buy
            event = await harness.observe(case, {name: values[name] for name in buy})
            assert event.body["action"]
            assert harness.projection.cases[case].is_legacy
            seen = harness.projection.cases[case].observation()
            assert seen.costs[2] == 0.0  # the free value was bought for 0
            await harness.reward(case, 1.0)
        await harness.reward(acted[0], 1.0)
        new = await harness.open(age=30)
        assert new.body["contract"] == 2
        await harness.act(new.case)
        seen = harness.projection.cases[new.case].observation()
        assert seen.free.tolist() == [False, False, True]
        await harness.reward(new.case, 1.0)
        await harness.settled()
        assert harness.projection.panel.rounds_learnt == 25 + 4

    clock = Clock(max(case.opened.at for case in projection.cases.values()))
    run_with_engine(tmp_path / "store.db", scenario, clock=clock, text=_file_of_release_0_1())
    store = open_store(str(tmp_path / "store.db"))
    found = audit(store, spec)
    assert (found.difference, found.learnt, found.snapshots) == (None, 29, 1)
    store.close()


def test_late_rewards_for_cases_of_release_0_1(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "0001-free.db", tmp_path / "store.db")
    store = open_store(str(tmp_path / "store.db"))
    (spec,) = store.policies.specs()
    projection = fold_log(store, spec)
    store.close()
    (case,) = _by_status(projection, "acted")

    async def scenario(harness: EngineHarness) -> None:
        await harness.pass_deadlines()
        assert await harness.reward(case, 7.0) == "late-learnt"

    clock = Clock(max(case.deadline for case in projection.cases.values()))
    run_with_engine(tmp_path / "store.db", scenario, clock=clock, text=_file_of_release_0_1())
    store = open_store(str(tmp_path / "store.db"))
    assert audit(store, spec).difference is None
    assert fold_log(store, spec).totals.counts["rewarded late-learnt"] == 2
    store.close()


def _by_status(projection: Projection, status: str) -> list[str]:
    return [name for name, case in projection.cases.items() if case.status == status]


def _file_of_release_0_1() -> str:
    return policy_text(rule=RULE).replace("edges = [30, 60]", "edges = [30, 60]\nfree = true")


def test_a_dump_of_a_server_that_had_counted_further(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its transaction numbers are ahead of this server's, which would hide its events."""
    url = restored(FOLDER / f"{REVISION}.sql", tmp_path, request)
    with psycopg.connect(url) as connection:
        connection.execute('UPDATE events SET "transaction" = "transaction" + 1000000000000')
    with pytest.raises(StoreError, match="restored from another server"):
        open_store(url, read_only=True)
    for _ in range(2):  # the second time there is nothing left to do
        store = open_store(url)
        spec = store.policies.specs()[0]
        assert audit(store, spec).learnt == KNOWN[f"{REVISION}.sql"][2]
        assert audit(store, spec).difference is None
        assert (
            Engine(store).projection("default", "lending").digest()
            == fold_log(store, spec).digest()
        )
        store.close()
    open_store(url, read_only=True).close()


def test_events_of_another_server_keep_their_order(postgres: PostgresServer) -> None:
    """Event numbers may decrease while transaction numbers increase."""
    url = postgres.new_database()
    store = open_store(url)
    for k in range(5):
        store.log.append([draft(f"c{k}")])
    store.close()
    with psycopg.connect(url) as connection:
        connection.execute('UPDATE events SET "transaction" = 1000000000000 - seq')
    store = open_store(url)
    (new,) = store.log.append([draft("new")])
    found = store.log.read(START)
    assert [event.case for event in found] == ["c4", "c3", "c2", "c1", "c0", "new"]
    assert [tuple(event.position) for event in found[:5]] == [(0, k) for k in range(1, 6)]
    assert found[-1] == new
    store.close()


def test_a_long_log_of_another_server_may_take_its_time(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeout of requests would be too short, and repeating would not help."""
    monkeypatch.setattr(
        "thrifty.service.stores.postgres.SERVICE_OPTIONS", "-c statement_timeout=1500"
    )
    url = postgres.new_database()
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event = 'advisory' AND clock_timestamp() - query_start > interval '1.6 s'"
    )

    def one_waits_too_long() -> bool:
        row = other.execute(waiting).fetchone()
        return row is not None and row[0] == 1

    with (
        psycopg.connect(url, autocommit=True) as other,  # another replica makes the tables, slowly
        ThreadPoolExecutor(1) as thread,
    ):
        other.execute(f"SELECT pg_advisory_lock({upgrade._LOCK})")
        opening = thread.submit(open_store, url)
        wait_until(lambda: opening.done() or one_waits_too_long(), "the replica that waits")
        other.execute("SELECT pg_advisory_unlock_all()")
        store = opening.result()
    store.log.append([draft("old")])
    store.close()
    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(1.6); RETURN NULL; END'"
        )
        connection.execute('UPDATE events SET "transaction" = 1000000000000')
        connection.execute("CREATE TRIGGER slow AFTER UPDATE ON events EXECUTE FUNCTION slowly()")
    store = open_store(url)
    assert [event.case for event in store.log.read(START)] == ["old"]
    with store.engine.connect() as connection_after:
        assert connection_after.scalar(sa.text("SHOW statement_timeout")) == "1500ms"
    store.close()


def test_the_migrations_lead_to_the_tables_of_the_code(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    for address in (str(tmp_path / "store.db"), postgres.new_database()):
        store = open_store(address)
        with store.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        store.close()


def test_a_store_from_the_future_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    store.policies.declare(spec_of())
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(UnsupportedVersion, match="does not support"):
        get_ready(str(tmp_path / "store.db"), [])  # who stands by says so before it waits
    store.close()
    for read_only in (False, True):
        with pytest.raises(UnsupportedVersion, match="does not support"):
            open_store(str(tmp_path / "store.db"), read_only=read_only)


def test_reading_does_not_migrate(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(StoreError, match=f"revision None, and this release reads {REVISION}"):
        open_store(str(path), read_only=True)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("statement", [1, 2, 5, 8, 9])
def test_a_killed_migration_leaves_nothing_behind(tmp_path: Path, statement: int) -> None:
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
    assert store.index.count() == 0
    store.close()
