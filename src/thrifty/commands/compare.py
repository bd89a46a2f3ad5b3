"""`thrifty compare`: compare policies, paired by seed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.options import AsJson
from thrifty.commands.output import show, show_json
from thrifty.commands.tables import comparison_table
from thrifty.experiments.comparison import compare_gains
from thrifty.experiments.results import read_results


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Result folders of `thrifty run`.")],
    against: Annotated[
        str | None,
        typer.Option(help="Policy to compare with (default: the best except the oracle)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the gains of policies, paired by seed.

    Example: thrifty compare results/nursery/published --against UCB1
    """
    comparison = compare_gains([read_results(folder) for folder in folders], against)
    if as_json:
        show_json([asdict(pair) for pair in comparison.differences])
        return
    reference = comparison.reference
    show(
        f"Gain minus that of {reference.policy}, by seed ({reference.policy} wins "
        f"{reference.wins:.0%})",
        comparison_table(comparison),
    )
