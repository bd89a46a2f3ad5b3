"""More than 280 bad inputs: each is refused with its field, the same on both stores."""

import json

import httpx
import pytest

from small_service import post
from thrifty.errors import InvalidField
from thrifty.service.requests import ObservationRequest, parse_request

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
    *[number for number in NUMBERS if number not in ("121", "-901", '""', "null")],
    '"nobody"',
    '"low\\u0000"',
    '"\\ud800"',
]
COSTS = [
    "-1",
    "-1e-9",
    "10201",
    "1e300",
    *[number for number in NUMBERS if number not in ("121", "-901")],
]
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
        (reward, f'{{"reward": {number}}}', "reward") for number in NUMBERS
    ]
    bad += [(cases, f'{{"free": {{"income": {value}}}}}', "free.income") for value in VALUES]
    bad += [
        (observe, f'{{"values": {{"income": {value}, {rest}}}, {costs}}}', "values.income")
        for value in VALUES
    ]
    bad += [
        (
            observe,
            f'{{"values": {{"income": "low", {rest}}}, "costs": {{"income": {x}, "history": 1}}}}',
            "costs.income",
        )
        for x in COSTS
    ]
    bad += [(path, shape, None) for path in (observe, reward) for shape in SHAPES]
    bad += [(cases, shape, None) for shape in SHAPES if shape.strip(" \ufeff") not in ("", "{}")]
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


