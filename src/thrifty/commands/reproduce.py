"""`thrifty reproduce`: the paper's policies on the paper's data."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from thrifty.experiments.paper import ENTRIES, SETTINGS, Entry, Setting, run
from thrifty.experiments.summary import Summary

Rows = list[tuple[Entry, Summary]]


def reproduce(
    seeds: Annotated[int, typer.Option(min=1, help="Play seeds 0 to SEEDS - 1.")] = 40,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; by default one per core.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Play every policy of the paper on its data, and print the authors' numbers beside ours.

    Example: thrifty reproduce --seeds 400
    """
    results = _play_all(seeds, workers)
    if as_json:
        typer.echo(json.dumps(_plain(results), indent=2))
        return
    console = Console()
    for setting, rows in results:
        console.print(_table(setting, rows))
    console.print(
        f"Gain: reward - cost of 10,000 rounds, mean over seeds 0 to {seeds - 1} with its bootstrap"
        "\ninterval, worst and best seed. Authors: mean of the totals that they printed."
        "\nNCC-UCRL2 as in the authors' program; the same with q in the simplex and the"
        "\npaper's window and ties; as the paper's text alone has it."
    )


def _play_all(seeds: int, workers: int | None) -> list[tuple[Setting, Rows]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=seeds * len(ENTRIES) * len(SETTINGS))
        results = []
        for setting in SETTINGS:
            bar.update(task, description=setting.name)
            rows = run(
                setting,
                seeds=range(seeds),
                workers=workers,
                progress=lambda _: bar.advance(task),
            )
            results.append((setting, list(rows)))
    return results


def _plain(results: list[tuple[Setting, Rows]]) -> dict[str, Any]:
    return {
        setting.name: [
            {
                "label": entry.label,
                "policy": entry.policy,
                "params": entry.params,
                "published": entry.published if setting.has_published_numbers else (),
                **asdict(summary),
            }
            for entry, summary in rows
        ]
        for setting, rows in results
    }


def _table(setting: Setting, rows: Rows) -> Table:
    table = Table(
        title=setting.title,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("policy", no_wrap=True)
    for heading in ("gain", "95 %", "min", "max", "reward", "cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    if setting.has_published_numbers:
        table.add_column("authors", justify="right", no_wrap=True)
    for entry, summary in rows:
        cells = [
            entry.label,
            f"{summary.gain:.1f}",
            f"{summary.low:.0f} .. {summary.high:.0f}",
            f"{summary.worst:.0f}",
            f"{summary.best:.0f}",
            f"{summary.reward:.0f}",
            f"{summary.cost:.0f}",
        ]
        if setting.has_published_numbers:
            mean = entry.published_mean
            cells.append("" if mean is None else f"{mean:.1f}")
        table.add_row(*cells)
    return table
