"""The HTTP contract, over a socket."""

import json
import math
import os
import re
import shutil
import socket
import time
from pathlib import Path
from typing import Any, cast

import httpx
import numpy as np
import pytest

from service.conftest import in_a_thread
from service.engines import spec_of
from small_service import policy_file, post, run_apart, served
from thrifty import Agent
from thrifty.client import AsyncClient, Case, Client
from thrifty.errors import (
    InvalidField,
    InvalidInput,
    KeyReused,
    OutOfTurn,
    RoundClosed,
    RoundError,
    StoreUnavailable,
    UnknownName,
    UnknownRound,
)
from thrifty.kernels.runtime.compilation import CACHE_FOLDER
from thrifty.service import server
from thrifty.service.middleware import RequestLimits
from waiting import LIMIT, wait_until

SEEN = {"values": {"income": "low", "history": "clean"}, "costs": {"income": 0.5, "history": 1.5}}


def opened(client: httpx.Client) -> str:
    answer = post(client, "/v1/policies/lending/cases", {"free": {"age": 44}})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["case"])


def test_a_whole_case(running: httpx.Client) -> None:
    answer = post(running, "/v1/policies/lending/cases", {"free": {"age": 44}}).json()
    case = answer.pop("case")
    assert re.fullmatch("[0-9a-f]{28}", case)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", answer.pop("deadline"))
    assert answer.pop("expected_price") > 0
    assert answer == {"buy": ["income", "history"], "action": None, "unit": "EUR"}
    acted = post(running, f"/v1/cases/{case}/observations", SEEN).json()
    assert acted["action"] in ("decline", "approve")
    assert (acted["buy"], acted["expected_price"], acted["case"]) == ([], None, case)
    told = post(running, f"/v1/cases/{case}/reward", {"reward": 100})
    assert told.json() == {"case": case, "use": "learnt", "late": False}
    shown = running.get(f"/v1/cases/{case}").json()
    assert (shown["status"], shown["end"], shown["learnt"]) == ("closed", "rewarded", True)
    assert shown["free"] == {"age": 44.0}
    assert shown["costs"] == SEEN["costs"]
    assert [entry["event"] for entry in shown["history"]] == ["opened", "observed", "rewarded"]
    assert set(shown["explain"]["action_values"]) == {"decline", "approve"}
    (step,) = shown["steps"]
    assert (step["buy"], step["values"]) == (["income", "history"], SEEN["values"])
    assert (step["costs"], step["unavailable"]) == (SEEN["costs"], [])
    assert shown["outcome"] is None
    assert shown["rewards"][0]["reward"] == 100


def test_abandoning(running: httpx.Client) -> None:
    case = opened(running)
    path = f"/v1/cases/{case}/abandon"
    no_body = running.post(path, headers={"Idempotency-Key": "no-body"})
    assert no_body.json() == {"case": case, "status": "abandoned"}
    assert running.post(path, headers={"Idempotency-Key": "no-body"}).json() == no_body.json()
    assert post(running, path, {}).status_code == 409
    assert running.get(f"/v1/cases/{case}").json()["end"] == "abandoned"


def test_the_same_key_and_body_give_the_same_answer(running: httpx.Client) -> None:
    first = post(running, "/v1/policies/lending/cases", {"free": {"age": 3}}, "same")
    again = post(running, "/v1/policies/lending/cases", {"free": {"age": 3}}, "same")
    assert (again.status_code, again.content) == (first.status_code, first.content)
    decimal = post(running, "/v1/policies/lending/cases", {"free": {"age": 3.0}}, "same")
    assert decimal.content == first.content
    other = post(running, "/v1/policies/lending/cases", {"free": {"age": 4}}, "same")
    assert (other.status_code, other.json()["error"]) == (409, "key_reused")
    elsewhere = post(running, f"/v1/cases/{first.json()['case']}/abandon", {}, "same")
    assert elsewhere.status_code == 409


def test_policy_view(running: httpx.Client) -> None:
    shown = running.get("/v1/policies/lending").json()
    assert shown["kind"] == "linucb"
    assert [feature["name"] for feature in shown["features"]] == ["income", "history", "age"]
    assert shown["gain"] == pytest.approx(shown["reward"] - shown["spend"])
    assert running.get("/v1/policies").json()[0]["policy"] == "lending"
    assert running.get("/v1/policies/borrowing").status_code == 404
    assert "series" in running.get("/v1/policies/lending/activity").json()


