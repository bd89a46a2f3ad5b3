"""The HTTP requests that both clients send, and how their responses are read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from thrifty.case import Case
from thrifty.errors import (
    AccessDenied,
    InvalidField,
    InvalidInput,
    KeyReused,
    OutOfTurn,
    RoundClosed,
    RoundError,
    StoreUnavailable,
    ThriftyError,
    TooManyOpen,
    UnknownName,
    UnknownRound,
)
from thrifty.json_values import to_json_value

T = TypeVar("T")

_MAX_WAIT = 30.0
RETRIED_STATUSES = (408, 429, 500, 502, 503, 504)
_ERRORS: Mapping[str, type[ThriftyError]] = {
    "invalid": InvalidInput,
    "key_reused": KeyReused,
    "out_of_turn": OutOfTurn,
    "closed": RoundClosed,
    "unknown_case": UnknownRound,
    "unknown_policy": UnknownName,
    "too_many_open": TooManyOpen,
    "unavailable": StoreUnavailable,
}


@dataclass(frozen=True)
class RewardReceipt:
    """The service's receipt for a reward.

    Parameters
    ----------
    use : str
        How the reward is used: `learnt` (the policy has learnt from it), `noted` (it counts at the
        deadline), `extra` (another reward of the case was learnt before), `late` (not used), or
        `late-learnt`.
    late : bool
        True if the reward came after the deadline.
    """

    use: str
    late: bool


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how to read its response; it can be sent any number of times."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    key: str | None = None

    def request_arguments(self, secret: str | None) -> dict[str, Any]:
        """Return the arguments for `httpx.Client.request`."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return {"method": self.method, "url": self.path, "json": self.body, "headers": headers}

    def read_response(self, response: httpx.Response) -> T:
        """Return the content of the response, or raise the error that it reports."""
        if not response.is_success:
            raise _error(response)
        try:
            return self.read(response.json())
        except ThriftyError:
            raise
        except (ValueError, LookupError, TypeError) as error:
            raise StoreUnavailable(
                f"{response.url} is not a decision service: check the address."
            ) from error


def _error(response: httpx.Response) -> ThriftyError:
    try:
        content = response.json()
        code, message, field = content["error"], content["message"], content["field"]
    except (ValueError, KeyError, TypeError):
        return StoreUnavailable(f"the service answered {response.status_code}: try again.")
    if response.status_code in (401, 403):
        return AccessDenied(message, known=response.status_code == 403)
    if field is not None:
        return InvalidField(field, message.removeprefix(f"{field}: "))
    kind = _ERRORS.get(code, RoundError if response.status_code < 500 else StoreUnavailable)
    return kind(message)


def _quoted(name: str) -> str:
    """Return a name encoded as one part of an address."""
    return quote(name, safe="")


def _write(
    path: str, body: Mapping[str, Any], read: Callable[[Any], T], key: str | None
) -> Call[T]:
    plain = to_json_value(body, allow_nan=True)  # numpy numbers become Python numbers
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{dict(body)!r} cannot be sent ({error}): give text and finite numbers, and None for "
            "values that could not be obtained."
        ) from error
    return Call("POST", path, read, plain, key or uuid.uuid4().hex)


def ask(
    policy: str,
    free: Mapping[str, Any] | None,
    available: Iterable[str] | None,
    key: str | None,
    case_key: str | None = None,
) -> Call[Case]:
    """Open a case."""
    body: dict[str, Any] = {"free": _values(free), "available": _names(available)}
    if case_key is not None:
        body["case_key"] = case_key
    return _write(f"/v1/policies/{_quoted(policy)}/cases", body, _case, key)


def observe(
    case: Case | str,
    values: Mapping[str, Any] | None,
    costs: Mapping[str, float] | None,
    available: Iterable[str] | None,
    key: str | None,
) -> Call[Case]:
    """Report the result of a purchase."""
    body = {
        "values": _values(values),
        "costs": dict(costs or {}),
        "available": _names(available),
    }
    return _write(f"{_path(case)}/observations", body, _case, key)


