"""Purchases in steps: free values, fees, bundles, unavailable values and outcomes."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ladder
from service.engines import EngineHarness, run_with_engine
from small_service import THRIFTY, Served, ladder_file, ladder_text, served
from thrifty import Agent
from thrifty.client import Client
from thrifty.errors import InvalidField, OutOfTurn
from thrifty.service.audit import audit, fold_log
from thrifty.service.export import export, exported_events
from thrifty.service.replay import replay
from thrifty.service.responses import case_view
from thrifty.service.stores import open_store

CLIMB = "epsilon = 0.0"
"""Without exploration: the policy climbs as long as it can."""
HIGH: Mapping[str, Any] = {
    "income": "high",
    "history": "clean",
    "score": "good",
    "fraud": "no",
    "address": "old",
}
PAID = {"address": 0.25}  # it has no list price


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", ladder.registry())


def test_a_case_in_four_purchases(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open(age=44)
        assert (opened.body["contract"], opened.body["free"]) == (2, {"age": 44})
        assert opened.body["buy"] == ["income"]
        assert opened.body["price"] == 1.0  # 0.40 and the bureau's fee of 0.60
        second = await harness.observe(opened.case, {"income": "high"})
        assert second.body["costs"] == {"income": 1.0}
        assert (second.body["buy"], second.body["price"]) == (["history"], 1.5)  # the fee is paid
        third = await harness.observe(opened.case, {"history": "clean"})
        assert (third.body["buy"], third.body["price"]) == (["score", "fraud"], 5.0)
        fourth = await harness.observe(
            opened.case, {"score": "good", "fraud": "no"}, costs={"report": 4}
        )
        assert fourth.body["costs"] == {"score": 2.0, "fraud": 2.0}
        assert (fourth.body["buy"], fourth.body["price"]) == (["address"], None)
        with pytest.raises(InvalidField, match=r"costs\.address: the feature has no list price"):
            await harness.observe(opened.case, {"address": "old"})
        acted = await harness.observe(opened.case, {"address": "old"}, costs=PAID)
        assert acted.body["action"] in ("decline", "approve")
        assert "buy" not in acted.body
        assert await harness.reward(opened.case, outcome="repaid") == "learnt"
        await harness.settled()
        totals = harness.projection.totals
        assert totals.spend == 1.0 + 1.5 + 4.0 + 0.25
        assert totals.counts["bought more"] == 3
        assert totals.set_in_use == ["income", "history", "score", "fraud", "address"]
        view = case_view(*await harness.engine.case("default", opened.case))
        assert [step["buy"] for step in view["steps"]] == [
            ["income"],
            ["history"],
            ["score", "fraud"],
            ["address"],
        ]
        assert [step["expected_price"] for step in view["steps"]] == [1.0, 1.5, 5.0, None]
        assert [step["reasons"]["climbed"] for step in view["steps"]] == [0, 1, 2, 4]
        assert view["values"] == HIGH
        assert view["outcome"] == view["rewards"][0]["outcome"] == "repaid"
        paid = {"decline": 0.0, "approve": 120.0}[acted.body["action"]]
        assert view["learnt_reward"] == paid

    _in_ladder(store_address, scenario)


def test_unavailable_values_cost_money_and_are_not_bought_again(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=None)).case
        await harness.observe(case, {"income": "high"}, costs={"income": 0.5})
        acted = await harness.observe(case, {"history": None}, costs={"history": 0.3})
        assert acted.body["action"]  # without the value it does not climb
        assert (acted.body["values"], acted.body["unavailable"]) == ({}, ["history"])
        await harness.reward(case, outcome="default")
        await harness.settled()
        assert harness.projection.totals.spend == 0.8
        assert harness.projection.totals.unavailable == {"history": 1}
        (other,) = [await harness.open(age=70)]
        assert other.body["price"] == 1.0  # its list price, as it shares a setup fee
        more = await harness.observe(other.case, {"income": "high"}, unavailable=())
        assert more.body["price"] == 1.5  # it was never had, so the list price holds
        gone = await harness.observe(other.case, {}, unavailable=["history"])
        assert gone.body["costs"] == {"history": 0.0}

    _in_ladder(store_address, scenario)


def test_known_values_are_not_bought(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open(age=20, income="high", score="good")
        assert opened.body["buy"] == ["history"]
        assert opened.body["price"] == pytest.approx(2.1)
        third = await harness.observe(opened.case, {"history": "clean"})
        assert third.body["buy"] == ["fraud"]  # the rest of the bundle, at its whole price
        assert third.body["price"] == 5.0
        with pytest.raises(InvalidField, match=r"values\.score: the case does not ask for"):
            await harness.observe(opened.case, {"fraud": "no", "score": "bad"})

    _in_ladder(store_address, scenario)


def test_a_case_that_needs_nothing_has_its_action_at_once(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open(age=20)
        assert (opened.body["buy"], opened.body["action"] in ("decline", "approve")) == ([], True)
        with pytest.raises(OutOfTurn, match="has its action already"):
            await harness.observe(opened.case, {})
        assert await harness.reward(opened.case, outcome="repaid") == "learnt"
        await harness.settled()
        assert (
            harness.projection.totals.counts["acted"] == harness.projection.panel.rounds_learnt == 1
        )
        assert harness.projection.totals.set_in_use == []

    _in_ladder(store_address, scenario, more="epsilon = 1.0")


def test_late_rewards_bring_all_purchases_along(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=33)).case
        await harness.observe(case, {"income": "high"})
        await harness.observe(case, {"history": "none"})
        await harness.settled()
        await harness.pass_deadlines()
        assert await harness.reward(case, outcome="repaid") == "late-learnt"
        await harness.settled()
        state = harness.projection.panel.policy.get_state()
        assert state["purposes"].tolist() == [0, 0, 1, 0, 0, 0, 0]  # history is the second feature
        assert state["counts"][0].sum() == 4  # income, history, age and the column of all cases
        assert audit(harness.engine.store, harness.projection.spec).difference is None

    _in_ladder(store_address, scenario, rule="learn_late = true")


@pytest.mark.parametrize(
    ("rule", "told", "learnt", "outcome"),
    [
        ("first", [(None, "default")], -900.0, "default"),
        ("first", [(120.0, None)], 120.0, "repaid"),
        ("first", [(120.0 + 1e-8, None)], 120.0, "repaid"),
        ("first", [(-900.0, "default")], -900.0, "default"),
        ("last", [(None, "default"), (None, "repaid")], 120.0, "repaid"),
        ("sum", [(None, "repaid")], 120.0, "repaid"),
        ("sum", [(None, "default"), (None, "repaid")], -780.0, None),
    ],
)
def test_outcomes_and_rules(
    tmp_path: Path,
    rule: str,
    told: list[tuple[float | None, str | None]],
    learnt: float,
    outcome: str | None,
) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=33)).case
        await harness.observe(case, {"income": "low"}, available=["approve"])
        for money, name in told:
            await harness.reward(case, money, name)
        await harness.settled()
        await harness.pass_deadlines()
        view = case_view(*await harness.engine.case("default", case))
        assert (view["learnt_reward"], view["outcome"]) == (learnt, outcome)
        counted = harness.projection.panel.policy.get_state()["counts"][:, -1].tolist()
        assert counted == ([0, 1] if outcome is None else [1, 1])  # an outcome teaches of both
        assert audit(harness.engine.store, harness.projection.spec).difference is None

    _in_ladder(tmp_path / "store.db", scenario, rule=f'rule = "{rule}"')


def test_equal_rewards_do_not_reveal_an_outcome(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=33)).case
        await harness.observe(case, {"income": "low"}, available=["decline"])
        for money, name, field in [
            (5.0, None, "reward"),
            (120.0, "repaid", "reward"),
            (None, "lost", "outcome"),
            (None, None, "reward"),
            (121.0, None, "reward"),
        ]:
            with pytest.raises(InvalidField) as caught:
                await harness.reward(case, money, name)
            assert caught.value.field == field
        assert await harness.reward(case, 0.0) == "learnt"
        assert harness.engine.store.index.cases([case])[case][-1].body["outcome"] is None

    _in_ladder(tmp_path / "store.db", scenario)


def test_available_actions_are_kept_in_the_log(tmp_path: Path) -> None:
    with ladder_service(tmp_path, more="epsilon = 1.0") as service, Client(service.url) as client:
        for name in ("decline", "approve") * 5:
            case = client.ask(free={"age": 3}, available=[name])
            assert (case.action, case.buy, case.expected_price) == (name, (), None)
        with pytest.raises(InvalidField, match="available"):
            client.ask(free={"age": 3}, available=["refer"])
    require_true(tmp_path)


def test_killed_between_two_purchases(tmp_path: Path) -> None:
    """The service continues, and audit, export and replay agree with it."""
    with ladder_service(tmp_path, more=CLIMB) as service, Client(service.url) as client:
        case = client.ask(free={"age": 61}, key="ask")
        assert (case.buy, case.expected_price, case.unit) == (("income",), 1.0, "EUR")
        case = client.observe(case, {"income": "high"}, key="first")
        assert (case.buy, case.action) == (("history",), None)
        service.kill()
    with ladder_service(tmp_path, more=CLIMB) as service, Client(service.url) as client:
        assert client.case(case) == case
        assert client.observe(str(case.id), {"income": "high"}, key="first") == case
        with pytest.raises(InvalidField, match="does not ask for this feature now"):
            client.observe(case, {"income": "high"})
        while case.buy:
            case = client.observe(case, {name: HIGH[name] for name in case.buy}, _paid(case.buy))
        assert client.tell(case, outcome="repaid").use == "learnt"
        shown = client.explain(case)
        assert [step["buy"] for step in shown["steps"]][:2] == [["income"], ["history"]]
        assert (shown["outcome"], shown["status"]) == ("repaid", "closed")
        rng = np.random.default_rng(1)
        for k in range(30):
            _live(client, rng, k)
    found = require_true(tmp_path)
    log = tmp_path / "log.parquet"
    _run(tmp_path, "export", tmp_path / "store.db", "--out", log)
    rows = pl.read_parquet(log)
    assert rows["learnt"].sum() == found["learnt"]
    first = rows.filter(pl.col("case") == str(case.id))
    assert first["buy"].to_list()[:4] == [["income"], ["history"], ["score", "fraud"], ["address"]]
    assert first["spend"].to_list()[1:5] == [1.0, 1.5, 5.0, 0.25]
    assert first["outcome"].to_list()[-1] == "repaid"
    assert first["expected_price"].to_list()[:4] == [1.0, 1.5, 5.0, None]
    fresh = ladder_file(tmp_path, name="fresh", more=CLIMB)
    said = _run(tmp_path, "replay", log, fresh, "--of", "lending", "--save", tmp_path / "a.npz")
    assert f"fresh: learnt {found['learnt']} rounds" in said.stdout
    store = open_store(str(tmp_path / "store.db"), read_only=True)
    wanted = fold_log(store, store.policies.specs()[0]).panel.policy.get_state()
    store.close()
    taught = Agent.load(tmp_path / "a.npz").policy
    assert taught.rounds == found["learnt"]
    for name, array in taught.get_state().items():
        assert (array == wanted[name]).all()


def test_a_replay_asks_with_what_was_free(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        for k in range(8):
            case = (await harness.open(age=k, **({"income": "high"} if k % 2 else {}))).case
            event = await harness.observe(case, {"history": "none"} if k % 2 else {"income": "low"})
            assert event.body["action"]
            await harness.reward(case, outcome="repaid")

    _in_ladder(tmp_path / "store.db", scenario)
    store = open_store(str(tmp_path / "store.db"), read_only=True)
    export(store, tmp_path / "log.parquet")
    (spec,) = store.policies.specs()
    store.close()
    done = replay(spec, exported_events(tmp_path / "log.parquet", "lending"))
    assert (done.learnt, done.cases, done.same_purchase) == (8, 8, 8)


def ladder_service(folder: Path, **changes: str) -> AbstractContextManager[Served]:
    """Run a service of the policy that buys in steps."""
    policy, env = ladder_file(folder, **changes), ladder.environment(folder)
    return served(policy, "--store", folder / "store.db", env=env)


def require_true(folder: Path) -> dict[str, Any]:
    """Run `thrifty audit`, and return its report."""
    (found,) = json.loads(_run(folder, "audit", folder / "store.db", "--json").stdout)
    assert found["difference"] is None
    assert found["snapshots"] > 0
    return dict(found)


def _run(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [str(THRIFTY), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=ladder.environment(folder),
    )
    assert done.returncode == 0, done.stderr
    return done


def _live(client: Client, rng: np.random.Generator, k: int) -> None:
    """Play a case; some values are unavailable, and some rewards never come."""
    case = client.ask(free={"age": None if k % 5 == 0 else int(rng.integers(90))})
    while case.buy:
        values = {name: HIGH[name] if rng.random() < 0.8 else None for name in case.buy}
        case = client.observe(case, values, _paid(case.buy))
    if k % 7 == 0:
        client.abandon(case)
    elif k % 7 < 6:
        client.tell(case, outcome=("repaid", "default")[int(rng.integers(2))])


def _paid(names: tuple[str, ...]) -> dict[str, float]:
    return {name: PAID[name] for name in names if name in PAID}


def _in_ladder(address: str | Path, scenario: Any, more: str = CLIMB, rule: str = "") -> None:
    run_with_engine(address, scenario, text=ladder_text(more=more, rule=rule))
