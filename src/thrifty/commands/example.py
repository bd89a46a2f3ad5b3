"""`thrifty example`: files of cases to try `thrifty worth` on."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.errors import UnknownName

NAMES = ("lending", "triage", "nursery")


def example(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    prices: Annotated[
        bool,
        typer.Option(
            "--policy", "--prices", help="Print policy.toml with the prices, not the cases."
        ),
    ] = False,
    rows: Annotated[
        int | None, typer.Option(min=40, help="Number of cases; Nursery has 12,960.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
) -> None:
    """Print cases as CSV, or a policy.toml with their prices, to try `thrifty worth` on.

    Lending and triage are made up: outcomes and prices drift, and the true answer is known.

    Example: thrifty example lending > cases.csv
    """
    from thrifty.examples import csv_of, prices_of

    if name not in NAMES:
        raise UnknownName(f"there is no example {name!r}: use one of {', '.join(NAMES)}.")
    typer.echo(prices_of(name) if prices else csv_of(name, rows, seed), nl=False)
