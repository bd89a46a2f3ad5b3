"""A policy file to start from, by what a table looks like."""

from __future__ import annotations

import polars as pl
import tomlkit

from thrifty.errors import InvalidTable, UnknownName
from thrifty.policy_file import Comments, PolicyFile
from thrifty.policy_file.model import ColumnSection, FeatureSection, PolicySection, TableSection
from thrifty.tables.cases import MOST_OUTCOMES
from thrifty.tables.columns import FEW, code_column, is_identifier, strange_words, tidy
from thrifty.tables.descriptions import policy_name
from thrifty.tables.reader import Table
from thrifty.tables.values import dates

LIKELY_TARGETS = ("outcome", "target", "label", "class", "result", "status", "y")
MOST_WORDS = 20
PRICE = 0.01
"""What every price is to begin with."""
Named = list[tuple[str, str]]


def starting_file(
    table: Table,
    name: str,
    *,
    target: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
) -> tuple[PolicyFile, Comments, list[str]]:
    """Return a policy file to complete, comments that explain it, and what was noticed.

    Parameters
    ----------
    table : Table
        Past cases.
    name : str
        Name of the table's file.
    target : str, optional
        The column of outcomes; by default the likeliest one.
    encoding, separator : str, optional
        How the table was read.

    Returns
    -------
    tuple
        The file, its comments, and a list of sentences.
    """
    frame = table.frame
    if target is not None and target not in frame.columns:
        raise UnknownName(f"the table has no column {target!r}: choose another target.")
    target = target or _likely_target(frame)
    time = _likely_time(frame, target)
    offered, left = _offered(frame, {target, time})
    words = {
        column: strange_words(tidy(column, frame[column]))[:MOST_WORDS] for column, _ in offered
    }
    file = PolicyFile(
        policy=PolicySection(name=policy_name(name)),
        table=TableSection(target=target, time=time, encoding=encoding, separator=separator),
        features=tuple(
            FeatureSection(name=column, price=PRICE, absent=tuple(words[column]))
            for column, _ in offered
        ),
    )
    said = [f"{column}: {it}" for column, it in offered]
    said += [f"{column}: left out, {why}" for column, why in left]
    comments = _comments(file, name, offered, left, _outcomes(frame, target))
    return file, comments, [*table.said, f"{target}: the target", *said]


def _comments(
    file: PolicyFile, name: str, offered: Named, left: Named, outcomes: list[str]
) -> Comments:
    target = file.table.target
    sure = "" if target in LIKELY_TARGETS else ": is it this one?"
    beside = {
        "policy.policy": "the policy that decides live",
        "table.target": f"the column of outcomes{sure}",
        "table.time": "cases are replayed in this order",
    }
    for column, how in offered:
        beside[f"features.{column}"] = how
        beside[f"features.{column}.absent"] = "words that mean: no value"
    if offered:
        beside[f"features.{offered[0][0]}.price"] = "made up, as all prices here: set them"
    header = (
        f"Features, prices and rewards for {name}.",
        "Complete it, then run: thrifty worth CASES --policy THIS_FILE",
    )
    return Comments(header, beside, (*_left(left), *_more(file.table.time, outcomes)))


def _left(left: Named) -> list[str]:
    return [f"{column}: left out, {why}" for column, why in left] + ([""] if left else [])


def _more(time: str | None, outcomes: list[str]) -> list[str]:
    """Return examples of what else the file can say, to be uncommented."""
    row = ", ".join(f"{_key(it)} = 0" for it in outcomes)
    lines = ["What else can be said (docs/policy-file.md has all keys):", ""]
    if time is None:
        lines += ["[table]", 'time = "date"  # orders the cases; without it they are shuffled', ""]
    return [
        *lines,
        "[[features]]",
        'name = "income"',
        'price = {column = "income_price"}  # each case has its own price, in a column',
        "free = true  # instead of a price: comes with every case",
        'kind = "number"  # number, category, boolean, date or text, if it was not recognised',
        'bins = 5  # or edges = [1000, 2000]; max_levels = 8 for text; period = "month" for dates',
        "",
        "[[bundles]]  # sold together: leave out the prices of its features",
        'name = "report"',
        'features = ["score", "history"]',
        "price = 0.05",
        "",
        "[rewards]",
        'unit = "EUR"  # of prices and rewards',
        "",
        "[outcomes.rewards]  # by action and outcome; without them a right guess pays 1",
        *(f"action{k + 1} = {{{row}}}" for k in range(2)),
    ]


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


def _offered(frame: pl.DataFrame, taken: set[str | None]) -> tuple[Named, Named]:
    """Return the columns to offer and those to leave out, each with a reason."""
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
            words = tuple(strange_words(values)[:MOST_WORDS])
            section = ColumnSection(name=column, absent=words)
            try:
                offered.append((column, code_column(column, values, section)[1].said))
            except InvalidTable as error:
                left.append((column, str(error)))
    return offered, left


def _outcomes(frame: pl.DataFrame, target: str) -> list[str]:
    values = tidy(target, frame[target]).drop_nulls()
    if not 2 <= values.n_unique() <= MOST_OUTCOMES:
        return ["yes", "no"]
    section = ColumnSection(name=target, kind="category", max_levels=MOST_OUTCOMES)
    return list(code_column(target, values, section)[1].levels)


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else tomlkit.item(name).as_string()
