"""The requests that both clients send, and how answers are read."""

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
    """What became of a reward.

    Parameters
    ----------
    use : str
        `learnt`, `noted` until the deadline, `extra` if one was learnt before, `late`, or
        `late-learnt`.
    late : bool
        Whether it came after the deadline.
    """

    use: str
    late: bool


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how its answer is read; it can be sent any number of times."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    key: str | None = None

    def request_arguments(self, secret: str | None) -> dict[str, Any]:
        """Return the arguments of httpx's `request`."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return {"method": self.method, "url": self.path, "json": self.body, "headers": headers}

    def read_response(self, response: httpx.Response) -> T:
        """Return what the answer says, or raise what it complains of."""
        if not response.is_success:
            raise _error(response)
        try:
            return self.read(response.json())
        except ThriftyError:
            raise
        except (ValueError, LookupError, TypeError) as error:
            raise StoreUnavailable(
                f"{response.url} does not answer like a decision service: check the address."
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
    """Return a name as one part of an address, whatever characters it has."""
    return quote(name, safe="")


def _write(
    path: str, body: Mapping[str, Any], read: Callable[[Any], T], key: str | None
) -> Call[T]:
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{dict(body)!r} cannot be sent ({error}): give text and finite numbers, and None for "
            "what could not be had."
        ) from error
    return Call("POST", path, read, body, key or uuid.uuid4().hex)


def ask(
    policy: str,
    free: Mapping[str, Any] | None,
    available: Iterable[str] | None,
    key: str | None,
) -> Call[Case]:
    """Open a case."""
    body = {"free": dict(free or {}), "available": _names(available)}
    return _write(f"/v1/policies/{_quoted(policy)}/cases", body, _case, key)


def observe(
    case: Case | str,
    values: Mapping[str, Any] | None,
    costs: Mapping[str, float] | None,
    available: Iterable[str] | None,
    key: str | None,
) -> Call[Case]:
    """Report what came of a purchase."""
    body = {
        "values": dict(values or {}),
        "costs": dict(costs or {}),
        "available": _names(available),
    }
    return _write(f"{_path(case)}/observations", body, _case, key)


def tell(
    case: Case | str, reward: float | None, outcome: str | None, key: str | None
) -> Call[RewardReceipt]:
    """Report what came of the action."""
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


def explain(case: Case | str) -> Call[dict[str, Any]]:
    """Ask for everything known of a case."""
    return Call("GET", _path(case), dict)


def get_case(case: Case | str) -> Call[Case]:
    """Ask what to do next in a case."""
    return Call("GET", _path(case), _case_of_view)


def get_policy(name: str) -> Call[dict[str, Any]]:
    """Ask what a policy is and what it has done."""
    return Call("GET", f"/v1/policies/{_quoted(name)}", dict)


def single_policy() -> Call[str]:
    """Ask which policy is the only one."""
    return Call("GET", "/v1/policies", _only)


def _path(case: Case | str) -> str:
    return f"/v1/cases/{_quoted(str(case.id if isinstance(case, Case) else case))}"


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


def _case_of_view(content: Any) -> Case:
    """Return what to do next in a case, by all that is known of it."""
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


def _only(content: Any) -> str:
    names = [policy["policy"] for policy in content]
    if len(names) != 1:
        raise InvalidInput(
            f"the service has the policies {', '.join(map(repr, names)) or '(none)'}: say which "
            "one, as Client(url, policy) or ask(policy=...)."
        )
    return str(names[0])


def retry_delays(retries: int) -> Iterator[float]:
    """Yield how long to wait before each further try: twice as long each time, 2 s at the most."""
    return (min(2.0, 0.05 * 2**k) for k in range(retries))


def retry_after(response: httpx.Response) -> float:
    """Return the seconds of Retry-After, within reason; dates are not looked at."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), _MAX_WAIT) if asked.isdecimal() else 0.0


def unreachable_error(error: httpx.TransportError, key: str | None) -> StoreUnavailable:
    """Return the error for a service that did not answer; the request may be repeated."""
    again = "" if key is None else f"; it may have been done, so repeat it with key={key!r}"
    return StoreUnavailable(
        f"the service cannot be reached ({error!r}): check its address, or try again later{again}."
    )
