"""Fits of models run beside the decisions of a service; their results are events of the log."""

import asyncio
import base64
import json
import logging
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fitter
from in_process import thrifty
from postgres_server import PostgresServer
from service.engines import QUICK, EngineHarness, run_with_engine, spec_of
from small_service import policy_file, run_apart, served
from thrifty.client import Client
from thrifty.errors import UnknownRound
from thrifty.fits import describe_machine
from thrifty.service.audit import audit, fold_log, read_policy_log
from thrifty.service.engine import Engine
from thrifty.service.events import FITTED, Event
from thrifty.service.export import export, exported_events
from thrifty.service.fit_events import digest, fits_id, fitted
from thrifty.service.replay import replay
from thrifty.service.stores import open_store
from waiting import until, wait_until

EVERY = "every = 4"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", fitter.registry())


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file; fits wait until it exists."""
    monkeypatch.setenv(fitter.GATE, str(tmp_path / "gate"))
    return tmp_path / "gate"


async def play(harness: EngineHarness, cases: int, reward: float = 50.0) -> None:
    for _ in range(cases):
        await harness.reward(await harness.acted(), reward)
    await harness.settled()


async def play_and_fit(harness: EngineHarness) -> None:
    """Play four cases at a time, each time until the fit that they make due is applied."""
    for fits in range(1, 4):
        await play(harness, 4)
        await fits_used(harness, fits)
    await play(harness, 2)


async def fits_used(harness: EngineHarness, count: int) -> None:
    """Wait until this many fits are applied."""
    await until(lambda: harness.projection.panel.fits_applied == count, "the fit")


def events_of(address: str | Path) -> list[Event]:
    with closing(open_store(str(address), read_only=True)) as store:
        (spec,) = store.policies.specs()
        return list(read_policy_log(store, spec))


def change_fit(store: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> int:
    """Change the body of the first fit in the log; return the number of its event."""
    with closing(sqlite3.connect(store)) as database, database:
        query = "SELECT seq, body FROM events WHERE kind = 'fitted' ORDER BY seq"
        seq, body = database.execute(query).fetchone()
        changed = json.dumps(change(json.loads(body)))
        database.execute("UPDATE events SET body = ? WHERE seq = ?", [changed, seq])
    return int(seq)


def with_result(body: dict[str, Any], result: bytes) -> dict[str, Any]:
    packed = base64.b64encode(zlib.compress(result)).decode()
    return {**body, "result": packed, "sha256": digest(result)}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run_with_engine(tmp_path / "store.db", play_and_fit, policy="fitter", more=EVERY)
    return tmp_path / "store.db"


def test_the_results_of_fits_are_events(store_address: str) -> None:
    digests = []

    async def scenario(harness: EngineHarness) -> None:
        await play_and_fit(harness)
        digests.append(harness.projection.digest())

    run_with_engine(store_address, scenario, policy="fitter", more=EVERY)
    fits = [event for event in events_of(store_address) if event.kind == FITTED]
    assert [event.step for event in fits] == [event.body["fit"] for event in fits] == [1, 2, 3]
    assert {event.body["machine"] for event in fits} == {describe_machine()}
    with closing(open_store(store_address, read_only=True)) as reader:
        (spec,) = reader.policies.specs()
        folded, proof = fold_log(reader, spec), audit(reader, spec)
    assert folded.digest() == digests[0] == proof.state
    assert folded.totals.counts["fitted"] == 3
    assert (proof.passed, proof.fits, proof.learnt) == (True, 3, 14)
    assert "3 fits run again" in thrifty("audit", store_address).stdout


def test_decisions_go_on_while_a_fit_runs(store_address: str, gate: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 7)
        assert harness.projection.panel.fits_applied == 0
        due = harness.projection.panel.due_fit
        assert due is not None
        gate.touch()
        await fits_used(harness, 1)
        await play(harness, 1)

    run_with_engine(store_address, scenario, policy="fitter", more=EVERY)
    kinds = [event.kind for event in events_of(store_address)]
    assert kinds.index(FITTED) >= kinds.index("rewarded") + 3
    assert thrifty("audit", store_address).returncode == 0


def test_a_fit_that_is_replaced_is_not_written(store_address: str, gate: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 4)
        await play(harness, 1, reward=-900.0)  # the policy replaces its fit
        gate.touch()
        await fits_used(harness, 1)

    run_with_engine(store_address, scenario, policy="fitter", more=EVERY)
    assert [event.step for event in events_of(store_address) if event.kind == FITTED] == [2]
    assert thrifty("audit", store_address).returncode == 0


def test_a_stale_fit_in_the_log_is_ignored_by_all(store_address: str, gate: Path) -> None:
    """Another process may replace the fit between its last look and the write of the result."""

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 4)
        await play(harness, 1, reward=-900.0)
        stale = fitted(harness.projection.spec, 1, b"[0.9, 0.1]", harness.clock())
        await harness.engine._committer.append(stale)
        await harness.settled()
        assert harness.projection.totals.counts["fitted too late"] == 1
        assert harness.projection.panel.version == 5
        gate.touch()
        await fits_used(harness, 1)
        await play(harness, 2)

    run_with_engine(store_address, scenario, policy="fitter", more=EVERY)
    with closing(open_store(store_address, read_only=True)) as reader:
        proof = audit(reader, reader.policies.specs()[0])
    assert (proof.passed, proof.fits) == (True, 1)


def test_a_restart_applies_results_and_runs_only_the_due_fit(
    store_address: str, gate: Path
) -> None:
    spec = spec_of(policy="fitter", more=EVERY)

    async def scenario(harness: EngineHarness) -> None:
        gate.touch()
        await play_and_fit(harness)
        gate.unlink()  # from now on no fit ends
        await play(harness, 4)
        due = harness.projection.panel.due_fit
        assert due is not None
        assert due.number == 4

    run_with_engine(store_address, scenario, policy="fitter", more=EVERY)

    async def restarted(harness: EngineHarness) -> None:
        due = harness.projection.panel.due_fit
        assert (harness.projection.panel.fits_applied, due and due.number) == (3, 4)
        gate.touch()
        await fits_used(harness, 4)

    run_with_engine(store_address, restarted, policy="fitter", more=EVERY)
    with closing(open_store(store_address, read_only=True)) as reader:
        assert audit(reader, spec).fits == 4
    assert thrifty("audit", store_address).returncode == 0


def test_kill_9_during_fits(store_address: str, tmp_path: Path, gate: Path) -> None:
    policy = policy_file(tmp_path, policy="fitter", more=EVERY)
    env = fitter.environment(tmp_path, gate)
    for _ in range(3):
        with (
            served(policy, "--store", store_address, env=env) as service,
            Client(service.url) as client,
        ):
            for _ in range(4):
                case = client.ask()
                case = client.observe(case, dict.fromkeys(case.buy, "low"), {"income": 1.0})
                client.tell(case, 50.0)
            service.kill()
    gate.touch()
    with (
        served(policy, "--store", store_address, env=env) as service,
        Client(service.url) as client,
    ):
        wait_until(lambda: client.policy("lending")["counts"].get("fitted"), "the fit")
    done = thrifty("audit", store_address)
    assert done.returncode == 0, done.stdout
    assert "12 rounds learnt, 1 fits run again" in done.stdout


def test_only_the_leader_runs_fits(postgres: PostgresServer) -> None:
    address, spec = postgres.new_database(), spec_of(policy="fitter", more=EVERY)

    async def scenario() -> None:
        engines = [Engine(open_store(address), [spec], QUICK) for _ in range(2)]
        try:
            for engine in engines:
                await engine.start()
            one, other = (EngineHarness(engine, engine.clock) for engine in engines)  # type: ignore[arg-type]
            for fits in range(1, 4):
                for harness in (one, other):
                    await play(harness, 2)
                for harness in (one, other):
                    await fits_used(harness, fits)
            assert one.projection.digest() == other.projection.digest()
            assert sum(engine._fit_worker.pid is not None for engine in engines) == 1
        finally:
            await asyncio.gather(*(engine.stop() for engine in engines))

    run_apart(scenario())
    assert thrifty("audit", address).returncode == 0


def test_a_failed_fit_does_not_stop_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unlucky(self: fitter.Fitter) -> fitter.MeanFit:
        return fitter.MeanFit(self._fits, None, None, 2)  # type: ignore[arg-type]

    monkeypatch.setattr(fitter.Fitter, "_fit", unlucky)
    monkeypatch.setattr(fitter.Fitter, "get_state", lambda _: {})

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 4)
        await until(lambda: "fit 1 has failed" in caplog.text, "the failure")
        await play(harness, 3)
        assert harness.engine.ready

    with caplog.at_level(logging.ERROR, "thrifty.service"):
        run_with_engine(tmp_path / "store.db", scenario, policy="fitter", more=EVERY)
    assert len(caplog.records) == 1


def test_fits_are_not_cases(store: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        with pytest.raises(UnknownRound):
            await harness.engine.case("default", fits_id(harness.projection.spec))

    run_with_engine(store, scenario, policy="fitter", more=EVERY)


def test_a_changed_result_is_found(store: Path) -> None:
    seq = change_fit(store, lambda body: with_result(body, b"[0.25, 0.75]"))
    done = thrifty("audit", store)
    assert done.returncode == 1
    assert f"FIRST DIFFERENCE: event {seq}, case fits-" in done.stdout
    assert "the result of fit 1 is" in done.stdout


def test_a_damaged_result_is_refused(store: Path) -> None:
    change_fit(store, lambda body: {**body, "sha256": "0" * 64})
    done = thrifty("audit", store)
    assert done.returncode == 2
    assert "the result of the fit does not match its checksum" in done.stderr
    change_fit(store, lambda body: {**body, "result": "AAAA"})
    assert "the result of the fit cannot be unpacked" in thrifty("audit", store).stderr


def test_the_arithmetic_of_another_machine_is_named(store: Path) -> None:
    """A result that differs in its last bits, and no decision that depends on them."""

    def elsewhere(body: dict[str, Any]) -> dict[str, Any]:
        result = json.loads(zlib.decompress(base64.b64decode(body["result"])))
        nudged = json.dumps(result).encode() + b" "
        return {**with_result(body, nudged), "machine": "abacus"}

    change_fit(store, elsewhere)
    for snapshot in (store.parent / "store.db.snapshots").iterdir():
        snapshot.unlink()
    done = thrifty("audit", store)
    assert done.returncode == 1
    assert "every decision follows from the log, bit for bit" in done.stdout
    assert "OTHER ARITHMETIC: 1 fits have another result here" in done.stdout
    assert f"(abacus), and the arithmetic of this one ({describe_machine()}) differs" in done.stdout
    (found,) = json.loads(thrifty("audit", store, "--json").stdout)
    assert found["difference"] is None
    assert found["other_machines"]["machines"] == ["abacus"]


def test_the_export_and_a_replay(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    with closing(open_store(str(store), read_only=True)) as reader:
        (spec,) = reader.policies.specs()
        assert export(reader, log) == reader.index.count()
        folded = fold_log(reader, spec)
    fits = pl.read_parquet(log).filter(pl.col("kind") == "fitted")
    assert fits["case"].unique().to_list() == [fits_id(spec)]
    assert fits["step"].to_list() == [1, 2, 3]
    done = replay(spec, exported_events(log, "lending"), tmp_path / "agent.npz")
    assert done.learnt == folded.panel.rounds_learnt == 14
    other = spec_of(policy="ucb1")
    assert replay(other, exported_events(log, "lending")).learnt == 14
