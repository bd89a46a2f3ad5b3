"""Replicas on PostgreSQL: kills, restarts, and a leader that dies or is paused."""

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from benchmarks.load import CaseSource, connect

from postgres_server import PostgresServer, postgres_programs
from small_service import LEVELS, Served, policy_file, run_apart
from thrifty.client import AsyncClient
from thrifty.errors import RoundClosed
from thrifty.service.audit import audit, fold_log, read_policy_log
from thrifty.service.events import REWARDED, SETTLED, Event
from thrifty.service.stores import Store, open_store
from waiting import LIMIT, until, wait_until

WORLD = CaseSource(LEVELS, price=0.5)


async def live(client: AsyncClient, other: AsyncClient, rng: random.Random, said: set[str]) -> None:
    """Open a case at one replica, act at the other, reward at either."""
    case = await client.ask(policy="lending")
    said.add(f"{case.id} opened")
    values = WORLD.values(rng, case.buy)
    await other.observe(case, values, dict.fromkeys(values, 0.5))
    said.add(f"{case.id} observed")
    await rng.choice((client, other)).tell(case, float(rng.random() < 0.5))
    said.add(f"{case.id} rewarded")


async def traffic(
    services: list[Served],
    ended: asyncio.Event,
    said: set[str],
    seed: int,
    refused: tuple[type[Exception], ...] = (),
) -> None:
    """Play cases for a while; the clients repeat failed requests."""

    async def one(k: int) -> None:
        rng = random.Random(f"{seed}/{k}")
        while not ended.is_set():
            client, other = rng.sample(clients, 2)
            with suppress(*refused):
                await live(client, other, rng, said)

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(AsyncClient(service.url, retries=200, timeout=5))
            for service in services
        ]
        await asyncio.gather(*(one(k) for k in range(6)))


async def traffic_until(
    acknowledged: int, services: list[Served], said: set[str], seed: int
) -> None:
    """Send requests until this many more are acknowledged."""
    ended = asyncio.Event()
    refused = (RoundClosed,)  # a case whose deadline came first
    load = asyncio.create_task(traffic(services, ended, said, seed, refused))
    await _more(acknowledged, said, load)
    ended.set()
    await load


async def _more(count: int, said: set[str], load: asyncio.Task[None]) -> None:
    """Wait until this many more requests are acknowledged; raise errors of the traffic."""
    enough = len(said) + count
    await until(lambda: load.done() or len(said) >= enough, "the traffic")
    if load.done():
        load.result()


def require_nothing_lost(store: Store, said: set[str]) -> None:
    """Check that all acknowledged events are in the log once, and that it passes the audit."""
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


def leaders(services: list[Served]) -> list[Served]:
    """Return the services that report that they lead."""
    return [
        service
        for service in services
        if httpx.get(f"{service.url}/v1/policies", timeout=LIMIT, trust_env=False).json()[0][
            "leads"
        ]
    ]


def wait_for_leader(services: list[Served]) -> Served:
    """Wait for a leader, and return it."""
    found: list[Served] = []

    def one_leads() -> bool:
        found[:] = leaders(services)
        return len(found) == 1

    wait_until(one_leads, "one leader")
    return found[0]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A separate server, because one with many databases takes long to recover."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    server = PostgresServer(programs)
    try:
        yield server
    finally:
        server.remove()


@contextmanager
def replicas(*arguments: object) -> Iterator[list[Served]]:
    """Run two replicas while the block runs."""
    with ExitStack() as stack:
        services = []
        for _ in range(2):
            services.append(Served(*arguments))
            stack.callback(services[-1].stop)
        yield services


@pytest.mark.usefixtures("postgres")  # fails in CI where there is none
def test_kills_of_backends_and_restarts_of_the_server(
    server: PostgresServer, tmp_path: Path
) -> None:
    """50 kills and 10 immediate restarts while two replicas serve."""
    url, said = server.new_database(), set[str]()

    async def scenario(services: list[Served]) -> None:
        ended = asyncio.Event()
        load = asyncio.create_task(traffic(services, ended, said, 1))
        for kill in range(50):  # each in the middle of the traffic that goes on after the last
            await _more(10, said, load)
            if kill % 5 == 4:
                await asyncio.to_thread(server.restart)
            await asyncio.to_thread(wait_until, lambda: server.kill_backend(url), "a connection")
        ended.set()
        await load

    with replicas(policy_file(tmp_path), "--store", url) as services:
        run_apart(scenario(services))
    print(f"{len(said)} acknowledged")
    assert len(said) >= 500
    with closing(open_store(url)) as store:
        require_nothing_lost(store, said)


def test_a_learner_that_is_paused_and_one_that_dies(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Each time the other replica takes over and closes the overdue cases."""
    url, said = postgres.new_database(), set[str]()
    policy = policy_file(tmp_path, rule='deadline = "1s"\ndefault = 0')
    with replicas(policy, "--store", url) as services, closing(open_store(url)) as store:
        first = wait_for_leader(services)
        (second,) = [service for service in services if service is not first]
        run_apart(traffic_until(50, services, said, 2))
        run_apart(_abandoned(second, "paused"))
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            wait_until_all_are_closed(store)
            assert wait_for_leader([second]) is second
            run_apart(_abandoned(second, "meanwhile"))  # cases that only the deadline ends
            wait_until_all_are_closed(store)
        finally:
            os.kill(first.process.pid, signal.SIGCONT)
        now = wait_for_leader(services)  # the one that was paused knows that it has lost
        (other,) = [service for service in services if service is not now]
        run_apart(traffic_until(50, services, said, 3))
        run_apart(_abandoned(other, "killed"))
        now.kill()
        assert wait_for_leader([other]) is other
        wait_until_all_are_closed(store)
        other.stop()
        require_nothing_lost(store, said)


def wait_until_all_are_closed(store: Store) -> None:
    wait_until(lambda: not fold_log(store, store.policies.specs()[0]).cases, "the end of all cases")


async def _abandoned(service: Served, name: str) -> None:
    line = await connect(service.port)
    for k in range(5):
        status, _ = await line.post("/v1/policies/lending/cases", {}, f"{name}-{k}")
        assert status == 201
    line.transport.close()
