"""Snapshots shorten a start, and damaged ones are ignored."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from benchmarks.damage import damaged

from service.engines import QUICK, Clock, EngineHarness, run_with_engine, spec_of
from thrifty.archive import pack_archive, unpack_archive
from thrifty.errors import ForeignFile, SaveError, UnsupportedVersion
from thrifty.files import replace_file
from thrifty.service.audit import fold_log
from thrifty.service.engine import Engine
from thrifty.service.events import Position
from thrifty.service.snapshots import prepare_snapshot, restore_snapshot, seal
from thrifty.service.stores import Lease, Store, open_store
from thrifty.service.stores.checks import SPEC
from thrifty.service.stores.sqlite import SqliteStore
from waiting import until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with a log, an open case and a snapshot."""

    async def scenario(harness: EngineHarness) -> None:
        for k in range(30):
            case = await harness.acted()
            await harness.reward(case, float(k))
        await harness.acted()
        await harness.open()
        await harness.engine._save_snapshot(harness.engine._served["default", "lending"])
        assert list(harness.engine.store.snapshots.load(harness.projection.spec))

    run_with_engine(tmp_path / "store.db", scenario, clock=Clock())
    return SqliteStore(tmp_path / "store.db")


def test_a_snapshot_is_the_state(store: Store) -> None:
    spec = spec_of()
    data = next(store.snapshots.load(spec))
    assert restore_snapshot(data, spec, store).digest() == fold_log(store, spec).digest()
    store.close()


def test_a_snapshot_is_of_the_moment_at_which_it_was_taken(tmp_path: Path) -> None:
    # It is packed in another thread, while the projection goes on.
    spec = spec_of()

    async def scenario(harness: EngineHarness) -> None:
        async def some(number: int) -> None:
            for k in range(number):
                await harness.reward(await harness.acted(), float(k))

        await some(10)
        pack = prepare_snapshot(harness.projection, harness.engine.store.id, harness.engine._last)
        at, before = harness.projection.position, harness.projection.digest()
        await some(10)
        assert before != harness.projection.digest()
        assert restore_snapshot(pack(), spec, harness.engine.store).digest() == before
        assert restore_snapshot(pack(), spec, harness.engine.store).position == at

    run_with_engine(tmp_path / "store.db", scenario, clock=Clock())


def test_a_service_that_cannot_save_snapshots_stays_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store.db.snapshots").write_text("no folder")

    async def scenario(harness: EngineHarness) -> None:
        for k in range(10):
            await harness.reward(await harness.acted(), float(k))
        await until(lambda: "the snapshot of default/lending was not saved" in caplog.text)

    run_with_engine(tmp_path / "store.db", scenario, settings=replace(QUICK, snapshot_events=10))
    assert "not ready" not in caplog.text


def test_an_older_copy_of_the_log_gets_snapshots_of_its_own(store: Store) -> None:
    """Snapshots of the lost part of the log are later, and are not used."""
    (spec,), lease = store.policies.specs(), Lease("default/lending", "test", 1)
    for seq, data in ((90, b"lost"), (95, b"lost too"), (60, b"newest"), (70, b"newer still")):
        store.snapshots.save(spec, Position(0, seq), data, lease)
    assert list(store.snapshots.load(spec)) == [b"newer still", b"newest"]
    store.close()


def test_a_snapshot_that_was_cut_short_is_removed(tmp_path: Path) -> None:
    code = f"""
        import os
        from pathlib import Path
        from thrifty.service.events import Position
        from thrifty.service.stores import open_store
        from thrifty.service.stores.checks import SPEC
        store = open_store({str(tmp_path / "store.db")!r})
        Path.replace = lambda *_: os.kill(os.getpid(), 9)
        lease = store.leases.acquire(SPEC.id, "one", 60)
        store.snapshots.save(SPEC, Position(0, 1), b"some", lease)
        """
    subprocess.run([sys.executable, "-c", dedent(code)], check=False)
    folder = tmp_path / "store.db.snapshots"
    assert len(list(folder.iterdir())) == 1
    open_store(str(tmp_path / "store.db"), read_only=True).close()  # is none of its business
    assert len(list(folder.iterdir())) == 1
    open_store(str(tmp_path / "store.db")).close()
    assert list(folder.iterdir()) == []