def corpus_in_steps(case: str, second: str, acted: str) -> list[tuple[str, str, str | None]]:
    """Return the same for a policy with steps, fees, bundles and outcomes.

    The first case asks for income; the second has income and asks for history; the third has acted.
    """
    cases = "/v1/policies/steps/cases"
    first, then, reward = (
        f"/v1/cases/{case}/observations",
        f"/v1/cases/{second}/observations",
        f"/v1/cases/{acted}/reward",
    )
    bad: list[tuple[str, str, str | None]] = [
        (cases, "{}", "free.age"),
        (cases, '{"free": {}}', "free.age"),
        (cases, '{"free": {"income": "low"}}', "free.age"),
        (cases, '{"free": {"age": "old"}}', "free.age"),
        (cases, '{"free": {"age": true}}', "free.age"),
        (cases, '{"free": {"age": 5, "report": "good"}}', "free.report"),
        (cases, '{"free": {"age": 5, "bureau": "good"}}', "free.bureau"),
        (cases, '{"free": {"age": 5}, "available": []}', "available"),
        (cases, '{"free": {"age": 5}, "available": ["refer"]}', "available"),
        (cases, '{"free": {"age": 5}, "available": "approve"}', "available"),
        (cases, '{"free": {"age": 5}, "available": [1]}', "available.0"),
        (cases, '{"free": {"age": 5}, "outcome": "repaid"}', "outcome"),
    ]
    wrong = [
        ('"values": {"history": "none"}', "values.history"),  # not yet
        ('"values": {"income": "low", "history": "none"}', "values.history"),
        ('"values": {"age": 5}', "values.age"),  # free
        ('"values": {"income": "low", "age": null}', "values.age"),
        ('"values": {"address": "new"}', "values.address"),
        ('"values": {"report": "good"}', "values.report"),
        ('"values": {"bureau": 1}', "values.bureau"),
        ('"values": {"income": "middle"}', "values.income"),
        ('"values": {"income": 1}', "values.income"),
        ('"values": {"income": {}}', "values.income"),
        ('"values": {"income": "low"}, "costs": {"income": -1}', "costs.income"),
        ('"values": {"income": "low"}, "costs": {"income": -1e-12}', "costs.income"),
        ('"values": {"income": "low"}, "costs": {"income": 10201}', "costs.income"),
        ('"values": {"income": "low"}, "costs": {"income": null}', "costs.income"),
        ('"values": {"income": "low"}, "costs": {"bureau": 0.6}', "costs.bureau"),
        ('"values": {"income": "low"}, "costs": {"report": 5}', "costs.report"),
        ('"values": {"income": "low"}, "costs": {"report": -5}', "costs.report"),
        ('"values": {"income": "low"}, "costs": {"score": 1}', "costs.score"),
        ('"values": {"income": "low"}, "costs": {"history": 1}', "costs.history"),
        ('"costs": {"income": -1}', "costs.income"),
        ('"costs": {"age": 1}', "costs.age"),
        ('"unavailable": ["history"]', "unavailable.history"),
        ('"unavailable": ["age"]', "unavailable.age"),
        ('"unavailable": ["report"]', "unavailable.report"),
        ('"unavailable": ["income", "income"]', "unavailable"),
        ('"unavailable": ["income"], "values": {"income": "low"}', "values.income"),
        ('"unavailable": null', "unavailable"),
        ('"values": null', "values"),
        ('"costs": null', "costs"),
        ('"values": {"income": "low"}, "available": []', "available"),
        ('"values": {"income": "low"}, "available": ["refer"]', "available"),
        ('"values": {"income": "low"}, "outcome": "repaid"', "outcome"),
        ('"values": {"income": "low"}, "free": {"age": 5}', "free"),
        ('"values": {"income": "low"}, "reward": 1', "reward"),
    ]
    bad += [(first, f"{{{content}}}", field) for content, field in wrong]
    later = [
        ('"values": {"income": "high"}', "values.income"),  # bought before
        ('"values": {"income": null}', "values.income"),
        ('"values": {"history": "clean", "income": "high"}', "values.income"),
        ('"costs": {"income": 0.4}', "costs.income"),
        ('"unavailable": ["income"]', "unavailable.income"),
        ('"values": {"score": "good", "fraud": "no"}', "values.score"),
        ('"values": {"history": "clean"}, "costs": {"history": -0.6}', "costs.history"),
        ('"values": {"history": "clean"}, "costs": {"bureau": 2.1}', "costs.bureau"),
        ('"values": {"history": "clean"}, "costs": {"report": 5}', "costs.report"),
        ('"values": {"history": "high"}', "values.history"),
    ]
    bad += [(then, f"{{{content}}}", field) for content, field in later]
    told = [
        ("", "reward"),
        ('"reward": null', "reward"),
        ('"outcome": null', "reward"),
        ('"reward": null, "outcome": null', "reward"),
        ('"outcome": "lost"', "outcome"),
        ('"outcome": "Repaid"', "outcome"),
        ('"outcome": ""', "outcome"),
        ('"outcome": 0', "outcome"),
        ('"outcome": true', "outcome"),
        ('"outcome": ["repaid"]', "outcome"),
        ('"outcome": {"repaid": 1}', "outcome"),
        ('"outcome": "\\u0000"', "outcome"),
        ('"outcome": "approve"', "outcome"),
        ('"reward": 1', "reward"),  # not in the table
        ('"reward": 0', "reward"),  # of another action
        ('"reward": 119.99', "reward"),
        ('"reward": -899', "reward"),
        ('"reward": 121', "reward"),
        ('"reward": 120, "outcome": "default"', "reward"),
        ('"reward": -900, "outcome": "repaid"', "reward"),
        ('"reward": 0, "outcome": "repaid"', "reward"),
        ('"reward": 120, "outcome": "lost"', "outcome"),
        ('"outcome": "repaid", "outcome": "repaid"', "outcome"),
        ('"outcomes": "repaid"', "outcomes"),
    ]
    return bad + [(reward, f"{{{content}}}", field) for content, field in told]


