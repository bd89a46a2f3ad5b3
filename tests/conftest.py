"""What tests of several files share."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from postgres_server import PostgresServer, postgres_programs

THRIFTY = Path(sys.executable).with_name("thrifty")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the paper was reproduced, with few seeds, once for all workers."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "reproduced"
    try:
        folder.mkdir()
    except FileExistsError:
        _wait_for(folder / "done")
        return folder
    command = [str(THRIFTY), "reproduce", "--seeds", "0:2", "--figures", "png"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    (folder / "printed").write_text(run.stdout)
    (folder / "done").write_text(run.stderr)
    assert run.returncode == 0, run.stderr
    return folder


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 600
    while not path.exists():
        assert time.monotonic() < deadline, "the other worker did not finish"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a real browser; where there is none the test is skipped, but never in CI."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        reason = "there is no browser: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a real PostgreSQL server; where there is none the test is skipped, but never in CI."""
    programs = postgres_programs()
    if programs is None:
        reason = "there is no PostgreSQL: apt-get install postgresql"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    server = PostgresServer(programs)
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty store, once of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()
