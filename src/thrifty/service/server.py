"""A service on a socket: uvicorn, with a limit on how long a request's head may take."""

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


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose next request has not fully said what it wants in time."""

    _head: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Count what comes before a head is complete; a new request starts the clock anew."""
        if self._head is None and (self.cycle is None or self.cycle.response_complete):
            self._head = self.loop.call_later(HEAD_SECONDS, self._give_up)
        if self._head is not None:
            self._head_bytes += len(data)
            super().data_received(data)
            if self._head is not None and self._head_bytes > HEAD_BYTES:
                self._give_up()
        else:
            super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._head is not None:
            self._head.cancel()
        self._head, self._head_bytes = None, 0

    def _give_up(self) -> None:
        self._stop_clock()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()


def require_safe(host: str, keys: Keys | None) -> None:
    """Refuse to listen where others can reach it, unless keys are asked for.

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
        f"host {host!r} can be reached from elsewhere, and there are no keys: make one with "
        "`thrifty key`, and give its file as --keys; or listen on 127.0.0.1."
    )


def require_free(host: str, port: int, patience: float = 0.0) -> None:
    """Refuse an address that cannot be listened on, nor within `patience` seconds.

    >>> require_free("127.0.0.1", 0)
    """
    until = monotonic() + patience
    while (error := _taken(host, port)) is not None:
        if error.errno != EADDRINUSE or monotonic() >= until:
            raise _refused(host, port, error) from error
        sleep(0.01)


def require_possible(host: str, port: int) -> None:
    """Refuse an address that could not be listened on even if nobody else did.

    >>> require_possible("127.0.0.1", 0)
    """
    error = _taken(host, port)
    if error is not None and error.errno != EADDRINUSE:
        raise _refused(host, port, error) from error


def _refused(host: str, port: int, error: OSError) -> InvalidParameter:
    return InvalidParameter(
        f"host {host!r}, port {port} cannot be listened on ({error.strerror}): stop what "
        "listens there, or choose another with --port (0 takes a free one) or --host."
    )


def _taken(host: str, port: int) -> OSError | None:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            if os.name == "posix":  # elsewhere it would let two listen on one port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


class Server(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def make_server(app: Any, host: str, port: int, announce: Callable[[str], None]) -> Server:
    """Return the server; `run` serves until it is told to stop."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here depends on where a request came from
        timeout_keep_alive=60,
        timeout_graceful_shutdown=5,
        limit_concurrency=2000,
        backlog=2048,
    )
    return Server(config, announce)
