"""`thrifty key`: makes a key for the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def key(
    name: Annotated[str, typer.Argument(help="What the key is called, in messages.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="decide, read or admin; several times for several. Without it: decide and read."
        ),
    ] = None,
    tenant: Annotated[str, typer.Option(help="Whose policies it opens.")] = "default",
    file: Annotated[Path, typer.Option(help="The file of keys, which keeps hashes only.")] = Path(
        "keys.toml"
    ),
) -> None:
    """Make a key and print it: it is shown once, and only its hash is kept.

    Example: thrifty key checkout --scope decide --scope read
    """
    from thrifty.service.access import add_key

    typer.echo(add_key(file, name, tenant, scope or ["decide", "read"]))
