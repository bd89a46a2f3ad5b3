"""`thrifty serve`: serve policies over HTTP."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

StoreAddress = Annotated[str, typer.Argument(help="The store: path of a file, or postgresql://...")]


def serve(
    policies: Annotated[
        list[Path] | None,
        typer.Argument(help="policy.toml files. Policies already in the store are served too."),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Where events are stored: path of a file, or postgresql://...")
    ] = "thrifty.db",
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any other than this machine needs --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8000,
    keys: Annotated[
        Path | None, typer.Option(help="File of API keys; create it with `thrifty key`.")
    ] = None,
    rate: Annotated[float, typer.Option(min=1, help="Maximum requests a second per key.")] = 10_000,
    most_open: Annotated[
        int, typer.Option(min=1, help="Maximum number of open cases per policy.")
    ] = 100_000,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="Load everything and wait while another process holds the store; take over when "
            "that process ends.",
        ),
    ] = False,
) -> None:
    """Serve policies over HTTP.

    For each case the service says which features to buy and which action to take, and learns from
    the rewards, however late they are. Every event is on the disk before it is acknowledged. The
    dashboard is at /, Prometheus metrics at /metrics, the API description at /openapi.json.

    Example: thrifty serve policy.toml
    """
    with _no_garbage_collection() as everything_loaded:
        from thrifty.commands.serving import ServeOptions, serve_until_stopped

        options = ServeOptions(
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
            serve_until_stopped(options, everything_loaded)
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)


@contextmanager
def _no_garbage_collection() -> Iterator[Callable[[], None]]:
    """Collect garbage only after everything is loaded, and never scan the loaded objects.

    Scanning all modules took a tenth of a second each time, during which every request waited.
    """

    def everything_loaded() -> None:
        gc.freeze()
        gc.enable()

    gc.disable()
    try:
        yield everything_loaded
    finally:
        gc.enable()
