"""The command line: `thrifty COMMAND`."""

from __future__ import annotations

import gc
import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import MarkupMode, TyperGroup
from typer.main import get_command

from thrifty._version import __version__
from thrifty.commands.needs import installed, refusing
from thrifty.errors import InvalidParameter, ThriftyError

COMMANDS = {
    "worth": "worth",
    "init": "init",
    "example": "example",
    "list": "list_",
    "run": "run",
    "reproduce": "reproduce",
    "compare": "compare",
    "tune": "tune",
    "figures": "figures",
    "theory": "theory",
    "warmup": "warmup",
    "serve": "serve",
    "key": "key",
    "audit": "audit",
    "export": "export",
    "replay": "replay",
}
"""Names of commands as they are listed, each with its module and function in thrifty.commands."""

_TAKES_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


class _WhenAsked(UserDict[str, Any]):
    """Commands by name, each imported when it is asked for.

    A service that starts again does not wait for tables, figures and experiments to be imported.
    """

    def __init__(self, rich_markup_mode: MarkupMode) -> None:
        super().__init__(COMMANDS)
        self.rich_markup_mode: MarkupMode = rich_markup_mode

    def __getitem__(self, name: str) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=self.rich_markup_mode)
        home = self.data[name]
        try:
            with installed(name):
                function = getattr(import_module(f"thrifty.commands.{home}"), home)
        except InvalidParameter as error:
            alone.command(name, context_settings=_TAKES_ANYTHING)(refusing(error))
        else:
            alone.command(name)(installed(name)(function))
        gc.freeze()  # what was imported stays: the collector need not look through it again
        return get_command(alone)


class _Thrifty(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _WhenAsked(self.rich_markup_mode)


app = typer.Typer(
    cls=_Thrifty,
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


def main() -> None:
    """Run a command; what goes wrong is said in one line."""
    try:
        app()
    except ThriftyError as error:
        typer.echo(f"thrifty: {error}", err=True)
        sys.exit(2)
