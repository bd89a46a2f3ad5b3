"""Replicas on PostgreSQL: kills, restarts, a learner that dies and one that is only paused."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import httpx
import pytest
from benchmarks.load import World, connect

from postgres_server import PostgresServer
from small_service import LEVELS, Served, policy_file, run_apart
from thrifty.client import AsyncClient
from thrifty.service.auditing import audit
from thrifty.service.stores import Store, open_store

WORLD = World(LEVELS, price=0.5)


async def live(client: AsyncClient, other: AsyncClient, rng: random.Random, said: set[str]) -> None:
    """Open a case at one replica, act at the other, reward at either."""
    case = await client.open("lending")
    said.add(f"{case.case} opened")
    values = WORLD.values(rng, case.buy)
    await other.observe(case.case, values, dict.fromkeys(values, 0.5))
    said.add(f"{case.case} acted")
    await rng.choice((client, other)).reward(case.case, float(rng.random() < 0.5))
    said.add(f"{case.case} rewarded")


async def traffic(services: list[Served], seconds: float, said: set[str], seed: int) -> None:
    """Live through cases for a while; whatever fails is repeated by the clients."""
    clients = [AsyncClient(it.url, retries=40, timeout=5) for it in services]
    until = time.monotonic() + seconds

    async def one(k: int) -> None:
        rng = random.Random(f"{seed}/{k}")
        while time.monotonic() < until:
            client, other = rng.sample(clients, 2)
            await live(client, other, rng, said)

    await asyncio.gather(*(one(k) for k in range(6)))
    for client in clients:
        await client.close()


def require_nothing_lost(store: Store, said: set[str]) -> None:
    """Everything acknowledged is in the log, once, and the log explains itself."""
    assert said
    found = store.cases(sorted({it.split()[0] for it in said}))
    there = [f"{event.case} {event.kind}" for events in found.values() for event in events]
    assert len(there) == len(set(there))
    assert said <= set(there)
    proof = audit(store, store.specs()[0])
    assert proof.difference is None, proof.difference
    assert proof.learnt == sum(it.endswith("rewarded") for it in there)


def leader(services: list[Served]) -> Served | None:
    for service in services:
        try:
            if httpx.get(f"{service.url}/v1/policies", timeout=1, trust_env=False).json()[0][
                "leads"
            ]:
                return service
        except httpx.HTTPError:
            continue
    return None


def wait_for_leader(services: list[Served], seconds: float) -> Served:
    until = time.monotonic() + seconds
    while (found := leader(services)) is None:
        assert time.monotonic() < until, "nobody took over"
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    ("kills", "restarts"), [(8, 2), pytest.param(50, 10, marks=pytest.mark.long)]
)
def test_kills_of_backends_and_restarts_of_the_server(
    postgres: PostgresServer, tmp_path: Path, kills: int, restarts: int
) -> None:
    url, said = postgres.new_database(), set[str]()
    policy = policy_file(tmp_path)
    services = [Served(policy, "--store", url) for _ in range(2)]

    async def scene() -> None:
        load = asyncio.create_task(traffic(services, (kills + 3 * restarts) * 0.6, said, 1))
        for k in range(kills):
            await asyncio.sleep(0.4)
            await asyncio.to_thread(postgres.kill_backend, url)
            if k % (kills // restarts) == 0:
                await asyncio.to_thread(postgres.restart)
        await load
        print(f"{len(said)} acknowledged")

    run_apart(scene())
    for service in services:
        service.stop()
    store = open_store(url)
    require_nothing_lost(store, said)
    store.close()


def test_a_learner_that_dies_and_one_that_is_paused(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, said = postgres.new_database(), set[str]()
    policy = policy_file(tmp_path, rule='deadline = "2s"\ndefault = 0')
    services = [Served(policy, "--store", url) for _ in range(2)]
    first = wait_for_leader(services, 20)
    (second,) = [it for it in services if it is not first]
    run_apart(traffic(services, 1, said, 2))
    os.kill(first.process.pid, signal.SIGSTOP)
    try:
        paused = time.monotonic()
        assert wait_for_leader([second], 20) is second
        print(f"took over from a paused learner after {time.monotonic() - paused:.1f} s")
        run_apart(_abandoned(second))  # cases that only the deadline ends
        time.sleep(3)
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    time.sleep(1)
    assert leader([first, second]) is second  # the one that was paused knows that it has lost
    second.kill()
    killed = time.monotonic()
    assert wait_for_leader([first], 20) is first
    print(f"took over from a killed learner after {time.monotonic() - killed:.1f} s")
    first.stop()
    store = open_store(url)
    require_said(store, said)
    store.close()


async def _abandoned(service: Served) -> None:
    line = await connect(service.port)
    for k in range(5):
        status, _ = await line.post("/v1/policies/lending/cases", {}, f"only-{k}")
        assert status == 201
    line.transport.close()


def require_said(store: Store, said: set[str]) -> None:
    found = store.cases(sorted({it.split()[0] for it in said}))
    there = [f"{event.case} {event.kind}" for events in found.values() for event in events]
    assert said <= set(there)
    assert audit(store, store.specs()[0]).difference is None
