"""Random cases compared with a simple model, on both stores, with reopening.

The watch looks when the test says so, so that requests also meet cases whose deadline has passed
and which nobody has closed yet.
"""

import hashlib
import itertools
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import ladder
from postgres_server import PostgresServer
from service.case_model import (
    HIGH,
    HIGHEST,
    LOW,
    LOWEST,
    PAYS,
    ExpectedCase,
    Loop,
    Rules,
    StoreLocation,
)
from service.engines import DAY, QUICK, Clock, EngineHarness, parse_spec
from small_service import OUTCOMES, ladder_text
from thrifty.errors import InvalidField, KeyReused, RoundError, ThriftyError
from thrifty.service.audit import audit
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.events import Event
from thrifty.service.projection import Projection
from thrifty.service.stores import open_store

# Measured: 105 runs of 50 steps on SQLite, 36 on PostgreSQL.
EXAMPLES = {"sqlite": 35, "postgres": 12}
STEPS = 50
EVERYTHING = (
    *("opened", "observed", "rewarded", "abandoned", "expired", "default learnt", "late"),
    *("acted at once", "bought more", "could not be had", "list price", "by bundle", "outcome"),
    *("free for once", "few actions", "both agree"),
    *("late-learnt", "repeated", "KeyReused", "OutOfTurn", "RoundClosed", "InvalidField"),
    *("reopened, 0 snapshots lost", "reopened, 1 snapshots lost", "reopened, 9 snapshots lost"),
)
USES = {"first": ["learnt", "extra"], "last": ["noted", "noted learnt"]}
USES["sum"] = USES["last"]
UNATTENDED = replace(QUICK, tick=1e6)


@dataclass(frozen=True)
class Written:
    """An acknowledged request and its event."""

    ask: tuple[Any, ...]
    key: str
    event: Event