def test_health_and_metrics(running: httpx.Client) -> None:
    assert running.get("/healthz").json()["status"] == "alive"
    assert running.get("/readyz").json()["status"] == "ready"
    case = opened(running)
    post(running, f"/v1/cases/{case}/observations", SEEN)
    post(running, f"/v1/cases/{case}/reward", {"reward": 1})
    lag = r'thrifty_reward_lag_seconds_bucket\{le="1.0",policy="lending"\} [1-9]'
    wait_until(lambda: re.search(lag, running.get("/metrics").text) is not None)
    page = running.get("/metrics").text
    for line in (
        r'thrifty_decisions_total\{kind="buy",policy="lending"\} [1-9]',
        r'thrifty_spend_total\{feature="income",policy="lending"\} \d',
        r'thrifty_unavailable_total\{feature="income",policy="lending"\} \d',
        r'thrifty_reward\{policy="lending",unit="EUR"\}',
        r'thrifty_decisions_total\{kind="buy more",policy="steps"\} \d',
        r'thrifty_noticed_total\{kind="restart",policy="lending"\} 0',
        r'thrifty_request_seconds_count\{status="2xx",step="observe"\} [1-9]',
        r"thrifty_queue 0.0",
        r"thrifty_ready 1.0",
    ):
        assert re.search(line, page), line


def test_every_answer_is_guarded(running: httpx.Client) -> None:
    for path in ("/", "/healthz", "/v1/policies", "/nowhere", "/static/dashboard.js"):
        headers = running.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    assert running.get("/static/../api.py").status_code == 404
    assert running.get("/static/%2e%2e%2fapi.py").status_code == 404


def raw(client: httpx.Client, data: bytes) -> bytes:
    """Send raw bytes, and return the whole response."""
    address = (client.base_url.host, client.base_url.port or 80)
    with socket.create_connection(address, timeout=LIMIT) as line:
        line.sendall(data)
        answer = b""
        while part := line.recv(65536):
            answer += part
    return answer


def test_limits(running: httpx.Client) -> None:
    head = {"Idempotency-Key": "limits", "Content-Type": "application/json"}
    path = "/v1/policies/lending/cases"
    large = running.post(path, content=b" " * 70_000, headers=head)
    assert large.status_code == 413
    streamed = running.post(path, content=iter([b" " * 40_000] * 3), headers=head)
    assert streamed.status_code == 413
    deep = running.post(path, content=b'{"free": ' + b"[" * 2000, headers=head)
    assert (deep.status_code, deep.json()["message"]) == (
        422,
        "body: it is nested more than 8 levels deep: flatten it.",
    )
    many = {"free": {f"f{k}": "x" for k in range(300)}}
    assert post(running, path, many).json()["field"] == "free"
    text = running.post(path, content=b"{}", headers={**head, "Content-Type": "text/plain"})
    assert text.status_code == 415
    assert running.get("/v1/policies", headers={"Host": "evil.example"}).status_code == 403
    wrong = running.put("/v1/policies")
    assert (wrong.status_code, wrong.json()["error"]) == (405, "method")


