"""`thrifty serve`: decides live."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.waiting import explained_if_slow

StoreAddress = Annotated[
    str, typer.Argument(help="The store: the path of a file, or postgresql://...")
]


def serve(
    policies: Annotated[
        list[Path] | None,
        typer.Argument(help="policy.toml files; the store's own policies are served as well."),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Where the log is kept: a file, or postgresql://...")
    ] = "thrifty.db",
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    keys: Annotated[Path | None, typer.Option(help="File of keys; `thrifty key` makes it.")] = None,
    rate: Annotated[
        float, typer.Option(min=1, help="Requests a second that each key may make.")
    ] = 10_000,
    most_open: Annotated[
        int, typer.Option(min=1, help="Cases that a policy may have open at once.")
    ] = 100_000,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="Wait, with everything loaded, while another process holds the store; take over "
            "as soon as it ends.",
        ),
    ] = False,
) -> None:
    """Serve policies: which features to buy for a case, then which action; learns late.

    Everything is in the store, and on its disk before it is acknowledged. The dashboard is at /,
    metrics for Prometheus at /metrics, the contract at /openapi.json.

    Example: thrifty serve policy.toml
    """
    with _uncollected() as all_made:
        from thrifty.service.access import read_keys
        from thrifty.service.api import create_app
        from thrifty.service.desk import Desk, Settings
        from thrifty.service.gate import Limits
        from thrifty.service.serving import (
            make_server,
            require_free,
            require_possible,
            require_safe,
        )
        from thrifty.service.specification import read_spec
        from thrifty.service.standby import get_ready, open_when_free
        from thrifty.service.stores import Store, open_store

        known = None if keys is None else read_keys(keys)
        require_safe(host, known)
        (require_possible if standby else require_free)(host, port)
        specs = [read_spec(path) for path in policies or ()]

        def opened() -> Store:
            if not standby:
                return open_store(store)
            with explained_if_slow():
                get_ready(store, specs)
            return open_when_free(store, waiting)

        def waiting() -> None:
            all_made()
            typer.echo(f"Standing by: another process holds {store}.")

        def announce(url: str) -> None:
            all_made()
            typer.echo(f"Serving {names} on {url}")

        with _stopped_by_hand(), closing(opened()) as held:
            if standby:
                require_free(host, port, patience=5.0)  # the one before may not be quite gone
                known = None if keys is None else read_keys(keys)  # it may have changed since
            with explained_if_slow():
                desk = Desk(held, specs, Settings(most_open=most_open))
            names = ", ".join(sorted(name for _, name in desk.books)) or "no policy"
            app = create_app(desk, known, Limits(rate=rate))
            make_server(app, host, port, announce).run()


@contextmanager
def _stopped_by_hand() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)


@contextmanager
def _uncollected() -> Iterator[Callable[[], None]]:
    """Collect no garbage until told that all is made, and never look through that again.

    Looking through all modules took a tenth of a second each time, and every request waited.
    """

    def all_made() -> None:
        gc.freeze()
        gc.enable()

    gc.disable()
    try:
        yield all_made
    finally:
        gc.enable()
