"""`thrifty compare`: policies against each other, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Table

from thrifty.commands.show import AsJson, new_table, show, show_json
from thrifty.errors import InvalidTable, UnknownName
from thrifty.experiments.measures import Difference, difference, summaries
from thrifty.experiments.results import Results, plain, read_results
from thrifty.experiments.spec import Entry, Experiment


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
    table = _together([read_results(folder) for folder in folders])
    rows = summaries(table)
    rivals = {row.policy: row.gain for row in rows if row.policy.lower() != "oracle"}
    if not rivals:
        raise InvalidTable("the oracle is alone in these tables: there is nothing to compare.")
    other = against or max(rivals, key=lambda policy: rivals[policy])
    if other not in {row.policy for row in rows}:
        known = ", ".join(row.policy for row in rows)
        raise UnknownName(f"no policy is called {other!r} in these tables: use one of {known}.")
    found = [difference(table, row.policy, other) for row in rows if row.policy != other]
    if as_json:
        show_json([asdict(it) for it in found])
        return
    wins = {row.policy: row.wins for row in rows}
    show(f"Gain more than {other}, by seed (which wins {wins[other]:.0%})", _shown(found, wins))


def _together(results: Sequence[Results]) -> pl.DataFrame:
    """Return the tables as one, in which a run that several of them have stands once."""
    _require_comparable([it.experiment for it in results])
    return pl.concat(plain(it.table) for it in results).unique(
        ["policy", "seed", "horizon", "measure", "key", "round"], maintain_order=True
    )


def _require_comparable(experiments: Sequence[Experiment]) -> None:
    """Refuse what the same seed, or the same label, would pair although it is not the same."""
    first, meant = experiments[0], dict[str, Entry]()
    for it in experiments:
        if (it.world, it.world_params) != (first.world, first.world_params):
            raise InvalidTable(
                f"{first.id} and {it.id} play different worlds: there a seed does not stand for "
                "the same rounds, so nothing can be paired. Compare folders of one world."
            )
        for entry in it.entries:
            other = meant.setdefault(entry.label, entry)
            if (entry.policy, entry.params) != (other.policy, other.params):
                raise InvalidTable(
                    f"{entry.label!r} of {it.id} has other parameters than that of a folder "
                    "before it: give it a label of its own, and run it again."
                )


def _shown(found: list[Difference], wins: dict[str, float]) -> Table:
    table = new_table(["policy"], ["mean", "95 %", "p", "seeds", "wins"])
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
