"""`thrifty figures`: draw the figures of an experiment that has been run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.output import progress_bar
from thrifty.errors import ThriftyError
from thrifty.experiments.executors import Executor, Task
from thrifty.experiments.export import RUNS, attributes_of, read_runs, scores_from_runs
from thrifty.experiments.market_summary import TABLE as MARKETS_TABLE
from thrifty.experiments.market_summary import market_scores, read_market_table
from thrifty.experiments.priced_summary import TABLE as PRICED_TABLE
from thrifty.experiments.priced_summary import read_table
from thrifty.experiments.ranking import rank
from thrifty.experiments.results import Results, read_results
from thrifty.figures.formats import parse_formats

_PARTS = 3
"""Number of tasks that share the figures of one experiment."""


def figures(
    folder: Annotated[Path, typer.Argument(help="Result folder of `thrifty run`.")],
    formats: Annotated[
        str, typer.Option("--format", help="One or more of pdf, png and svg, separated by commas.")
    ] = "pdf,png,svg",
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html with interactive figures.")
    ] = False,
) -> None:
    """Draw the figures of an experiment or a benchmark that has been run, and print their paths.

    Figures go to FOLDER/figures. Of a folder of experiments, such as results/worlds, the ranking,
    the performance profiles and the scores by difficulty are drawn. The report of an experiment is
    FOLDER/report.html, one file that works offline.

    Example: thrifty figures results/nursery/published --format png
    """
    wanted = check_formats(formats)
    if (folder / PRICED_TABLE).is_file():
        for path in _draw_priced(folder, wanted):
            typer.echo(path)
        return
    if any((folder / name).is_file() for name in (RUNS, MARKETS_TABLE)):
        for path in _draw_benchmark(folder, wanted):
            typer.echo(path)
        return
    results = read_results(folder)
    from thrifty.figures.files import write_figures
    from thrifty.figures.report import write_report

    paths = write_figures(folder, results, wanted)
    if report:
        command = f"thrifty figures {folder} --format {formats} --report"
        paths.append(write_report(folder, results, command))
    for path in paths:
        typer.echo(path)


def _draw_priced(folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw the figure of the benchmark of priced tables."""
    from thrifty.figures.files import FOLDER, save
    from thrifty.figures.priced import cost_by_error_cost

    figure = cost_by_error_cost(read_table(folder / PRICED_TABLE))
    return [save(figure, folder / FOLDER / f"priced.{format_}") for format_ in formats]


def _draw_benchmark(folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw the ranking, the profiles and the scores by difficulty of a benchmark."""
    from thrifty.figures import benchmark
    from thrifty.figures.files import FOLDER, save

    if (folder / RUNS).is_file():
        table = read_runs(folder / RUNS)
        scores, attributes = scores_from_runs(table), attributes_of(table)
    else:
        scores, attributes = market_scores(read_market_table(folder)), {}
    rows = rank(scores)
    labels = [row.label for row in rows]
    drawn = {
        "ranking": benchmark.ranking(rows),
        "profiles": benchmark.profiles(scores, labels),
        "difficulty": benchmark.by_difficulty(scores, labels, attributes),
    }
    return [
        save(figure, folder / FOLDER / f"{name}.{format_}")
        for name, figure in drawn.items()
        for format_ in formats
    ]


def draw(
    results: Sequence[Results], out: Path, formats: str, executor: Executor, *others: Task
) -> None:
    """Draw the figures of several experiments in parallel, together with other tasks."""
    wanted = check_formats(formats)
    parts = [
        partial(_draw_part, out / result.experiment.id, wanted, part)
        for result in sorted(results, key=lambda result: -len(result.table))
        for part in range(_PARTS)
    ]
    tasks: list[Task] = [*others, *parts]
    with progress_bar("figures", len(tasks)) as advance:
        for _ in executor.run(tasks):
            advance(1)


def _draw_part(folder: Path, formats: list[str], part: int) -> None:
    from thrifty.figures.files import write_figures

    write_figures(folder, read_results(folder), formats, part=part, parts=_PARTS)


def check_formats(text: str) -> list[str]:
    """Return the formats of a list separated by commas, before any time is spent on figures."""
    missing = next((name for name in ("matplotlib", "plotly") if find_spec(name) is None), None)
    if missing is not None:
        raise ThriftyError(
            f"figures need {missing}, which is not installed: pip install 'thrifty[figures]'."
        )
    return parse_formats(text)
