"""The TOML file beside a table: what it costs to look, and what it pays to be right."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.parameters import as_float, is_whole

KINDS = ("number", "category", "boolean", "date", "text")
PERIODS = ("year", "quarter", "month", "week", "day")

Price = float | str
"""A number, or the name of the column that holds each case's price."""


@dataclass(frozen=True)
class ColumnSettings:
    """What its owner says of a column; None where it is to be found out."""

    kind: str | None = None
    bins: int | None = None
    edges: tuple[float, ...] | None = None
    levels: int | None = None
    period: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bundle:
    """Several columns that one price reveals."""

    name: str
    columns: tuple[str, ...]
    price: Price


@dataclass(frozen=True)
class Settings:
    """Everything that the TOML file can say."""

    target: str | None = None
    time: str | None = None
    currency: str = ""
    actions: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    encoding: str | None = None
    separator: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    bundles: tuple[Bundle, ...] = ()
    columns: Mapping[str, ColumnSettings] = field(default_factory=dict)
    rewards: Mapping[str, Any] | None = None


_WORDS = ("target", "time", "currency", "encoding", "separator")
_LISTS = ("actions", "missing", "free", "leave_out")
_TABLES = ("prices", "bundles", "columns", "rewards")
_KNOWN = (*_WORDS, *_LISTS, *_TABLES)


def read_settings(prices: Path | None, rewards: Path | None = None) -> Settings:
    """Read the file of prices and, if there is one, that of rewards."""
    settings = Settings() if prices is None else parse_settings(_toml(prices), str(prices))
    if rewards is not None:
        content = _toml(rewards)
        table = content.get("rewards", content)
        given = parse_settings({"rewards": table}, str(rewards))
        settings = replace(settings, rewards=given.rewards)
        if "rewards" in content:
            more = parse_settings(content, str(rewards))
            settings = replace(
                settings,
                currency=more.currency or settings.currency,
                actions=more.actions or settings.actions,
            )
    return settings


def parse_settings(content: Mapping[str, Any], where: str) -> Settings:
    """Check what a file says, and return it.

    A number or a table under a name that is no setting is a price, so that a bare price list is a
    file of prices, too.

    >>> parse_settings({"income": 0.4, "currency": "EUR"}, "prices.toml").prices
    {'income': 0.4}
    """
    bare = {key: content[key] for key in content if key not in _KNOWN}
    for key, value in bare.items():
        if not isinstance(value, int | float | dict) or isinstance(value, bool):
            raise InvalidSpec(
                f"{where}: {key!r} is {value!r}, neither a setting nor a price"
                f"{_suggestion(key, _KNOWN)}: what can be set is {', '.join(_KNOWN)}; a "
                "price is a number."
            )
    tables = {key: _table(content.get(key, {}), key, where) for key in _TABLES}
    offers = {**bare, **tables["prices"]}
    bundles = {
        name: it for name, it in offers.items() if isinstance(it, dict) and "columns" in it
    } | tables["bundles"]
    prices = {name: _price(name, it, where) for name, it in offers.items() if name not in bundles}
    given: dict[str, Any] = {
        key: _word(content[key], key, where) for key in _WORDS if key in content
    }
    given |= {key: _words(content[key], key, where) for key in _LISTS if key in content}
    settings = Settings(
        **given,
        prices=prices,
        bundles=tuple(_bundle(name, it, where) for name, it in bundles.items()),
        columns={name: _column(name, it, where) for name, it in tables["columns"].items()},
        rewards=tables["rewards"] or None,
    )
    _require_each_once(settings, where)
    return settings


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError) as error:
        raise InvalidSpec(f"{path} cannot be read ({error}): check the path.") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidSpec(
            f"{path} is not TOML ({error}): `thrifty init cases.csv` writes a file to start from."
        ) from error


