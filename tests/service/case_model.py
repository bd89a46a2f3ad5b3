"""Model of a case, for tests that compare random cases with the service."""

import asyncio
import itertools
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from postgres_server import PostgresServer
from thrifty.service.events import Event
from thrifty.service.stores import open_store
from waiting import LIMIT

LOW, HIGH = -900.0, 120.0
FEATURES = ("income", "history", "score", "fraud", "address")
HIGHEST = {"income": "high", "history": "clean", "score": "good", "fraud": "no", "address": "old"}
LOWEST = {"income": "low", "history": "none", "score": "bad", "fraud": "yes", "address": "new"}
PRICES = {"income": 0.4, "history": 1.5}
REPORT, REPORT_PRICE = {"score", "fraud"}, 5.0
FEE, BUREAU = 0.6, {"income", "history"}
PAYS = {
    "decline": {"repaid": 0.0, "default": 0.0},
    "approve": {"repaid": HIGH, "default": LOW},
}


class Loop:
    """An event loop in another thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(LIMIT)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class StoreLocation:
    """Address of a store that tests can empty, and whose snapshots they can delete."""

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self._folder, self._numbers = folder, itertools.count()
        self._url = None if server is None else server.new_database()
        self.address = ""

    def clear(self) -> None:
        self.address = self._url or str(self._folder / f"{next(self._numbers)}.db")
        if self._url is not None:
            open_store(self._url).close()
            self._execute("TRUNCATE events, policies, snapshots, leases, facts RESTART IDENTITY")

    def lose_snapshots(self, count: int) -> None:
        """Delete the newest snapshots."""
        if self._url is not None:
            newest = "SELECT ctid FROM snapshots ORDER BY transaction DESC, seq DESC LIMIT"
            self._execute(f"DELETE FROM snapshots WHERE ctid IN ({newest} {count})")
            return
        files = sorted(Path(f"{self.address}.snapshots").glob("*"), reverse=True)
        for path in files[:count]:
            path.unlink()

    def _execute(self, statement: str) -> None:
        with psycopg.connect(str(self._url)) as connection:
            connection.execute(statement.encode())


@dataclass(frozen=True)
class Rules:
    """The reward rule of a policy file."""

    kind: str
    default: float | None
    late: bool

    @property
    def text(self) -> str:
        text = f'rule = "{self.kind}"\ndeadline = "1d"\nlearn_late = {str(self.late).lower()}'
        return text if self.default is None else f"{text}\ndefault = {self.default}"


@dataclass
class ExpectedCase:
    """The expected state of a case."""

    deadline: int
    buy: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    action: str | None = None
    status: str = "open"
    end: str | None = None
    noted: list[float] = field(default_factory=list)
    learnt: float | None = None

    @property
    def acted(self) -> bool:
        return self.action is not None

    def decided(self, event: Event) -> None:
        """Take a decision, and check that it makes sense."""
        buy, self.action = event.body.get("buy", []), event.body.get("action")
        assert (not buy) == self.acted
        assert not set(buy) & (self.known | self.had | self.missed)
        both = {"score", "fraud"} - self.known
        assert not set(buy) & both or set(buy) == both  # a bundle is bought as a whole
        self.buy = buy
        if self.acted:
            self.status = "acted"

    def listed(self, names: set[str]) -> dict[str, float]:
        """Return list prices: the first feature has the fee; a report is paid as a whole."""
        prices = {name: PRICES[name] for name in FEATURES if name in names & PRICES.keys()}
        prices |= {name: REPORT_PRICE / len(names & REPORT) for name in names & REPORT}
        first = next((name for name in prices if name in BUREAU), None)
        if first is not None and not self.had & BUREAU:
            prices[first] += FEE
        return prices

    def due(self, rules: Rules) -> float | None:
        """Return the reward that the policy learns at the deadline."""
        if self.status != "acted" or self.learnt is not None:
            return None
        if not self.noted:
            return rules.default
        return self.noted[-1] if rules.kind == "last" else min(HIGH, max(LOW, sum(self.noted)))

    def close(self, end: str) -> None:
        self.status, self.end = "closed", end
