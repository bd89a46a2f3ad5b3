"""A shadow takes over, gives back, and decides a share of the cases."""

import asyncio
import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from in_process import thrifty
from postgres_server import PostgresServer
from service.engines import QUICK, Clock, EngineHarness, read_spec, run_with_engine
from service.shadow_files import play, with_shadows, write
from service.test_shadows import events_of
from small_service import run_apart, served
from thrifty.client import Client
from thrifty.confidence_sequences import MeanSequence
from thrifty.errors import InvalidSpec, KeyReused, OutOfTurn, UnknownName
from thrifty.service.audit import audit, fold_log
from thrifty.service.decisions import NewCase
from thrifty.service.engine import Engine
from thrifty.service.events import DEMOTED, OPENED, PROMOTED, START, Event
from thrifty.service.stores import open_store

BINARY = """
[[features]]
name = "age"
levels = ["young", "old"]
free = true

[actions]
names = ["lose", "win"]
"""


def require_audit(address: str | Path, digest: str | None = None) -> None:
    """Audit a store, and compare the state of a replay."""
    with closing(open_store(str(address), read_only=True)) as store:
        (spec,) = store.policies.specs()
        found = audit(store, spec)
        assert found.passed, str(found.difference)
        assert digest in (None, fold_log(store, spec).digest())


def deciders(log: list[Event]) -> list[str]:
    return [event.body["by"] for event in log if event.kind == OPENED]


def test_promote_and_demote(store_address: str, tmp_path: Path) -> None:
    digests = []

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 5)
        before = await harness.open(age="old")
        assert (await harness.promote("careful")).body["former"] == "lending"
        await harness.settled()
        panel = harness.projection.panel
        assert [member.name for member in panel.members] == ["careful", "lending", "coin"]
        assert all(member.comparison.cases == 0 for member in panel.shadows)  # type: ignore[union-attr]
        await harness.act(before.case, "high")  # an open case stays with its policy
        await harness.reward(before.case, outcome="repaid")
        await play(harness, 5, seed=1)
        assert [member.comparison.cases for member in panel.shadows] == [5, 5]  # type: ignore[union-attr]
        assert (await harness.demote()).body["policy"] == "lending"
        await harness.settled()
        await play(harness, 5, seed=2)
        digests.append(harness.projection.digest())

    run_with_engine(store_address, scenario, path=with_shadows(tmp_path))
    log = events_of(store_address)
    assert deciders(log) == 6 * ["lending"] + 5 * ["careful"] + 5 * ["lending"]
    assert {PROMOTED, DEMOTED} < {event.kind for event in log}
    require_audit(store_address, digests[0])


def test_a_restart_keeps_the_promoted_policy(tmp_path: Path) -> None:
    path, address = with_shadows(tmp_path), tmp_path / "store.db"

    async def first(harness: EngineHarness) -> None:
        await harness.promote("coin")
        await play(harness, 4)

    async def again(harness: EngineHarness) -> None:
        assert harness.projection.panel.acting.name == "coin"
        await play(harness, 4)
        await harness.demote()

    run_with_engine(address, first, path=path)
    run_with_engine(address, again, path=path)
    run_with_engine(address, first, path=path)
    with pytest.raises(InvalidSpec, match="the shadow 'coin' acts for lending"):
        run_with_engine(address, again, path=write(tmp_path, "lending", "linucb"))
    require_audit(address)


