"""What `thrifty serve` does; it is imported when everything that takes time is to be imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import typer

from thrifty.commands.policy_files import read_complete_spec
from thrifty.commands.startup_notice import notice_if_slow
from thrifty.service.access import Keys, read_keys
from thrifty.service.api import create_app
from thrifty.service.engine import Engine
from thrifty.service.middleware import RequestLimits
from thrifty.service.served_policy import EngineSettings
from thrifty.service.server import make_server, require_free, require_possible, require_safe
from thrifty.service.standby import get_ready, open_when_free
from thrifty.service.stores import Store, open_store
from thrifty.specification import PolicySpec

LEAVING_SECONDS = 5.0
"""How long the process before may still hold the port when it has let go of the store."""


@dataclass(frozen=True)
class ServeOptions:
    """What the command was asked for."""

    policies: Sequence[Path]
    store: str
    host: str
    port: int
    keys: Path | None
    rate: float
    most_open: int
    standby: bool


def serve_until_stopped(wanted: ServeOptions, all_made: Callable[[], None]) -> None:
    """Serve; `all_made` is called whenever only waiting is left to do."""
    keys = _read_keys(wanted)
    require_safe(wanted.host, keys)
    (require_possible if wanted.standby else require_free)(wanted.host, wanted.port)
    specs = [read_complete_spec(path) for path in wanted.policies]
    with closing(_opened(wanted, specs, all_made)) as store:
        if wanted.standby:
            require_free(wanted.host, wanted.port, patience=LEAVING_SECONDS)
            keys = _read_keys(wanted)  # the file may have changed while this one waited
        with notice_if_slow():
            engine = Engine(store, specs, EngineSettings(max_open=wanted.most_open))
        names = ", ".join(sorted(name for _, name in engine.projections)) or "no policy"

        def announce(url: str) -> None:
            all_made()
            typer.echo(f"Serving {names} on {url}")

        app = create_app(engine, keys, RequestLimits(rate=wanted.rate))
        make_server(app, wanted.host, wanted.port, announce).run()


def _read_keys(wanted: ServeOptions) -> Keys | None:
    return None if wanted.keys is None else read_keys(wanted.keys)


def _opened(
    wanted: ServeOptions, specs: Sequence[PolicySpec], all_made: Callable[[], None]
) -> Store:
    if not wanted.standby:
        return open_store(wanted.store)

    def waiting() -> None:
        all_made()
        typer.echo(f"Standing by: another process holds {wanted.store}.")

    with notice_if_slow():
        get_ready(wanted.store, specs)
    return open_when_free(wanted.store, waiting)
