"""`thrifty init`: a TOML file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.errors import SaveError


def init(
    cases: Annotated[Path, typer.Argument(help="Past cases: a CSV or Parquet file.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("prices.toml"),
    target: Annotated[
        str | None, typer.Option(help="The column that holds the outcome of each case.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV file that is not UTF-8.")] = None,
    separator: Annotated[str | None, typer.Option(help="Between the values of a CSV file.")] = None,
) -> None:
    """Look at a table and write a commented TOML file of prices, to be completed by you.

    Example: thrifty init cases.csv
    """
    from thrifty.data.reading import read_table
    from thrifty.data.starting import starting_toml

    if out.exists() and not force:
        raise SaveError(f"{out} is there already: write elsewhere with --out, or use --force.")
    table = read_table(cases, encoding=encoding, separator=separator)
    text, said = starting_toml(
        table, cases.name, target=target, encoding=encoding, separator=separator
    )
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SaveError(f"{out} cannot be written ({error.strerror}): choose another.") from error
    for words in said:
        typer.echo(words)
    typer.echo(
        f"{out} is written: set the prices in it, then run\n  thrifty worth {cases} --prices {out}"
    )
