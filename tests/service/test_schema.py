"""The whole OpenAPI document, tried out by schemathesis: no server error, nothing undocumented."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from small_service import Served, policy_file, served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("schema")
    with served(policy_file(folder), "--store", folder / "store.db") as running:
        yield running


@pytest.fixture(scope="module")
def api_schema(service: Served) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


schema = schemathesis.pytest.from_fixture("api_schema")


@schema.parametrize()
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation(case: Any) -> None:
    response = case.call()
    case.validate_response(
        response,
        checks=[not_a_server_error, status_code_conformance, response_schema_conformance],
    )
