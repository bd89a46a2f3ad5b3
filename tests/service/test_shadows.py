"""Policies that decide beside a policy: what they see, what they learn, and that the log has it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fitter
from service.engines import EngineHarness, read_spec, run_with_engine
from service.shadow_files import OUTCOMES, play, with_shadows, write
from thrifty.errors import InvalidSpec
from thrifty.plans.files import write_plan
from thrifty.plans.tree import ActionRule, Leaf, PlanTree
from thrifty.rounds import Observation
from thrifty.service.audit import audit, fold_log, read_policy_log
from thrifty.service.events import FITTED, OBSERVED, OPENED, SHADOWED, Event
from thrifty.service.imagined import ImaginedCase, imagine
from thrifty.service.model import Model
from thrifty.service.panel import LearntCase, Panel, ShadowCase
from thrifty.service.panel_events import panel_event, settings_to_body
from thrifty.service.projection import Projection
from thrifty.service.snapshots import prepare_snapshot, restore_snapshot
from thrifty.service.stores import open_store
from waiting import until


def events_of(address: str | Path) -> list[Event]:
    with closing(open_store(str(address), read_only=True)) as store:
        return list(read_policy_log(store, store.policies.specs()[0]))


def require_audit(address: str | Path) -> None:
    """Audit a store, which must pass and have compared a snapshot."""
    with closing(open_store(str(address), read_only=True)) as store:
        (spec,) = store.policies.specs()
        found = audit(store, spec)
        assert found.difference is None, str(found.difference)
        assert found.passed
        assert found.snapshots


def test_a_shadow_sees_only_what_it_asks_for_and_what_was_bought(tmp_path: Path) -> None:
    spec = read_spec(write(tmp_path, "eager", "linucb"))  # it buys everything
    model, nan = Model(spec), np.nan
    nothing = Observation.unchecked(np.array([-1, -1, 0]), np.array([nan, nan, nan]), 0)
    part = Observation.unchecked(np.array([1, -1, 0]), np.array([0.4, nan, nan]), 7)
    whole = Observation.unchecked(np.array([1, -1, 0]), np.array([0.4, 1.5, nan]), 7)
    assert imagine(model, "c", nothing, None).missing == (0, 1)
    assert imagine(model, "c", part, None).missing == (1,)
    done = imagine(model, "c", whole, None)  # a value that was unavailable is known as such
    assert (done.places, done.missing) == ((0, 1), ())
    assert done.action is not None
    assert ImaginedCase.from_body(spec.problem, done.to_body(spec.problem)) == done


def test_values_that_a_shadow_did_not_ask_for_are_hidden() -> None:
    whole = Observation.unchecked(np.array([1, 2, 0]), np.array([0.4, 1.5, np.nan]), 7)
    seen = ImaginedCase((1,), purpose=3, action=0).seen(whole)
    assert seen.codes.tolist() == [-1, 2, 0]
    assert seen.costs.tolist()[1] == 1.5
    assert np.isnan(seen.costs[[0, 2]]).all()
    assert seen.purpose == 3
    assert whole.codes.tolist() == [1, 2, 0]  # not changed


class Recorder:
    """Stands for a model and records what it learns."""

    def __init__(self, panel: Panel, place: int) -> None:
        self.learnt: list[tuple[list[int], int, float, int | None]] = []
        self.spec = panel.members[place].spec
        panel.members[place].model = self  # type: ignore[assignment]

    def learn(
        self, seen: Observation, action: int, reward: float, outcome: int | None, **_: Any
    ) -> None:
        self.learnt.append((seen.codes.tolist(), action, reward, outcome))


def panel_of(folder: Path, outcomes: str = OUTCOMES, more: str = "") -> Panel:
    """Return a panel with the shadows `careful` and `coin`."""
    spec = read_spec(with_shadows(folder, outcomes=outcomes, more=more))
    panel = Panel(spec)
    panel.change(panel_event(spec, SHADOWED, 0, settings_to_body(spec.shadows), 1))
    return panel


@pytest.mark.parametrize(
    ("outcomes", "outcome", "own", "learnt"),
    [
        (OUTCOMES, 0, ImaginedCase((1,), action=1), [([-1, 2, 0], 1, 120.0, 0)]),
        (OUTCOMES, 0, ImaginedCase((1,), action=0), [([-1, 2, 0], 0, 0.0, 0)]),
        (OUTCOMES, None, ImaginedCase((1,), action=0), []),  # nobody knows its reward
        (OUTCOMES, 0, ImaginedCase((1,), missing=(1,)), []),  # nor what it would have done
        ("", None, ImaginedCase((), action=1), [([-1, -1, 0], 1, 120.0, None)]),
        ("", None, ImaginedCase((), action=0), []),
    ],
)
def test_what_a_shadow_learns(
    tmp_path: Path,
    outcomes: str,
    outcome: int | None,
    own: ImaginedCase,
    learnt: list[Any],
) -> None:
    panel = panel_of(tmp_path, outcomes)
    acting, shadow = Recorder(panel, 0), Recorder(panel, 1)
    whole = Observation.unchecked(np.array([1, 2, 0]), np.array([0.4, 1.5, np.nan]), 7)
    case = LearntCase(
        whole, 1, 120.0, outcome, None, "lending", 1, {"careful": ShadowCase(own)}, usual=True
    )
    panel.learn(case)
    assert acting.learnt == [([1, 2, 0], 1, 120.0, outcome)]
    assert shadow.learnt == learnt
    assert panel.version == 2


def test_equal_seeds_draw_different_numbers(tmp_path: Path) -> None:
    """Else a shadow of the same kind would always take the same random action."""
    panel = panel_of(tmp_path)
    known = Observation.from_free(panel.spec.problem, {2: 0})
    coin = panel.named("coin")
    assert coin is not None
    alone = Model(coin.spec)
    beside = [coin.model.decide(known, step=1, case=f"c{k}").action for k in range(64)]
    assert beside != [alone.decide(known, step=1, case=f"c{k}").action for k in range(64)]


def test_the_log_has_what_shadows_would_have_done(store_address: str, tmp_path: Path) -> None:
    digests = []

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 30)
        panel = harness.projection.panel
        assert [member.name for member in panel.members] == ["lending", "careful", "coin"]
        assert [member.model.rounds_learnt for member in panel.members] == [30, 30, 30]
        served = harness.engine._served["default", "lending"]
        await harness.engine._maintain()  # takes the lease
        await harness.engine._save_snapshot(served)
        await play(harness, 3)
        digests.append(harness.projection.digest())

    run_with_engine(store_address, scenario, path=with_shadows(tmp_path))
    log = events_of(store_address)
    assert log[0].kind == SHADOWED
    acted = [event for event in log if event.kind in (OPENED, OBSERVED) and "action" in event.body]
    assert len(acted) == 33
    assert all(set(event.body["shadows"]) == {"careful", "coin"} for event in acted)
    assert all(event.body["shadows"]["coin"]["buy"] == [] for event in acted)
    with closing(open_store(store_address, read_only=True)) as store:
        assert fold_log(store, store.policies.specs()[0]).digest() == digests[0]
    require_audit(store_address)


def test_a_restart_keeps_the_shadows(tmp_path: Path) -> None:
    path, address = with_shadows(tmp_path), tmp_path / "store.db"
    seen = []

    async def first(harness: EngineHarness) -> None:
        await play(harness, 10)
        seen.append(harness.projection.digest())

    async def again(harness: EngineHarness) -> None:
        assert harness.projection.panel.turn == 1  # nothing was declared again
        seen.append(harness.projection.digest())

    run_with_engine(address, first, path=path)
    run_with_engine(address, again, path=path)
    assert seen[0] == seen[1]


def test_shadows_may_come_and_go(tmp_path: Path) -> None:
    address = tmp_path / "store.db"
    turns: list[tuple[int, dict[str, int]]] = []

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 6, seed=len(turns))
        panel = harness.projection.panel
        counts = {member.name: member.model.rounds_learnt for member in panel.members}
        turns.append((panel.turn, counts))

    run_with_engine(address, scenario, path=write(tmp_path, "lending", "linucb"))
    run_with_engine(address, scenario, path=with_shadows(tmp_path))
    run_with_engine(address, scenario, path=with_shadows(tmp_path, shadows={"coin": "uniform"}))
    run_with_engine(address, scenario, path=write(tmp_path, "lending", "linucb"))
    assert turns == [
        (0, {"lending": 6}),
        (1, {"lending": 12, "careful": 6, "coin": 6}),
        (2, {"lending": 18, "coin": 12}),
        (3, {"lending": 24}),
    ]
    require_audit(address)


def test_a_changed_shadow_needs_another_name(tmp_path: Path) -> None:
    address = tmp_path / "store.db"

    async def nothing(harness: EngineHarness) -> None:
        assert harness.projection.panel.turn == 1

    run_with_engine(address, nothing, path=with_shadows(tmp_path, shadows={"other": "uniform"}))
    changed = with_shadows(tmp_path, shadows={"other": "scout"})
    with pytest.raises(InvalidSpec, match="had a shadow 'other' with another specification"):
        run_with_engine(address, nothing, path=changed)


def test_a_snapshot_holds_the_shadows(tmp_path: Path) -> None:
    path, address = with_shadows(tmp_path), tmp_path / "store.db"

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 12)
        pack = prepare_snapshot(harness.projection, harness.engine.store.id, harness.engine._last)
        restored = restore_snapshot(pack(), harness.projection.spec, harness.engine.store)
        assert restored.digest() == harness.projection.digest()
        assert restored.panel.settings.digest == harness.projection.panel.settings.digest
        names = [member.name for member in restored.panel.members]
        assert names == ["lending", "careful", "coin"]

    run_with_engine(address, scenario, path=path)


def test_the_audit_names_a_changed_shadow_decision(tmp_path: Path) -> None:
    address = tmp_path / "store.db"

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 5)

    run_with_engine(address, scenario, path=with_shadows(tmp_path))
    with closing(sqlite3.connect(address)) as database, database:
        query = "SELECT seq, body FROM events WHERE kind = 'observed' ORDER BY seq LIMIT 1 OFFSET 2"
        seq, body = database.execute(query).fetchone()
        changed = json.loads(body)
        changed["shadows"]["coin"]["action"] = (
            "decline" if changed["shadows"]["coin"]["action"] == "approve" else "approve"
        )
        update = "UPDATE events SET body = ? WHERE seq = ?"
        database.execute(update, [json.dumps(changed), seq])
    with closing(open_store(str(address), read_only=True)) as store:
        found = audit(store, store.policies.specs()[0]).difference
        assert found is not None
        assert (found.seq, found.what) == (seq, "shadows")


def test_a_policy_without_shadows_writes_what_it_wrote_before(tmp_path: Path) -> None:
    address = tmp_path / "store.db"

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 3)

    run_with_engine(address, scenario, path=write(tmp_path, "lending", "linucb"))
    log = events_of(address)
    assert {event.kind for event in log} == {"opened", "observed", "rewarded"}
    assert not any({"by", "turn", "shadows", "case_key"} & event.body.keys() for event in log)
    projection = Projection(read_spec(tmp_path / "lending.toml"))
    assert projection.panel.describe() is None


def test_shadows_are_compared_where_their_result_is_known(tmp_path: Path) -> None:
    """LinUCB buys everything, and the outcome tells the reward of every action."""

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 40)
        for member in harness.projection.panel.shadows:
            assert member.comparison is not None
            view = member.comparison.view()
            assert (view["method"], view["cases"], view["compared"]) == ("coverage", 40, 40)

    run_with_engine(tmp_path / "store.db", scenario, path=with_shadows(tmp_path))
    log = events_of(tmp_path / "store.db")
    rewards = {event.case: event for event in log if event.kind == "rewarded"}
    differences = []
    for event in log:
        if event.kind == OBSERVED and "action" in event.body:
            coin = event.body["shadows"]["coin"]
            repaid = rewards[event.case].body["outcome"] == "repaid"
            pays = {"decline": 0.0, "approve": 120.0 if repaid else -900.0}
            saved = 1.9  # both features cost that much, and the coin buys nothing
            differences.append(pays[coin["action"]] - pays[event.body["action"]] + saved)
    with closing(open_store(str(tmp_path / "store.db"), read_only=True)) as store:
        panel = fold_log(store, store.policies.specs()[0]).panel
        coin = panel.named("coin")
        assert coin is not None
        assert coin.comparison is not None
        assert coin.comparison.sequence.mean == pytest.approx(np.mean(differences))


def test_a_shadow_that_is_never_covered_gets_no_number(tmp_path: Path) -> None:
    """Nobody knows what LinUCB would do beside a policy that buys nothing."""

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 10)
        (eager,) = harness.projection.panel.shadows
        assert eager.comparison is not None
        view = eager.comparison.view()
        assert (view["cases"], view["compared"], view["difference"]) == (10, 0, None)
        assert eager.model.rounds_learnt == 0

    path = with_shadows(tmp_path, policy="ucb1", shadows={"eager": "linucb"})
    run_with_engine(tmp_path / "store.db", scenario, path=path)


def test_without_outcomes_the_log_has_the_chance_of_the_shadows_action(tmp_path: Path) -> None:
    """The coin acts, so each of its actions has a chance of one half."""

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 20)
        (other,) = harness.projection.panel.shadows
        assert other.comparison is not None
        assert other.comparison.view()["compared"] == 19  # the first case starts the average

    path = with_shadows(tmp_path, policy="uniform", shadows={"best": "ucb1"}, outcomes="")
    run_with_engine(tmp_path / "store.db", scenario, path=path)
    acted = [event for event in events_of(tmp_path / "store.db") if "action" in event.body]
    assert {event.body["shadows"]["best"]["chance"] for event in acted} == {0.5}
    require_audit(tmp_path / "store.db")


def test_fits_of_shadows_are_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the shadow has been promoted; the audit runs each of them again."""
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", fitter.registry())
    address, digests = tmp_path / "store.db", []

    async def play_and_fit(harness: EngineHarness, fits: int) -> None:
        """Play the cases after which the next fit is due, and wait until it is used."""
        await play(harness, 5, seed=fits)
        await until(lambda: harness.projection.panel.fits_applied == fits, "the fit")

    async def scenario(harness: EngineHarness) -> None:
        await play_and_fit(harness, 1)
        await play_and_fit(harness, 2)
        await harness.promote("planner")
        await play_and_fit(harness, 3)
        digests.append(harness.projection.digest())

    run_with_engine(address, scenario, path=with_shadows(tmp_path, shadows={"planner": "fitter"}))
    fits = [event for event in events_of(address) if event.kind == FITTED]
    assert {event.body["policy"] for event in fits} == {"planner"}
    with closing(open_store(str(address), read_only=True)) as store:
        found = audit(store, store.policies.specs()[0])
        assert (found.passed, found.fits) == (True, 3)
        assert fold_log(store, store.policies.specs()[0]).digest() == digests[0]


def test_a_plan_as_a_shadow(tmp_path: Path) -> None:
    """The file of a plan is enough; the log then holds the plan."""
    path = with_shadows(tmp_path, shadows={"never": "uniform"})
    problem = read_spec(write(tmp_path, "alone", "linucb")).problem
    leaf = Leaf((), ActionRule(0, np.array([0.0, -100.0])))
    tree = PlanTree(problem, np.array([False, False, True]), leaf)
    write_plan(tree, tmp_path / "never.json")
    path.write_text(path.read_text().replace("never.toml", "never.json"))

    async def scenario(harness: EngineHarness) -> None:
        await play(harness, 8)
        (never,) = harness.projection.panel.shadows
        assert (never.name, never.spec.policy) == ("never", "plan")
        assert never.comparison is not None
        assert never.comparison.view()["compared"] == 8

    run_with_engine(tmp_path / "store.db", scenario, path=path)
    acted = [event for event in events_of(tmp_path / "store.db") if "action" in event.body]
    assert {event.body["shadows"]["never"]["action"] for event in acted} == {"decline"}
    require_audit(tmp_path / "store.db")
