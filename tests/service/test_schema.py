"""Schemathesis tests the whole OpenAPI document on both stores.

No server error, and nothing that is not documented.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from postgres_server import PostgresServer
from small_service import Served, policy_file, served
from thrifty.client import Client


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("schema")
    address = str(folder / "store.db")
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        address = server.new_database()
    errors = folder / "errors"
    with served(policy_file(folder), "--store", address, errors=errors) as running:
        yield running
    assert "Traceback" not in errors.read_text()


def test_every_operation(service: Served) -> None:
    """Test each operation with random names, and with those of a real policy and case."""
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    operations: list[Any] = [operation.ok() for operation in schema.get_all_operations()]  # type: ignore[union-attr]
    assert len(operations) == 14
    with Client(service.url) as client:
        real = {"policy": "lending", "case": str(client.ask().id)}
    tried: Counter[int] = Counter()
    for operation, names in product(operations, ({}, real)):
        _try_out(operation, names, tried)
    assert {200, 201, 404, 409, 422} <= set(tried), tried
    assert sum(tried.values()) > 200


def _try_out(operation: Any, names: dict[str, str], tried: Counter[int]) -> None:
    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def holds(case: Any) -> None:
        for name in set(case.path_parameters or {}) & set(names):
            case.path_parameters[name] = names[name]
        response = case.call()
        tried[response.status_code] += 1
        case.validate_response(
            response,
            checks=[not_a_server_error, status_code_conformance, response_schema_conformance],
        )

    holds()