class CaseMachine(RuleBasedStateMachine):
    """Compare the engine with the expected state of each case and the expected rewards."""

    place: StoreLocation
    kind = "first"
    tried: Counter[str]
    names: Iterator[int]
    """Ids of cases. Decisions depend on them, so they are the same in every run."""

    def __init__(self) -> None:
        super().__init__()
        type(self).names = itertools.count()
        self.loop, self.clock = Loop(), Clock()
        self.cases: dict[str, ExpectedCase] = {}
        self.written: list[Written] = []
        self.counts: Counter[str] = Counter()
        self.spend, self.keys = 0.0, map("key-{}".format, itertools.count())

    @initialize(
        data=st.data(),
        default=st.sampled_from([None, -3.0]),
        late=st.booleans(),
        outcomes=st.booleans(),
    )
    def begin(self, data: st.DataObject, default: float | None, late: bool, outcomes: bool) -> None:
        self.reward_rules = Rules(self.kind, default, late)
        self.outcomes = outcomes
        self.place.clear()
        self.harness = self._open()
        self.open_case(data)

    def teardown(self) -> None:
        difference = audit(self.harness.engine.store, self.harness.projection.spec).difference
        self.loop.run(self.harness.engine.stop())
        self.loop.close()
        assert difference is None, difference

    def _open(self) -> EngineHarness:
        async def start() -> EngineHarness:
            declared = OUTCOMES if self.outcomes else ""
            text = ladder_text(rule=self.reward_rules.text, outcomes=declared)
            spec = parse_spec(tomllib.loads(text))
            engine = Engine(open_store(self.place.address), [spec], UNATTENDED, self.clock)
            await engine.start()
            return EngineHarness(engine, self.clock)

        return self.loop.run(start())  # type: ignore[no-any-return]

    @property
    def _now(self) -> int:
        """The time of the next request."""
        return self.clock.at + 1

    def _ask(self, ask: tuple[Any, ...], key: str | None = None, other: bool = False) -> Any:
        """Return the event, or the refusal; what was acknowledged can be asked for once more."""
        step, *arguments = ask
        request = hashlib.sha256(f"{ask} {other}".encode()).hexdigest()
        used = key or next(self.keys)
        try:
            event = self.loop.run(
                getattr(self.harness.engine, step)("default", *arguments, used, request)
            )
        except ThriftyError as error:
            self.tried[type(error).__name__] += 1
            return error
        self.tried["repeated" if key else event.kind] += 1
        if key is None:
            self.written.append(Written(ask, used, event))
        return event

    def _some(self, data: st.DataObject, *statuses: str) -> tuple[str, ExpectedCase]:
        """Draw a case, more often one to which it can be done."""
        fitting = self._running(*statuses)
        sensible = data.draw(st.sampled_from([True, True, True, False])) and fitting
        name = data.draw(st.sampled_from(fitting if sensible else list(self.cases)))
        return name, self.cases[name]

    @rule(data=st.data())
    def live(self, data: st.DataObject) -> None:
        """One rule, with weights: of many, hypothesis leaves some out for a whole run."""
        usual = [self.observe] * 5 + [self.reward] * 4 + [self.open_case, self.abandon]
        others = [
            self.reward_late,
            self.reward_late,
            self.observe_nonsense,
            self.reward_nonsense,
            self.repeat,
            self.repeat_with_another_body,
            self.time_passes,
            self.time_comes_to_a_deadline,
            self.run_maintenance,
            self.reopen,
            self.look_at_a_case,
        ]
        step = data.draw(st.sampled_from(usual + others))
        if step == self.reward and not self._running("acted"):
            step = self.observe
        if step in (self.observe, self.abandon) and not self._running("open"):
            step = self.open_case
        step(data)

    def _running(self, *statuses: str) -> list[str]:
        return [
            name
            for name, case in self.cases.items()
            if case.status in statuses and case.deadline >= self._now
        ]

    def open_case(self, data: st.DataObject) -> None:
        free = {"age": data.draw(st.sampled_from([None, 18.0, "over 60"]))}
        known = data.draw(st.sampled_from([(), (), ("income",), ("score",)]))
        free |= {name: HIGHEST[name] for name in known}
        available = data.draw(st.sampled_from([None, None, ("approve",)]))
        event = self._ask(("open_case", "lending", NewCase(free, available)))
        self.counts["opened"] += 1
        self.tried["free for once"] += len(known)
        assert event.body["deadline"] == event.at + DAY
        expected = self.cases[event.case] = ExpectedCase(event.body["deadline"], known=set(known))
        self._decided(expected, event, available)
        self.tried["acted at once"] += expected.acted

    def _decided(
        self, expected: ExpectedCase, event: Event, available: Sequence[str] | None
    ) -> None:
        expected.decided(event)
        if expected.acted:
            self.counts["acted"] += 1
            assert expected.action in (available or PAYS)
            self.tried["few actions"] += available is not None
        elif event.kind == "observed":
            self.counts["bought more"] += 1
            self.tried["bought more"] += 1

    def observe(self, data: st.DataObject) -> None:
        case, expected = self._some(data, "open")
        values = {
            name: data.draw(st.sampled_from([HIGHEST[name]] * 4 + [LOWEST[name], None]))
            for name in expected.buy
        }
        costs, paid = self._costs(data, expected, values)
        available = data.draw(st.sampled_from([None, ("decline",)]))
        running = expected.status == "open" and self._now <= expected.deadline
        outcome = self._ask(
            ("observe", case, ObservationReport(values, costs, available=available))
        )
        if not running:
            assert isinstance(outcome, RoundError)
            return
        assert outcome.body["costs"] == pytest.approx(paid)
        self.spend += sum(paid.values())
        expected.had |= {name for name, value in values.items() if value is not None}
        expected.missed |= {name for name, value in values.items() if value is None}
        assert set(outcome.body["unavailable"]) == {
            k for k, value in values.items() if value is None
        }
        self.tried["could not be had"] += None in values.values()
        self._decided(expected, outcome, available)

    def _costs(
        self, data: st.DataObject, expected: ExpectedCase, values: dict[str, Any]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Draw what is reported, and return it with what must then have been paid."""
        listed = expected.listed({name for name, value in values.items() if value is not None})
        how = data.draw(st.sampled_from(["by feature", "list price", "by bundle"]))
        if how == "by bundle" and "fraud" in values:
            self.tried[how] += 1
            return {"report": 3.0}, dict.fromkeys(values, 3.0 / len(values))
        costs = {} if how == "list price" else dict.fromkeys(values, 0.25)
        if "address" in values:
            costs["address"] = 12.25  # it has no list price
        self.tried["list price"] += how == "list price" and bool(listed)
        return costs, {name: costs.get(name, listed.get(name, 0.0)) for name in values}

    def observe_nonsense(self, data: st.DataObject) -> None:
        case, expected = self._some(data, "open")
        running = expected.status == "open" and self._now <= expected.deadline
        bought = min(expected.had | expected.missed | {"age"})  # before, or never to be bought
        seen = data.draw(
            st.sampled_from(
                [
                    ObservationReport({"income": "nobody"}, {}),
                    ObservationReport({bought: HIGHEST.get(bought, 3.0)}, {}),
                    ObservationReport(
                        dict.fromkeys(expected.buy),
                        dict.fromkeys(expected.buy, -1.0) or {"age": 1.0},
                    ),
                    ObservationReport(dict.fromkeys(expected.buy), {"bureau": 1.0}),
                    ObservationReport(dict.fromkeys(expected.buy), {}, available=("refer",)),
                ]
            )
        )
        assert isinstance(
            self._ask(("observe", case, seen)), InvalidField if running else RoundError
        )

    def reward_nonsense(self, data: st.DataObject) -> None:
        """An unknown outcome, one that disagrees with the reward, or a reward out of reach."""
        case, expected = self._some(data, "acted")
        told = data.draw(
            st.sampled_from([(None, "lost"), (HIGH + 1, None), (None, None), (5.0, "default")])
        )
        outcome = self._ask(("reward", case, *told))
        fit = expected.acted and expected.end != "abandoned"
        assert isinstance(outcome, InvalidField if fit else RoundError)

    def reward(self, data: st.DataObject) -> None:
        case, _ = self._some(data, "acted", "closed")
        self._reward(data, case)

    def reward_late(self, data: st.DataObject) -> None:
        """Whether or not the watch has closed the case."""
        acted = [name for name, case in self.cases.items() if case.acted]
        if acted:
            case = data.draw(st.sampled_from(acted))
            self.clock.at = max(self.clock.at, self.cases[case].deadline)
            self._reward(data, case)

    def _reward(self, data: st.DataObject, case: str) -> None:
        expected = self.cases[case]
        money, told = self._told(data, expected)
        late = self._now > expected.deadline
        outcome = self._ask(("reward", case, *told))
        if not expected.acted or expected.end == "abandoned":
            assert isinstance(outcome, RoundError)
            return
        use = self._rewarded(expected, money, late=late)
        assert (outcome.body["use"], outcome.body["reward"]) == (use, money)
        self.counts["rewarded"] += 1
        self.counts[f"rewarded {use}"] += 1
        self.tried[use] += 1

    def _told(
        self, data: st.DataObject, expected: ExpectedCase
    ) -> tuple[float, tuple[float | None, str | None]]:
        """Draw a reward, and how it is reported."""
        if not self.outcomes:
            money = data.draw(st.sampled_from([LOW, -0.25, 0.0, 7.5, HIGH]))
            return money, (money, None)
        name = data.draw(st.sampled_from(["repaid", "default"]))
        money = PAYS[expected.action or "approve"][name]
        how = data.draw(st.sampled_from(["reward", "outcome", "both agree"]))
        self.tried[how] += 1
        told = {"reward": (money, None), "outcome": (None, name), "both agree": (money, name)}
        return money, told[how]

    def _rewarded(self, expected: ExpectedCase, money: float, *, late: bool) -> str:
        if late:
            if (
                not self.reward_rules.late
                or expected.learnt is not None
                or expected.due(self.reward_rules) is not None
            ):
                return "late"
            self._learn(expected, money)
            return "late-learnt"
        if expected.status == "closed":
            return "extra"
        if self.kind != "first":
            expected.noted.append(money)
            return "noted"
        self._learn(expected, money)
        expected.close("rewarded")
        return "learnt"

    def _learn(self, expected: ExpectedCase, money: float) -> None:
        expected.learnt = money
        self.counts["learnt"] += 1

    def abandon(self, data: st.DataObject) -> None:
        case, expected = self._some(data, "open", "acted")
        running = expected.status != "closed" and self._now <= expected.deadline
        outcome = self._ask(("abandon", case))
        if not running:
            assert isinstance(outcome, RoundError)
            return
        expected.close("abandoned")
        self.counts["abandoned"] += 1

    def repeat(self, data: st.DataObject) -> None:
        """The same key and body get the same answer, whatever has happened since."""
        before = data.draw(st.sampled_from(self.written))
        again = self._ask(before.ask, before.key)
        assert again.same_as(before.event)
        assert again.position == before.event.position

    def repeat_with_another_body(self, data: st.DataObject) -> None:
        before = data.draw(st.sampled_from(self.written))
        assert isinstance(self._ask(before.ask, before.key, other=True), KeyReused)

    def time_passes(self, data: st.DataObject) -> None:
        self.clock.at += data.draw(st.sampled_from([1, 5, 13, 30])) * DAY // 24

    def time_comes_to_a_deadline(self, data: st.DataObject) -> None:
        """The next request is the last that is in time, or the first that is not."""
        deadlines = [
            case.deadline for case in self.cases.values() if case.deadline > self.clock.at + 1
        ]
        if deadlines:
            self.clock.at = data.draw(st.sampled_from(deadlines))
            self.clock.at -= data.draw(st.sampled_from([0, 1]))

    def run_maintenance(self, data: st.DataObject) -> None:
        del data
        at = self._now
        self.loop.run(self.harness.engine._maintain())
        for expected in self.cases.values():
            if expected.status != "closed" and expected.deadline < at:
                self.counts["expired"] += not expected.noted
                self.tried["expired"] += 1
                due = expected.due(self.reward_rules)
                if due is not None:
                    self._learn(expected, due)
                    self.tried["noted learnt" if expected.noted else "default learnt"] += 1
                expected.close("rewarded" if expected.noted else "expired")

    def reopen(self, data: st.DataObject) -> None:
        """From the newest snapshot, from the one before it and the tail, or from the log alone."""
        lost = data.draw(st.sampled_from([0, 1, 9]))
        self.run_maintenance(data)  # takes the lease, and may save a snapshot
        self.totals_agree()
        before = self.harness.projection.digest()
        self.loop.run(self.harness.engine.stop())
        self.place.lose_snapshots(lost)
        self.harness = self._open()
        self.tried[f"reopened, {lost} snapshots lost"] += 1
        assert self.harness.projection.digest() == before

    def look_at_a_case(self, data: st.DataObject) -> None:
        case, expected = self._some(data, "open", "acted")
        _, found = self.loop.run(self.harness.engine.case("default", case))
        assert found.status == expected.status
        assert found.end == expected.end
        assert found.is_learnt == (expected.learnt is not None)
        assert set(found.buy) == (set(expected.buy) if expected.status == "open" else set())

    @invariant()
    def totals_agree(self) -> None:
        self.loop.run(self.harness.settled())
        projection: Projection = self.harness.projection
        learnt = [case.learnt for case in self.cases.values() if case.learnt is not None]
        assert projection.panel.rounds_learnt == len(learnt)
        assert projection.totals.counts == +self.counts
        assert projection.totals.reward == pytest.approx(sum(learnt))
        assert projection.totals.spend == pytest.approx(self.spend)
        open_ones = {case for case, expected in self.cases.items() if expected.status != "closed"}
        assert set(projection.cases) == open_ones


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StoreLocation:
    wanted = request.param == "postgres"
    server: PostgresServer | None = request.getfixturevalue("postgres") if wanted else None
    return StoreLocation(tmp_path, server)


@pytest.mark.parametrize("reward_rule", ["first", "last", "sum"])
def test_the_life_cycle(
    place: StoreLocation,
    reward_rule: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("thrifty.policies.registry.POLICIES", ladder.registry())
    monkeypatch.setattr(
        "thrifty.service.engine.new_case_id", lambda _: f"{next(machine.names):028}"
    )
    tried: Counter[str] = Counter()
    machine: Any = type(
        "LifeCycle", (CaseMachine,), {"place": place, "kind": reward_rule, "tried": tried}
    )
    run_state_machine_as_test(
        seed(len(request.node.name))(machine),
        settings=settings(
            max_examples=EXAMPLES[request.node.callspec.params["place"]],
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(dict(tried))
    assert {*EVERYTHING, *USES[reward_rule]} <= set(tried)
