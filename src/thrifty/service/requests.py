"""Request bodies: strict pydantic models, and errors that name the field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)

from thrifty.errors import InvalidField

MAX_VALUES = 256
MAX_DEPTH = 8
_MANY_BRACKETS = 16
"""Bodies with fewer brackets are not checked for their depth, which takes time."""


def _validate_value(given: object) -> str | float | None:
    if given is None or (isinstance(given, str) and len(given) <= 200):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        if -1e300 < given < 1e300:
            return float(given)
        raise ValueError("a value is a finite number")
    raise ValueError(
        "a value is the name of a level (up to 200 characters), a number, or null if the value is "
        "unavailable"
    )


_VALUE_SCHEMA = {
    "anyOf": [
        {"type": "string", "maxLength": 200},
        {"type": "number", "exclusiveMinimum": -1e300, "exclusiveMaximum": 1e300},
        {"type": "null"},
    ]
}
_MESSAGES = {
    "model_type": "send an object, {...}",
    "extra_forbidden": "there is no such field: /openapi.json lists the fields",
}
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Value = Annotated[
    str | float | None, PlainValidator(_validate_value), WithJsonSchema(_VALUE_SCHEMA)
]
Number = Annotated[float, Field(allow_inf_nan=False, gt=-1e300, lt=1e300)]


class RequestBody(BaseModel):
    """Base of all bodies: unknown fields, numbers as text and NaN are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    may_be_empty: ClassVar[bool] = False
    """True if a request without a body means the same as an empty object."""


class OpenCaseRequest(RequestBody):
    """What is known about a case before anything is bought."""

    may_be_empty = True
    free: dict[Name, Value] = Field(
        default_factory=dict,
        max_length=MAX_VALUES,
        description="Values that are known for free, by feature: the name of a level, a number if "
        "policy.toml gives edges for the feature, or null if the value is missing.",
    )
    available: list[Name] | None = Field(
        default=None,
        max_length=1024,
        description="The actions to choose from if nothing is bought. Default: all actions.",
    )
    case_key: Name | None = Field(
        default=None,
        description="What the case is about, such as a customer number. While a shadow decides a "
        "share of the cases, cases with the same key are decided by the same policy. The log "
        "stores the key. Default: the id of the case.",
    )


class ObservationRequest(RequestBody):
    """The result of a purchase: the values, and what was paid."""

    values: dict[Name, Value] = Field(
        default_factory=dict,
        max_length=MAX_VALUES,
        description="The values bought, by feature. Leave out, or set to null, a value that is "
        "unavailable.",
    )
    costs: dict[Name, Number] = Field(
        default_factory=dict,
        max_length=MAX_VALUES,
        description="What was paid, by feature or by bundle, in the unit of the policy; also for "
        "values that are unavailable. Default: the list price for each value, and 0 for a value "
        "that is unavailable.",
    )
    unavailable: list[Name] = Field(
        default_factory=list,
        max_length=MAX_VALUES,
        description="Features whose values are unavailable; the same as leaving out the values.",
    )
    available: list[Name] | None = Field(
        default=None,
        max_length=1024,
        description="The actions to choose from. Default: all actions.",
    )


class RewardRequest(RequestBody):
    """The result of the action: the reward, or the outcome that determines it."""

    reward: Number | None = Field(
        default=None, description="In the unit of the policy, within its range of rewards."
    )
    outcome: Name | None = Field(
        default=None, description="One of the outcomes declared in policy.toml."
    )


class PromoteRequest(RequestBody):
    """The shadow that is to act from now on."""

    shadow: Name = Field(description="Name of the shadow, as in its own policy.toml.")


class DemoteRequest(RequestBody):
    """An empty object, or no body at all."""

    may_be_empty = True


class AbandonRequest(RequestBody):
    """An empty object, or no body at all."""

    may_be_empty = True


B = TypeVar("B", bound=RequestBody)


def parse_request(model: type[B], data: bytes) -> tuple[B, Any]:
    """Return the validated body of a request, and its JSON content.

    >>> parse_request(RewardRequest, b'{"reward": 2}')[0].reward
    2.0
    >>> parse_request(RewardRequest, b'{"reward": "2"}')
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidField: reward: Input should be a valid number.
    >>> parse_request(RewardRequest, b'[2]')
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidField: body: send an object, {...}.
    """
    content = strict_json(b"{}" if not data and model.may_be_empty else data)
    try:
        return model.model_validate(content), content
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"] if part != "[key]") or "body"
        message = _MESSAGES.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise InvalidField(field, f"{message}.") from error


def strict_json(data: bytes) -> Any:
    """Parse JSON; refuse duplicate names and deep nesting.

    >>> strict_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidField: a: this name occurs twice in one object: remove one.
    """
    try:
        text = data.decode()
        if max(text.count("{"), text.count("[")) > _MANY_BRACKETS:
            _require_shallow(text)
        # 1 and 1.0 must have the same digest, so integers are read as floats
        return json.loads(text, object_pairs_hook=_require_distinct, parse_int=float)
    except InvalidField:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidField(
            "body", f"this is not valid JSON ({error}): send an object in UTF-8."
        ) from error


def _require_distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidField(twice, "this name occurs twice in one object: remove one.")
    return content


def _require_shallow(text: str) -> None:
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidField(
                    "body", f"it is nested more than {MAX_DEPTH} levels deep: flatten it."
                )
        elif character in "]}":
            depth -= 1