def _price(name: str, value: Any, where: str) -> Price:
    if isinstance(value, dict) and list(value) == ["column"]:
        value = value["column"]
    if isinstance(value, str):
        return value
    number = as_float(value)
    if not math.isfinite(number):
        raise InvalidSpec(
            f"{where}: the price of {name!r} is {value!r}: give a number of at least 0, or the "
            f'column that holds each case\'s price, as in {{column = "{name}_price"}}.'
        )
    if number < 0:
        raise InvalidSpec(
            f"{where}: the price of {name!r} is {value}: nobody is paid to look, so give a number "
            "of at least 0; what is free belongs in `free`."
        )
    return number


def _bundle(name: str, value: Any, where: str) -> Bundle:
    value = _table(value, f"bundles.{name}", where)
    _require_keys(value, ("columns", "price"), f"bundle {name!r}", where)
    if "price" not in value or "columns" not in value:
        raise InvalidSpec(
            f"{where}: bundle {name!r} needs `columns`, the list of what it reveals, and `price`."
        )
    columns = _words(value["columns"], f"bundles.{name}.columns", where)
    if len(columns) < 2:
        raise InvalidSpec(
            f"{where}: bundle {name!r} reveals {list(columns)}: a bundle has two columns or more; "
            "give a single one its price under [prices]."
        )
    return Bundle(name, columns, _price(name, value["price"], where))


def _column(name: str, value: Any, where: str) -> ColumnSettings:
    value = _table(value, f"columns.{name}", where)
    _require_keys(value, tuple(ColumnSettings.__dataclass_fields__), f"column {name!r}", where)
    for key, allowed in (("kind", KINDS), ("period", PERIODS)):
        if key in value and value[key] not in allowed:
            raise InvalidSpec(
                f"{where}: column {name!r} has {key} {value[key]!r}: use one of "
                f"{', '.join(allowed)}."
            )
    for key in ("bins", "levels"):
        if key in value and not (is_whole(value[key]) and 2 <= value[key] <= 100):
            raise InvalidSpec(
                f"{where}: column {name!r} has {key} = {value[key]!r}: give a whole number from 2 "
                "to 100."
            )
    known = dict(value)
    if "edges" in value:
        known["edges"] = _edges(name, value["edges"], where)
    if "missing" in value:
        known["missing"] = _words(value["missing"], f"columns.{name}.missing", where)
    return ColumnSettings(**known)


def _edges(name: str, value: Any, where: str) -> tuple[float, ...]:
    edges = tuple(as_float(it) for it in value) if isinstance(value, list) else ()
    increasing = all(a < b for a, b in pairwise(edges))
    if not edges or not increasing or not all(map(math.isfinite, edges)):
        raise InvalidSpec(
            f"{where}: column {name!r} has edges {value!r}: give increasing numbers, each the end "
            "of a bin."
        )
    return edges


def _table(value: Any, key: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSpec(f"{where}: {key} is {value!r}: it must be a table, [{key}].")
    return value


def _word(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f"{where}: {key} is {value!r}: give a text in quotes.")
    return value


def _words(value: Any, key: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
        raise InvalidSpec(f"{where}: {key} is {value!r}: give a list of texts in quotes.")
    return tuple(value)


def _require_keys(value: Iterable[str], known: tuple[str, ...], what: str, where: str) -> None:
    for key in value:
        if key not in known:
            raise InvalidSpec(
                f"{where}: {what} has {key!r}{_suggestion(key, known)}: what can be said is "
                f"{', '.join(known)}."
            )


def _require_each_once(settings: Settings, where: str) -> None:
    """Refuse a column that is to be bought in two ways, for then its price has two meanings."""
    places: dict[str, str] = {}
    claims = [(name, "has a price of its own") for name in settings.prices]
    claims += [(name, "is free") for name in settings.free]
    claims += [(it, f"is in bundle {b.name!r}") for b in settings.bundles for it in b.columns]
    claims += [(name, "is left out") for name in settings.leave_out]
    for name, place in claims:
        if name in places:
            raise InvalidSpec(
                f"{where}: column {name!r} {places[name]} and {place}: keep one of the two."
            )
        places[name] = place
    for bundle in settings.bundles:
        if bundle.name in settings.prices or bundle.name in settings.free:
            raise InvalidSpec(
                f"{where}: {bundle.name!r} is a bundle and a column with a price: rename the "
                "bundle, for both appear in one list of things to buy."
            )


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
