"""Replicas on PostgreSQL: kills, restarts, a learner that dies and one that is only paused."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from benchmarks.load import World, connect

from postgres_server import PostgresServer, postgres_programs
from small_service import LEVELS, Served, policy_file, run_apart
from thrifty.client import AsyncClient
from thrifty.service.audit import audit, fold_log, read_policy_log
from thrifty.service.events import REWARDED, SETTLED, START, Event
from thrifty.service.stores import Store, open_store

WORLD = World(LEVELS, price=0.5)


async def live(client: AsyncClient, other: AsyncClient, rng: random.Random, said: set[str]) -> None:
    """Open a case at one replica, act at the other, reward at either."""
    case = await client.ask(policy="lending")
    said.add(f"{case.id} opened")
    values = WORLD.values(rng, case.buy)
    await other.observe(case, values, dict.fromkeys(values, 0.5))
    said.add(f"{case.id} observed")
    await rng.choice((client, other)).tell(case, float(rng.random() < 0.5))
    said.add(f"{case.id} rewarded")


async def traffic(services: list[Served], ended: asyncio.Event, said: set[str], seed: int) -> None:
    """Live through cases for a while; whatever fails is repeated by the clients."""
    clients = [AsyncClient(service.url, retries=40, timeout=5) for service in services]

    async def one(k: int) -> None:
        rng = random.Random(f"{seed}/{k}")
        while not ended.is_set():
            client, other = rng.sample(clients, 2)
            await live(client, other, rng, said)

    await asyncio.gather(*(one(k) for k in range(6)))
    for client in clients:
        await client.close()


async def traffic_for(seconds: float, services: list[Served], said: set[str]) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, ended.set)
    await traffic(services, ended, said, 2)


def require_nothing_lost(store: Store, said: set[str]) -> None:
    """Everything acknowledged is in the log, once, was learnt once, and the log explains itself."""
    assert said
    spec = store.policies.specs()[0]
    log = list(read_policy_log(store, spec))
    there = [f"{event.case} {event.kind}" for event in log]
    assert len(there) == len(set(there)) == store.index.count()
    assert said <= set(there)
    proof = audit(store, spec)
    assert proof.difference is None, proof.difference
    assert proof.learnt == sum(map(teaches, log))


def teaches(event: Event) -> bool:
    if event.kind == SETTLED:
        return event.body["reward"] is not None
    return event.kind == REWARDED and "learnt" in event.body["use"]


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


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of its own: one with the databases of other tests takes long to recover."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    server = PostgresServer(programs)
    yield server
    server.remove()


@pytest.mark.usefixtures("postgres")  # fails in CI where there is none
def test_kills_of_backends_and_restarts_of_the_server(
    server: PostgresServer, tmp_path: Path
) -> None:
    """50 kills and 10 restarts, as by pulling the plug, while two replicas serve."""
    url, said = server.new_database(), set[str]()
    policy = policy_file(tmp_path)
    services = [Served(policy, "--store", url) for _ in range(2)]

    async def scenario() -> int:
        ended = asyncio.Event()
        load = asyncio.create_task(traffic(services, ended, said, 1))
        kills = 0
        while kills < 50:
            await asyncio.sleep(0.2)
            kills += await asyncio.to_thread(server.kill_backend, url)
            if kills % 5 == 4:
                await asyncio.to_thread(server.restart)
                kills += await asyncio.to_thread(_kill_one, server, url)
        ended.set()
        await load
        return kills

    assert run_apart(scenario()) == 50
    for service in services:
        service.stop()
    store = open_store(url)
    print(f"{len(said)} acknowledged")
    assert len(said) > 500
    require_nothing_lost(store, said)
    store.close()


def _kill_one(server: PostgresServer, url: str) -> int:
    until = time.monotonic() + 20
    while not server.kill_backend(url):
        assert time.monotonic() < until, "nobody came back"
        time.sleep(0.05)
    return 1


def test_a_learner_that_is_paused_and_one_that_dies(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Each time the other replica has closed a case of the lost one's within 5 s."""
    url, said = postgres.new_database(), set[str]()
    policy = policy_file(tmp_path, rule='deadline = "1s"\ndefault = 0')
    services = [Served(policy, "--store", url) for _ in range(2)]
    store = open_store(url)
    first = wait_for_leader(services, 20)
    (second,) = [service for service in services if service is not first]
    run_apart(traffic_for(1, services, said))
    run_apart(_abandoned(second, "paused"))
    os.kill(first.process.pid, signal.SIGSTOP)
    try:
        paused = _seconds_until_settled(store)
        assert leader([second]) is second
        run_apart(_abandoned(second, "meanwhile"))  # cases that only the deadline ends
        time.sleep(2)
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    time.sleep(1)
    assert leader([first, second]) is second  # the one that was paused knows that it has lost
    run_apart(traffic_for(1, services, said))
    run_apart(_abandoned(first, "killed"))
    second.kill()
    killed = _seconds_until_settled(store)
    assert leader([first]) is first
    print(f"took over from a paused learner after {paused:.1f} s, a killed one {killed:.1f} s")
    assert max(paused, killed) < 5
    wait_until_all_are_closed(store)
    first.stop()
    require_nothing_lost(store, said)
    store.close()


def _seconds_until_settled(store: Store) -> float:
    """Return how long it takes from now until somebody closes a case that waited for it."""
    begun = time.monotonic()
    position = START
    while chunk := store.log.read(position):
        position = chunk[-1].position
    while not any(event.kind == SETTLED for event in store.log.read(position)):
        assert time.monotonic() < begun + 20, "nobody took over"
        time.sleep(0.02)
    return time.monotonic() - begun


def wait_until_all_are_closed(store: Store) -> None:
    until = time.monotonic() + 20
    while fold_log(store, store.policies.specs()[0]).cases:
        assert time.monotonic() < until, "a case was forgotten"
        time.sleep(0.2)


async def _abandoned(service: Served, name: str) -> None:
    line = await connect(service.port)
    for k in range(5):
        status, _ = await line.post("/v1/policies/lending/cases", {}, f"{name}-{k}")
        assert status == 201
    line.transport.close()