def test_slow_clients_are_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a body, half a head and an idle connection are all closed."""
    body = (
        b"POST /v1/policies/lending/cases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n"
        b"Content-Type: application/json\r\nIdempotency-Key: slow\r\n\r\n{"
    )
    assert server.HEAD_SECONDS == RequestLimits().read_seconds == 10
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)  # the same, twenty times as fast
    limits = RequestLimits(read_seconds=0.5)
    with (
        in_a_thread([policy_file(tmp_path)], str(tmp_path / "store.db"), limits) as url,
        httpx.Client(base_url=url, timeout=LIMIT, trust_env=False) as client,
        socket.create_connection((client.base_url.host, client.base_url.port or 80)) as silent,
        socket.create_connection((client.base_url.host, client.base_url.port or 80)) as line,
    ):
        start = time.monotonic()
        line.sendall(b"POST /v1/poli")
        assert b" 408 " in raw(client, body)
        assert time.monotonic() - start >= 0.5
        for each in (line, silent):
            each.settimeout(LIMIT)
            assert each.recv(10) == b""


def test_a_head_that_is_too_long_is_refused(running: httpx.Client) -> None:
    assert raw(running, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000)[:12] in (
        b"",
        b"HTTP/1.1 400",
    )


def test_a_request_that_was_cut_off_is_not_done(running: httpx.Client) -> None:
    """An empty body is valid, but the missing body of a lost connection is not."""
    before, refused = _opened_so_far(running), _refused_so_far(running)
    head = (
        b"POST /v1/policies/lending/cases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 21\r\n"
        b"Content-Type: application/json\r\nIdempotency-Key: cut-off\r\n\r\n"
    )
    with socket.create_connection((running.base_url.host, running.base_url.port or 80)) as line:
        line.sendall(head)
    wait_until(lambda: _refused_so_far(running) > refused, "the end of the cut-off request")
    again = post(running, "/v1/policies/lending/cases", {"free": {"age": 44}}, "cut-off")
    assert again.status_code == 201, again.text
    assert running.get(f"/v1/cases/{again.json()['case']}").json()["free"] == {"age": 44.0}
    wait_until(lambda: _opened_so_far(running) > before)
    assert _opened_so_far(running) == before + 1


def _refused_so_far(client: httpx.Client) -> float:
    """Return the number of requests to open a case that were refused."""
    line = r'thrifty_request_seconds_count\{status="4xx",step="open"\} (\S+)'
    found = re.search(line, client.get("/metrics").text)
    return 0.0 if found is None else float(found[1])


def _opened_so_far(client: httpx.Client) -> int:
    return int(client.get("/v1/policies/lending").json()["counts"].get("opened", 0))


def test_the_client(running: httpx.Client) -> None:
    with Client(str(running.base_url), "lending") as client:
        assert repr(client) == f"Client({str(running.base_url)!r}, 'lending')"
        case = client.ask({"age": "old"})
        assert isinstance(case, Case)
        assert client.case(case) == client.case(str(case.id)) == case
        assert client.ask(free={"age": "old"}, key="c1") == client.ask(
            free={"age": "old"}, key="c1"
        )
        with pytest.raises(KeyReused):
            client.ask(free={"age": "young"}, key="c1")
        with pytest.raises(OutOfTurn):
            client.tell(case, 1.0)
        with pytest.raises(InvalidField) as caught:
            client.observe(case, {"history": "some"})
        assert caught.value.field == "values.history"
        values = dict(zip(case.buy, ("low", None), strict=True))
        acted = client.observe(case, values, {"history": 0.2}, available=["approve"])
        assert (acted.id, acted.buy, acted.action) == (case.id, (), "approve")
        assert (acted.unit, acted.deadline) == (case.unit, case.deadline)
        assert client.case(case) == acted
        assert client.tell(case, 3.0).use == "learnt"
        with pytest.raises(RoundClosed):
            client.abandon(case)
        shown = client.explain(case)
        assert (shown["end"], shown["unavailable"]) == ("rewarded", ["history"])
        assert shown["costs"] == {"income": 0.4, "history": 0.2}  # the first at its list price
        assert client.case(case).buy == ()
        assert client.policy("lending")["policy"] == "lending"
        with pytest.raises(UnknownRound):
            client.explain("nobody")
        with pytest.raises(UnknownName):
            client.policy("nothing")


def test_the_async_client(running: httpx.Client) -> None:
    async def scenario() -> None:
        async with AsyncClient(str(running.base_url), "lending") as client:
            case = await client.ask(free={"age": "old"})
            acted = await client.observe(case, costs={"income": 0.3})
            assert acted.action in ("decline", "approve")
            assert await client.case(case) == acted
            assert (await client.tell(case, 3.0)).late is False
            other = await client.ask(policy="lending")
            await client.abandon(other)
            assert (await client.explain(other))["end"] == "abandoned"
            assert (await client.policy("lending"))["open"] >= 0

    run_apart(scenario())


def test_a_client_without_a_policy_asks_the_only_one(tmp_path: Path) -> None:
    files = [policy_file(tmp_path, name=name) for name in ("lending", "borrowing")]
    with served(*files, "--store", tmp_path / "store.db") as service:
        with Client(service.url) as client:
            with pytest.raises(InvalidInput, match="policies 'borrowing', 'lending': choose one"):
                client.ask()
            case = client.ask(policy="lending")
            assert client.explain(case)["policy"] == "lending"
        with Client(service.url, "borrowing") as client:
            assert client.explain(client.ask())["policy"] == "borrowing"
            assert client.explain(client.ask(policy="lending"))["policy"] == "lending"


def test_names_are_quoted_in_urls(running: httpx.Client) -> None:
    with Client(str(running.base_url)) as client:
        for name in ("lending?x", "lending#x", "x/../lending"):
            with pytest.raises((InvalidField, RoundError, UnknownName)):
                client.policy(name)


def test_a_client_waits_as_long_as_it_is_asked_to(tmp_path: Path) -> None:
    """At one request a second, each further request is repeated after a second."""
    with (
        served(policy_file(tmp_path), "--store", tmp_path / "s.db", "--rate", "1") as service,
        Client(service.url, retries=1) as client,
    ):
        start = time.monotonic()
        client.policy("lending")
        client.policy("lending")
        assert time.monotonic() - start > 0.9  # a busy machine only makes it longer


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), object()])
def test_values_that_json_cannot_represent_are_refused(reward: float) -> None:
    with Client("http://127.0.0.1:9", retries=0) as client, pytest.raises(InvalidInput):
        client.tell("case", reward)


def test_the_client_takes_what_an_agent_takes(running: httpx.Client) -> None:
    """Numpy numbers, and NaN for an unavailable value."""
    agent, reward = Agent.from_spec(spec_of()), cast(Any, np.int64(3))
    with Client(str(running.base_url), "lending") as client:
        for user in (client, agent):
            case = user.ask(free={"age": np.int64(44)})
            values = {"income": "low", "history": math.nan}
            costs: Any = {name: np.float32(0.5) for name in case.buy}
            case = user.observe(case, {name: values[name] for name in case.buy}, costs)
            user.tell(case, reward)
        with pytest.raises(InvalidInput):
            client.ask(free={"age": math.inf})


def test_a_response_of_another_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example the page of a proxy."""
    page = httpx.Response(200, text="<html>", request=httpx.Request("GET", "http://proxy/"))
    monkeypatch.setattr(httpx.Client, "request", lambda *_, **__: page)
    with (
        Client("http://proxy") as client,
        pytest.raises(StoreUnavailable, match="is not a decision service"),
    ):
        client.policy("lending")


