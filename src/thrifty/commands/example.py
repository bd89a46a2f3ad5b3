"""`thrifty example`: print example cases to try `thrifty worth` on."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.errors import UnknownName

NAMES = ("lending", "triage", "nursery")


def example(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    policy: Annotated[
        bool,
        typer.Option("--policy", "--prices", help="Print the policy.toml instead of the cases."),
    ] = False,
    rows: Annotated[
        int | None,
        typer.Option(min=40, help="Number of cases (default: 40,000; nursery has 12,960)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
) -> None:
    """Print example cases as CSV, or their policy.toml, to try `thrifty worth` on.

    Lending and triage are synthetic: outcomes and prices drift, and the right answer is known.

    Example: thrifty example lending > cases.csv
    """
    from thrifty.examples import example_csv, example_policy

    if name not in NAMES:
        raise UnknownName(f"there is no example {name!r}: use one of {', '.join(NAMES)}.")
    typer.echo(example_policy(name) if policy else example_csv(name, rows, seed), nl=False)
