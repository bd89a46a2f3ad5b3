"""Cases on the engine, on both stores, with numbers that can be checked by hand."""

import asyncio
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psycopg
import pytest

import ladder
from postgres_server import PostgresServer
from service.engines import QUICK, Clock, EngineHarness, run_with_engine, spec_of
from small_service import run_apart
from thrifty.case_record import CaseRecord, PurchaseResult
from thrifty.errors import (
    BrokenLog,
    InvalidField,
    KeyReused,
    OutOfTurn,
    RoundClosed,
    StoreUnavailable,
    TooManyOpen,
    UnknownName,
    UnknownRound,
)
from thrifty.kernels.runtime import single_call
from thrifty.kernels.runtime.steps import STEPS
from thrifty.policies import policy_named
from thrifty.problem import PriceList
from thrifty.rounds import Observation
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.model import Model, reasons_as_json
from thrifty.service.responses import case_view
from thrifty.service.served_policy import EngineSettings
from thrifty.service.stores import open_store
from thrifty.specification import PolicySpec
from waiting import LIMIT, until


def test_a_case_from_its_opening_to_its_reward(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open(age="old")
        assert opened.body["buy"] == ["income", "history"]  # LinUCB buys what is not free
        assert opened.body["price"] == 1.9  # nothing was paid yet: the list prices
        acted = await harness.act(opened.case)
        assert acted.body["action"] in ("decline", "approve")
        assert await harness.reward(opened.case, 100.0) == "learnt"
        await harness.settled()
        assert harness.projection.panel.rounds_learnt == 1
        assert not harness.projection.cases
        totals = harness.projection.totals
        assert (totals.reward, totals.spend, totals.gain) == (100.0, 4.0, 96.0)
        assert totals.purchases == {"income": 1, "history": 1}
        again = await harness.open()
        assert again.body["price"] is None  # age has no price, and was never paid for
        assert (await harness.open(age=1)).body["price"] == 4.0  # what was paid

    run_with_engine(store_address, scenario)


def test_an_engine_that_cannot_read_on_is_not_ready(postgres: PostgresServer) -> None:
    address = postgres.new_database()
    broken = (
        "INSERT INTO events (tenant, policy, case_id, step, kind, at, body) "
        "VALUES ('default', 'lending', 'x', 0, 'opened', 0, 'no JSON')"
    )

    async def scenario(harness: EngineHarness) -> None:
        await harness.acted()
        await harness.settled()
        assert harness.engine.ready
        with psycopg.connect(address) as connection:
            connection.execute(broken)
        await until(lambda: not harness.engine.ready)
        await harness.open()  # what can be written does not make it whole
        await harness.engine._maintain()
        assert not harness.engine.ready
        assert "the log cannot be read" in harness.engine.problem
        with psycopg.connect(address) as connection:
            connection.execute("DELETE FROM events WHERE case_id = 'x'")
        await until(lambda: harness.engine.ready)

    run_with_engine(address, scenario)


def test_a_repeated_request_does_not_make_a_broken_engine_ready(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        before = await harness.engine.open_case("default", "lending", NewCase({}), "once", "r")
        harness.engine.store.log.append(
            [replace(before, case="nowhere", step=3, kind="observed", key=None)]
        )
        with pytest.raises(BrokenLog, match="which is not open"):
            await harness.open()
        assert (
            await harness.engine.open_case("default", "lending", NewCase({}), "once", "r") == before
        )
        assert not harness.engine.ready

    run_with_engine(tmp_path / "store.db", scenario, settings=replace(QUICK, tick=60))


def test_a_stopping_engine_releases_its_leases(postgres: PostgresServer) -> None:
    address = postgres.new_database()

    async def scenario(harness: EngineHarness) -> None:
        await until(lambda: harness.engine.leads(harness.projection))

    for _ in range(3):  # a lease that is not handed over outlasts every wait here
        run_with_engine(address, scenario, settings=replace(QUICK, lease_seconds=100 * LIMIT))


def test_a_stopping_engine_answers_all_requests(store_address: str) -> None:
    async def run() -> None:
        engine = Engine(open_store(store_address), [spec_of()], QUICK)
        await engine.start()
        harness = EngineHarness(engine, Clock())
        asked = [asyncio.create_task(harness.open()) for _ in range(3)]
        async with asyncio.timeout(LIMIT):
            while not engine._committer._waiting:
                await asyncio.sleep(0)
            while engine._committer._waiting:  # until they are being written
                await asyncio.sleep(0)
            stopping = asyncio.create_task(engine.stop())
            await asyncio.sleep(0)
            with pytest.raises(StoreUnavailable, match="stopping"):
                await harness.open()
            await stopping
            events = await asyncio.gather(*asked)
        assert not engine.ready
        store = open_store(store_address)
        assert store.index.count() == 3
        assert set(store.index.cases([event.case for event in events])) == {
            event.case for event in events
        }
        store.close()

    run_apart(run())


def test_steps_out_of_turn_are_refused(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = await harness.acted()
        with pytest.raises(OutOfTurn, match="has its action already"):
            await harness.act(case)
        await harness.reward(case, 1.0)
        for step in (harness.act, harness.abandon):
            with pytest.raises(RoundClosed):
                await step(case)
        with pytest.raises(UnknownRound):
            await harness.reward("nobody", 1.0)
        with pytest.raises(UnknownName):
            await harness.engine.open_case("default", "nothing", NewCase({}), "k", "r")
        with pytest.raises(UnknownRound):
            await harness.engine.case("other-tenant", case)
        opened = await harness.open()
        harness.clock.at += 8 * 86400 * 10**6
        with pytest.raises(RoundClosed):
            await harness.act(opened.case)

    run_with_engine(store_address, scenario)


def test_observations_must_match_the_purchase(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=20)).case
        both = {"income": "low", "history": "none"}
        cheap = {"income": 1.0, "history": 1.0}
        for seen, field in [
            (ObservationReport({"nothing": "low"}, {}), "values.nothing"),
            (ObservationReport(both, {"report": 1.0}), "costs.report"),
            (ObservationReport(both | {"age": 3}, cheap | {"age": 0.0}), "values.age"),
            (ObservationReport(both | {"income": "lo"}, cheap), "values.income"),
            (ObservationReport(both | {"income": 3}, cheap), "values.income"),
            (ObservationReport(both, cheap | {"income": -1.0}), "costs.income"),
            (ObservationReport(both, cheap | {"income": 1e9}), "costs.income"),
            (ObservationReport(both, cheap, ("income",)), "values.income"),
            (ObservationReport({}, {}, ("income", "income")), "unavailable"),
            (ObservationReport(both, cheap, (), ("refer",)), "available"),
            (ObservationReport(both, cheap, (), ()), "available"),
        ]:
            with pytest.raises(InvalidField) as caught:
                await harness.engine.observe("default", case, seen, harness.key(), "r")
            assert caught.value.field == field
        gone = ObservationReport({"income": "low"}, cheap, ("history",), ("approve",))
        acted = await harness.engine.observe("default", case, gone, harness.key(), "r")
        assert acted.body["action"] == "approve"
        await harness.reward(case, 120.0)
        await harness.settled()
        assert (
            harness.projection.totals.spend == 2.0
        )  # what was not to be had was paid for all the same
        assert harness.projection.totals.unavailable == {"history": 1}

    run_with_engine(store_address, scenario)


def test_the_same_key_gives_the_same_answer(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        engine, free = harness.engine, NewCase({"age": 5.0})
        first = await engine.open_case("default", "lending", free, "open", "r")
        assert await engine.open_case("default", "lending", free, "open", "r") == first
        with pytest.raises(KeyReused):
            await engine.open_case("default", "lending", free, "open", "other")
        seen = ObservationReport(
            {"income": "low", "history": "none"}, {"income": 1.0, "history": 1.0}
        )
        acted = await engine.observe("default", first.case, seen, "act", "r")
        assert await engine.observe("default", first.case, seen, "act", "r") == acted
        reward = await engine.reward("default", first.case, 5.0, None, "reward", "r")
        assert await engine.reward("default", first.case, 5.0, None, "reward", "r") == reward
        with pytest.raises(KeyReused):
            await engine.reward("default", first.case, 6.0, None, "reward", "other")
        with pytest.raises(KeyReused):
            await engine.abandon("default", first.case, "reward", "abandon")
        together = [engine.open_case("default", "lending", free, "many", "r") for _ in range(20)]
        assert len({event.case for event in await asyncio.gather(*together)}) == 1
        await harness.settled()
        assert engine.store.index.count() == 4
        assert harness.projection.panel.rounds_learnt == 1

    run_with_engine(store_address, scenario)


def test_many_at_once_take_each_step_once(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = (await harness.open(age=5)).case
        tries = await asyncio.gather(
            *(harness.act(case) for _ in range(20)), return_exceptions=True
        )
        assert sum(isinstance(one, OutOfTurn) for one in tries) == 19
        uses = await asyncio.gather(*(harness.reward(case, 1.0) for _ in range(20)))
        assert sorted(uses) == ["extra"] * 19 + ["learnt"]

    run_with_engine(store_address, scenario)


def test_open_cases_are_bounded(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        cases = [(await harness.open()).case for _ in range(3)]
        with pytest.raises(TooManyOpen, match="which is the limit"):
            await harness.open()
        await harness.abandon(cases[0])
        await harness.open()

    run_with_engine(tmp_path / "store.db", scenario, settings=EngineSettings(tick=0.01, max_open=3))


def test_deciding_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state depends only on the rounds learnt, not on decisions in between."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", ladder.registry())
    for name in ("epsilon-greedy", "ladder", "linucb", "scout", "sim-oos", "ucb1", "uniform"):
        policy_named(name)  # which must be registered
        spec = spec_of(policy=name)
        if name == "sim-oos":
            spec = _priced(spec)
        quiet, busy = Model(spec), Model(spec)
        for t in range(150):
            for k in range(t % 3):  # the busy one is asked about other cases, too
                other = Observation([0, 1, 0], [1.0, 1.0, 1.0])
                for step, seen in enumerate((Observation.nothing(spec.problem), other)):
                    busy.decide(seen, step=step, case=f"other-{t}-{k}")
            case, record = f"case-{t}", CaseRecord(f"case-{t}", {})
            while record.action is None:
                seen, step = record.observation(3), len(record.steps)
                decision = quiet.decide(seen, step=step, case=case)
                assert busy.decide(seen, step=step, case=case) == decision, name
                record.decide(decision)
                codes = {i: int(rng.integers(2)) for i in record.places}
                if codes:
                    record.observe(
                        PurchaseResult(codes, {i: float(rng.integers(90)) for i in codes})
                    )
            reward = 120.0 if seen.codes[0] == record.action else -900.0
            quiet.learn(seen, record.action, reward)
            busy.learn(seen, record.action, reward)
            left, right = quiet.state(), busy.state()
            for array in left:
                assert left[array].tobytes() == right[array].tobytes(), (name, array, t)


def test_every_reason_is_valid_json() -> None:
    """Scout values a set that no round has shown whole at minus infinity; JSON has no such number.

    It is common where most features could not be had: every second of these policies does so.
    """
    unknown = 0
    for seed in range(8):
        model, rng = Model(replace(spec_of(policy="scout"), seed=seed)), np.random.default_rng(seed)
        for t in range(15):
            decision = model.decide(Observation.nothing(model.problem), step=0, case=f"case-{t}")
            reasons = reasons_as_json(decision)
            assert reasons is not None
            json.dumps(reasons, allow_nan=False)
            unknown += any(row["value"] is None for row in reasons["considered"])
            bought = np.isin(np.arange(3), decision.places) & (rng.random(3) < 0.2)
            seen = Observation(
                np.where(bought, rng.integers(0, 2, 3), -1),
                np.where(bought, 1.0, np.nan),
                decision.purpose,
            )
            model.learn(seen, int(rng.integers(2)), float(rng.choice([-900.0, 120.0])))
    assert unknown > 0


def test_reasons_are_in_money(tmp_path: Path) -> None:
    """In a range of 1,020 EUR from -900, a scaled reward of 0.5 is -390 EUR."""

    async def scenario(harness: EngineHarness) -> None:
        for _ in range(40):
            await harness.reward(await harness.acted(), -390.0)
        case = await harness.acted()
        view = case_view(*await harness.engine.case("default", case))
        own = harness.engine.store.index.cases([case])[case][0].body["reasons"]["considered"]
        told = view["explain"]["reasons"]["considered"]
        assert [row["features"] for row in told] == [row["features"] for row in own]
        for mine, theirs in zip(told, own, strict=True):
            assert mine["reward"] == pytest.approx(-900 + 1020 * theirs["reward"])
            assert mine["price"] == pytest.approx(1020 * theirs["price"])
            assert mine["value"] == pytest.approx(mine["reward"] - mine["price"])
            assert mine["weight"] == theirs["weight"]
        bought = next(row for row in told if len(row["features"]) == 2)
        assert bought["price"] == pytest.approx(4.0)  # each was paid 2 EUR for

    run_with_engine(tmp_path / "store.db", scenario, policy="scout")


def test_one_bad_batch_does_not_stop_the_engine(store_address: str) -> None:
    """After an unexpected error the next request works."""

    async def scenario(harness: EngineHarness) -> None:
        append = harness.engine.store.log.append
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(harness.engine.store.log, "append", _impossible)
            with pytest.raises(RuntimeError, match="nobody thought of this"):
                await asyncio.wait_for(harness.open(), LIMIT)
            assert not harness.engine.ready
        assert harness.engine.store.log.append == append
        async with asyncio.timeout(LIMIT):
            await harness.reward(await harness.acted(), 1.0)
        await until(lambda: harness.engine.ready)

    run_with_engine(store_address, scenario)


def _impossible(*_: object) -> None:
    raise RuntimeError("nobody thought of this")


def _priced(spec: PolicySpec) -> PolicySpec:
    prices = PriceList(dict.fromkeys(spec.problem.feature_names, 1.0))
    return replace(spec, problem=replace(spec.problem, prices=prices))


def test_a_reopened_engine_continues_bit_for_bit(store_address: str) -> None:
    clock, digests = Clock(), []

    async def first(harness: EngineHarness) -> None:
        for k in range(40):
            case = await harness.acted()
            if k % 3:
                await harness.reward(case, float(k))
        await harness.open()
        await harness.settled()
        digests.append(harness.projection.digest())

    async def second(harness: EngineHarness) -> None:
        digests.append(harness.projection.digest())
        await harness.reward(next(iter(harness.projection.cases)), 1.0)

    async def third(harness: EngineHarness) -> None:
        assert harness.projection.totals.counts["learnt"] == 27

    for scenario in (first, second, third):
        run_with_engine(store_address, scenario, clock=clock)
    assert digests[0] == digests[1]


def test_a_budget_is_in_the_policys_money(tmp_path: Path) -> None:
    """After t cases, at most t times the budget and one purchase have been spent."""
    cases, dearest = 40, 3 * 2.0

    async def scenario(harness: EngineHarness) -> None:
        for _ in range(cases):
            await harness.reward(await harness.acted(), 1.0)
        assert 0 < harness.projection.totals.spend <= cases * 1.5 + dearest

    run_with_engine(tmp_path / "store.db", scenario, policy="scout", more="budget = 1.5")


def test_amounts_reach_every_policy_on_its_own_scale() -> None:
    scout = Model(spec_of(policy="scout", more="budget = 510\nmax_features = 2")).policy
    assert (scout.parameters["budget"], scout.parameters["max_features"]) == (0.5, 2)
    for policy in ("ncc-ucrl2", "ncc-ucrl2-published"):
        made = Model(spec_of(policy=policy, more="cost_range = 51\nhorizon = 100")).policy
        assert (made.parameters["cost_range"], made.parameters["horizon"]) == (0.05, 100)


def test_no_request_waits_for_compilation(tmp_path: Path) -> None:
    """In a new process, where nothing is compiled or loaded yet."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        ready, done = pool.submit(
            _compiled_when_ready_and_after_a_case, tmp_path / "store.db"
        ).result()
    assert done == ready > 0


def _compiled_when_ready_and_after_a_case(address: Path) -> list[int]:
    counts = []

    def count() -> None:
        kernels = [*vars(single_call).values(), *chain.from_iterable(STEPS.values())]
        counts.append(sum(len(getattr(kernel, "overloads", ())) for kernel in kernels))

    async def scenario(harness: EngineHarness) -> None:
        count()
        await harness.reward(await harness.acted(), 1.0)
        count()

    run_with_engine(address, scenario)
    return counts
