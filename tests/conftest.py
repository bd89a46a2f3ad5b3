"""What tests of several files share."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from postgres_server import PostgresServer, postgres_programs
from shared_runs import THRIFTY, CommandCache, made_once, shared_folder
from waiting import LIMIT

TESTS = Path(__file__).parent
LONGEST = ("test_docs.py", "test_worth_command.py", "test_report_in_browser.py", "service")
TWICE = ("kernels", "policies")  # `make test` runs them again, not compiled, for coverage
COMPILING = ("kernels/test_compilation.py", "kernels/test_pointers.py")  # lines that numba runs
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, and trace compiled kernels' tests only where it tells anything.

    Tracing doubles the time of these tests, numba's own work included, and sees no compiled line.
    """
    items.sort(key=lambda item: not _is_below(item, LONGEST))  # so that no worker ends late
    for item in items:
        twice = _is_below(item, TWICE) and not _is_below(item, COMPILING)
        if twice and os.environ.get("NUMBA_DISABLE_JIT") != "1":
            item.add_marker(pytest.mark.no_cover)


def _is_below(item: pytest.Item, places: tuple[str, ...]) -> bool:
    return any(item.path.is_relative_to(TESTS / place) for place in places)


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the paper was reproduced, with few seeds, once for all workers."""

    def reproduce(folder: Path) -> None:
        command = [str(THRIFTY), "reproduce", "--seeds", "0:2", "--figures", "png"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr

    return made_once(shared_folder(tmp_path_factory) / "reproduced", reproduce)


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> CommandCache:
    """Return what runs the same command on the same files only once, for all workers."""
    return CommandCache(shared_folder(tmp_path_factory) / "commands")


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
        expect.set_options(timeout=LIMIT * 1000)
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
