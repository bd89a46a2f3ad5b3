"""The command line: `thrifty COMMAND`."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty._version import __version__
from thrifty.commands.reproduce import reproduce

app = typer.Typer(
    help="Decide what to look at, then what to do, when looking costs money and the world drifts.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


app.command()(reproduce)
