"""The gate: who may come in, how much may be brought, and how long that may take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from thrifty.errors import AccessDenied, ThriftyError
from thrifty.service.access import (
    LOCAL,
    Caller,
    Keys,
    RateLimiter,
    is_local_host,
    needed_scope,
    require_scope,
)
from thrifty.service.http_errors import dumped, payload, refused
from thrifty.service.metrics import RequestMetrics

log = logging.getLogger("thrifty.service")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_JSON = (b"content-type", b"application/json")


@dataclass(frozen=True)
class RequestLimits:
    """What a request may bring."""

    body: int = 65_536
    read_seconds: float = 10.0
    rate: float = 10_000.0
    """Requests a second for each key."""


class RequestError(Exception):
    """A request that is turned away at the gate."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.content = status, payload(code, message)


class ServiceMiddleware:
    """Wraps the application: no request reaches it that the gate has not checked.

    The caller and the body are left in the scope, as "caller" and "body".
    """

    def __init__(
        self, app: FastAPI, keys: Keys | None, limits: RequestLimits, meter: RequestMetrics
    ) -> None:
        self.app, self.keys, self.limits, self.meter = app, keys, limits, meter
        self.rate = RateLimiter(limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, and time a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        start, answer = perf_counter(), _ResponseSender(send)
        try:
            headers = dict(scope["headers"])
            scope["caller"] = self._caller(scope, headers)
            if scope["method"] not in ("GET", "HEAD"):
                scope["body"] = await self._body(headers, receive)
        except RequestError as refusal:
            await answer.refuse(refusal.status, refusal.content)
        except AccessDenied as error:
            await answer.refuse(*refused(error))
        else:
            await self._pass_on(scope, receive, answer)
        finally:
            self.meter.answered(scope, answer.status, perf_counter() - start)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _ResponseSender) -> None:
        """Let the application answer; what it raises is an answer too."""
        scope["app"] = self.app
        try:
            await self.app.router(scope, receive, answer)
        except ThriftyError as error:
            status, content = refused(error)
            if status >= 500:
                log.error("%s %s: %s", scope["method"], scope["path"], error)
            await answer.refuse(status, content)
        except HTTPException as error:
            message = f"{scope['method']} {scope['path']}: {error.detail}. See /openapi.json."
            code = "method" if error.status_code == 405 else "not_found"
            await answer.refuse(error.status_code, payload(code, message), error.headers)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await answer.refuse(*refused(ThriftyError()))

    def _caller(self, scope: Scope, headers: MutableMapping[bytes, bytes]) -> Caller | None:
        needed = needed_scope(scope["method"], scope["path"])
        if self.keys is None:
            if not is_local_host(headers.get(b"host", b"localhost").decode("latin-1")):
                raise RequestError(
                    403, "host", "without keys only this machine is served, by name."
                )
            caller = LOCAL
        elif needed is None:
            return None
        else:
            caller = self.keys.caller(headers.get(b"authorization", b"").decode("latin-1"))
            require_scope(caller, needed)
        if needed is not None and not self.rate.allows(caller.name):
            raise RequestError(
                429, "rate", f"more than {self.limits.rate:g} requests a second: slow down."
            )
        return caller

    async def _body(self, headers: MutableMapping[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limits.body:
            raise self._too_large()
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                data = await self._read(receive)
        except TimeoutError:
            raise RequestError(
                408,
                "slow",
                f"the body took more than {self.limits.read_seconds:g} s: send it anew.",
            ) from None
        if data and kind != b"application/json":
            raise RequestError(415, "type", "send JSON, with Content-Type: application/json.")
        return data

    async def _read(self, receive: Receive) -> bytes:
        data, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":  # half a body may mean something else
                raise RequestError(
                    400, "cut", "the connection ended before the body: send it anew."
                )
            data += message.get("body", b"")
            if len(data) > self.limits.body:
                raise self._too_large()
            more = message.get("more_body", False)
        return data

    def _too_large(self) -> RequestError:
        return RequestError(
            413, "size", f"the body is larger than {self.limits.body} bytes: shorten it."
        )


class _ResponseSender:
    """Sends an answer with the headers that every answer has, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *_HEADERS]
        await self.send(message)

    async def refuse(
        self, status: int, content: dict[str, Any], more: Mapping[str, str] | None = None
    ) -> None:
        headers = [_JSON, (b"connection", b"close")] if status in (408, 413) else [_JSON]
        headers += [(k.lower().encode(), v.encode()) for k, v in (more or {}).items()]
        headers += [(b"retry-after", b"1")] if status == 429 else []
        headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
        body = dumped(content)
        headers.append((b"content-length", str(len(body)).encode()))
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})
