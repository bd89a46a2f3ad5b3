"""Python's way to a decision service: `Client`, and `AsyncClient` for asyncio.

Every write has an idempotency key of its own and is repeated under the same key for some seconds,
until the service has answered, so nothing is decided, paid or learnt twice.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from urllib.parse import quote

import httpx

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
Value = str | float

_MOST_WAITED = 30.0
_AGAIN = (408, 429, 500, 502, 503, 504)
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
class Opened:
    """A case that was opened: what to buy for it, and until when its reward counts."""

    case: str
    buy: tuple[str, ...]
    expected_price: float | None
    unit: str
    deadline: str


@dataclass(frozen=True)
class Told:
    """What became of a reward: learnt, noted, extra, late or late-learnt."""

    use: str
    late: bool


@dataclass(frozen=True)
class _Call(Generic[T]):
    """A request and how its answer is read; it can be sent any number of times."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    key: str | None = None

    def sent_with(self, secret: str | None) -> dict[str, Any]:
        """Return the arguments of httpx's `request`."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return {"method": self.method, "url": self.path, "json": self.body, "headers": headers}

    def answered(self, response: httpx.Response) -> T:
        """Return what the answer says, or raise what it complains of."""
        if not response.is_success:
            raise _error(response)
        try:
            return self.read(response.json())
        except (ValueError, LookupError, TypeError) as error:
            raise StoreUnavailable(
                f"{response.url} gives no answer of a decision service: check the address."
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
    """Return a name as one part of an address, whatever signs it has."""
    return quote(name, safe="")


def _write(
    path: str, body: Mapping[str, Any], read: Callable[[Any], T], key: str | None
) -> _Call[T]:
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{dict(body)!r} cannot be sent ({error}): give text and finite numbers; what could "
            "not be had is unavailable."
        ) from error
    return _Call("POST", path, read, body, key or uuid.uuid4().hex)


def _open(policy: str, free: Mapping[str, Value] | None, key: str | None) -> _Call[Opened]:
    return _write(f"/v1/policies/{_quoted(policy)}/cases", {"free": dict(free or {})}, _opened, key)


def _opened(content: Any) -> Opened:
    return Opened(**{**content, "buy": tuple(content["buy"])})


def _observe(
    case: str,
    values: Mapping[str, Value],
    costs: Mapping[str, float],
    unavailable: Iterable[str],
    available: Iterable[str] | None,
    key: str | None,
) -> _Call[str]:
    body = {
        "values": dict(values),
        "costs": dict(costs),
        "unavailable": list(unavailable),
        "available": None if available is None else list(available),
    }
    return _write(
        f"/v1/cases/{_quoted(case)}/observations", body, lambda it: str(it["action"]), key
    )


def _reward(case: str, reward: float, key: str | None) -> _Call[Told]:
    body = {"reward": reward}
    return _write(
        f"/v1/cases/{_quoted(case)}/reward", body, lambda it: Told(it["use"], it["late"]), key
    )


def _abandon(case: str, key: str | None) -> _Call[None]:
    return _write(f"/v1/cases/{_quoted(case)}/abandon", {}, lambda _: None, key)


def _get(path: str) -> _Call[Any]:
    return _Call("GET", path, lambda it: it)


def _pauses(retries: int) -> Iterator[float]:
    """Yield how long to wait before each further try: twice as long each time, 2 s at the most."""
    return (min(2.0, 0.05 * 2**k) for k in range(retries))


def _asked_to_wait(response: httpx.Response) -> float:
    """Return the seconds of Retry-After, within reason; dates are not looked at."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), _MOST_WAITED) if asked.isdecimal() else 0.0


