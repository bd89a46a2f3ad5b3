"""`thrifty reproduce`: the paper as a whole."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.figures import draw, formats_of
from thrifty.commands.show import (
    AsJson,
    Fresh,
    OnCluster,
    Out,
    Workers,
    claims_table,
    gains_table,
    published_gains,
    run_shown,
    show,
    show_json,
    working,
)
from thrifty.commands.theory import growth_table
from thrifty.commands.tune import choices_table
from thrifty.experiments.engines import Engine
from thrifty.experiments.growth import growths
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.reproduction import reproduce as reproduce_by
from thrifty.experiments.spec import parse_seeds


def reproduce(
    seeds: Annotated[
        str | None,
        typer.Option(help="Seeds of the evaluations instead of 0:40: 0:400, or 3,7,12."),
    ] = None,
    workers: Workers = None,
    cluster: OnCluster = None,
    out: Out = Path("results"),
    figures: Annotated[
        str, typer.Option(help="Also draw figures, in these formats, and a report: png,pdf,svg.")
    ] = "",
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Do everything that the paper does, and print the authors' numbers beside ours.

    Every policy on the published arrays and on shuffled rows, the windows, the
    tuning, the growth of regret against the theorems, and the paper's claims
    with a verdict each. Figures go to OUT/*/*/figures, the report to
    OUT/report.html.

    Example: thrifty reproduce --figures png
    """
    if figures:
        formats_of(figures)
    chosen = None if seeds is None else parse_seeds(seeds)
    with working(workers, out, fresh=fresh, cluster=cluster) as work:
        done = reproduce_by(lambda its: run_shown(its, work), chosen)
        if as_json:
            show_json(_plain(done))
        else:
            _print(done)
        if figures:
            _draw(done, out, figures, work.drawings, seeds)
    if figures and not as_json:
        typer.echo(f"Figures: {out}/*/*/figures. Report, for a browser: {out}/report.html")


def _draw(done: Reproduction, out: Path, formats: str, engine: Engine, seeds: str | None) -> None:
    given = "" if seeds is None else f" --seeds {seeds}"
    report = partial(_write_report, out, f"thrifty reproduce --figures {formats}{given}")
    drawn = [it for it in done.all if it is not done.judged]
    draw(drawn, out, formats, engine, report)


def _write_report(out: Path, command: str) -> None:
    from thrifty.figures.report import write_paper_report

    write_paper_report(out, Reproduction.read(out), command)  # far quicker than sending it


def _plain(done: Reproduction) -> dict[str, object]:
    evaluated = {
        it.experiment.id: [asdict(row) for row in summaries(it.table)]
        for it in (done.published, done.shuffled, done.windows, done.judged)
    }
    theory = {it.experiment.id: [asdict(row) for row in growths(it.table)] for it in done.theory}
    return {
        **evaluated,
        **theory,
        "claims": [asdict(it) for it in done.claims],
        "chosen": [asdict(it) for it in done.chosen],
    }


def _print(done: Reproduction) -> None:
    for it in (done.published, done.shuffled, done.windows):
        table = gains_table(summaries(it.table), published_gains(it.experiment))
        show(it.experiment.title, table)
    typer.echo(
        "Gain: reward - cost of 10,000 rounds, mean over the seeds with its bootstrap"
        "\ninterval, worst and best seed. Authors: mean of the totals that they printed."
        "\nNCC-UCRL2 as in the authors' program; the same with q in the simplex and the"
        "\npaper's window and ties; as the paper's text alone has it.\n"
    )
    show("The paper's claims", claims_table(done.claims))
    chosen = choices_table(done.chosen, done.judged)
    show("Tuning, and what the choice gains elsewhere", chosen)
    for it in done.theory:
        show(it.experiment.title, growth_table(it))