def three_cases(client: httpx.Client) -> tuple[str, str, str]:
    """Open three cases of the policy with steps: see `corpus_in_steps`."""
    case, second, acted = (
        post(client, "/v1/policies/steps/cases", {"free": {"age": 44}}).json()["case"]
        for _ in range(3)
    )
    asked = post(client, f"/v1/cases/{second}/observations", {"values": {"income": "high"}})
    assert asked.json()["buy"] == ["history"]
    done = {"values": {"income": "low"}, "available": ["approve"]}
    assert post(client, f"/v1/cases/{acted}/observations", done).json()["action"] == "approve"
    return case, second, acted


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
    first, second, third = three_cases(running)
    bad = corpus(case, acted) + corpus_in_steps(first, second, third)
    assert len(bad) >= 280
    before = [running.get(f"/v1/cases/{name}").json() for name in (case, first, second, third)]
    for k, (path, body, field) in enumerate(bad):
        answer = send(running, path, body, f"bad-{k}")
        assert answer.status_code == 422, (path, body[:80], answer.text)
        content = json.loads(answer.text)
        assert set(content) == {"error", "message", "field"}
        assert content["field"], (body, content)
        if field is not None:
            assert named_as_wanted(content["field"], field), (body[:80], content)
    assert before == [
        running.get(f"/v1/cases/{name}").json() for name in (case, first, second, third)
    ]
    good = {"values": {"income": "low", "history": "none"}, "costs": {"income": 1, "history": 1}}
    assert post(running, f"/v1/cases/{case}/observations", good).status_code == 200
    assert post(running, f"/v1/cases/{acted}/reward", {"reward": 1}).status_code == 200
    for name, seen in ((first, {"values": {"income": None}}), (second, {})):
        assert post(running, f"/v1/cases/{name}/observations", seen).json()["action"]
    told = {"reward": 120, "outcome": "repaid"}
    assert post(running, f"/v1/cases/{third}/reward", told).status_code == 200


def test_an_outcome_where_none_is_declared(running: httpx.Client) -> None:
    _, acted = two_cases(running)
    for told in ({"outcome": "repaid"}, {"outcome": "repaid", "reward": 1}):
        answer = post(running, f"/v1/cases/{acted}/reward", told)
        assert (answer.status_code, answer.json()["field"]) == (422, "outcome")
        assert "declares no outcomes" in answer.json()["message"]


def test_requests_at_the_wrong_stage_are_refused(running: httpx.Client) -> None:
    case, second, acted = three_cases(running)
    for path, body in (
        (f"/v1/cases/{acted}/observations", {"values": {"income": "low"}}),
        (f"/v1/cases/{acted}/observations", {}),
        (f"/v1/cases/{case}/reward", {"outcome": "repaid"}),
        (f"/v1/cases/{second}/reward", {"reward": 120}),
    ):
        answer = post(running, path, body)
        assert (answer.status_code, answer.json()["error"]) == (409, "out_of_turn")
    for name in (case, second, acted):
        assert post(running, f"/v1/cases/{name}/abandon", {}).status_code == 200
        answer = post(running, f"/v1/cases/{name}/observations", {})
        assert (answer.status_code, answer.json()["error"]) == (409, "closed")


def test_both_stores_answer_the_same(both: tuple[httpx.Client, httpx.Client]) -> None:
    """The responses are identical except for the ids of cases."""
    answers: list[list[tuple[int, str]]] = []
    for client in both:
        names = *two_cases(client), *three_cases(client)
        answers.append([])
        bad = corpus(*names[:2]) + corpus_in_steps(*names[2:])
        for k, (path, body, _) in enumerate(bad):
            answer = send(client, path, body, f"same-{k}")
            text = answer.text
            for place, name in enumerate(names):
                text = text.replace(name, f"CASE {place}")
            answers[-1].append((answer.status_code, text))
    assert len(answers[0]) >= 280
    assert {status for status, _ in answers[0]} == {422}
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", NAMES)
def test_invalid_names(running: httpx.Client, name: str) -> None:
    for path in (f"/v1/policies/{name}", f"/v1/cases/{name}"):
        assert running.get(path).status_code in (404, 422)
    assert post(running, f"/v1/policies/{name}/cases", {}).status_code in (404, 405, 422)
    assert post(running, f"/v1/cases/{name}/reward", {"reward": 1}).status_code in (404, 405, 422)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_invalid_idempotency_keys(running: httpx.Client, key: str | None) -> None:
    headers = [(b"Content-Type", b"application/json")]
    if key is not None:
        headers.append((b"Idempotency-Key", key.encode()))
    answer = running.post("/v1/policies/lending/cases", content=b"{}", headers=headers)
    assert answer.status_code in (400, 422)
    if answer.status_code == 422:
        assert answer.json()["field"] == "Idempotency-Key"


def test_the_error_for_a_value_says_what_is_allowed() -> None:
    with pytest.raises(InvalidField, match=r"^values\.income: a value is .* or null if"):
        parse_request(ObservationRequest, b'{"values": {"income": true}}')
    body, _ = parse_request(ObservationRequest, b'{"values": {"income": null}}')
    assert body.values == {"income": None}