def tell(
    case: Case | str, reward: float | None, outcome: str | None, key: str | None
) -> Call[RewardReceipt]:
    """Report the reward or the outcome of a case."""
    body = {"reward": reward, "outcome": outcome}
    return _write(
        f"{_path(case)}/reward",
        body,
        lambda content: RewardReceipt(content["use"], content["late"]),
        key,
    )


def abandon(case: Case | str, key: str | None) -> Call[None]:
    """Close a case without a reward."""
    return _write(f"{_path(case)}/abandon", {}, lambda _: None, key)


def promote(policy: str, shadow: str, key: str | None) -> Call[dict[str, Any]]:
    """Let a shadow act."""
    return _write(f"/v1/policies/{_quoted(policy)}/promote", {"shadow": shadow}, dict, key)


def demote(policy: str, key: str | None) -> Call[dict[str, Any]]:
    """Go back to the policy that acted before."""
    return _write(f"/v1/policies/{_quoted(policy)}/demote", {}, dict, key)


def get_status(policy: str) -> Call[dict[str, Any]]:
    """Get what a policy does at the moment."""
    return Call("GET", f"/v1/policies/{_quoted(policy)}/status", dict)


def explain(case: Case | str) -> Call[dict[str, Any]]:
    """Get everything known about a case."""
    return Call("GET", _path(case), dict)


def get_case(case: Case | str) -> Call[Case]:
    """Get the next step of a case."""
    return Call("GET", _path(case), _case_from_view)


def get_policy(name: str) -> Call[dict[str, Any]]:
    """Get the description and the statistics of a policy."""
    return Call("GET", f"/v1/policies/{_quoted(name)}", dict)


def single_policy() -> Call[str]:
    """Get the name of the service's only policy."""
    return Call("GET", "/v1/policies", _single_name)


def _path(case: Case | str) -> str:
    return f"/v1/cases/{_quoted(str(case.id if isinstance(case, Case) else case))}"


def _values(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return values with None for NaN, as `Agent` reads them."""
    return {name: None if value != value else value for name, value in dict(values or {}).items()}


def _names(names: Iterable[str] | None) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def _case(content: Any) -> Case:
    return Case(
        id=content["case"],
        buy=tuple(content["buy"]),
        action=content["action"],
        expected_price=content["expected_price"],
        unit=content["unit"],
        deadline=content["deadline"],
    )


def _case_from_view(content: Any) -> Case:
    """Return the next step of a case from everything known about it."""
    step = content["steps"][-1]
    running = content["status"] == "open"
    return Case(
        id=content["case"],
        buy=tuple(step["buy"]) if running else (),
        action=content["action"],
        expected_price=step["expected_price"] if running else None,
        unit=content["unit"],
        deadline=content["deadline"],
    )


def _single_name(content: Any) -> str:
    names = [policy["policy"] for policy in content]
    if len(names) != 1:
        raise InvalidInput(
            f"the service has the policies {', '.join(map(repr, names)) or '(none)'}: choose one "
            "with Client(url, policy) or ask(policy=...)."
        )
    return str(names[0])


def retry_delays(retries: int) -> Iterator[float]:
    """Return the seconds to wait before each retry: doubled each time, at most 2."""
    return (min(2.0, 0.05 * 2**k) for k in range(retries))


def retry_after(response: httpx.Response) -> float:
    """Return the seconds of a Retry-After header, limited; dates are ignored."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), _MAX_WAIT) if asked.isdecimal() else 0.0


def unreachable_error(error: httpx.TransportError, key: str | None) -> StoreUnavailable:
    """Return the error for a service that did not respond."""
    again = "" if key is None else f"; it may have been executed, so repeat it with key={key!r}"
    return StoreUnavailable(
        f"the service cannot be reached ({error!r}): check its address, or try again later{again}."
    )