def test_an_unreachable_service_is_reported() -> None:
    with (
        Client("http://127.0.0.1:9", retries=1) as client,
        pytest.raises(StoreUnavailable, match=r"cannot be reached .* with key='[0-9a-f]{32}'"),
    ):
        client.ask(policy="lending")


def test_the_openapi_document(running: httpx.Client) -> None:
    document = running.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/policies/{policy}/cases",
        "/v1/cases/{case}/observations",
        "/v1/cases/{case}/reward",
        "/v1/cases/{case}/abandon",
        "/v1/cases/{case}",
        "/v1/policies",
        "/v1/policies/{policy}",
        "/v1/policies/{policy}/activity",
        "/v1/policies/{policy}/status",
        "/v1/policies/{policy}/promote",
        "/v1/policies/{policy}/demote",
        "/metrics",
        "/healthz",
        "/readyz",
    }
    body = document["paths"]["/v1/cases/{case}/reward"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"]["additionalProperties"] is False
    assert "$defs" not in json.dumps(document["paths"])


def test_only_the_first_start_compiles(tmp_path: Path) -> None:
    """The second start adds no file to a private copy of the cache."""
    policy, cache = policy_file(tmp_path, policy="scout"), tmp_path / "cache"

    def files() -> set[Path]:
        return {path for path in cache.rglob("*") if path.is_file()}

    def decide(store: str, **environment: str) -> None:
        env = {**os.environ, **environment}
        with (
            served(policy, "--store", tmp_path / store, env=env) as service,
            Client(service.url) as client,
        ):
            client.ask()

    decide("first.db")
    assert CACHE_FOLDER is not None
    shutil.copytree(CACHE_FOLDER, cache / Path(CACHE_FOLDER).name)
    before = files()
    assert before
    decide("second.db", NUMBA_CACHE_DIR=str(cache))
    assert files() == before


def test_a_stopped_service_saves_a_snapshot(tmp_path: Path) -> None:
    policy = policy_file(tmp_path)
    store = tmp_path / "store.db"
    with served(policy, "--store", store) as service, Client(service.url) as client:
        client.ask()
    assert service.process.returncode == 0
    assert len(list((tmp_path / "store.db.snapshots").iterdir())) == 1
