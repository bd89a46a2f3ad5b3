"""A desk without HTTP, with a clock that tests move."""

import asyncio
import random
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from small_service import policy_text, run_apart
from thrifty.policy_file import parse_spec, read_spec
from thrifty.service.decisions import Opening, Seen
from thrifty.service.engine import Desk
from thrifty.service.events import Event
from thrifty.service.projection import Book
from thrifty.service.served_policy import Settings
from thrifty.service.stores import open_store
from thrifty.specification import PolicySpec

__all__ = ["parse_spec", "read_spec"]

DAY = 86400 * 10**6


def spec_of(**changes: str) -> PolicySpec:
    return parse_spec(tomllib.loads(policy_text(**changes)))


class Clock:
    """Tells the time that it is set to."""

    def __init__(self, at: int = 10**15) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += 1
        return self.at


class Office:
    """A desk, and short ways to use it."""

    def __init__(self, desk: Desk, clock: Clock, name: str = "lending") -> None:
        self.desk, self.clock, self.name = desk, clock, name
        self._keys = iter(range(10**9))

    @property
    def book(self) -> Book:
        return self.desk.book("default", self.name)

    def key(self) -> str:
        return f"k{next(self._keys)}-{random.getrandbits(60):x}"

    async def open(self, **free: Any) -> Event:
        return await self.desk.open_case("default", self.name, Opening(free), self.key(), "r")

    async def observe(self, case: str, values: dict[str, Any], **more: Any) -> Event:
        """Report what came of a purchase, at its list prices unless costs are given."""
        seen = Seen(values, **{"costs": {}, **more})
        return await self.desk.observe("default", case, seen, self.key(), "r")

    async def act(self, case: str, income: str = "low", history: str = "clean") -> Event:
        _, found = await self.desk.case("default", case)
        values: dict[str, str | float] = {"income": income, "history": history, "age": 33}
        bought = {name: value for name, value in values.items() if name in found.buy}
        seen = Seen(bought, dict.fromkeys(bought, 2.0))
        return await self.desk.observe("default", case, seen, self.key(), "r")

    async def acted(self) -> str:
        """Open a case, and observe until there is an action; return its id."""
        event = await self.open()
        while event.body.get("buy"):
            event = await self.act(event.case)
        return event.case

    async def reward(
        self, case: str, money: float | None = None, outcome: str | None = None
    ) -> str:
        event = await self.desk.reward("default", case, money, outcome, self.key(), "r")
        return str(event.body["use"])

    async def abandon(self, case: str) -> Event:
        return await self.desk.abandon("default", case, self.key(), "r")

    async def pass_deadlines(self, days: float = 8) -> None:
        """Let time pass, and wait until the watch has closed what is due."""
        self.clock.at += round(days * DAY)
        due = list(self.book.overdue(self.clock.at))
        async with asyncio.timeout(20):
            while any(case.id in self.book.cases for case in due):
                await asyncio.sleep(0.005)

    async def settled(self) -> None:
        """Wait until everything written is folded."""
        async with asyncio.timeout(20):
            while self.desk.store.read(self.desk.position, 1):
                await asyncio.sleep(0.005)


QUICK = Settings(tick=0.01, poll=0.005, patience=20.0)


def in_office(
    address: str | Path,
    scene: Callable[[Office], Awaitable[None]],
    *,
    settings: Settings = QUICK,
    clock: Clock | None = None,
    text: str | None = None,
    **changes: str,
) -> None:
    """Run a scene at a desk of its own, with the small policy or with that of a file's text."""
    spec = spec_of(**changes) if text is None else parse_spec(tomllib.loads(text))

    async def run() -> None:
        time = clock or Clock()
        desk = Desk(open_store(str(address)), [spec], settings, time)
        await desk.start()
        try:
            await scene(Office(desk, time, spec.name))
        finally:
            await desk.stop()

    run_apart(run())
