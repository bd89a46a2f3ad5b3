"""Load generator for the decision service: complete cases over persistent connections.

It shares two cores with the service, so it uses a minimal HTTP client of its own: a complete client
would take more time than the service.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


class Connection(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self) -> None:
        self._data = b""
        self._response: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Receive a part of a response."""
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().index(b"content-length:") + 15
        length = int(head[at:].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self._data = body[length:]
            if self._response is not None and not self._response.done():
                self._response.set_result((int(head[9:12]), body[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Raise an error for the pending request."""
        del exc
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionResetError("the service closed the connection"))

    async def post(self, path: str, body: Mapping[str, Any], key: str) -> tuple[int, Any]:
        """Send a request; return the status and the response."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Idempotency-Key: {key}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        if self.transport.is_closing():
            raise ConnectionResetError("the service closed the connection")
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(head.encode() + data)
        status, response = await self._response
        return status, json.loads(response)


async def connect(port: int) -> Connection:
    """Open a connection to a service on this machine."""
    _, line = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return line


Reward = Callable[[random.Random, Mapping[str, str], str], float]


def _coin_flip(rng: random.Random, values: Mapping[str, str], action: str) -> float:
    del values, action
    return float(rng.random() < 0.5)


@dataclass
class CaseSource:
    """Draws the values, costs and rewards of cases."""

    levels: Mapping[str, tuple[str, ...]]
    free: tuple[str, ...] = ()
    price: float = 0.02
    reward: Reward = _coin_flip
    case_keys: int = 0
    """Number of keys that cases are opened with; 0 opens them without keys."""

    def values(self, rng: random.Random, names: Any) -> dict[str, str]:
        """Draw a level of each feature."""
        return {name: rng.choice(self.levels[name]) for name in names}


@dataclass
class Tally:
    """Idempotency keys of acknowledged requests by case, and the time of each request."""

    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    errors: list[tuple[int, Any]] = field(default_factory=list)
    keep_cases: bool = True


async def run_cases(
    port: int, policy: str, source: CaseSource, rng: random.Random, tally: Tally, count: int
) -> AsyncIterator[None]:
    """Run cases one after the other; yield after each."""
    line = await connect(port)
    try:
        for _ in range(count):
            await run_case(line, policy, source, rng, tally)
            yield
    finally:
        line.transport.close()


async def run_case(
    line: Connection, policy: str, source: CaseSource, rng: random.Random, tally: Tally
) -> None:
    """Open a case, buy the requested features until it has an action, and send the reward."""
    known = source.values(rng, source.free)
    opening: dict[str, Any] = {"free": known}
    if source.case_keys:
        opening["case_key"] = f"customer {rng.randrange(source.case_keys)}"
    answer = await _timed(line, f"/v1/policies/{policy}/cases", opening, tally)
    while answer is not None and answer["buy"]:
        case, values = answer["case"], source.values(rng, answer["buy"])
        known |= values
        seen = {"values": values, "costs": dict.fromkeys(values, source.price)}
        answer = await _timed(line, f"/v1/cases/{case}/observations", seen, tally, case)
    if answer is not None:
        case, reward = answer["case"], source.reward(rng, known, answer["action"])
        await _timed(line, f"/v1/cases/{case}/reward", {"reward": reward}, tally, case)


async def _timed(
    line: Connection, path: str, body: Mapping[str, Any], tally: Tally, case: str | None = None
) -> Any:
    start, key = perf_counter(), uuid.uuid4().hex
    status, answer = await line.post(path, body, key)
    tally.seconds.append(perf_counter() - start)
    if status not in (200, 201):
        tally.errors.append((status, answer))
        return None
    if tally.keep_cases:
        tally.acknowledged.setdefault(case or answer["case"], []).append(key)
    return answer


async def traffic(
    port: int,
    policy: str,
    source: CaseSource,
    *,
    connections: int,
    cases: int,
    seed: int,
    tally: Tally,
) -> None:
    """Run this many cases on each of several connections."""

    async def one(k: int) -> None:
        async for _ in run_cases(port, policy, source, random.Random(f"{seed}/{k}"), tally, cases):
            pass

    await asyncio.gather(*(one(k) for k in range(connections)))
