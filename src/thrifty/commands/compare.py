"""`thrifty compare`: policies against each other, seed by seed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from thrifty.commands.show import AsJson, show
from thrifty.errors import InvalidTable, UnknownName
from thrifty.experiments.measures import Difference, difference, summaries
from thrifty.experiments.runner import TABLE


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `thrifty run` wrote.")],
    against: Annotated[
        str | None, typer.Option(help="The policy to compare with; by default the best but oracle.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how much more each policy gained than one of them, paired by seed.

    Example: thrifty compare results/nursery/published --against UCB1
    """
    table = pl.concat(_read(folder) for folder in folders).unique(
        ["policy", "seed", "measure", "key", "round"], maintain_order=True
    )
    rows = summaries(table)
    rivals = {row.policy: row.gain for row in rows if row.policy != "Oracle"}
    other = against or max(rivals, key=lambda policy: rivals[policy])
    if other not in {row.policy for row in rows}:
        known = ", ".join(row.policy for row in rows)
        raise UnknownName(f"no policy is called {other!r} in these tables: use one of {known}.")
    found = [difference(table, row.policy, other) for row in rows if row.policy != other]
    if as_json:
        typer.echo(json.dumps([asdict(it) for it in found], indent=2))
        return
    wins = {row.policy: row.wins for row in rows}
    show(_shown(found, other, wins))


def _read(folder: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(folder / TABLE)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{folder} holds no table of results ({error}): give a folder that `thrifty run` wrote."
        ) from error
    return table


def _shown(found: list[Difference], other: str, wins: dict[str, float]) -> Table:
    table = Table(
        title=f"Gain more than {other}, by seed (which wins {wins[other]:.0%})",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("policy", no_wrap=True)
    for heading in ("mean", "95 %", "p", "seeds", "wins"):
        table.add_column(heading, justify="right", no_wrap=True)
    for it in found:
        table.add_row(
            it.policy,
            f"{it.mean:+.1f}",
            f"{it.low:+.0f} .. {it.high:+.0f}",
            f"{it.p_value:.4f}",
            str(it.seeds),
            f"{wins[it.policy]:.0%}",
        )
    return table
