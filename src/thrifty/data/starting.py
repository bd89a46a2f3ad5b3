"""A TOML file to start from, by what a table looks like."""

from __future__ import annotations

import polars as pl

from thrifty.data.cases import MOST_OUTCOMES
from thrifty.data.columns import FEW, code_column, is_identifier, strange_words, tidy
from thrifty.data.parsing import dates
from thrifty.data.policy_file import as_toml
from thrifty.data.reading import Table
from thrifty.data.settings import ColumnSettings
from thrifty.errors import InvalidTable, UnknownName

LIKELY_TARGETS = ("outcome", "target", "label", "class", "result", "status", "y")
MOST_WORDS = 20
PRICE = 0.01
"""What every price is to begin with."""


def starting_toml(
    table: Table,
    name: str,
    *,
    target: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
) -> tuple[str, list[str]]:
    """Return the text of the file, and what was noticed in words."""
    frame = table.frame
    if target is not None and target not in frame.columns:
        raise UnknownName(f"the table has no column {target!r}: choose another target.")
    target = target or _likely_target(frame)
    time = _likely_time(frame, target)
    offered, left = _offered(frame, {target, time})
    outcomes = _outcomes(frame, target)
    lines = [
        f"# What it costs to look, and what it pays to be right: for {as_toml(name)}.",
        "# Complete it, then run: thrifty worth CASES --prices THIS_FILE",
        "",
        f"target = {as_toml(target)}  # the column of outcomes"
        + ("" if target in LIKELY_TARGETS else ": is it this one?"),
        f"time = {as_toml(time)}  # cases are replayed in this order"
        if time
        else '# time = "date"  # the column to order cases by; without it they are shuffled',
        '# currency = "EUR"  # of prices and rewards',
        "# free = []  # columns that are always seen, at no price",
        '# missing = ["unknown"]  # more words that mean: no value',
        *([f"encoding = {as_toml(encoding)}"] if encoding else []),
        *([f"separator = {as_toml(separator)}"] if separator else []),
        "",
        "[prices]  # of a look at each column; made up here, so set them",
    ]
    lines += [f"{_key(column)} = {PRICE}  # {said}" for column, said in offered]
    lines += [f"# {_key(column)}: left out, {why}" for column, why in left]
    lines += [
        '# A price that varies stands in a column of its own: bureau = {column = "bureau_price"}',
        "",
        "# One price that reveals several columns (take them out of [prices]):",
        "# [bundles.report]",
        '# columns = ["score", "history"]',
        "# price = 0.05",
        "",
        "# Rewards by action and outcome; without them a right guess of the outcome pays 1.",
        "# [rewards]",
        *(f"# action{k + 1} = {_row(outcomes)}" for k in range(2)),
        "",
        "# What a column is, if it was not found out rightly:",
        f"# [columns.{_key(offered[0][0]) if offered else 'income'}]",
        '# kind = "number"  # number, category, boolean, date or text',
        '# bins = 5  # or edges = [1000, 2000]; levels = 8 for text; period = "month" for dates',
    ]
    lines += _explained(frame, offered)
    said = [f"{column}: {it}" for column, it in offered]
    said += [f"{column}: left out, {why}" for column, why in left]
    return "\n".join(lines) + "\n", [*table.said, f"{target}: the target", *said]


def _likely_target(frame: pl.DataFrame) -> str:
    """Return the column that is called like one, else the last with few values."""
    named = {column.lower(): column for column in reversed(frame.columns)}
    for name in LIKELY_TARGETS:
        if name in named:
            return named[name]
    for column in reversed(frame.columns):
        values = tidy(column, frame[column]).drop_nulls()
        if 2 <= values.n_unique() <= min(MOST_OUTCOMES, FEW):
            return column
    return frame.columns[-1]


def _likely_time(frame: pl.DataFrame, target: str) -> str | None:
    for column in frame.columns:
        values = tidy(column, frame[column])
        if column == target or values.null_count():
            continue
        if values.dtype == pl.Datetime:
            return column
        if values.dtype == pl.String and dates(values)[0].null_count() == 0:
            return column
    return None


def _offered(
    frame: pl.DataFrame, taken: set[str | None]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    offered, left = [], []
    for column in frame.columns:
        if column in taken:
            continue
        values = tidy(column, frame[column])
        if values.null_count() == len(values):
            left.append((column, "it has no values"))
        elif is_identifier(values):
            left.append((column, "an identifier"))
        else:
            settings = ColumnSettings(missing=tuple(strange_words(values)[:MOST_WORDS]))
            try:
                offered.append((column, code_column(column, values, settings)[1].said))
            except InvalidTable as error:
                left.append((column, str(error)))
    return offered, left


def _explained(frame: pl.DataFrame, offered: list[tuple[str, str]]) -> list[str]:
    """Return the settings of columns that mix numbers or dates with a few words."""
    lines = []
    for column, _ in offered:
        words = strange_words(tidy(column, frame[column]))
        if words:
            lines += [
                "",
                f"[columns.{_key(column)}]",
                f"missing = {as_toml(words[:MOST_WORDS])}  # taken for: no value",
            ]
    return lines


def _outcomes(frame: pl.DataFrame, target: str) -> list[str]:
    values = tidy(target, frame[target]).drop_nulls()
    if not 2 <= values.n_unique() <= MOST_OUTCOMES:
        return ["yes", "no"]
    settings = ColumnSettings(kind="category", levels=MOST_OUTCOMES)
    return list(code_column(target, values, settings)[1].levels)


def _row(outcomes: list[str]) -> str:
    return "{" + ", ".join(f"{_key(it)} = 0" for it in outcomes) + "}"


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else as_toml(name)
