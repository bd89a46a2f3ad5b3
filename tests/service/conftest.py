"""Services that several tests share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread

import httpx
import pytest

from postgres_server import PostgresServer
from service.desks import read_spec
from small_service import policy_file, served
from thrifty.service.api import create_app
from thrifty.service.desk import Desk
from thrifty.service.serving import make_server
from thrifty.service.stores import open_store


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Run a service on a socket, once on each kind of store."""
    folder: Path = tmp_path_factory.mktemp("service")
    policy = policy_file(folder)
    if request.param == "sqlite":
        with in_a_thread(policy, str(folder / "store.db")) as url, _client(url) as client:
            yield client
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    address, errors = server.new_database(), folder / "errors"
    with (
        served(policy, "--store", address, errors=errors) as service,
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
    policy = policy_file(folder)
    with (
        in_a_thread(policy, str(folder / "store.db")) as first,
        in_a_thread(policy, postgres.new_database()) as second,
        _client(first) as sqlite,
        _client(second) as other,
    ):
        yield sqlite, other


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=20, trust_env=False)


@contextmanager
def in_a_thread(policy: Path, address: str) -> Iterator[str]:
    """Run the service in this process, so that coverage sees its lines."""
    urls: Queue[str] = Queue()
    app = create_app(Desk(open_store(address), [read_spec(policy)]))
    server = make_server(app, "127.0.0.1", 0, urls.put)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield urls.get(timeout=60)
    finally:
        server.should_exit = True
        thread.join(30)
