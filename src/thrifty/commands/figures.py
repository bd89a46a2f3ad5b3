"""`thrifty figures`: the figures of an experiment that has been run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from thrifty.commands.show import Out
from thrifty.errors import InvalidTable, ThriftyError
from thrifty.experiments.runner import TABLE
from thrifty.experiments.spec import Experiment, find


def figures(
    name: Annotated[str, typer.Argument(help="An id of `thrifty list`, or a TOML file.")],
    out: Out = Path("results"),
    formats: Annotated[
        str, typer.Option("--format", help="One or more of pdf, png and svg, with commas.")
    ] = "pdf,png,svg",
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html, which is interactive.")
    ] = False,
) -> None:
    """Draw the figures of an experiment that has been run, and print where they are.

    They are written to OUT/ID/figures in every format asked for, the report
    to OUT/ID/report.html: one file that works offline.

    Example: thrifty figures nursery/published --format png
    """
    experiment = find(name)
    folder = out / experiment.id
    table = _read(folder / TABLE, name)
    for path in draw(folder, experiment, table, formats, report=report):
        typer.echo(path)


def draw(
    folder: Path, experiment: Experiment, table: pl.DataFrame, formats: str, *, report: bool
) -> list[Path]:
    """Draw everything in these formats, written with commas; return the paths."""
    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",")))
    try:
        from thrifty.figures import draw_all, write_report  # slow to import, and often not needed
    except ModuleNotFoundError as error:
        raise ThriftyError(
            f"figures need {error.name}, which is not installed: pip install 'thrifty[figures]'."
        ) from error
    paths = draw_all(folder, experiment, table, wanted)
    return [*paths, write_report(folder, experiment, table)] if report else paths


def _read(path: Path, name: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read, so there is nothing to draw: run `thrifty run {name}` first, "
            "with the same --out."
        ) from error
