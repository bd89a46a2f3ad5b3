"""A full disk: 503, not ready, nothing lost; and on it goes when there is room."""

import resource
import time
from pathlib import Path

import httpx
import pytest

from small_service import Served, policy_file, post
from thrifty.service.auditing import audit
from thrifty.service.stores import open_store


def status(client: httpx.Client, path: str) -> int:
    return client.get(path).status_code


def wait_until(client: httpx.Client, path: str, wanted: int) -> None:
    deadline = time.monotonic() + 20
    while status(client, path) != wanted:
        assert time.monotonic() < deadline, client.get(path).text
        time.sleep(0.05)


def test_a_full_disk(tmp_path: Path) -> None:
    """No file may grow any more, which is what a full disk is to a program."""
    store = tmp_path / "store.db"
    service = Served(policy_file(tmp_path), "--store", store, errors=tmp_path / "errors")
    path, acknowledged = "/v1/policies/lending/cases", []
    with httpx.Client(base_url=service.url, timeout=20, trust_env=False) as client:
        acknowledged += [post(client, path, {}).json()["case"] for _ in range(20)]
        largest = max(it.stat().st_size for it in tmp_path.iterdir())
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (largest + 30_000, -1))
        for k in range(400):
            answer = post(client, path, {}, f"full-{k}")
            if answer.status_code == 503:
                break
            acknowledged.append(answer.json()["case"])
        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        assert "try again" in answer.json()["message"]
        assert status(client, "/readyz") == 503
        assert status(client, "/healthz") == 200
        assert status(client, f"/v1/cases/{acknowledged[0]}") == 200  # reading goes on
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        wait_until(client, "/readyz", 200)
        again = post(client, path, {}, f"full-{k}")
        assert again.status_code == 201
        acknowledged.append(again.json()["case"])
        assert client.get("/v1/policies/lending").json()["open"] == len(acknowledged)
    service.stop()
    reader = open_store(str(store), read_only=True)
    assert sorted(reader.cases(acknowledged)) == sorted(acknowledged)
    assert audit(reader, reader.specs()[0]).difference is None
    reader.close()


if not hasattr(resource, "prlimit"):  # pragma: no cover
    pytest.skip("prlimit is Linux's own", allow_module_level=True)
