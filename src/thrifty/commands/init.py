"""`thrifty init`: a policy.toml to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.errors import SaveError
from thrifty.files import replace_file


def init(
    cases: Annotated[Path, typer.Argument(help="Past cases: a CSV or Parquet file.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("policy.toml"),
    target: Annotated[
        str | None, typer.Option(help="The column that holds the outcome of each case.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding (default: UTF-8).")] = None,
    separator: Annotated[
        str | None, typer.Option(help="CSV separator (default: detected).")
    ] = None,
) -> None:
    """Look at a table and write a commented policy.toml for you to complete.

    Example: thrifty init cases.csv
    """
    from thrifty.policy_file import to_toml
    from thrifty.tables.reader import read_table
    from thrifty.tables.scaffold import starting_file

    if out.exists() and not force:
        raise SaveError(f"{out} exists: choose another file with --out, or use --force.")
    table = read_table(cases, encoding=encoding, separator=separator)
    file, comments, said = starting_file(
        table, cases.name, target=target, encoding=encoding, separator=separator
    )
    replace_file(out, to_toml(file, comments).encode())
    for words in said:
        typer.echo(words)
    typer.echo(
        f"Wrote {out}: set the prices in it, then run\n  thrifty worth {cases} --policy {out}"
    )
