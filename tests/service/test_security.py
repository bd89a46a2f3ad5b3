"""Access by endpoint, scope and tenant; secrets are neither stored nor logged."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from small_service import THRIFTY, policy_file, post, served
from thrifty.client import Client
from thrifty.errors import AccessDenied, InvalidParameter, InvalidSpec
from thrifty.service.access import add_key, read_keys
from thrifty.service.server import require_safe
from waiting import LIMIT, wait_until

ENDPOINTS = [
    ("POST", "/v1/policies/{policy}/cases", "decide"),
    ("POST", "/v1/cases/{case}/observations", "decide"),
    ("POST", "/v1/cases/{case}/reward", "decide"),
    ("POST", "/v1/cases/{case}/abandon", "decide"),
    ("GET", "/v1/cases/{case}", "read"),
    ("GET", "/v1/policies", "read"),
    ("GET", "/v1/policies/{policy}", "read"),
    ("GET", "/v1/policies/{policy}/activity", "read"),
    ("GET", "/v1/policies/{policy}/status", "read"),
    ("POST", "/v1/policies/{policy}/promote", "admin"),
    ("POST", "/v1/policies/{policy}/demote", "admin"),
    ("GET", "/metrics", "admin"),
]
OPEN = ["/", "/healthz", "/readyz", "/openapi.json", "/static/dashboard.js"]


def thrifty(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [str(THRIFTY), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str], Path]]:
    """Run a service with keys: one for each scope, and one of another tenant."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    keys, made = folder / "keys.toml", {}
    for name, tenant, scopes in [
        ("decide", "default", ["decide"]),
        ("read", "default", ["read"]),
        ("admin", "default", ["admin"]),
        ("stranger", "other", ["decide", "read", "admin"]),
    ]:
        made[name] = add_key(keys, name, tenant, scopes)
    options = ("--tenant", "other", "--scope", "read", "--file", keys)
    made["typed"] = thrifty("key", "typed", *options).stdout.strip()
    policies = [policy_file(folder), policy_file(folder, name="theirs", more='tenant = "other"')]
    store, errors = folder / "store.db", folder / "errors"
    with served(
        *policies, "--store", store, "--keys", keys, "--rate", 60, errors=errors
    ) as service:
        yield service.url, made, folder


def ask(url: str, method: str, path: str, key: str | None) -> httpx.Response:
    headers = {"Idempotency-Key": os.urandom(8).hex(), "Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    content = b"{}" if method == "POST" else None
    return httpx.request(
        method, url + path, headers=headers, content=content, timeout=LIMIT, trust_env=False
    )


def test_every_endpoint_is_in_the_list(guarded: tuple[str, dict[str, str], Path]) -> None:
    document = httpx.get(f"{guarded[0]}/openapi.json", timeout=LIMIT, trust_env=False).json()
    there = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
    }
    assert there == {(m, p) for m, p, _ in ENDPOINTS} | {("GET", "/healthz"), ("GET", "/readyz")}
    for method, path, _ in ENDPOINTS:
        assert document["paths"][path][method.lower()]["security"] == [{"key": []}]


@pytest.mark.parametrize(("method", "path", "scope"), ENDPOINTS)
def test_every_endpoint_asks_for_its_scope(
    guarded: tuple[str, dict[str, str], Path], method: str, path: str, scope: str
) -> None:
    url, keys, _ = guarded
    real = path.format(policy="lending", case="nobody")
    for key in (None, "wrong", "thrifty_wrong", keys["read"][:-1], "Bearer x"):
        answer = ask(url, method, real, key)
        assert (answer.status_code, answer.json()["error"]) == (401, "key")
        assert answer.headers["www-authenticate"] == "Bearer"
    for name in ("decide", "read", "admin"):
        status = ask(url, method, real, keys[name]).status_code
        assert (status == 403) == (name != scope), (name, status)
        assert status != 401


@pytest.mark.parametrize("path", OPEN)
def test_pages_without_data_are_open(guarded: tuple[str, dict[str, str], Path], path: str) -> None:
    assert httpx.get(guarded[0] + path, timeout=LIMIT, trust_env=False).status_code == 200


