"""The command line: `thrifty COMMAND`."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from thrifty._version import __version__
from thrifty.commands.audit import audit
from thrifty.commands.compare import compare
from thrifty.commands.example import example
from thrifty.commands.export import export
from thrifty.commands.figures import figures
from thrifty.commands.init import init
from thrifty.commands.key import key
from thrifty.commands.list_ import list_
from thrifty.commands.replay import replay
from thrifty.commands.reproduce import reproduce
from thrifty.commands.run import run
from thrifty.commands.serve import serve
from thrifty.commands.theory import theory
from thrifty.commands.tune import tune
from thrifty.commands.warmup import warmup
from thrifty.commands.worth import worth
from thrifty.errors import ThriftyError

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


app.command()(worth)
app.command()(init)
app.command()(example)
app.command("list")(list_)
app.command()(run)
app.command()(reproduce)
app.command()(compare)
app.command()(tune)
app.command()(figures)
app.command()(theory)
app.command()(warmup)
app.command()(serve)
app.command()(key)
app.command()(audit)
app.command()(export)
app.command()(replay)


def main() -> None:
    """Run a command; what goes wrong is said in one line."""
    gc.freeze()  # what was imported stays: the collector need not look through it again and again
    try:
        app()
    except ThriftyError as error:
        typer.echo(f"thrifty: {error}", err=True)
        sys.exit(2)