def test_two_snapshots_that_are_saved_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last snapshot of a stopping engine may be saved before the previous one is complete."""
    store = SqliteStore(tmp_path / "store.db")
    lease = store.leases.acquire(SPEC.id, "one", 60)
    assert lease is not None

    def overtaken(path: Path, data: bytes) -> None:
        replace_file(path, data)
        if data == b"newer":
            store.snapshots.save(SPEC, Position(0, 1), b"older", lease)

    monkeypatch.setattr("thrifty.service.stores.sqlite.replace_file", overtaken)
    store.snapshots.save(SPEC, Position(0, 2), b"newer", lease)
    assert b"older" in store.snapshots.load(SPEC)
    store.close()


def test_no_damaged_snapshot_is_accepted(store: Store) -> None:
    """10,000 damaged snapshots; benchmarks/damage.py uses a larger one."""
    spec = spec_of()
    data = next(store.snapshots.load(spec))
    rng = random.Random(1)
    for _ in range(10_000):
        with pytest.raises(SaveError):
            restore_snapshot(damaged(data, rng), spec, store)
    store.close()


def test_a_service_with_damaged_snapshots_starts_from_the_log(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec, rng = spec_of(), random.Random(2)
    wanted = fold_log(store, spec).digest()
    files = sorted((tmp_path / "store.db.snapshots").iterdir())
    assert files
    for path in files:
        path.write_bytes(damaged(path.read_bytes(), rng))
    (tmp_path / "store.db.snapshots" / "default.lending.999999999999999.snapshot").write_bytes(b"")
    engine = Engine(store)
    assert engine.projection("default", "lending").digest() == wanted
    assert "reading the log instead" in caplog.text
    store.close()


def test_snapshots_of_others_are_refused(store: Store, tmp_path: Path) -> None:
    spec = spec_of()
    data = next(store.snapshots.load(spec))
    other = SqliteStore(tmp_path / "other.db")
    with pytest.raises(ForeignFile, match="another store"):
        restore_snapshot(data, spec, other)
    with pytest.raises(ForeignFile, match="another"):
        restore_snapshot(data, spec_of(more="alpha = 0.1"), store)
    with pytest.raises(UnsupportedVersion):
        restore_snapshot(data.replace(b"snapshot 0002", b"snapshot 0001", 1), spec, store)
    manifest, arrays = unpack_archive(data[data.index(b"PK") :])
    with pytest.raises(ForeignFile, match="not a snapshot"):
        restore_snapshot(seal(pack_archive({"kind": "agent"}, {})), spec, store)
    ahead = {**manifest, "last": [0, 10**6, "x", 0]}
    with pytest.raises(SaveError, match="an older backup"):
        restore_snapshot(seal(pack_archive(ahead, arrays)), spec, store)
    with pytest.raises(SaveError):
        restore_snapshot(
            seal(pack_archive({**manifest, "cases": [["nobody", 1]]}, arrays)), spec, store
        )
    other.close()
    store.close()


def test_snapshots_are_found_wherever_a_link_leads(tmp_path: Path) -> None:
    path, link = tmp_path / "store.db", tmp_path / "elsewhere" / "link.db"

    async def scenario(harness: EngineHarness) -> None:
        await harness.reward(await harness.acted(), 1.0)

    run_with_engine(path, scenario)
    link.parent.mkdir()
    link.symlink_to(path)
    reader = open_store(str(link), read_only=True)
    assert len(list(reader.snapshots.load(reader.policies.specs()[0]))) == 1
    reader.close()
