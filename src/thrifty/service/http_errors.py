"""HTTP status and JSON body of each error."""

from __future__ import annotations

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
from thrifty.service.response_models import ErrorResponse

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


def error_response(error: ThriftyError) -> tuple[int, ErrorResponse]:
    """Return the status and the body for an error.

    >>> from thrifty.errors import InvalidField
    >>> error_response(InvalidField("reward", "too large."))
    (422, {'error': 'invalid', 'message': 'reward: too large.', 'field': 'reward'})
    """
    if isinstance(error, AccessDenied):
        status, code = (403, "forbidden") if error.known else (401, "key")
        return status, error_body(code, error)
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return status, error_body(code, error, getattr(error, "field", None))
    # The message of an unexpected error may reveal internals, so only the log gets it.
    return 500, error_body("internal", "internal error: see the log of the service.")


def error_body(code: str, message: object, field: str | None = None) -> ErrorResponse:
    """Return the body of an error response."""
    return {"error": code, "message": str(message), "field": field}
