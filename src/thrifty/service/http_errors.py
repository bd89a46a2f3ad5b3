"""Errors as answers: one status, one code, one message, and the field if it is about one."""

from __future__ import annotations

from typing import Any

from thrifty.errors import (
    AccessDenied,
    BrokenLog,
    InvalidInput,
    KeyReused,
    OutOfTurn,
    RoundClosed,
    StoreError,
    ThriftyError,
    TooManyOpen,
    UnknownName,
    UnknownRound,
)
from thrifty.json_values import compact_json

STATUSES: tuple[tuple[type[ThriftyError], int, str], ...] = (
    (InvalidInput, 422, "invalid"),
    (KeyReused, 409, "key_reused"),
    (OutOfTurn, 409, "out_of_turn"),
    (RoundClosed, 409, "closed"),
    (UnknownRound, 404, "unknown_case"),
    (UnknownName, 404, "unknown_policy"),
    (TooManyOpen, 429, "too_many_open"),
    (BrokenLog, 500, "broken_log"),
    (StoreError, 503, "unavailable"),
)


def refused(error: ThriftyError) -> tuple[int, dict[str, Any]]:
    """Return the status and the body that an error is answered with.

    >>> from thrifty.errors import InvalidField
    >>> refused(InvalidField("reward", "too much."))
    (422, {'error': 'invalid', 'message': 'reward: too much.', 'field': 'reward'})
    """
    if isinstance(error, AccessDenied):
        return (403, payload("forbidden", error)) if error.known else (401, payload("key", error))
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return status, payload(code, error, getattr(error, "field", None))
    return 500, payload("internal", "something went wrong: the log of the service says what.")


def payload(code: str, message: object, field: str | None = None) -> dict[str, Any]:
    """Return the body of a refusal."""
    return {"error": code, "message": str(message), "field": field}


def dumped(content: Any) -> bytes:
    """Return an answer as JSON; there is nothing in it that JSON does not have."""
    return compact_json(content).encode()