def test_tenants_do_not_see_each_other(guarded: tuple[str, dict[str, str], Path]) -> None:
    url, keys, _ = guarded
    with Client(url, key=keys["decide"]) as ours, Client(url, key=keys["stranger"]) as theirs:
        case = ours.ask(policy="lending", key="shared-key")
        other = theirs.ask(key="shared-key")  # keys are each tenant's own
        assert other.id != case.id
        for call in (
            lambda: theirs.case(case),
            lambda: theirs.explain(case),
            lambda: theirs.observe(case),
            lambda: theirs.tell(case, 1.0),
            lambda: theirs.abandon(case),
            lambda: theirs.ask(policy="lending"),
            lambda: theirs.policy("lending"),
        ):
            with pytest.raises(Exception, match="there is no"):
                call()
        with pytest.raises(AccessDenied, match="needs read"):
            ours.policy("lending")
    shown = ask(url, "GET", "/v1/policies", keys["stranger"]).json()
    assert [policy["policy"] for policy in shown] == ["theirs"]
    assert 'policy="lending"' not in ask(url, "GET", "/metrics", keys["stranger"]).text


def test_secrets_are_neither_kept_nor_logged(guarded: tuple[str, dict[str, str], Path]) -> None:
    url, keys, folder = guarded
    for key in keys.values():
        assert key.startswith("thrifty_")
        assert len(key) > 45
        ask(url, "POST", "/v1/policies/lending/cases", key)
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not [name for name, key in keys.items() if key.encode() in data], path
    assert (folder / "keys.toml").stat().st_mode & 0o077 == 0


def test_the_rate_of_each_key_is_limited(tmp_path: Path) -> None:
    """One request a second, which even a slow machine exceeds."""
    keys, answers = tmp_path / "keys.toml", list[httpx.Response]()
    busy, idle = (add_key(keys, name, "default", ["read"]) for name in ("busy", "idle"))
    options = ("--store", tmp_path / "store.db", "--keys", keys, "--rate", 1)
    with served(policy_file(tmp_path), *options) as service:

        def one_is_refused() -> bool:
            answers.append(ask(service.url, "GET", "/v1/policies", busy))
            return answers[-1].status_code != 200

        wait_until(one_is_refused, "a refusal")
        assert ask(service.url, "GET", "/v1/policies", idle).status_code == 200
    assert len(answers) > 1
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"] == "1"


def test_other_addresses_need_keys(tmp_path: Path) -> None:
    policy = policy_file(tmp_path)
    done = thrifty("serve", policy, "--store", tmp_path / "s.db", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "the service has no keys" in done.stderr
    for host in ("::", "192.0.2.1", "example.org", "localhost.example.org", ""):
        with pytest.raises(InvalidParameter, match="can be reached from other machines"):
            require_safe(host, None)
    for host in ("localhost", "127.0.0.1", "127.8.8.8", "::1"):
        require_safe(host, None)
    assert not (tmp_path / "s.db").exists()


def test_a_port_that_is_taken_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = thrifty("serve", policy_file(tmp_path), "--store", tmp_path / "s.db", "--port", port)
    assert done.returncode == 2
    assert done.stderr == (
        f"thrifty: cannot listen on host '127.0.0.1', port {port} (Address already in use): stop "
        "the process that uses it, or choose another with --port (0 picks a free one) or --host.\n"
    )
    assert not (tmp_path / "s.db").exists()


def test_key_files_that_cannot_be_used(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    for text in ("", "[[keys]]\n", '[[keys]]\nname = "a"\ntenant = "b"\nscopes = ["all"]\n'):
        keys.write_text(text)
        with pytest.raises(InvalidSpec, match="thrifty key"):
            read_keys(keys)
    keys.unlink()
    with pytest.raises(InvalidSpec, match="is not a valid name"):
        add_key(keys, "a b", "default", ["read"])
    with pytest.raises(InvalidSpec, match="use decide, read, admin"):
        add_key(keys, "a", "default", ["all"])
    add_key(keys, "a", "default", ["read"])
    with pytest.raises(InvalidSpec, match="already has a key 'a'"):
        add_key(keys, "a", "default", ["read"])


def test_without_keys_only_this_machine_is_served(tmp_path: Path) -> None:
    with (
        served(policy_file(tmp_path), "--store", tmp_path / "s.db") as service,
        httpx.Client(base_url=service.url, timeout=LIMIT, trust_env=False) as client,
    ):
        assert post(client, "/v1/policies/lending/cases", {}).status_code == 201
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80"):
            assert client.get("/v1/policies", headers={"Host": host}).status_code == 403
