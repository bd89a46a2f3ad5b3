"""ASGI middleware: authentication, rate limits, body size, timeouts and security headers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from thrifty.errors import AccessDenied, ThriftyError
from thrifty.json_values import compact_json
from thrifty.service.access import (
    LOCAL,
    Caller,
    Keys,
    RateLimiter,
    is_local_host,
    needed_scope,
    require_scope,
)
from thrifty.service.http_errors import error_body, error_response
from thrifty.service.metrics import RequestMetrics
from thrifty.service.response_models import ErrorResponse

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
    """Limits on the requests that a service accepts.

    Parameters
    ----------
    body : int
        Maximum size of a body, in bytes.
    read_seconds : float
        Maximum time for a body to arrive.
    rate : float
        Maximum number of requests a second for each key.
    """

    body: int = 65_536
    read_seconds: float = 10.0
    rate: float = 10_000.0


class RequestError(Exception):
    """A request that is refused before it reaches an endpoint."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.body = status, error_body(code, message)


class ServiceMiddleware:
    """Check every request before the application sees it, and turn errors into responses.

    The caller and the body of a request are in its scope, as "caller" and "body".
    """

    def __init__(
        self, app: Starlette, keys: Keys | None, limits: RequestLimits, metrics: RequestMetrics
    ) -> None:
        self.app, self.keys, self.limits, self.metrics = app, keys, limits, metrics
        self.rate_limiter = RateLimiter(limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        start, sender = perf_counter(), _ResponseSender(send)
        try:
            headers = dict(scope["headers"])
            scope["caller"] = self._authenticate(scope, headers)
            if scope["method"] not in ("GET", "HEAD"):
                scope["body"] = await self._read_body(headers, receive)
        except RequestError as error:
            await sender.send_error(error.status, error.body)
        except AccessDenied as error:
            await sender.send_error(*error_response(error))
        else:
            await self._call_endpoint(scope, receive, sender)
        finally:
            self.metrics.record(scope, sender.status, perf_counter() - start)

    async def _call_endpoint(self, scope: Scope, receive: Receive, sender: _ResponseSender) -> None:
        scope["app"] = self.app
        try:
            # The router directly: Starlette's own error middleware would only cost time.
            await self.app.router(scope, receive, sender)
        except ThriftyError as error:
            status, body = error_response(error)
            if status >= 500:
                log.error("%s %s: %s", scope["method"], scope["path"], error)
            await sender.send_error(status, body)
        except HTTPException as error:
            message = f"{scope['method']} {scope['path']}: {error.detail}. See /openapi.json."
            code = "method" if error.status_code == 405 else "not_found"
            await sender.send_error(error.status_code, error_body(code, message), error.headers)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await sender.send_error(*error_response(ThriftyError()))

    def _authenticate(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Caller | None:
        needed = needed_scope(scope["method"], scope["path"])
        if self.keys is None:
            if not is_local_host(headers.get(b"host", b"localhost").decode("latin-1")):
                raise RequestError(
                    403,
                    "host",
                    "a service without keys only answers requests for localhost: use that name, or "
                    "start the service with --keys.",
                )
            caller = LOCAL
        elif needed is None:
            return None
        else:
            caller = self.keys.caller(headers.get(b"authorization", b"").decode("latin-1"))
            require_scope(caller, needed)
        if needed is not None and not self.rate_limiter.allows(caller.name):
            raise RequestError(
                429, "rate", f"more than {self.limits.rate:g} requests a second: slow down."
            )
        return caller

    async def _read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limits.body:
            raise self._too_large()
        media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                data = await self._receive_all(receive)
        except TimeoutError:
            raise RequestError(
                408,
                "slow",
                f"the body took more than {self.limits.read_seconds:g} s to arrive: send it again.",
            ) from None
        if data and media_type != b"application/json":
            raise RequestError(415, "type", "send JSON, with Content-Type: application/json.")
        return data

    async def _receive_all(self, receive: Receive) -> bytes:
        data, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":  # half a body may be valid JSON
                raise RequestError(
                    400, "cut", "the connection closed before the body was complete: send it again."
                )
            data += message.get("body", b"")
            if len(data) > self.limits.body:
                raise self._too_large()
            more = message.get("more_body", False)
        return data

    def _too_large(self) -> RequestError:
        return RequestError(
            413, "size", f"the body is larger than {self.limits.body} bytes: send less at a time."
        )


class _ResponseSender:
    """Send a response with the headers that every response has, and remember its status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *_HEADERS]
        await self.send(message)

    async def send_error(
        self, status: int, content: ErrorResponse, more: Mapping[str, str] | None = None
    ) -> None:
        headers = [_JSON, (b"connection", b"close")] if status in (408, 413) else [_JSON]
        headers += [(k.lower().encode(), v.encode()) for k, v in (more or {}).items()]
        headers += [(b"retry-after", b"1")] if status == 429 else []
        headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
        body = compact_json(content).encode()
        headers.append((b"content-length", str(len(body)).encode()))
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})
