"""More than 200 bad inputs: every one is a 4xx that names its field, the same on both stores."""

import json

import httpx
import pytest

from small_service import post
from thrifty.errors import InvalidField
from thrifty.service.bodies import ObservationBody, parse_body

NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    '"1.0"',
    '"NaN"',
    '""',
    "true",
    "false",
    "null",
    "[]",
    "[1]",
    "{}",
    '{"reward": 1}',
    "1" + "0" * 400,
    "-1" + "0" * 400,
    "121",
    "-901",
    "1e300",
    "01",
    "1.",
    ".5",
    "+1",
    "0x10",
    "1_000",
    "\u0661",  # an Arabic digit
    "1" + "0" * 5000,
]
VALUES = [
    *[it for it in NUMBERS if it not in ("121", "-901", '""')],
    '"nobody"',
    '"low\\u0000"',
    '"\\ud800"',
]
COSTS = ["-1", "-1e-9", "10201", "1e300", *[it for it in NUMBERS if it not in ("121", "-901")]]
SHAPES = [
    "",
    " ",
    "null",
    "true",
    "1",
    '"text"',
    "[]",
    "[{}]",
    "{",
    "}",
    "{}{}",
    "{,}",
    '{"a"}',
    "{'a': 1}",
    '{"a": 1,}',
    '{"unknown": 1}',
    '{"Reward": 1}',
    '{"__proto__": {}}',
    '{"": 1}',
    '{"\\u0000": 1}',
    "\ufeff{}",
    "\x00",
    "<xml/>",
    "reward=1",
    "[" * 60,
    '{"a":' * 60 + "1" + "}" * 60,
    "\udcff",
    "//comment\n{}",
]
NAMES = [
    "a b",
    "a.b",
    "a%2Fb",
    "%00",
    "x" * 65,
    "ä",
    "a;b",
    "'",
    '"',
    "<script>",
    "%0a",
    "..%2f",
    "*",
]
KEYS = [None, "", "a b", "x" * 65, "a/b", "é", "a,b", "{}", "null\x7f"]


def corpus(case: str, acted: str) -> list[tuple[str, str, str | None]]:
    """Return (path, body, field to be named, or None for any)."""
    cases, observe, reward = (
        "/v1/policies/lending/cases",
        f"/v1/cases/{case}/observations",
        f"/v1/cases/{acted}/reward",
    )
    rest = '"history": "none"'
    costs = '"costs": {"income": 1, "history": 1}'
    bad: list[tuple[str, str, str | None]] = [
        (reward, f'{{"reward": {it}}}', "reward") for it in NUMBERS
    ]
    bad += [(cases, f'{{"free": {{"income": {it}}}}}', "free.income") for it in VALUES]
    bad += [
        (observe, f'{{"values": {{"income": {it}, {rest}}}, {costs}}}', "values.income")
        for it in VALUES
    ]
    bad += [
        (
            observe,
            f'{{"values": {{"income": "low", {rest}}}, "costs": {{"income": {it}, "history": 1}}}}',
            "costs.income",
        )
        for it in COSTS
    ]
    bad += [(path, it, None) for path in (observe, reward) for it in SHAPES]
    bad += [(cases, it, None) for it in SHAPES if it.strip(" \ufeff") not in ("", "{}")]
    bad += [
        (cases, '{"free": {}, "free": {}}', "free"),
        (cases, '{"free": {"income": "low", "income": "low"}}', "income"),
        (cases, '{"free": {"unknown": "low"}}', "free.unknown"),
        (cases, '{"free": [["income", "low"]]}', "free"),
        (reward, '{"reward": 1, "reward": 1}', "reward"),
        (reward, '{"reward": 1, "bonus": 1}', "bonus"),
        (observe, '{"values": {}, "values": {}}', "values"),
        (observe, '{"unavailable": "income"}', "unavailable"),
        (observe, '{"unavailable": [1, 2]}', "unavailable.0"),
        (observe, '{"unavailable": ["income", "income", "history"]}', "unavailable"),
        (observe, '{"unavailable": ["income", "history"], "available": []}', "available"),
        (observe, '{"unavailable": ["income", "history"], "available": ["x"]}', "available"),
        (observe, '{"unavailable": ["income", "history"], "available": "approve"}', "available"),
        (observe, '{"unavailable": ["income", "history", "age"]}', "unavailable.age"),
        (observe, '{"unavailable": ["income", "history"], "extra": null}', "extra"),
    ]
    return bad


