"""`thrifty reproduce`: reproduce the whole paper."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.execution import open_session, run_with_progress
from thrifty.commands.figures import check_formats, draw
from thrifty.commands.options import AsJson, ClusterAddress, Fresh, Out, Workers
from thrifty.commands.output import show, show_json
from thrifty.commands.tables import claims_table, gains_table, growth_table, tuning_table
from thrifty.experiments.executors import Executor
from thrifty.experiments.growth import regret_growths
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.reproduction import reproduce as run_paper
from thrifty.experiments.spec import parse_seeds


def reproduce(
    seeds: Annotated[
        str | None,
        typer.Option(help="Seeds of the evaluations instead of 0:40, such as 0:400 or 3,7,12."),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    out: Out = Path("results"),
    figures: Annotated[
        str,
        typer.Option(help="Also write a report, and figures in these formats: png,pdf,svg."),
    ] = "",
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper, and print the authors' numbers next to the reproduced ones.

    Runs every policy on the published arrays and on shuffled rows, the comparison of windows, the
    tuning, and the growth of regret, and gives a verdict on each of the paper's claims. Figures go
    to OUT/*/*/figures, and the report is OUT/report.html.

    Example: thrifty reproduce --figures png
    """
    if figures:
        check_formats(figures)
    parsed_seeds = None if seeds is None else parse_seeds(seeds)
    with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
        paper = run_paper(lambda experiments: run_with_progress(experiments, session), parsed_seeds)
        if as_json:
            show_json(_as_dict(paper))
        else:
            _show(paper)
        if figures:
            _draw(paper, out, figures, session.figures, seeds)
    if figures and not as_json:
        typer.echo(f"Figures: {out}/*/*/figures. Report, for a browser: {out}/report.html")


def _draw(
    paper: Reproduction, out: Path, formats: str, executor: Executor, seeds: str | None
) -> None:
    seeds_option = "" if seeds is None else f" --seeds {seeds}"
    command = f"thrifty reproduce --figures {formats}{seeds_option}"
    results = [result for result in paper.all if result is not paper.tuned]
    draw(results, out, formats, executor, partial(_write_report, out, command))


def _write_report(out: Path, command: str) -> None:
    from thrifty.figures.report import write_paper_report

    # The worker reads the results from disk, which is faster than pickling them.
    write_paper_report(out, Reproduction.read(out), command)


def _as_dict(paper: Reproduction) -> dict[str, object]:
    evaluated = {
        result.experiment.id: [asdict(row) for row in summaries(result)]
        for result in (paper.published, paper.shuffled, paper.windows, paper.tuned)
    }
    theory = {
        result.experiment.id: [asdict(row) for row in regret_growths(result)]
        for result in paper.theory
    }
    return {
        **evaluated,
        **theory,
        "claims": [asdict(claim) for claim in paper.claims],
        "chosen": [asdict(tuned) for tuned in paper.tuned_parameters],
    }


def _show(paper: Reproduction) -> None:
    for result in (paper.published, paper.shuffled, paper.windows):
        show(result.experiment.title, gains_table(result))
    typer.echo(
        "Gain is reward minus cost over 10,000 rounds: the mean over seeds with its 95 %"
        "\nbootstrap interval, the worst and the best seed. Authors: mean of the totals"
        "\nthat they printed. NCC-UCRL2, program: as in the authors' program. Simplex: the"
        "\nsame, but with q in the simplex and the text's window and ties. Text: as in the"
        "\npaper's text alone.\n"
    )
    show("Claims of the paper", claims_table(paper.claims))
    show(
        "Tuned parameters, and their change in gain on the published arrays",
        tuning_table(paper.tuned_parameters, paper.tuned),
    )
    for result in paper.theory:
        show(result.experiment.title, growth_table(result))
