"""Services that several tests share."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from postgres_server import PostgresServer
from small_service import policy_file, served


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Run a service on a socket, once on each kind of store."""
    folder: Path = tmp_path_factory.mktemp("service")
    address = str(folder / "store.db")
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        address = server.new_database()
    policy = policy_file(folder)
    with (
        served(policy, "--store", address, errors=folder / "errors") as service,
        httpx.Client(base_url=service.url, timeout=20, trust_env=False) as client,
    ):
        yield client
    assert "Traceback" not in (folder / "errors").read_text()