def two_cases(client: httpx.Client) -> tuple[str, str]:
    """Open two cases that want income and history, and act in the second."""
    free = {"free": {"age": "old"}}
    case = post(client, "/v1/policies/lending/cases", free).json()["case"]
    acted = post(client, "/v1/policies/lending/cases", free).json()["case"]
    unavailable = {"unavailable": ["income", "history"]}
    assert post(client, f"/v1/cases/{acted}/observations", unavailable).status_code == 200
    return case, acted


def send(client: httpx.Client, path: str, body: str, key: str) -> httpx.Response:
    head = {"Idempotency-Key": key, "Content-Type": "application/json"}
    return client.post(path, content=body.encode("utf-8", "surrogateescape"), headers=head)


def named_as_wanted(found: str | None, wanted: str) -> bool:
    return found is not None and (found == wanted or found == "body" or found.startswith(wanted))


def test_every_bad_input_is_refused_with_its_field(running: httpx.Client) -> None:
    case, acted = two_cases(running)
    bad = corpus(case, acted)
    assert len(bad) >= 200
    before = len(running.get(f"/v1/cases/{case}").json()["history"])
    for k, (path, body, field) in enumerate(bad):
        answer = send(running, path, body, f"bad-{k}")
        assert answer.status_code == 422, (path, body[:80], answer.text)
        content = json.loads(answer.text)
        assert set(content) == {"error", "message", "field"}
        assert content["field"], (body, content)
        if field is not None:
            assert named_as_wanted(content["field"], field), (body[:80], content)
    assert len(running.get(f"/v1/cases/{case}").json()["history"]) == before
    good = {"values": {"income": "low", "history": "none"}, "costs": {"income": 1, "history": 1}}
    assert post(running, f"/v1/cases/{case}/observations", good).status_code == 200
    assert post(running, f"/v1/cases/{acted}/reward", {"reward": 1}).status_code == 200


def test_both_stores_answer_the_same(both: tuple[httpx.Client, httpx.Client]) -> None:
    """Word for word, but for the case's id."""
    answers: list[list[tuple[int, str]]] = []
    for client in both:
        case, acted = two_cases(client)
        answers.append([])
        for k, (path, body, _) in enumerate(corpus(case, acted)):
            answer = send(client, path, body, f"same-{k}")
            text = answer.text.replace(case, "CASE").replace(acted, "ACTED")
            answers[-1].append((answer.status_code, text))
    assert len(answers[0]) >= 200
    assert {status for status, _ in answers[0]} == {422}
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none(running: httpx.Client, name: str) -> None:
    for path in (f"/v1/policies/{name}", f"/v1/cases/{name}"):
        assert running.get(path).status_code in (404, 422)
    assert post(running, f"/v1/policies/{name}/cases", {}).status_code in (404, 405, 422)
    assert post(running, f"/v1/cases/{name}/reward", {"reward": 1}).status_code in (404, 405, 422)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_that_are_none(running: httpx.Client, key: str | None) -> None:
    headers = [(b"Content-Type", b"application/json")]
    if key is not None:
        headers.append((b"Idempotency-Key", key.encode()))
    answer = running.post("/v1/policies/lending/cases", content=b"{}", headers=headers)
    assert answer.status_code in (400, 422)
    if answer.status_code == 422:
        assert answer.json()["field"] == "Idempotency-Key"


def test_no_value_is_told_where_to_go() -> None:
    with pytest.raises(InvalidField, match=r"^values\.income: a value is .* in `unavailable`\.$"):
        parse_body(ObservationBody, b'{"values": {"income": null}}')
