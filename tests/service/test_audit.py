"""`thrifty audit` checks the log, and names the first event that does not follow from it."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from in_process import thrifty
from service.engines import QUICK, EngineHarness, read_spec, run_with_engine
from small_service import policy_file, run_apart
from thrifty import Agent
from thrifty.service.audit import audit, fold_log
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.events import START, Event, Position
from thrifty.service.export import export, exported_events
from thrifty.service.projection import Projection
from thrifty.service.replay import replay
from thrifty.service.snapshots import prepare_snapshot
from thrifty.service.stores import open_store


async def busy(harness: EngineHarness) -> None:
    """Play two dozen cases of all kinds."""
    for k in range(24):
        case = await harness.acted()
        if k % 4 == 1:
            await harness.abandon(case)
        elif k % 4:
            await harness.reward(case, 100.0 - k)
    await harness.settled()
    await harness.pass_deadlines()
    await harness.reward(case, 7.0)
    await harness.settled()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run_with_engine(
        tmp_path / "store.db", busy, policy="scout", rule="default = 3\nlearn_late = true"
    )
    return tmp_path / "store.db"


def test_an_unchanged_log_passes_the_audit(store_address: str) -> None:
    run_with_engine(store_address, busy, policy="scout", rule="default = 3")
    done = thrifty("audit", store_address)
    assert done.returncode == 0, done.stderr
    assert "every decision follows from the log, bit for bit" in done.stdout
    (found,) = json.loads(thrifty("audit", store_address, "--json").stdout)
    assert found["decisions"] == 48
    assert found["snapshots"] == 1


def test_a_log_that_grows_while_it_is_audited(store: Path) -> None:
    """Whenever the end of the log is read, it has five more events."""
    opened = open_store(str(store), read_only=True)
    (spec,), whole, shown = opened.policies.specs(), opened.log.read(START, 1000), 45
    projection = Projection(spec)
    for event in whole[:40]:
        projection.apply(event)
    snapshot = prepare_snapshot(projection, opened.id, whole[39])()
    decided = [
        decision
        for decision in opened.index.decisions(spec)
        if decision[0].position <= whole[44].position
    ]

    def read(after: Position, limit: int) -> list[Event]:
        nonlocal shown
        found = [event for event in whole[:shown] if event.position > after][:limit]
        shown += 0 if found else 5
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened.log, "read", read)
        patch.setattr(opened.index, "decisions", lambda _: iter(decided))
        patch.setattr(opened.snapshots, "load", lambda _: iter([snapshot]))
        found = audit(opened, spec)
    assert (found.difference, found.events, found.snapshots) == (None, 45, 1)
    opened.close()


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("opened", {"buy": []}, "buy is [] in the log"),
        ("opened", {"purpose": 77}, "purpose is 77"),
        ("observed", {"action": "refer"}, "action is 'refer'"),
        ("observed", {"action_values": [0.0, 0.0]}, "action_values"),
        ("settled", {"reward": 100.0}, "reward is 100.0"),
        ("rewarded", {"use": "extra"}, "use is 'extra'"),
        ("rewarded", {"reward": 99999.0}, "not valid (InvalidField"),
        ("rewarded", {"reward": None}, "is not valid"),
        ("observed", {"costs": [0.4]}, "is not valid"),
        ("observed", {"values": 3}, "is not valid"),
    ],
)
def test_a_changed_event_is_named(
    store: Path, kind: str, change: dict[str, Any], says: str
) -> None:
    with sqlite3.connect(store) as database:
        seq, case, body = database.execute(
            "SELECT seq, case_id, body FROM events WHERE kind = ? ORDER BY seq LIMIT 1 OFFSET 2",
            [kind],
        ).fetchone()
        changed = json.dumps({**json.loads(body), **change})
        database.execute("UPDATE events SET body = ? WHERE seq = ?", [changed, seq])
    database.close()
    done = thrifty("audit", store)
    if done.returncode == 1:
        assert f"FIRST DIFFERENCE: event {seq}, case {case}: " in done.stdout
        assert says in done.stdout
    else:  # an invalid event cannot be applied at all
        assert done.returncode == 2
        assert "is not valid" in done.stderr


def test_an_event_that_was_cut_short_is_named(store: Path) -> None:
    with sqlite3.connect(store) as database:
        database.execute("UPDATE events SET body = substr(body, 1, 30) WHERE seq = 1")
    database.close()
    done = thrifty("audit", store)
    assert done.returncode == 2
    assert done.stderr.startswith("thrifty: event 1 is not valid")


def test_a_changed_reward_shows_in_a_later_decision(store: Path) -> None:
    with sqlite3.connect(store) as database:
        database.execute(
            "UPDATE events SET body = replace(body, '\"reward\":98.0', '\"reward\":-900.0')"
        )
    database.close()
    assert thrifty("audit", store).returncode == 1


def test_an_event_that_is_missing_is_noticed(store: Path) -> None:
    with sqlite3.connect(store) as database:
        database.execute("DELETE FROM events WHERE seq = 5")
    database.close()
    assert thrifty("audit", store).returncode in (1, 2)


def test_the_log_as_a_table_and_a_fresh_policy_taught_by_it(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    done = thrifty("export", store, "--out", log)
    table = pl.read_parquet(log)
    assert done.stdout.startswith(f"{len(table)} events"), done.stderr
    (found,) = json.loads(thrifty("audit", store, "--json").stdout)
    assert len(table) == found["events"]
    assert table["learnt"].sum() == found["learnt"]
    policy = policy_file(tmp_path, name="fresh", more="# taught by the log")
    taught = thrifty("replay", log, policy, "--of", "lending", "--save", tmp_path / "agent.npz")
    assert f"fresh: learnt {found['learnt']} rounds from 24 cases" in taught.stdout, taught.stderr
    assert Agent.load(tmp_path / "agent.npz").policy.rounds == found["learnt"]
    warm = policy_file(tmp_path, name="warm", more='agent = "agent.npz"')
    assert read_spec(warm).agent is not None
    nothing = thrifty("replay", store, policy)
    assert nothing.returncode == 2
    assert "is not an exported log" in nothing.stderr


def test_a_policy_that_the_log_does_not_have_is_refused(store: Path, tmp_path: Path) -> None:
    log, agent = tmp_path / "log.parquet", tmp_path / "agent.npz"
    assert thrifty("export", store, "--out", log).returncode == 0
    policy = policy_file(tmp_path, name="fresh", policy="ucb1")
    taught = thrifty("replay", log, policy, "--of", "lendng", "--save", agent)
    assert taught.returncode == 2
    assert "has no events of default/lendng" in taught.stderr
    assert "its policies are default/lending." in taught.stderr
    assert not agent.exists()
    audited = thrifty("audit", store, "--policy", "lendng")
    assert audited.returncode == 2
    assert "no policy 'lendng', so nothing was audited: its policies are lending." in audited.stderr


def test_a_replay_teaches_what_was_learnt(store: Path, tmp_path: Path) -> None:
    opened = open_store(str(store), read_only=True)
    spec = opened.policies.specs()[0]
    wanted = fold_log(opened, spec)
    assert export(opened, tmp_path / "log.parquet") == opened.index.count()
    opened.close()
    done = replay(spec, exported_events(tmp_path / "log.parquet", "lending"), tmp_path / "a.npz")
    assert (done.learnt, done.cases) == (wanted.panel.rounds_learnt, 24)
    assert (done.reward, done.spend) == (wanted.totals.reward, wanted.totals.spend)
    assert done.same_purchase == 24  # the same policy with the same seed
    state, taught = wanted.panel.policy.get_state(), Agent.load(tmp_path / "a.npz").policy
    for name, array in taught.get_state().items():
        assert array.tobytes() == state[name].tobytes(), name


def test_events_that_do_not_fit_the_new_policy_are_refused(store: Path, tmp_path: Path) -> None:
    """The log has rewards of up to 100 EUR, which must not be clipped silently."""
    log, agent = tmp_path / "log.parquet", tmp_path / "agent.npz"
    assert thrifty("export", store, "--out", log).returncode == 0
    policy = policy_file(tmp_path, name="fresh")
    text = policy.read_text()
    for narrow, complaint in {
        text.replace("high = 120", "high = 20"): "is not a number in [-900, 20]",
        text.replace('"low", "high"', '"lower", "high"'): "'low'",
        text.replace('"approve"]', '"refer"]'): "'approve'",
    }.items():
        policy.write_text(narrow)
        refused = thrifty("replay", log, policy, "--of", "lending", "--save", agent)
        assert refused.returncode == 2
        assert "does not fit the policy" in refused.stderr
        assert complaint in refused.stderr
    assert not agent.exists()
    policy.write_text(text.replace('"approve"]', '"approve", "refer"]'))
    taught = thrifty("replay", log, policy, "--of", "lending", "--save", agent)
    assert taught.returncode == 0, taught.stderr


def test_two_tenants_with_policies_of_one_name(tmp_path: Path) -> None:
    """A replay learns only from the policy of its own tenant."""
    specs = [
        read_spec(policy_file(tmp_path, more=f'tenant = "{tenant}"')) for tenant in ("one", "two")
    ]

    async def scenario() -> None:
        engine = Engine(open_store(str(tmp_path / "store.db")), specs, QUICK)
        await engine.start()
        for k, tenant in enumerate(["one", "two", "two"]):  # under the same keys, if they can be
            opened = await engine.open_case(tenant, "lending", NewCase({}), f"open-{k // 2}", "r")
            values: dict[str, str | float] = {"income": "low", "history": "clean", "age": 33}
            seen = ObservationReport(values, dict.fromkeys(values, 2.0))
            await engine.observe(tenant, opened.case, seen, f"act-{k}", "r")
            await engine.reward(tenant, opened.case, 10.0 * k, None, f"reward-{k}", "r")
        await engine.stop()

    run_apart(scenario())
    assert thrifty("export", tmp_path / "store.db", "--out", tmp_path / "log").returncode == 0
    for spec, rounds, reward in zip(specs, (1, 2), (0.0, 30.0), strict=True):
        done = replay(spec, exported_events(tmp_path / "log", "lending", spec.tenant))
        assert (done.learnt, done.reward) == (rounds, reward)
    mine = policy_file(tmp_path, more='tenant = "one"')
    taught = thrifty("replay", tmp_path / "log", mine, "--save", tmp_path / "agent.npz")
    assert "lending: learnt 1 rounds from 1 cases" in taught.stdout


def test_a_file_that_is_not_a_store_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file.db").write_text("no database at all" * 100)
    for path in (tmp_path / "nowhere.db", tmp_path, tmp_path / "file.db"):
        done = thrifty("audit", path)
        assert done.returncode == 2
        assert done.stderr.startswith("thrifty: ")
        assert len(done.stderr.strip().splitlines()) == 1
    assert "file.db is not a database" in done.stderr
    served = thrifty("serve", "--store", tmp_path / "file.db")
    assert "file.db is not a database" in served.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file.db"]  # not even a lock beside it
