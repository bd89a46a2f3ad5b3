"""The command line: `thrifty COMMAND`."""

from __future__ import annotations

import gc
import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import MarkupMode, TyperCommand, TyperGroup
from typer.main import get_command

from thrifty._version import __version__
from thrifty.commands.dependencies import explain_missing_package, unavailable_command
from thrifty.errors import InvalidParameter, ThriftyError

COMMANDS_BY_TASK = {
    "Decide what to buy": ("example", "init", "worth", "score", "evaluate"),
    "Serve decisions": ("serve", "promote", "demote", "key", "audit", "export", "replay", "warmup"),
    "Compare policies": ("list", "run", "compare", "tune", "figures"),
    "Reproduce the paper": ("reproduce", "theory"),
}
"""Commands in the order of `thrifty --help`, grouped by task."""

COMMANDS = {command: task for task, commands in COMMANDS_BY_TASK.items() for command in commands}
"""Task of every command."""

_MODULES = {"list": "list_"}
"""Modules of thrifty.commands that do not have the name of their command."""
_ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


class _PlainParameters:
    """Help with CASES instead of {cases}, and without `<bool>` behind a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.metavar is None and param.param_type_name == "argument":
                param.metavar = param.name.upper()
            elif param.metavar is None and getattr(param, "is_flag", False):
                param.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        # typer 0.29 writes a required argument in braces, which most readers take for a choice.
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class _Command(_PlainParameters, TyperCommand):
    """A command with plain help."""


class _LazyCommands(UserDict[str, Any]):
    """Commands by name, each imported when it is used.

    A service that restarts does not wait for the imports of tables, figures and experiments.
    """

    def __init__(self, rich_markup_mode: MarkupMode) -> None:
        super().__init__(COMMANDS)
        self.rich_markup_mode: MarkupMode = rich_markup_mode

    def __getitem__(self, name: str) -> Any:
        task = self.data[name]
        app = typer.Typer(add_completion=False, rich_markup_mode=self.rich_markup_mode)
        module = _MODULES.get(name, name)
        try:
            with explain_missing_package(name):
                function = getattr(import_module(f"thrifty.commands.{module}"), module)
        except InvalidParameter as error:
            register = app.command(name, context_settings=_ANY_ARGUMENTS, rich_help_panel=task)
            register(unavailable_command(error))
        else:
            app.command(name, cls=_Command, rich_help_panel=task)(
                explain_missing_package(name)(function)
            )
        gc.freeze()  # imported modules stay, so the garbage collector can skip them
        return get_command(app)


class _Thrifty(_PlainParameters, TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands(self.rich_markup_mode)


app = typer.Typer(
    cls=_Thrifty,
    help="Decide which features to buy and which action to take, when features cost money and "
    "rewards and prices drift.",
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
    """Run a command; print expected errors in one line."""
    try:
        app()
    except ThriftyError as error:
        typer.echo(f"thrifty: {error}", err=True)
        sys.exit(2)
