"""A full disk: 503, not ready, nothing lost; the service recovers when there is room."""

import resource
from pathlib import Path

import httpx
import psycopg
import pytest

from postgres_server import PostgresServer, postgres_programs
from small_service import policy_file, post, served
from thrifty.service.audit import audit, fold_log
from thrifty.service.stores import open_store
from waiting import LIMIT, wait_until

CASES = "/v1/policies/lending/cases"


def status(client: httpx.Client, path: str) -> int:
    return client.get(path).status_code


def wait_for_status(client: httpx.Client, path: str, wanted: int) -> None:
    wait_until(lambda: status(client, path) == wanted, f"{wanted} at {path}")


def opened_until_full(client: httpx.Client, acknowledged: list[str]) -> httpx.Response:
    """Open cases until one is refused, and return that response."""
    for _ in range(400):
        answer = post(client, CASES, {}, f"full-{len(acknowledged)}")
        if answer.status_code == 503:
            break
        acknowledged.append(answer.json()["case"])
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    return answer


def test_a_full_disk(tmp_path: Path) -> None:
    """Files cannot grow, which simulates a full disk."""
    store = tmp_path / "store.db"
    acknowledged: list[str] = []
    with (
        served(policy_file(tmp_path), "--store", store, errors=tmp_path / "errors") as service,
        httpx.Client(base_url=service.url, timeout=LIMIT, trust_env=False) as client,
    ):
        acknowledged += [post(client, CASES, {}).json()["case"] for _ in range(20)]
        largest = max(path.stat().st_size for path in tmp_path.iterdir())
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (largest + 30_000, -1))
        answer = opened_until_full(client, acknowledged)
        assert "try again" in answer.json()["message"]
        assert status(client, "/readyz") == 503
        assert status(client, "/healthz") == 200
        assert status(client, f"/v1/cases/{acknowledged[0]}") == 200  # reading goes on
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        wait_for_status(client, "/readyz", 200)
        again = post(client, CASES, {}, f"full-{len(acknowledged)}")
        assert again.status_code == 201
        acknowledged.append(again.json()["case"])
        assert client.get("/v1/policies/lending").json()["open"] == len(acknowledged)
    reader = open_store(str(store), read_only=True)
    assert sorted(reader.index.cases(acknowledged)) == sorted(acknowledged)
    assert audit(reader, reader.policies.specs()[0]).difference is None
    reader.close()


@pytest.mark.usefixtures("postgres")  # fails in CI where there is none
def test_a_full_disk_under_postgres(tmp_path: Path) -> None:
    """The files of the server cannot grow; its write-ahead log still fits."""
    programs = postgres_programs()
    assert programs is not None
    server = PostgresServer(programs, "--wal-segsize=1")
    try:
        _fill_and_make_room(server, tmp_path)
    finally:
        server.remove()


def _fill_and_make_room(server: PostgresServer, folder: Path) -> None:
    url = server.new_database()
    acknowledged: list[str] = []
    with (
        served(policy_file(folder), "--store", url, errors=folder / "errors") as service,
        httpx.Client(base_url=service.url, timeout=LIMIT, trust_env=False) as client,
    ):
        size = _grown(url)
        acknowledged += [post(client, CASES, {}).json()["case"] for _ in range(20)]
        server.limit_files(size + 60_000)
        opened_until_full(client, acknowledged)
        refused = server.errors()

        def tried_in_vain() -> bool:
            assert status(client, "/readyz") == 503
            return server.errors() >= refused + 5

        wait_until(tried_in_vain, "the service's own attempts to write")
        assert status(client, "/healthz") == 200
        assert status(client, f"/v1/cases/{acknowledged[0]}") == 200  # reading goes on
        server.limit_files(None)
        wait_for_status(client, "/readyz", 200)
        again = post(client, CASES, {}, f"full-{len(acknowledged)}")
        assert again.status_code == 201
        acknowledged.append(again.json()["case"])
    store = open_store(url)
    assert sorted(store.index.cases(acknowledged)) == sorted(acknowledged)
    assert fold_log(store, store.policies.specs()[0]).totals.counts == {"opened": len(acknowledged)}
    assert audit(store, store.policies.specs()[0]).difference is None
    store.close()


def _grown(url: str) -> int:
    """Make the table of events larger than any other file, and return its size."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO events (tenant, policy, case_id, step, kind, at, body) SELECT 'default', "
            "'other', 'c' || n, 0, 'opened', 0, json_build_object('room', repeat('.', 1500)) "
            "FROM generate_series(1, 3000) n"
        )
        row = connection.execute("SELECT pg_relation_size('events')").fetchone()
    assert row is not None
    return int(row[0])


if not hasattr(resource, "prlimit"):  # pragma: no cover
    pytest.skip("prlimit is Linux's own", allow_module_level=True)
