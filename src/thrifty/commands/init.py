"""`thrifty init`: write a first policy.toml for a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.errors import SaveError
from thrifty.files import replace_file


def init(
    cases: Annotated[Path, typer.Argument(help="Past cases: a CSV or Parquet file.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("policy.toml"),
    target: Annotated[
        str | None, typer.Option(help="Column with the outcome of each case (default: guessed).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding (default: UTF-8).")] = None,
    separator: Annotated[
        str | None, typer.Option(help="CSV separator (default: detected).")
    ] = None,
) -> None:
    """Inspect a table and write a commented policy.toml for you to complete.

    Example: thrifty init cases.csv
    """
    from thrifty.frames.reader import read_table
    from thrifty.policy_file import to_toml
    from thrifty.tables.scaffold import scaffold_policy_file

    if out.exists() and not force:
        raise SaveError(
            f"{out} exists and is not overwritten: choose another file with --out, or use --force."
        )
    table = read_table(cases, encoding=encoding, separator=separator)
    scaffold = scaffold_policy_file(
        table, cases.name, target=target, encoding=encoding, separator=separator
    )
    replace_file(out, to_toml(scaffold.file, scaffold.comments).encode())
    for note in scaffold.notes:
        typer.echo(note)
    typer.echo(
        f"Wrote {out}. Its prices are placeholders: set them and the rewards, then run\n"
        f"  thrifty worth {cases} --policy {out}"
    )
