"""Traffic for the decision service: whole cases over kept connections, as light as can be.

It shares two cores with the service that it loads, so it speaks HTTP by itself: a client with every
comfort would take more time than the service.
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


class Line(asyncio.Protocol):
    """One connection: a request at a time, an answer each."""

    def __init__(self) -> None:
        self._data = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep the way out."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take a part of an answer."""
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().index(b"content-length:") + 15
        length = int(head[at:].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self._data = body[length:]
            if self._answer is not None and not self._answer.done():
                self._answer.set_result((int(head[9:12]), body[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits."""
        del exc
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the service is gone"))

    async def post(self, path: str, body: Mapping[str, Any], key: str) -> tuple[int, Any]:
        """Return the status and the answer."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Idempotency-Key: {key}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        if self.transport.is_closing():
            raise ConnectionResetError("the service is gone")
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(head.encode() + data)
        status, answer = await self._answer
        return status, json.loads(answer)


async def connect(port: int) -> Line:
    """Open a connection to a service on this machine."""
    _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    return line


Reward = Callable[[random.Random, Mapping[str, str], str], float]


def _a_coin(rng: random.Random, values: Mapping[str, str], action: str) -> float:
    del values, action
    return float(rng.random() < 0.5)


@dataclass
class World:
    """Where values, costs and rewards come from."""

    levels: Mapping[str, tuple[str, ...]]
    free: tuple[str, ...] = ()
    price: float = 0.02
    reward: Reward = _a_coin

    def values(self, rng: random.Random, names: Any) -> dict[str, str]:
        """Draw a level of each feature."""
        return {name: rng.choice(self.levels[name]) for name in names}


@dataclass
class Tally:
    """The keys of what was acknowledged, by case, and how long each request took."""

    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    errors: list[tuple[int, Any]] = field(default_factory=list)
    keep_cases: bool = True


async def lives(
    port: int, policy: str, world: World, rng: random.Random, tally: Tally, count: int
) -> AsyncIterator[None]:
    """Live through cases one after the other; yields after each."""
    line = await connect(port)
    try:
        for _ in range(count):
            await one_life(line, policy, world, rng, tally)
            yield
    finally:
        line.transport.close()


async def one_life(line: Line, policy: str, world: World, rng: random.Random, tally: Tally) -> None:
    """Open a case, buy what it asks for until it has its action, and reward it."""
    known = world.values(rng, world.free)
    answer = await _timed(line, f"/v1/policies/{policy}/cases", {"free": known}, tally)
    while answer is not None and answer["buy"]:
        case, values = answer["case"], world.values(rng, answer["buy"])
        known |= values
        seen = {"values": values, "costs": dict.fromkeys(values, world.price)}
        answer = await _timed(line, f"/v1/cases/{case}/observations", seen, tally, case)
    if answer is not None:
        case, reward = answer["case"], world.reward(rng, known, answer["action"])
        await _timed(line, f"/v1/cases/{case}/reward", {"reward": reward}, tally, case)


async def _timed(
    line: Line, path: str, body: Mapping[str, Any], tally: Tally, case: str | None = None
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
    port: int, policy: str, world: World, *, connections: int, cases: int, seed: int, tally: Tally
) -> None:
    """Make traffic on many connections until each has lived its number of cases, or it breaks."""

    async def one(k: int) -> None:
        async for _ in lives(port, policy, world, random.Random(f"{seed}/{k}"), tally, cases):
            pass

    await asyncio.gather(*(one(k) for k in range(connections)))
