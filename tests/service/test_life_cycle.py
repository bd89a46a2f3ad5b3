"""Random lives of cases against a simple model, on both stores, with reopening."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from postgres_server import PostgresServer
from service.desks import QUICK, Clock, Office, spec_of
from thrifty.errors import RoundError, ThriftyError
from thrifty.service.auditing import audit
from thrifty.service.desk import Desk
from thrifty.service.stores import open_store


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(30)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Lives(RuleBasedStateMachine):
    """The desk on one side; on the other, what each case is and what must have been learnt."""

    address = ""
    fresh: Iterator[str] = iter(())
    policy_rule = 'deadline = "1d"'
    kind, default, late = "first", None, False

    def __init__(self) -> None:
        super().__init__()
        self.loop, self.clock = Loop(), Clock()
        self.where = next(type(self).fresh)
        self.status: dict[str, str] = {}
        self.deadline: dict[str, int] = {}
        self.noted: dict[str, list[float]] = {}
        self.learnt: dict[str, float] = {}
        self.office = self._open()

    def _open(self) -> Office:
        spec = spec_of(rule=self.policy_rule)

        async def start() -> Office:
            desk = Desk(open_store(self.where), [spec], QUICK, self.clock)
            await desk.start()
            return Office(desk, self.clock)

        return self.loop.run(start())  # type: ignore[no-any-return]

    def teardown(self) -> None:
        difference = audit(self.office.desk.store, self.office.book.spec).difference
        self.loop.run(self.office.desk.stop())
        self.loop.close()
        assert difference is None, difference

    def _outcome(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self.loop.run(work)
        except ThriftyError as error:
            return error

    @initialize()
    def begin(self) -> None:
        self.open_one(old=False)

    @rule(old=st.booleans())
    def open_one(self, old: bool) -> None:
        event = self.loop.run(self.office.open(**({"age": "old"} if old else {})))
        self.status[event.case] = "open"
        self.deadline[event.case] = event.body["deadline"]
        self.noted[event.case] = []

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        case = data.draw(st.sampled_from(sorted(self.status)))
        outcome = self._outcome(self.office.act(case))
        if self.status[case] == "open" and self.clock.at <= self.deadline[case]:
            assert not isinstance(outcome, ThriftyError)
            self.status[case] = "acted"
        else:
            assert isinstance(outcome, RoundError)

    @rule(data=st.data(), money=st.sampled_from([-900.0, 0.0, 7.5, 120.0]))
    def reward(self, data: st.DataObject, money: float) -> None:
        case = data.draw(st.sampled_from(sorted(self.status)))
        outcome = self._outcome(self.office.reward(case, money))
        status, late = self.status[case], self.clock.at > self.deadline[case]
        if status in ("open", "abandoned", "expired unacted"):
            assert isinstance(outcome, RoundError)
        elif late:
            wanted = "late-learnt" if self.late and case not in self.learnt else "late"
            assert outcome == wanted
            if wanted == "late-learnt":
                self.learnt[case] = money
        elif status == "rewarded":
            assert outcome == "extra"
        elif self.kind == "first":
            assert outcome == "learnt"
            self.status[case], self.learnt[case] = "rewarded", money
        else:
            assert outcome == "noted"
            self.noted[case].append(money)

    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        case = data.draw(st.sampled_from(sorted(self.status)))
        outcome = self._outcome(self.office.abandon(case))
        if self.status[case] in ("open", "acted") and self.clock.at <= self.deadline[case]:
            assert not isinstance(outcome, ThriftyError)
            self.status[case] = "abandoned"
        else:
            assert isinstance(outcome, RoundError)

    @rule(hours=st.sampled_from([1, 13, 30]))
    def time_passes(self, hours: int) -> None:
        self.loop.run(self.office.settled())
        self.loop.run(self.office.pass_deadlines(hours / 24))
        for case, status in self.status.items():
            if self.clock.at > self.deadline[case] and status in ("open", "acted"):
                self.status[case] = "expired" if status == "acted" else "expired unacted"
                if status == "acted" and case not in self.learnt:
                    self._settle(case)

    def _settle(self, case: str) -> None:
        noted = self.noted[case]
        if noted:
            total = noted[-1] if self.kind == "last" else min(120.0, max(-900.0, sum(noted)))
            self.learnt[case] = total
        elif self.default is not None:
            self.learnt[case] = self.default

    @rule()
    def reopen(self) -> None:
        self.loop.run(self.office.settled())
        before = self.office.book.digest()
        self.loop.run(self.office.desk.stop())
        self.office = self._open()
        assert self.office.book.digest() == before

    @invariant()
    def the_books_agree(self) -> None:
        self.loop.run(self.office.settled())
        book = self.office.book
        assert book.model.learnt == len(self.learnt)
        assert book.totals.reward == pytest.approx(sum(self.learnt.values()))
        still = {case for case, status in self.status.items() if status in ("open", "acted")}
        assert {it for it in book.cases if self.clock.at <= self.deadline[it]} <= still


RULES: list[tuple[str, float | None, bool]] = [
    ("first", None, False),
    ("first", None, True),
    ("last", -3.0, False),
    ("sum", None, True),
]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("reward_rule", "default", "late"), RULES)
def test_the_life_cycle(
    kind: str,
    reward_rule: str,
    default: float | None,
    late: bool,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    def addresses() -> Iterator[str]:
        k = 0
        while True:
            k += 1
            if kind == "sqlite":
                yield str(tmp_path / f"{k}.db")
            else:
                server: PostgresServer = request.getfixturevalue("postgres")
                yield server.new_database()

    text = f'rule = "{reward_rule}"\ndeadline = "1d"\nlearn_late = {str(late).lower()}'
    text += "" if default is None else f"\ndefault = {default}"
    machine = type(
        "TheseLives",
        (Lives,),
        {
            "fresh": addresses(),
            "policy_rule": text,
            "kind": reward_rule,
            "default": default,
            "late": late,
        },
    )
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=2 if kind == "postgres" else 5,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
