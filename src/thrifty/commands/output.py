"""Terminal output that commands share: tables, JSON and progress bars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from thrifty.json_values import to_json_value
from thrifty.names import display_name

SECONDS_BETWEEN_LINES = 20.0


@contextmanager
def progress_bar(what: str, total: int, *, at_first: str | None = None) -> Iterator[Any]:
    """Show progress and the remaining time; yield a function to call with the number of steps.

    Until the first step the bar is labelled `at_first`, if it is given. Without a terminal, for
    example in a build log, a line is printed from time to time.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress_lines(what, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),  # with the longest label, a line fits 80 columns
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(at_first or what, total=total)
        yield lambda steps: bar.update(task, advance=steps, description=what)


@contextmanager
def share_bar() -> Iterator[Callable[[str, float], None]]:
    """Show what is being done and the remaining time; yield a function of both.

    The function takes a description and the share of the work that is finished. Without a terminal
    a line is printed from time to time.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _share_lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeRemainingColumn())
    # A long period: parts take different times, and the mean speed tells most about the rest.
    bar = Progress(*columns, console=console, transient=True, speed_estimate_period=3600.0)
    with bar:
        task = bar.add_task("", total=1.0)

        def update(what: str, share: float) -> None:
            bar.update(task, completed=share, description=display_name(what, 50))

        yield update


def _share_lines() -> Callable[[str, float], None]:
    started = printed_at = monotonic()

    def update(what: str, share: float) -> None:
        nonlocal printed_at
        now = monotonic()
        if now - printed_at >= SECONDS_BETWEEN_LINES:
            left = f", about {(now - started) * (1 / share - 1):.0f} s left" if share > 0 else ""
            typer.echo(f"{display_name(what, 50)}: {share:.0%} done{left}", err=True)
            printed_at = now

    return update


def _progress_lines(what: str, total: int) -> Callable[[int], None]:
    done, printed_at = 0, monotonic()

    def advance(steps: int) -> None:
        nonlocal done, printed_at
        done += steps
        if monotonic() - printed_at >= SECONDS_BETWEEN_LINES:
            typer.echo(f"{what}: {done} of {total}", err=True)
            printed_at = monotonic()

    return advance


def show_json(value: Any) -> None:
    """Print a value as JSON. NaN and infinity become null."""
    typer.echo(json.dumps(to_json_value(value), indent=2))


def show(title: str, table: Table) -> None:
    """Print a table. In a narrow terminal lines wrap, so that no number is hidden."""
    width = Console(width=1000, markup=False).measure(table)
    wraps = any(not column.no_wrap for column in table.columns)
    needed = width.minimum if wraps else width.maximum
    typer.echo(title)
    Console(width=max(Console().width, needed), markup=False).print(table)


def new_table(words: Sequence[str], numbers: Sequence[str], *, wrap: bool = False) -> Table:
    """Return an empty table: columns of words, wrapped or not, then columns of numbers."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in words:
        table.add_column(heading, no_wrap=not wrap)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
