"""The OpenAPI document, generated from the operations and their request and response types."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from thrifty._version import __version__
from thrifty.service.access import NAME, needed_scope
from thrifty.service.requests import RequestBody
from thrifty.service.response_models import ErrorResponse

READ_ERRORS = {
    401: "The request has no key, or an unknown one.",
    403: "The key does not have the scope for this request.",
    404: "There is no such policy or case.",
    422: "The request is not valid; `field` names what is wrong.",
    429: "Too many requests, or too many open cases.",
    503: "The store cannot be read or written at the moment; try again.",
}
WRITE_ERRORS = READ_ERRORS | {
    408: "The body took too long to arrive.",
    409: "The case is at another stage, or the key was used for another request.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}
_NAME_SCHEMA = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "Repeating a request with the same key and body returns the same response.",
    "schema": _NAME_SCHEMA,
}


@dataclass(frozen=True)
class Operation:
    """An endpoint and what the document says about it.

    Parameters
    ----------
    method, path : str
        HTTP method and path; names in braces are path parameters.
    endpoint : callable
        The handler. Its docstring is the summary of the operation.
    response : type
        Type of the JSON response; `str` stands for plain text.
    request : type of RequestBody, optional
        Model of the JSON body. Operations with a body also take an idempotency key.
    status : int
        Status of a successful response.
    errors : mapping, optional
        Description of each error status; by default those of every read or write.
    """

    method: str
    path: str
    endpoint: Callable[[Request], Awaitable[Response]]
    response: Any
    request: type[RequestBody] | None = None
    status: int = 200
    errors: Mapping[int, str] | None = None


def build_document(operations: Sequence[Operation], *, needs_keys: bool) -> dict[str, Any]:
    """Return the OpenAPI document of these operations."""
    types = list(dict.fromkeys([ErrorResponse, *(operation.response for operation in operations)]))
    schemas, definitions = TypeAdapter.json_schemas(
        [(kind, "serialization", TypeAdapter(kind)) for kind in types],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _describe(operation, {kind: schema for (kind, _), schema in schemas.items()})
        if needs_keys and needed_scope(operation.method, operation.path) is not None:
            described["security"] = [{"key": []}]
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    components: dict[str, Any] = {"schemas": definitions["$defs"]}
    if needs_keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Thrifty",
            "summary": "Ask which features to buy, report them, get an action, report the reward.",
            "version": __version__,
        },
        "paths": paths,
        "components": components,
    }


def _describe(operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    errors = operation.errors
    if errors is None:
        errors = READ_ERRORS if operation.request is None else WRITE_ERRORS
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": _NAME_SCHEMA}
        for part in operation.path.split("/")
        if part.startswith("{")
    ]
    described: dict[str, Any] = {
        "operationId": operation.endpoint.__name__,
        "summary": inspect.getdoc(operation.endpoint),
        "parameters": parameters,
        "responses": {
            str(operation.status): _response("Success.", operation.response, schemas),
            **{
                str(status): _response(text, ErrorResponse, schemas)
                for status, text in errors.items()
            },
        },
    }
    if operation.request is not None:
        parameters.append(_KEY_PARAMETER)
        described["requestBody"] = {
            "content": {"application/json": {"schema": operation.request.model_json_schema()}},
            "required": not operation.request.may_be_empty,
        }
    return described


def _response(text: str, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    media_type = "text/plain" if kind is str else "application/json"
    return {"description": text, "content": {media_type: {"schema": schemas[kind]}}}
