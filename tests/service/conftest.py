"""Services that several tests share."""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import httpx
import psycopg
import pytest

import ladder
from postgres_server import PostgresServer
from service.engines import read_spec
from small_service import ladder_file, policy_file, served
from thrifty.service.api import create_app
from thrifty.service.engine import Engine
from thrifty.service.middleware import RequestLimits
from thrifty.service.server import make_server
from thrifty.service.stores import open_store
from waiting import LIMIT

DEFAULT_LIMITS = RequestLimits()


@pytest.fixture(scope="module", autouse=True)
def _connections_are_closed() -> Iterator[None]:
    """Fail if a module leaves a connection to PostgreSQL open, and close it.

    Otherwise the garbage collector complains of it, in a test that has nothing to do with it.
    """
    opened: list[weakref.ref[psycopg.Connection[Any]]] = []
    connect = psycopg.connect

    def recorded(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
        connection = connect(*arguments, **options)
        opened.append(weakref.ref(connection))
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", recorded)
        yield
    left = [found for reference in opened if (found := reference()) and not found.closed]
    for connection in left:
        connection.close()
    assert not left, f"left open: {left}"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Run a service on a socket, once on each kind of store."""
    folder: Path = tmp_path_factory.mktemp("service")
    files = two_policies(folder)
    if request.param == "sqlite":
        with in_a_thread(files, str(folder / "store.db")) as url, _client(url) as client:
            yield client
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    address, errors = server.new_database(), folder / "errors"
    env = ladder.environment(folder)
    with (
        served(*files, "--store", address, errors=errors, env=env) as service,
        _client(service.url) as client,
    ):
        yield client
    assert "Traceback" not in errors.read_text()


@pytest.fixture(scope="module")
def both(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Run a service on each kind of store, side by side."""
    folder: Path = tmp_path_factory.mktemp("both")
    files = two_policies(folder)
    with (
        in_a_thread(files, str(folder / "store.db")) as first,
        in_a_thread(files, postgres.new_database()) as second,
        _client(first) as sqlite,
        _client(second) as other,
    ):
        yield sqlite, other


def two_policies(folder: Path) -> list[Path]:
    """Write a plain policy, and one that buys in steps."""
    return [policy_file(folder), ladder_file(folder, name="steps", more="epsilon = 0.0")]


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=LIMIT, trust_env=False)


@contextmanager
def in_a_thread(
    files: Sequence[Path], address: str, limits: RequestLimits = DEFAULT_LIMITS
) -> Iterator[str]:
    """Run the service in this process, so that coverage sees its lines."""
    urls: Queue[str] = Queue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thrifty.policies.registry.POLICIES", ladder.registry())
        engine = Engine(open_store(address), [read_spec(path) for path in files])
        app = create_app(engine, limits=limits)
    server = make_server(app, "127.0.0.1", 0, urls.put)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield urls.get(timeout=LIMIT)
    finally:
        server.should_exit = True
        thread.join(LIMIT)
        assert not thread.is_alive(), "the service did not stop"
