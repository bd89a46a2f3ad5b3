"""Command-line options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Seeds = Annotated[
    str | None,
    typer.Option(help="Seeds instead of the experiment's own, such as 0:400 or 3,7,12."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Number of worker processes (default: one per core).")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster", help="Run on a Dask cluster: address of its scheduler, tcp://HOST:8786."
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for the results; finished runs in it are reused.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
