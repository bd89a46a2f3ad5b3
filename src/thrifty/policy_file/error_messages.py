"""Turn a validation error into one line: where it is, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from thrifty.errors import ThriftyError
from thrifty.names import suggestion
from thrifty.policy_file import model

_SECTIONS: dict[tuple[str, ...], type[model.Section]] = {
    (): model.PolicyFile,
    ("policy",): model.PolicySection,
    ("table",): model.TableSection,
    ("log",): model.LogSection,
    ("features",): model.FeatureSection,
    ("features", "parts"): model.ColumnSection,
    ("groups",): model.GroupSection,
    ("bundles",): model.BundleSection,
    ("actions",): model.ActionsSection,
    ("rewards",): model.RewardsSection,
    ("outcomes",): model.OutcomesSection,
    ("reward_rule",): model.RewardRuleSection,
}
_SINGULAR = {"features": "feature", "parts": "part", "groups": "group", "bundles": "bundle"}
_HINTS: dict[tuple[str, ...], str] = {("rewards",): " Rewards by action go in [outcomes.rewards]."}
"""Sections in which keys of another section are often put."""
_REMEDIES = {
    "string_type": "give text in quotes",
    "string_too_short": "give text that is not empty",
    "float_type": "give a number",
    "int_type": "give a whole number",
    "bool_type": "give true or false, without quotes",
    "tuple_type": "give a list in brackets",
    "dict_type": "give a table",
    "model_type": "give a table",
    "model_attributes_type": "give a table",
}


def describe_error(error: ValidationError, content: Mapping[str, Any]) -> str:
    """Describe the first error in a line.

    Unknown keys come first: a misspelt key often causes the other errors.
    """
    found = min(error.errors(), key=lambda details: details["type"] != "extra_forbidden")
    kind, path = found["type"], found["loc"]
    cause = found.get("ctx", {}).get("error")
    if isinstance(cause, ThriftyError):
        return str(cause)
    if kind == "extra_forbidden":
        return _unknown_key(path, content)
    if kind == "missing":
        return f"{_where(path[:-1], content)} has no {path[-1]!r}: add it."
    if kind == "value_error" and not _is_value(path):
        return f"{_where(path, content)}: {cause}."
    where, key = _place(path, content)
    return f"{where}: {key} is {_shown(found['input'])}: {_remedy(found, cause)}."


def _remedy(found: Any, cause: Any) -> str:
    if found["type"] == "literal_error":
        expected = str(found["ctx"]["expected"])
        return f"use one of {expected.replace(' or ', ', ')}"
    if cause is not None:
        return str(cause)
    return _REMEDIES.get(found["type"], str(found["msg"]))


def _unknown_key(path: Sequence[str | int], content: Mapping[str, Any]) -> str:
    names = _keys(path[:-1])
    known = list(_SECTIONS[names].model_fields) if names in _SECTIONS else []
    key = str(path[-1])
    allowed = f": use {', '.join(known)}" if known else ""
    return (
        f"{_where(path[:-1], content)} has the unknown key {key!r}{suggestion(key, known)}"
        f"{allowed}.{_HINTS.get(names, '')}"
    )


def _is_value(path: Sequence[str | int]) -> bool:
    """Return True if the path ends at a key, not at a section."""
    return _keys(path) not in _SECTIONS


def _keys(path: Sequence[str | int]) -> tuple[str, ...]:
    """Return the path without the positions in lists."""
    return tuple(part for part in path if isinstance(part, str))


def _place(path: Sequence[str | int], content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the section and the key, such as `feature 'income'` and `price`."""
    names = [k for k, part in enumerate(path) if isinstance(part, str)]
    for k in reversed(names):
        if not _is_value(path[: k + 1]):
            continue
        if _keys(path[:k]) in _SECTIONS:
            key = ".".join(_keys(path[k:]))
            last = path[-1]
            entry = f"entry {last + 1} of {key}" if isinstance(last, int) else key
            return _where(path[:k], content), entry
    if len(path) > 1 and isinstance(path[-1], int):
        return "the file", f"entry {path[-1] + 1} of {path[-2]}"
    return _where(path[:-1], content), str(path[-1]) if path else "content"


def _where(path: Sequence[str | int], content: Any) -> str:
    """Return the name of a section, such as `feature 'income'` or `[rewards]`."""
    if not path:
        return "the file"
    if len(path) == 1 or isinstance(path[-1], str):
        return f"[{'.'.join(_keys(path))}]"
    words = []
    for k in range(0, len(path) - 1, 2):
        try:
            content = content[path[k]][path[k + 1]]
        except (KeyError, IndexError, TypeError):
            content = {}
        singular = _SINGULAR.get(str(path[k]), str(path[k]))
        name = content.get("name") if isinstance(content, Mapping) else None
        words.append(f"{singular} {name!r}" if name else f"{singular} {int(path[k + 1]) + 1}")
    return ", ".join(words)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
