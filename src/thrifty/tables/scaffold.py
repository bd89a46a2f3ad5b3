"""Write a first policy file for a table, for `thrifty init`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import tomlkit

from thrifty.errors import InvalidTable, UnknownName
from thrifty.frames.coding import normalise
from thrifty.frames.reader import Table
from thrifty.frames.values import parse_dates
from thrifty.names import quote_names, suggestion
from thrifty.policy_file import Comments, PolicyFile
from thrifty.policy_file.model import ColumnSection, FeatureSection, PolicySection, TableSection
from thrifty.policy_file.writing import DEADLINE_COMMENT, WRITTEN_RULE
from thrifty.tables.cases import MAX_OUTCOMES, require_few_outcomes
from thrifty.tables.columns import (
    MAX_LEVELS,
    encode_column,
    is_identifier,
    unparsed_words,
)
from thrifty.tables.completion import policy_name

LIKELY_TARGETS = ("outcome", "target", "label", "class", "result", "status", "y")
MAX_WORDS = 20
PLACEHOLDER_PRICE = 0.01


@dataclass(frozen=True)
class Scaffold:
    """A first policy file: the file, comments that explain it, and notes about the columns."""

    file: PolicyFile
    comments: Comments
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    """A column that becomes a feature; `absent` are words that mean a missing value."""

    name: str
    description: str
    absent: tuple[str, ...]


def scaffold_policy_file(
    table: Table,
    name: str,
    *,
    target: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
) -> Scaffold:
    """Return a policy file for the user to complete.

    Parameters
    ----------
    table : Table
        Past cases.
    name : str
        Name of the table's file.
    target : str, optional
        The column of outcomes; guessed by default.
    encoding, separator : str, optional
        How the table was read.

    Returns
    -------
    Scaffold
        The file, its comments, and notes for the user.

    Raises
    ------
    UnknownName
        If the table has no column `target`.
    InvalidTable
        If the target has too many distinct values to be an outcome.
    """
    frame = table.frame
    if target is not None and target not in frame.columns:
        raise UnknownName(
            f"--target: the table has no column {target!r}{suggestion(target, frame.columns)}. Its "
            f"columns are {quote_names(frame.columns)}."
        )
    guessed = target is None
    target = target or _likely_target(frame)
    require_few_outcomes(target, normalise(target, frame[target]).drop_nulls())
    time = _likely_time(frame, target)
    columns, left_out = _usable_columns(frame, {target, time})
    file = PolicyFile(
        policy=PolicySection(name=policy_name(name)),
        table=TableSection(target=target, time=time, encoding=encoding, separator=separator),
        features=tuple(
            FeatureSection(name=column.name, price=PLACEHOLDER_PRICE, absent=column.absent)
            for column in columns
        ),
        reward_rule=WRITTEN_RULE,
    )
    excluded = [f"{column}: left out, {reason}" for column, reason in left_out.items()]
    notes = [*table.notes, f"{target}: the target" + (" (a guess)" if guessed else "")]
    if time is not None:
        notes.append(f"{time}: the time, which orders the cases")
    notes += [f"{column.name}: {column.description}" for column in columns]
    comments = _comments(file, name, columns, excluded, _outcomes(frame, target))
    return Scaffold(file, comments, (*notes, *excluded))


def _comments(
    file: PolicyFile, name: str, columns: list[_Column], excluded: list[str], outcomes: list[str]
) -> Comments:
    target = str(file.table.target)
    is_guess = target.lower() not in LIKELY_TARGETS
    inline = {
        "policy.policy": "the policy that decides live",
        "table.target": "the column of outcomes" + (" (a guess, check it)" if is_guess else ""),
        "table.time": "cases are replayed in this order",
        **DEADLINE_COMMENT,
    }
    for column in columns:
        inline[f"features.{column.name}"] = column.description
        inline[f"features.{column.name}.absent"] = "text that means a missing value"
    if columns:
        inline[f"features.{columns[0].name}.price"] = "placeholder, like all prices here: set it"
    header = (
        f"Features, prices and rewards for {name}.",
        "Set the prices and the rewards, then run: thrifty worth CASES --policy THIS_FILE",
        "",
        *_reward_example(outcomes),
    )
    examples = _examples(file.table.time)
    return Comments(header, inline, (*excluded, *([""] if excluded else []), *examples))


def _reward_example(outcomes: list[str]) -> list[str]:
    """Return rewards, to be uncommented and completed."""
    row = ", ".join(f"{_key(outcome)} = 0" for outcome in outcomes)
    return [
        "Rewards: the money that each action earns for each outcome. Without them an action is a",
        "prediction, and a correct one earns 1. Uncomment the lines, and put in your own names of",
        "actions, amounts and currency:",
        "",
        "[rewards]",
        'unit = "EUR"  # currency of prices and rewards',
        "[outcomes.rewards]",
        f"action1 = {{{row}}}  # such as approve = {{repaid = 120, default = -900}}",
        "action2 = 0  # one number if the outcome does not matter, such as decline = 0",
    ]


def _examples(time: str | None) -> list[str]:
    """Return optional settings, to be uncommented."""
    lines = ["Optional settings (docs/policy-file.md lists all keys):", ""]
    if time is None:
        lines += ["[table]", 'time = "date"  # orders the cases; without it they are shuffled', ""]
    return [
        *lines,
        "[[features]]",
        'name = "income"',
        'price = {column = "income_price"}  # the price differs by case and is in a column',
        "free = true  # instead of a price: known in every case",
        'kind = "number"  # number, category, boolean, date or text, if detected wrongly',
        'bins = 5  # or edges = [1000, 2000]; max_levels = 8 for text; period = "month" for dates',
        "",
        "[[bundles]]  # features sold together; remove their own prices",
        'name = "report"',
        'features = ["score", "history"]',
        "price = 0.05",
        "",
        "[[groups]]  # features that share a setup fee, paid once on top of their own prices",
        'name = "blood sample"',
        'features = ["TSH", "T3"]',
        "setup = 2.10",
    ]


def _likely_target(frame: pl.DataFrame) -> str:
    """Return the column with a typical name, else the last one with few values."""
    # Reversed, so that the first one wins of columns that differ only in upper and lower case.
    by_name = {column.lower(): column for column in reversed(frame.columns)}
    for name in LIKELY_TARGETS:
        if name in by_name:
            return by_name[name]
    for column in reversed(frame.columns):
        values = normalise(column, frame[column]).drop_nulls()
        if 2 <= values.n_unique() <= min(MAX_OUTCOMES, MAX_LEVELS):
            return column
    return frame.columns[-1]


def _likely_time(frame: pl.DataFrame, target: str) -> str | None:
    """Return the first column of dates without gaps."""
    for column in frame.columns:
        values = normalise(column, frame[column])
        if column == target or values.null_count():
            continue
        if values.dtype == pl.Datetime:
            return column
        if values.dtype == pl.String and parse_dates(values)[0].null_count() == 0:
            return column
    return None


def _usable_columns(
    frame: pl.DataFrame, reserved: set[str | None]
) -> tuple[list[_Column], dict[str, str]]:
    """Return the columns that can be features, and a reason for each of the others."""
    usable, left_out = [], {}
    for name in frame.columns:
        if name in reserved:
            continue
        values = normalise(name, frame[name])
        if values.null_count() == len(values):
            left_out[name] = "empty"
        elif is_identifier(values):
            left_out[name] = "an identifier"
        else:
            # A few words among numbers usually mean a missing value, such as "n.a." or "unknown".
            absent = tuple(unparsed_words(values)[:MAX_WORDS])
            section = ColumnSection(name=name, absent=absent)
            try:
                description = encode_column(name, values, section)[1].description
            except InvalidTable as error:
                left_out[name] = str(error)
            else:
                usable.append(_Column(name, description, absent))
    return usable, left_out


def _outcomes(frame: pl.DataFrame, target: str) -> list[str]:
    values = normalise(target, frame[target]).drop_nulls()
    if values.n_unique() < 2:
        return ["yes", "no"]
    section = ColumnSection(name=target, kind="category", max_levels=MAX_OUTCOMES)
    return list(encode_column(target, values, section)[1].levels)


def _key(name: str) -> str:
    is_bare_key = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare_key else tomlkit.item(name).as_string()
