"""`thrifty key`: create an API key for the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def key(
    name: Annotated[str, typer.Argument(help="Name of the key, used in messages.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="decide, read or admin; repeat the option for several. Default: decide and read."
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="Tenant whose policies the key gives access to.")
    ] = "default",
    file: Annotated[
        Path, typer.Option(help="File of keys. It contains only hashes of them.")
    ] = Path("keys.toml"),
) -> None:
    """Create an API key and print it. It is shown only once.

    Example: thrifty key checkout --scope decide --scope read
    """
    from thrifty.service.access import add_key

    typer.echo(add_key(file, name, tenant, scope or ["decide", "read"]))