class Client:
    """Asks a decision service.

    `key` is an API key, if the service asks for one. A request that meets a lost connection or a
    service that cannot write is repeated up to `retries` times, which are 7 s if it is 8.
    """

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, retries: int = 8
    ) -> None:
        self._http = httpx.Client(base_url=url, timeout=timeout, trust_env=False)
        self._key, self._retries = key, retries

    def open(
        self, policy: str, free: Mapping[str, Value] | None = None, *, key: str | None = None
    ) -> Opened:
        """Open a case; `free` are the values that are known without paying."""
        return self._call(_open(policy, free, key))

    def observe(
        self,
        case: str,
        values: Mapping[str, Value],
        costs: Mapping[str, float],
        *,
        unavailable: Iterable[str] = (),
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> str:
        """Report what was bought, and return the action."""
        return self._call(_observe(case, values, costs, unavailable, available, key))

    def reward(self, case: str, reward: float, *, key: str | None = None) -> Told:
        """Report a reward, and return what became of it."""
        return self._call(_reward(case, reward, key))

    def abandon(self, case: str, *, key: str | None = None) -> None:
        """Give a case up."""
        self._call(_abandon(case, key))

    def case(self, case: str) -> dict[str, Any]:
        """Return everything known of a case, and why it was decided as it was."""
        return self._call(_get(f"/v1/cases/{_quoted(case)}"))

    def policy(self, policy: str) -> dict[str, Any]:
        """Return what a policy is and what it has done so far."""
        return self._call(_get(f"/v1/policies/{_quoted(policy)}"))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, call: _Call[T]) -> T:
        for pause in _pauses(self._retries):
            wait = pause
            try:
                response = self._http.request(**call.sent_with(self._key))
                if response.status_code not in _AGAIN:
                    return call.answered(response)
                wait = max(pause, _asked_to_wait(response))
            except httpx.TransportError:
                pass
            time.sleep(wait)
        try:
            return call.answered(self._http.request(**call.sent_with(self._key)))
        except httpx.TransportError as error:
            raise _gone(error, call.key) from error


class AsyncClient:
    """Asks a decision service from asyncio; see `Client`."""

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, retries: int = 8
    ) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False)
        self._key, self._retries = key, retries

    async def open(
        self, policy: str, free: Mapping[str, Value] | None = None, *, key: str | None = None
    ) -> Opened:
        """Open a case; `free` are the values that are known without paying."""
        return await self._call(_open(policy, free, key))

    async def observe(
        self,
        case: str,
        values: Mapping[str, Value],
        costs: Mapping[str, float],
        *,
        unavailable: Iterable[str] = (),
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> str:
        """Report what was bought, and return the action."""
        return await self._call(_observe(case, values, costs, unavailable, available, key))

    async def reward(self, case: str, reward: float, *, key: str | None = None) -> Told:
        """Report a reward, and return what became of it."""
        return await self._call(_reward(case, reward, key))

    async def abandon(self, case: str, *, key: str | None = None) -> None:
        """Give a case up."""
        await self._call(_abandon(case, key))

    async def case(self, case: str) -> dict[str, Any]:
        """Return everything known of a case, and why it was decided as it was."""
        return await self._call(_get(f"/v1/cases/{_quoted(case)}"))

    async def policy(self, policy: str) -> dict[str, Any]:
        """Return what a policy is and what it has done so far."""
        return await self._call(_get(f"/v1/policies/{_quoted(policy)}"))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, call: _Call[T]) -> T:
        for pause in _pauses(self._retries):
            wait = pause
            try:
                response = await self._http.request(**call.sent_with(self._key))
                if response.status_code not in _AGAIN:
                    return call.answered(response)
                wait = max(pause, _asked_to_wait(response))
            except httpx.TransportError:
                pass
            await asyncio.sleep(wait)
        try:
            return call.answered(await self._http.request(**call.sent_with(self._key)))
        except httpx.TransportError as error:
            raise _gone(error, call.key) from error


def _gone(error: httpx.TransportError, key: str | None) -> StoreUnavailable:
    again = "" if key is None else f"; it may have been done, so repeat it with key={key!r}"
    return StoreUnavailable(
        f"the service cannot be reached ({error!r}): check its address, or try again later{again}."
    )