def test_what_is_refused(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        with pytest.raises(UnknownName, match="its shadows are careful, coin"):
            await harness.promote("nobody")
        with pytest.raises(OutOfTurn, match="lending acts for lending already"):
            await harness.promote("lending")
        with pytest.raises(OutOfTurn, match="nothing to go back to"):
            await harness.demote()
        promote, name = harness.engine.promote, harness.name
        done = await promote("default", name, "coin", "once", "r")
        assert await promote("default", name, "coin", "once", "r") == done
        with pytest.raises(KeyReused):
            await promote("default", name, "careful", "once", "other")
        assert harness.projection.panel.turn == 2

    run_with_engine(tmp_path / "store.db", scenario, path=with_shadows(tmp_path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"approve"]', '"accept"]'), "has other actions than the policy"),
        (('"high"]', '"higher"]'), "has other features"),
        (("price = 0.4", "price = 0.5"), "has other prices"),
        (("free = true", "price = 1.0"), "has other"),
        (("low = -900", "low = -901"), "has other ranges of rewards"),
        (('name = "careful"', 'name = "lending"'), "'lending'"),
        (("seed = 1", 'seed = 1\nshadow = ["coin.toml"]'), "has shadows of its own"),
    ],
)
def test_shadows_that_are_refused(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    path = with_shadows(tmp_path, outcomes="")
    shadow = tmp_path / "careful.toml"
    shadow.write_text(shadow.read_text().replace(*change))
    with pytest.raises(InvalidSpec, match=says):
        read_spec(path)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("traffic = 0.7", "traffic is 0.7: give a share of the cases from 0 to 0.5"),
        ('promote = "always"', "use one of 'by-hand', 'when-better'"),
        ("promote_margin = -1", "give a finite number of at least 0"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(InvalidSpec, match=says):
        read_spec(with_shadows(tmp_path, more=more))


def test_traffic_without_shadows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpec, match="there are none: name them in shadow"):
        read_spec(write(tmp_path, "lending", "linucb", "traffic = 0.1"))


def test_a_share_of_the_cases_sticks_to_its_keys(store_address: str, tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        rng = random.Random(1)
        for _ in range(240):
            await harness.open(case_key=f"customer {rng.randrange(60)}", age="old")
        await play(harness, 20)
        await harness.settled()

    run_with_engine(store_address, scenario, path=with_shadows(tmp_path, more="traffic = 0.3"))
    log = [event for event in events_of(store_address) if event.kind == OPENED]
    by_key: dict[str, set[str]] = {}
    for event in log[:240]:
        by_key.setdefault(event.body["case_key"], set()).add(event.body["by"])
    assert all(len(names) == 1 for names in by_key.values())
    # Of 60 keys 18 are expected, with a standard deviation of 3.5; the hashes never change.
    assert 6 <= sum(names == {"careful"} for names in by_key.values()) <= 30
    assert {event.body["by"] for event in log[240:]} <= {"careful", "lending"}
    require_audit(store_address)


def test_more_traffic_keeps_the_keys_of_less(tmp_path: Path) -> None:
    """Who was decided by the shadow stays with it when its share grows."""
    found = {}
    for traffic in (0.1, 0.4):

        async def scenario(harness: EngineHarness, traffic: float = traffic) -> None:
            panel = harness.projection.panel
            keys = (f"k{k}" for k in range(500))
            found[traffic] = {key for key in keys if panel.decider(key).name == "careful"}

        path = with_shadows(tmp_path, more=f"traffic = {traffic}")
        run_with_engine(tmp_path / "store.db", scenario, path=path)
    assert found[0.1] < found[0.4]
    assert len(found[0.4]) > 2 * len(found[0.1])


def binary_files(folder: Path, more: str) -> Path:
    """A policy that takes random actions, and a shadow that soon finds the one that always wins."""
    greedy = '[policy]\nname = "greedy"\npolicy = "ucb1"\n' + BINARY
    (folder / "greedy.toml").write_text(greedy)
    path = folder / "coin.toml"
    head = f'[policy]\nname = "coin"\npolicy = "uniform"\nshadow = ["greedy.toml"]\n{more}\n'
    path.write_text(head + BINARY)
    return path


async def win_or_lose(harness: EngineHarness, cases: int) -> None:
    for _ in range(cases):
        case = await harness.engine.open_case(
            "default", "coin", NewCase({"age": "old"}), harness.key(), "r"
        )
        await harness.reward(case.case, float(case.body["action"] == "win"))


def test_a_shadow_that_is_better_takes_over_by_itself(tmp_path: Path) -> None:
    path = binary_files(tmp_path, 'traffic = 0.5\npromote = "when-better"\npromote_margin = 0.05')
    address = tmp_path / "store.db"

    async def scenario(harness: EngineHarness) -> None:
        panel = harness.projection.panel
        for _ in range(50):
            await win_or_lose(harness, 20)
            await harness.engine._maintain()
            if panel.acting.name == "greedy":
                break
        assert panel.acting.name == "greedy"
        log = harness.engine.store.log.read(START, 10**5)
        (event,) = [event for event in log if event.kind == PROMOTED]
        assert event.body["why"] == "better"
        assert event.body["estimate"]["low"] > 0.05
        await harness.demote()
        await win_or_lose(harness, 20)
        assert not panel.is_automatic  # who goes back by hand decides by hand
        await harness.promote("greedy")
        assert panel.is_automatic  # until a shadow is promoted again

    run_with_engine(address, scenario, path=path)
    require_audit(address)


def test_shadows_share_the_probability_of_a_wrong_promotion(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        panel = harness.projection.panel
        comparison = panel.shadows[1].comparison
        assert comparison is not None
        sequence = MeanSequence(-1.0, 1.0)
        for k in range(2000):
            sequence.add(0.3 if k % 2 else 0.1)
        comparison.sequence, comparison.cases = sequence, 2000
        alone, shared = (sequence.interval(level)[0] for level in (0.95, 0.975))
        assert shared < alone
        for margin, name in (((alone + shared) / 2, None), (shared - 1e-9, "coin")):
            panel.settings = replace(panel.settings, margin=margin)
            found = panel.candidate()
            assert (found and found.name) == name

    path = with_shadows(tmp_path, more='promote = "when-better"')
    run_with_engine(tmp_path / "store.db", scenario, path=path)


def test_the_audit_names_a_promotion_without_reason(tmp_path: Path) -> None:
    path = binary_files(tmp_path, 'traffic = 0.5\npromote = "when-better"')
    address = tmp_path / "store.db"

    async def scenario(harness: EngineHarness) -> None:
        await win_or_lose(harness, 20)
        panel = harness.projection.panel
        comparison = panel.members[1].comparison
        assert comparison is not None
        comparison.sequence.count, comparison.sequence.total = 10**6, 10.0**6  # not in the log
        await harness.engine._maintain()
        assert panel.acting.name == "greedy"

    run_with_engine(address, scenario, path=path)
    with closing(open_store(str(address), read_only=True)) as store:
        found = audit(store, store.policies.specs()[0]).difference
        assert found is not None
        assert (found.what, found.logged, found.computed) == ("policy", "greedy", "coin")


def test_replicas_agree(postgres: PostgresServer, tmp_path: Path) -> None:
    """Cases are decided at two replicas while a shadow is promoted and the traffic changes."""
    address = postgres.new_database()
    spec = read_spec(with_shadows(tmp_path, more="traffic = 0.3"))

    async def run() -> None:
        clock = Clock()
        engines = [Engine(open_store(address), [spec], QUICK, clock) for _ in range(2)]
        for engine in engines:
            await engine.start()
        try:
            one, other = (EngineHarness(engine, clock) for engine in engines)
            await asyncio.gather(play(one, 10, seed=1), play(other, 10, seed=2))
            await other.promote("careful")
            await asyncio.gather(play(one, 10, seed=3), play(other, 10, seed=4))
            await one.demote()
            await asyncio.gather(play(one, 5, seed=5), play(other, 5, seed=6))
            await one.settled()
            await other.settled()
            assert one.projection.panel.turn == 3
            assert one.projection.digest() == other.projection.digest()
        finally:
            for engine in engines:
                await engine.stop()

    run_apart(run())
    require_audit(address)


def test_the_commands_promote_and_demote(tmp_path: Path) -> None:
    path = with_shadows(tmp_path, more="traffic = 0.25")
    with served(path, "--store", tmp_path / "store.db") as service:
        promoted = thrifty("promote", "lending", "coin", "--url", service.url)
        assert promoted.stdout == ("coin acts for lending from now on; lending is a shadow.\n"), (
            promoted.stderr
        )
        unknown = thrifty("promote", "lending", "nobody", "--url", service.url)
        assert unknown.returncode == 2
        assert "lending has no shadow 'nobody': its shadows are" in unknown.stderr
        with Client(service.url, "lending") as client:
            case = client.ask(free={"age": "old"}, case_key="customer 1")
            assert client.explain(case)["decided_by"] in ("coin", "careful", "lending")
            status = client.status("lending")
            assert status["acting"] == "coin"
            assert {shadow["name"] for shadow in status["shadows"]} == {"lending", "careful"}
        demoted = thrifty("demote", "lending", "--url", service.url)
        assert demoted.stdout == "lending acts for lending again; coin is a shadow.\n"
        again = thrifty("demote", "lending", "--url", service.url)
        assert again.returncode == 2
        assert "there is nothing to go back to" in again.stderr


def test_a_service_refuses_a_changed_shadow_before_it_listens(tmp_path: Path) -> None:
    path, store = with_shadows(tmp_path), str(tmp_path / "store.db")
    with served(path, "--store", store):
        pass
    changed = with_shadows(tmp_path, shadows={"careful": "uniform"})
    done = thrifty("serve", str(changed), "--store", store, "--port", "0")
    assert done.returncode == 2
    assert "had a shadow 'careful' with another specification" in done.stderr
