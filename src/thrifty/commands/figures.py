"""`thrifty figures`: the figures of an experiment that has been run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.show import progress_bar
from thrifty.errors import ThriftyError
from thrifty.experiments.engines import Engine, Task
from thrifty.experiments.results import Results, read_results


def figures(
    folder: Annotated[
        Path, typer.Argument(help="A folder that `thrifty run` wrote, with a table in it.")
    ],
    formats: Annotated[
        str, typer.Option("--format", help="One or more of pdf, png and svg, with commas.")
    ] = "pdf,png,svg",
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html, which is interactive.")
    ] = False,
) -> None:
    """Draw the figures of an experiment that has been run, and print where they are.

    They are written to DIR/figures in every format asked for, the report to
    DIR/report.html: one file that works offline.

    Example: thrifty figures results/nursery/published --format png
    """
    wanted = formats_of(formats)
    results = read_results(folder)
    from thrifty.figures import draw_all, write_report

    paths = draw_all(folder, results, wanted)
    if report:
        command = f"thrifty figures {folder} --format {formats} --report"
        paths.append(write_report(folder, results, command))
    for path in paths:
        typer.echo(path)


def draw(
    results: Sequence[Results], out: Path, formats: str, engine: Engine, *others: Task
) -> None:
    """Draw the figures of several experiments in their folders, and do other things beside it."""
    wanted = formats_of(formats)
    figures = (partial(_draw_folder, out / it.experiment.id, wanted) for it in results)
    tasks: list[Task] = [*others, *figures]
    with progress_bar("figures", len(tasks)) as advance:
        for _ in engine.run(tasks):
            advance(1)


def _draw_folder(folder: Path, formats: list[str]) -> None:
    from thrifty.figures import draw_all

    draw_all(folder, read_results(folder), formats)


def formats_of(formats: str) -> list[str]:
    """Return the formats that are written with commas, or refuse them."""
    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",")))
    try:
        from thrifty.figures import require_formats  # slow to import, and often not needed
    except ModuleNotFoundError as error:
        raise ThriftyError(
            f"figures need {error.name}, which is not installed: pip install 'thrifty[figures]'."
        ) from error
    require_formats(wanted)
    return wanted
