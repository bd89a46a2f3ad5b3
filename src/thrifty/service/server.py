"""The service on a socket: uvicorn, with a time limit for the head of a request."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Callable
from errno import EADDRINUSE
from time import monotonic, sleep
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thrifty.errors import InvalidParameter
from thrifty.service.access import Keys

HEAD_SECONDS = 10.0
HEAD_BYTES = 32_768


class TimeLimitedProtocol(HttpToolsProtocol):
    """Close a connection if the head of the next request does not arrive in time."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def data_received(self, data: bytes) -> None:
        """Limit the size of the head; a new request restarts the timer."""
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close)
        if self._timer is not None:
            self._head_bytes += len(data)
            super().data_received(data)
            if self._timer is not None and self._head_bytes > HEAD_BYTES:
                self._close()
        else:
            super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._head_bytes = None, 0

    def _close(self) -> None:
        self._stop_timer()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()


def require_safe(host: str, keys: Keys | None) -> None:
    """Raise `InvalidParameter` if other machines could reach a service without keys.

    >>> require_safe("127.0.0.1", None)
    """
    if keys is not None or host == "localhost":
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass
    raise InvalidParameter(
        f"host {host!r} can be reached from other machines, and the service has no keys: create a "
        "key with `thrifty key` and pass its file with --keys, or listen on 127.0.0.1."
    )


def require_free(host: str, port: int, patience: float = 0.0) -> None:
    """Raise `InvalidParameter` if an address does not become free within `patience` seconds.

    >>> require_free("127.0.0.1", 0)
    """
    until = monotonic() + patience
    while (error := _bind_error(host, port)) is not None:
        if error.errno != EADDRINUSE or monotonic() >= until:
            raise _cannot_listen(host, port, error) from error
        sleep(0.01)


def require_usable(host: str, port: int) -> None:
    """Raise `InvalidParameter` if an address is unusable even when no other process uses it.

    >>> require_usable("127.0.0.1", 0)
    """
    error = _bind_error(host, port)
    if error is not None and error.errno != EADDRINUSE:
        raise _cannot_listen(host, port, error) from error


def _cannot_listen(host: str, port: int, error: OSError) -> InvalidParameter:
    return InvalidParameter(
        f"cannot listen on host {host!r}, port {port} ({error.strerror}): stop the process that "
        "uses it, or choose another with --port (0 picks a free one) or --host."
    )


def _bind_error(host: str, port: int) -> OSError | None:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            if os.name == "posix":  # on Windows two processes could then use one port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


class Server(uvicorn.Server):
    """A server that reports its URL when it is listening."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and report the URL."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def make_server(app: Any, host: str, port: int, announce: Callable[[str], None]) -> Server:
    """Return a server; its `run` method serves until a signal stops it."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=TimeLimitedProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # no decision depends on the address of the client
        timeout_keep_alive=60,
        timeout_graceful_shutdown=5,
        limit_concurrency=2000,
        backlog=2048,
    )
    return Server(config, announce)
