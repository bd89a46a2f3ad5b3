"""`thrifty export`: write the log of a store to a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.serve import StoreAddress


def export(
    store: StoreAddress,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("log.parquet"),
) -> None:
    """Write the log of a store to a Parquet file, one row per event.

    Example: thrifty export thrifty.db --out log.parquet
    """
    from thrifty.service.export import export as export_log
    from thrifty.service.stores import open_store

    opened = open_store(store, read_only=True)
    try:
        count = export_log(opened, out)
    finally:
        opened.close()
    typer.echo(f"{count} events: {out}")
