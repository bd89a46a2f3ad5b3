"""Write policy.toml, with comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tomlkit
from tomlkit.items import AoT, Item, Table

from thrifty.policy_file.model import (
    FeatureSection,
    OutcomesSection,
    PolicyFile,
    PolicySection,
    PriceColumn,
    RewardRuleSection,
    Section,
)
from thrifty.specification import WEEK

_ALWAYS_WRITTEN = {(PolicySection, "policy"), (PolicySection, "seed")}
"""Keys that are written even if they have their default value."""
WRITTEN_RULE = RewardRuleSection(deadline=f"{WEEK / 86400:g}d")
"""The default rule with its deadline as text, which is written because the default is a number."""
DEADLINE_COMMENT = {
    "reward_rule.deadline": "the service learns nothing from later rewards; a loan may need months"
}
_MAX_LINE = 100
"""Longer lists are wrapped."""
_INDENT = "    "


@dataclass(frozen=True)
class Comments:
    """Comments for a written policy.toml.

    Parameters
    ----------
    header : tuple of str
        Lines at the top of the file.
    inline : mapping
        Comments by the path of a key or section, such as `table.target` or `features.income.price`.
    end : tuple of str
        Lines at the end of the file.
    """

    header: tuple[str, ...] = ()
    inline: Mapping[str, str] = field(default_factory=dict)
    end: tuple[str, ...] = ()


def to_toml(file: PolicyFile, comments: Comments | None = None) -> str:
    """Return a policy file as TOML.

    Parameters
    ----------
    file : PolicyFile
        The file. Keys with their default value are left out.
    comments : Comments, optional
        Comments to include.

    Returns
    -------
    str
        The text; `parse_policy_file(tomllib.loads(text))` gives the same file.

    Examples
    --------
    >>> from thrifty.policy_file import from_prices
    >>> print(to_toml(from_prices({"income": 0.4}, target="outcome")), end="")
    [table]
    target = "outcome"
    <BLANKLINE>
    [[features]]
    name = "income"
    price = 0.4
    """
    comments = comments or Comments()
    document = tomlkit.document()
    for line in comments.header:
        document.add(tomlkit.comment(_safe(line)))
    for key, value in _given(file).items():
        document.append(tomlkit.key(key), _top_level(key, value, comments.inline))
    text = tomlkit.dumps(document)
    end = "".join(f"# {_safe(line)}".rstrip() + "\n" for line in comments.end)
    return f"{text}\n{end}" if end else text


def _given(section: Section) -> dict[str, Any]:
    """Return the keys of a section without defaults, in the order of its fields."""
    given = {}
    for key, info in type(section).model_fields.items():
        value = getattr(section, key)
        default = info.get_default(call_default_factory=True)
        if info.is_required() or value != default or (type(section), key) in _ALWAYS_WRITTEN:
            given[key] = value
    if isinstance(section, FeatureSection):  # price right after the name, for readers
        given = {k: given[k] for k in ("name", "price", "free") if k in given} | given
    if isinstance(section, PolicySection):
        given |= section.parameters
    return given


def _top_level(key: str, value: Any, inline: Mapping[str, str]) -> Item:
    if isinstance(value, tuple):
        tables = tomlkit.aot()
        for section in value:
            tables.append(_table(section, f"{key}.{section.name}", inline))
        return tables
    return _table(value, key, inline)


def _table(section: Section, path: str, inline: Mapping[str, str]) -> Table:
    table = tomlkit.table()
    if path in inline:
        table.comment(_safe(inline[path]))
    for key, value in _given(section).items():
        table.append(tomlkit.key(key), _item(section, key, value))
        where = f"{path}.{key}"
        if where in inline:
            table[key].comment(_safe(inline[where]))
    return table


def _item(section: Section, key: str, value: Any) -> Item:
    if key == "parts":
        parts: AoT = tomlkit.aot()
        for part in value:
            parts.append(_table(part, "", {}))
        return parts
    if isinstance(section, OutcomesSection) and key == "rewards":
        rows = tomlkit.table()
        for action, row in value.items():
            # As a list, because a plain string with a dot would become nested keys.
            rows.append(tomlkit.key([action]), _value(row))
        return rows
    return _value(value)


def _value(value: Any) -> Item:
    if isinstance(value, PriceColumn):
        value = {"column": value.column}
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline.append(tomlkit.key([key]), _value(inner))
        return inline
    if isinstance(value, list | tuple):
        return _array([_value(element) for element in value])
    item: Item = tomlkit.item(value)
    return item


def _array(items: list[Item]) -> Item:
    array = tomlkit.array()
    if len(", ".join(item.as_string() for item in items)) <= _MAX_LINE - 2:
        array.extend(items)
        return array
    line: list[Item] = []
    width = 0
    for item in items:
        width += len(item.as_string()) + 2
        if line and width > _MAX_LINE - len(_INDENT):
            array.add_line(*line, indent=_INDENT)
            line, width = [], len(item.as_string()) + 2
        line.append(item)
    array.add_line(*line, indent=_INDENT)
    array.add_line(indent="")
    return array


def _safe(line: str) -> str:
    """Return a comment without line breaks, which would end it."""
    return "".join(letter if letter.isprintable() else " " for letter in line)
