"""An engine without HTTP, with a clock that tests control."""

import random
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from small_service import policy_text, run_apart
from thrifty.policy_file import parse_spec, read_spec
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.events import START, Event
from thrifty.service.projection import Projection
from thrifty.service.served_policy import EngineSettings
from thrifty.service.stores import open_store
from thrifty.specification import PolicySpec
from waiting import until

__all__ = ["parse_spec", "read_spec"]

DAY = 86400 * 10**6


def spec_of(**changes: str) -> PolicySpec:
    return parse_spec(tomllib.loads(policy_text(**changes)))


class Clock:
    """A clock that tests can set."""

    def __init__(self, at: int = 10**15) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += 1
        return self.at


class EngineHarness:
    """An engine with short methods for tests."""

    def __init__(self, engine: Engine, clock: Clock, name: str = "lending") -> None:
        self.engine, self.clock, self.name = engine, clock, name
        self._keys = iter(range(10**9))

    @property
    def projection(self) -> Projection:
        return self.engine.projection("default", self.name)

    def key(self) -> str:
        return f"k{next(self._keys)}-{random.getrandbits(60):x}"

    async def open(self, case_key: str | None = None, **free: Any) -> Event:
        new = NewCase(free, case_key=case_key)
        return await self.engine.open_case("default", self.name, new, self.key(), "r")

    async def promote(self, shadow: str) -> Event:
        return await self.engine.promote("default", self.name, shadow, self.key(), "r")

    async def demote(self) -> Event:
        return await self.engine.demote("default", self.name, self.key(), "r")

    async def observe(self, case: str, values: dict[str, Any], **more: Any) -> Event:
        """Report the result of a purchase, at list prices unless costs are given."""
        seen = ObservationReport(values, **{"costs": {}, **more})
        return await self.engine.observe("default", case, seen, self.key(), "r")

    async def act(self, case: str, income: str = "low", history: str = "clean") -> Event:
        _, found = await self.engine.case("default", case)
        values: dict[str, str | float] = {"income": income, "history": history, "age": 33}
        bought = {name: value for name, value in values.items() if name in found.buy}
        seen = ObservationReport(bought, dict.fromkeys(bought, 2.0))
        return await self.engine.observe("default", case, seen, self.key(), "r")

    async def acted(self) -> str:
        """Open a case, and observe until there is an action; return its id."""
        event = await self.open()
        while event.body.get("buy"):
            event = await self.act(event.case)
        return event.case

    async def reward(
        self, case: str, money: float | None = None, outcome: str | None = None
    ) -> str:
        event = await self.engine.reward("default", case, money, outcome, self.key(), "r")
        return str(event.body["use"])

    async def abandon(self, case: str) -> Event:
        return await self.engine.abandon("default", case, self.key(), "r")

    async def pass_deadlines(self, days: float = 8) -> None:
        """Let time pass, and wait until the watch has closed what is due."""
        self.clock.at += round(days * DAY)
        due = list(self.projection.overdue(self.clock.at))
        await until(lambda: not any(case.id in self.projection.cases for case in due))

    async def settled(self) -> None:
        """Wait until all written events are applied.

        PostgreSQL shows an event to readers only when no older transaction is open, so an empty
        answer does not mean that there are no more events: they are counted as well.
        """
        log = self.engine.store.log

        def is_settled() -> bool:
            written = self.engine.store.index.count()
            if len(log.read(START, written + 1)) < written:
                return False
            return not log.read(self.engine.position, 1)

        await until(is_settled)


QUICK = EngineSettings(tick=0.01, poll=0.005, patience=20.0)


def run_with_engine(
    address: str | Path,
    scenario: Callable[[EngineHarness], Awaitable[None]],
    *,
    settings: EngineSettings = QUICK,
    clock: Clock | None = None,
    text: str | None = None,
    path: Path | None = None,
    **changes: str,
) -> None:
    """Run a scenario on a new engine, with the small policy or the one in `text` or at `path`."""
    if path is not None:
        spec = read_spec(path)
    else:
        spec = spec_of(**changes) if text is None else parse_spec(tomllib.loads(text))

    async def run() -> None:
        time = clock or Clock()
        engine = Engine(open_store(str(address)), [spec], settings, time)
        await engine.start()
        try:
            await scenario(EngineHarness(engine, time, spec.name))
        finally:
            await engine.stop()

    run_apart(run())
