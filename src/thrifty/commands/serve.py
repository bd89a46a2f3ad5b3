"""`thrifty serve`: decides live."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

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
        from thrifty.commands.serving import ServeOptions, serve_until_stopped

        wanted = ServeOptions(
            policies=policies or (),
            store=store,
            host=host,
            port=port,
            keys=keys,
            rate=rate,
            most_open=most_open,
            standby=standby,
        )
        try:
            serve_until_stopped(wanted, all_made)
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
