"""Probabilities of decisions in the log, in exports, in explanations and in audits."""

import json
import sqlite3
from math import prod
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from service.engines import EngineHarness, run_with_engine
from thrifty.service.audit import audit
from thrifty.service.cases import CaseState
from thrifty.service.export import export, exported_events
from thrifty.service.propensity_bodies import PROPENSITY
from thrifty.service.responses import case_view
from thrifty.service.stores import open_store

KEYS = {"buy", "buy_error", "action", "action_error", "notes"}


async def busy(harness: EngineHarness) -> None:
    for k in range(12):
        await harness.reward(await harness.acted(), 100.0 - k)
    await harness.settled()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run_with_engine(tmp_path / "store.db", busy, policy="scout")
    return tmp_path / "store.db"


def bodies(store: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(store) as connection:
        rows = connection.execute(
            "SELECT body FROM events WHERE kind IN ('opened', 'observed') ORDER BY seq"
        ).fetchall()
    return [json.loads(body) for (body,) in rows]


def rewrite(store: Path, change: Any) -> None:
    """Change the bodies of all decisions."""
    with sqlite3.connect(store) as connection:
        rows = connection.execute(
            "SELECT seq, body FROM events WHERE kind IN ('opened', 'observed')"
        ).fetchall()
        for seq, body in rows:
            new = json.dumps(change(json.loads(body)))
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (new, seq))


def test_every_decision_is_logged_with_its_probability(store: Path) -> None:
    found = bodies(store)
    assert len(found) == 24
    for body in found:
        stated = body[PROPENSITY]
        assert set(stated) <= KEYS
        assert ("buy" in stated) == ("buy" in body)
        assert ("action" in stated) == ("action" in body)
        assert all(0 < stated[name] <= 1 for name in ("buy", "action") if name in stated)
    opened = store_of(store)
    report = audit(opened, opened.policies.specs()[0])
    assert (report.difference, report.decisions) == (None, 24)


def store_of(path: Path) -> Any:
    return open_store(str(path), read_only=True)


def test_the_audit_compares_probabilities(store: Path) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        if "action" in body[PROPENSITY]:
            body[PROPENSITY]["action"] *= 1 + 1e-15
        return body

    rewrite(store, change)
    opened = store_of(store)
    difference = audit(opened, opened.policies.specs()[0]).difference
    assert difference is not None
    assert difference.what == PROPENSITY


def test_a_log_without_probabilities_holds_as_before(store: Path, tmp_path: Path) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name != PROPENSITY}

    rewrite(store, change)
    opened = store_of(store)
    assert audit(opened, opened.policies.specs()[0]).difference is None
    export(opened, tmp_path / "log.parquet")
    table = pl.read_parquet(tmp_path / "log.parquet")
    assert table["buy_probability"].is_null().all()
    assert table["action_probability"].is_null().all()
    events = [*exported_events(tmp_path / "log.parquet", "lending")]
    case = [event for event in events if event.case == events[0].case]
    spec = opened.policies.specs()[0]
    view = case_view(spec, CaseState.from_events(spec.problem, case))
    assert view["steps"][0]["propensity"] is None
    assert view["explain"]["action_propensity"] is None


def test_a_case_that_an_earlier_release_opened_has_no_later_probability(tmp_path: Path) -> None:
    """Its notes are unknown, so what follows cannot be said."""

    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open()
        case = harness.projection.cases[opened.case]
        case.record.notes = None
        acted = await harness.act(opened.case)
        assert acted.body["action"]
        assert PROPENSITY not in acted.body

    run_with_engine(tmp_path / "store.db", scenario, policy="scout")


def test_the_export_has_columns(store: Path, tmp_path: Path) -> None:
    export(store_of(store), tmp_path / "log.parquet")
    table = pl.read_parquet(tmp_path / "log.parquet")
    decided = table.filter(pl.col("kind").is_in(["opened", "observed"]))
    logged = [body[PROPENSITY] for body in bodies(store)]
    assert decided["buy_probability"].to_list() == [stated.get("buy") for stated in logged]
    assert decided["action_probability"].to_list() == [stated.get("action") for stated in logged]
    errors = [stated.get("action_error", 0.0 if "action" in stated else None) for stated in logged]
    assert decided["action_probability_error"].to_list() == errors
    assert table.filter(pl.col("kind") == "rewarded")["buy_probability"].is_null().all()


def test_explain_shows_probabilities(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = await harness.acted()
        view = case_view(*await harness.engine.case("default", case))
        (step,) = view["steps"]
        assert step["propensity"] is not None
        assert step["propensity"]["words"].startswith("Buying ")
        assert view["explain"]["action_propensity"] is not None
        assert view["explain"]["action_propensity"]["probability"] == pytest.approx(1 / 2)
        assert view["explain"]["stop_propensity"] is None

    run_with_engine(tmp_path / "store.db", scenario, policy="scout")


def test_the_product_is_the_probability_of_the_case(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        event = await harness.open(income="low", history="clean", age=33)
        stated = event.body[PROPENSITY]
        assert stated == {"buy": 1.0, "action": 0.5}
        assert prod(stated.values()) == 0.5

    run_with_engine(tmp_path / "store.db", scenario, policy="uniform")
