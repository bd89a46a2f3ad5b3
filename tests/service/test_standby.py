"""A standby waits for the store, and takes over when the first process ends."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from threading import Timer

import psycopg
import pytest

from postgres_server import PostgresServer
from small_service import THRIFTY, Served, policy_file, served
from thrifty.client import Client
from thrifty.errors import AccessDenied, InvalidParameter
from thrifty.service.access import add_key
from thrifty.service.server import require_free
from waiting import LIMIT


@contextmanager
def standing_by(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run `thrifty serve --standby` until it waits."""
    process = subprocess.Popen(
        [str(THRIFTY), "serve", *map(str, arguments), "--standby"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("Standing by: another process holds"), process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def keys_file(folder: Path) -> Path:
    """Write a file with one key."""
    path = folder / "keys.toml"
    subprocess.run([str(THRIFTY), "key", "one", "--file", str(path)], check=True)
    return path


def refused(*arguments: object) -> str:
    """Run `thrifty serve --standby`, which must fail, and return its error message."""
    done = subprocess.run(
        [str(THRIFTY), "serve", *map(str, arguments), "--standby", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 2, done
    return done.stderr


def test_standby_takes_over_after_a_kill(tmp_path: Path) -> None:
    policy, store = policy_file(tmp_path), tmp_path / "store.db"
    first = Served(policy, "--store", store)
    with (
        standing_by(policy, "--store", store, "--port", first.port) as second,
        Client(first.url) as client,
    ):
        before = client.ask(free={"age": 5}, key="once")
        first.kill()
        assert client.ask(free={"age": 5}, key="once") == before
        values = {"income": "low", "history": "clean"}
        assert client.observe(before, values, dict.fromkeys(values, 0.4)).action
        assert client.policy("lending")["open"] == 1
        assert second.stdout is not None
        assert second.stdout.readline() == f"Serving lending on {first.url}\n"


def test_one_of_two_standbys_takes_over(tmp_path: Path) -> None:
    policy, store = policy_file(tmp_path), tmp_path / "store.db"
    first = Served(policy, "--store", store)
    waiting = (policy, "--store", store, "--port", first.port)
    with (
        standing_by(*waiting) as second,
        standing_by(*waiting) as third,
        Client(first.url) as client,
    ):
        cases = [client.ask(policy="lending")]
        first.kill()
        cases.append(client.ask(policy="lending"))
        by_output = {
            process.stdout.fileno(): process
            for process in (second, third)
            if process.stdout is not None
        }
        (told,), _, _ = select(by_output, [], [], LIMIT)  # one of them says that it serves
        by_output.pop(told).kill()
        cases.append(client.ask(policy="lending"))
        assert [client.explain(case)["status"] for case in cases] == ["open"] * 3
        (last,) = by_output.values()
        assert last.poll() is None


def test_standby_takes_over_after_a_normal_stop(tmp_path: Path) -> None:
    policy, store = policy_file(tmp_path), tmp_path / "store.db"
    first = Served(policy, "--store", store)
    with (
        standing_by("--store", store, "--port", first.port),  # the store knows the policy
        Client(first.url) as client,
    ):
        case = client.ask()
        first.stop()
        assert client.case(case) == case


def test_standby_serves_at_once_if_the_store_is_free(tmp_path: Path) -> None:
    with (
        served(policy_file(tmp_path), "--store", tmp_path / "store.db", "--standby") as service,
        Client(service.url) as client,
    ):
        assert client.ask().buy


def test_standby_refuses_bad_options_at_once(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with served(policy_file(tmp_path), "--store", store):
        changed = policy_file(tmp_path, rule='deadline = "1d"')
        assert "with another specification" in refused(changed, "--store", store)
        elsewhere = ("--store", store, "--host", "192.0.2.1", "--keys", keys_file(tmp_path))
        assert "cannot listen on host '192.0.2.1', port 0" in refused(*elsewhere)


def test_keys_are_read_again_when_it_takes_over(tmp_path: Path) -> None:
    """A key that was removed from the file meanwhile is refused."""
    policy, store, keys = policy_file(tmp_path), tmp_path / "store.db", tmp_path / "keys.toml"
    taken_out = add_key(keys, "old", "default", ["read"])
    first = Served(policy, "--store", store, "--keys", keys)
    with standing_by(policy, "--store", store, "--keys", keys, "--port", first.port):
        keys.unlink()
        fresh = add_key(keys, "fresh", "default", ["read"])
        first.kill()
        with Client(first.url, key=fresh) as client:
            assert client.policy("lending")["open"] == 0
        with Client(first.url, key=taken_out) as client, pytest.raises(AccessDenied):
            client.policy("lending")


def test_replicas_need_no_standby(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.new_database()
    said = refused(policy_file(tmp_path), "--store", url)
    assert "On PostgreSQL every replica decides" in said
    with psycopg.connect(url) as connection:
        made = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert made.fetchone() == (0,)


def test_waiting_can_be_interrupted(tmp_path: Path) -> None:
    policy, store = policy_file(tmp_path), tmp_path / "store.db"
    with served(policy, "--store", store), standing_by(policy, "--store", store) as process:
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=LIMIT)
        assert process.returncode == 0
        assert complaints == "Stopped.\n"


def test_a_port_that_becomes_free_in_time_is_taken() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(InvalidParameter, match="cannot listen on"):
            require_free("127.0.0.1", port, patience=0.05)
        Timer(0.1, holder.close).start()
        require_free("127.0.0.1", port, patience=LIMIT)
