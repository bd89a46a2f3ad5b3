"""The bodies of requests, strictly validated; a refusal names the field."""

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

MOST_VALUES = 256
MOST_NESTED = 8
_MANY_BRACKETS = 16


def _value(given: object) -> str | float | None:
    if given is None or (isinstance(given, str) and len(given) <= 200):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        if -1e300 < given < 1e300:
            return float(given)
        raise ValueError("a value is a finite number")
    raise ValueError(
        "a value is a level's name of at most 200 characters, a number, or null if it could not "
        "be had"
    )


_VALUE_SCHEMA = {
    "anyOf": [
        {"type": "string", "maxLength": 200},
        {"type": "number", "exclusiveMinimum": -1e300, "exclusiveMaximum": 1e300},
        {"type": "null"},
    ]
}
_WORDS = {
    "model_type": "send an object, {...}",
    "extra_forbidden": "there is no such field: /openapi.json has those that there are",
}
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Value = Annotated[str | float | None, PlainValidator(_value), WithJsonSchema(_VALUE_SCHEMA)]
Number = Annotated[float, Field(allow_inf_nan=False, gt=-1e300, lt=1e300)]


class Body(BaseModel):
    """Strict: no unknown fields, no text for numbers, no NaN."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    may_be_empty: ClassVar[bool] = False
    """Whether a request without a body means the same as an empty object."""


class OpenCaseRequest(Body):
    """What is known of a case before anything is bought."""

    may_be_empty = True
    free: dict[Name, Value] = Field(
        default_factory=dict,
        max_length=MOST_VALUES,
        description="Values known without paying, by feature: a level's name, a number where "
        "policy.toml gives edges, or null if it is missing.",
    )
    available: list[Name] | None = Field(
        default=None,
        max_length=1024,
        description="The actions to choose from if nothing is to be bought; without it, all.",
    )


class ObservationRequest(Body):
    """What came of the purchase: values, and what was paid."""

    values: dict[Name, Value] = Field(
        default_factory=dict,
        max_length=MOST_VALUES,
        description="Values bought, by feature; what is null or left out could not be had.",
    )
    costs: dict[Name, Number] = Field(
        default_factory=dict,
        max_length=MOST_VALUES,
        description="What was paid, by feature or by bundle, in the policy's unit; also for what "
        "could not be had. A cost that is left out is the list price, or 0 if there is no value.",
    )
    unavailable: list[Name] = Field(
        default_factory=list,
        max_length=MOST_VALUES,
        description="Features that could not be had; the same as leaving out their values.",
    )
    available: list[Name] | None = Field(
        default=None, max_length=1024, description="The actions to choose from; without it, all."
    )


class RewardRequest(Body):
    """What came of the action: the reward, or the outcome from which it follows."""

    reward: Number | None = Field(
        default=None, description="In the policy's unit, within its range."
    )
    outcome: Name | None = Field(
        default=None, description="One of the outcomes that policy.toml declares."
    )


class AbandonRequest(Body):
    """Nothing: an empty object, or no body at all."""

    may_be_empty = True


B = TypeVar("B", bound=Body)


def parse_request(kind: type[B], data: bytes) -> tuple[B, Any]:
    """Return a request's body, and its JSON.

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
    content = strict_json(b"{}" if not data and kind.may_be_empty else data)
    try:
        return kind.model_validate(content), content
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"] if part != "[key]") or "body"
        said = _WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise InvalidField(field, f"{said}.") from error


def strict_json(data: bytes) -> Any:
    """Return what a body says; text that means two things is refused.

    >>> strict_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidField: a: this name stands twice in one object: leave one out.
    """
    try:
        text = data.decode()
        if max(text.count("{"), text.count("[")) > _MANY_BRACKETS:
            _require_shallow(text)
        return json.loads(text, object_pairs_hook=_distinct, parse_int=float)  # 1 and 1.0 are one
    except InvalidField:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidField(
            "body", f"this is no JSON ({error}): send an object in UTF-8."
        ) from error


def _distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidField(twice, "this name stands twice in one object: leave one out.")
    return content


def _require_shallow(text: str) -> None:
    depth, inside, escaped = 0, False, False
    for sign in text:
        if inside:
            inside = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            inside = True
        elif sign in "[{":
            depth += 1
            if depth > MOST_NESTED:
                raise InvalidField(
                    "body", f"it is nested more than {MOST_NESTED} deep: flatten it."
                )
        elif sign in "]}":
            depth -= 1
