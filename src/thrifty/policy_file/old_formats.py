"""Files of release 0.1: the old policy.toml, price lists, and rewards in a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.policy_file.problems import suggestion

_NEW = ("policy", "table")
_REWARDS = {"unit", "low", "high", "outcomes", "table"}
_TABLE = ("target", "time", "missing", "leave_out", "encoding", "separator")
_LISTS = ("actions", "free")
_TABLES = ("prices", "bundles", "columns", "rewards")
_KNOWN = (*_TABLE, "currency", *_LISTS, *_TABLES)
_OLD = {*_TABLE, "currency", "free", "prices", "columns"}
_COLUMN_KEYS = {"levels": "max_levels", "missing": "absent"}

PRICE_LIST = (
    "this is a price list of release 0.1, which is still read: policy.toml has prices in "
    "[[features]], the target in [table] and rewards in [outcomes.rewards]."
)
POLICY = (
    "[rewards] outcomes and table are from release 0.1 and still read: they are now [outcomes], "
    "and an outcome can be reported instead of a reward."
)


def as_new(content: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the content in the present format, and a notice if it was in an old one."""
    if _is_price_list(content):
        return from_price_list(content), (PRICE_LIST,)
    rewards = content.get("rewards")
    if isinstance(rewards, dict) and not rewards.keys().isdisjoint({"outcomes", "table"}):
        return _from_old_policy(content, rewards), (POLICY,)
    return dict(content), ()


def rewards_as_new(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file of rewards in the present format.

    It has rewards by action under `[outcomes.rewards]`; in release 0.1 under `[rewards]`, or at
    the top of the file.
    """
    if isinstance(content.get("outcomes"), dict):
        return as_new(content)[0]
    if "rewards" in content:
        return from_price_list(content)
    return from_price_list({"rewards": dict(content)})


def from_price_list(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a price list of release 0.1 in the present format.

    A number or a table under a name that is not a setting is a price, so a file of nothing but
    prices is a price list.

    >>> from_price_list({"target": "outcome", "income": 0.4})["features"]
    [{'name': 'income', 'price': 0.4}]
    """
    bare = {key: value for key, value in content.items() if key not in _KNOWN}
    for key, value in bare.items():
        if not isinstance(value, int | float | dict) or isinstance(value, bool):
            raise InvalidSpec(
                f"{key!r} is {value!r}, neither a setting nor a price{suggestion(key, _KNOWN)}: "
                f"the settings are {', '.join(_KNOWN)}; a price is a number."
            )
    tables = {key: _table(content.get(key, {}), key) for key in _TABLES}
    offers = {**bare, **tables["prices"]}
    bundles = {
        name: it for name, it in offers.items() if isinstance(it, dict) and "columns" in it
    } | tables["bundles"]
    prices = {name: _price(it) for name, it in offers.items() if name not in bundles}
    new: dict[str, Any] = {
        "table": {key: content[key] for key in _TABLE if key in content},
        "bundles": [_bundle(name, it) for name, it in bundles.items()],
    }
    new["features"] = _features(content, prices, new["bundles"], tables["columns"])
    return new | _rewards(content, tables["rewards"])


def _is_price_list(content: Mapping[str, Any]) -> bool:
    """Whether the file is a price list of release 0.1 and not a policy.toml of any release."""
    if isinstance(content.get("features"), list):
        return False
    if any(isinstance(it := content.get(key), dict) and not _is_offer(it) for key in _NEW):
        return False
    rewards = content.get("rewards")
    return (
        not content.keys().isdisjoint(_OLD)
        or isinstance(content.get("actions"), list)
        or isinstance(content.get("bundles"), dict)
        or (isinstance(rewards, dict) and not rewards.keys() <= _REWARDS)
        or any(_is_offer(it) for it in content.values())
    )


def _is_offer(value: Any) -> bool:
    if isinstance(value, dict):
        return "column" in value or "columns" in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _features(
    content: Mapping[str, Any],
    prices: Mapping[str, Any],
    bundles: list[dict[str, Any]],
    columns: Mapping[str, Any],
) -> list[dict[str, Any]]:
    features: dict[str, dict[str, Any]] = {}
    for name in _names(content.get("free", []), "free"):
        features[name] = {"name": name, "free": True}
    for name, price in prices.items():
        features.setdefault(name, {"name": name})["price"] = price
    for bundle in bundles:
        for name in bundle.get("features", ()):
            features.setdefault(name, {"name": name})
    for name, said in columns.items():
        keys = _table(said, f"columns.{name}")
        coding = {_COLUMN_KEYS.get(key, key): value for key, value in keys.items()}
        if "edges" in coding:
            coding.pop("bins", None)
        features.setdefault(name, {"name": name}).update(coding)
    return list(features.values())


def _rewards(content: Mapping[str, Any], rewards: dict[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {}
    if "currency" in content:
        new["rewards"] = {"unit": content["currency"]}
    if rewards:
        new["outcomes"] = {"rewards": rewards}
        if "actions" in content:
            names = list(_names(content["actions"], "actions"))
            # The order of actions was that of their rewards.
            same = sorted(names) == sorted(rewards)
            new["actions"] = {"names": list(rewards) if same else names}
    return new


def _price(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


def _bundle(name: str, value: Any) -> dict[str, Any]:
    keys = _table(value, f"bundles.{name}")
    for key in ("columns", "price"):
        if key not in keys:
            raise InvalidSpec(
                f"bundle {name!r} needs `columns`, the list of what it reveals, and `price`."
            )
    new: dict[str, Any] = {"name": name}
    for key, given in keys.items():
        if key == "columns":
            new["features"] = list(_names(given, f"bundles.{name}.columns"))
        else:
            new[key] = _price(given) if key == "price" else given
    return new


def _from_old_policy(content: Mapping[str, Any], rewards: Mapping[str, Any]) -> dict[str, Any]:
    names, table = rewards.get("outcomes"), rewards.get("table")
    section = content.get("actions")
    actions = section.get("names") if isinstance(section, dict) else None
    fits = (
        isinstance(actions, list)
        and isinstance(names, list)
        and isinstance(table, list)
        and len(table) == len(actions)
        and all(isinstance(row, list) and len(row) == len(names) for row in table)
    )
    if not fits:
        raise InvalidSpec(
            "[rewards] table needs a row for each action with a number for each of the outcomes: "
            "give [outcomes] names and rewards instead, as in approve = {repaid = 120}."
        )
    assert isinstance(table, list)
    assert isinstance(names, list)
    rows = {
        str(action): {str(name): money for name, money in zip(names, row, strict=True)}
        for action, row in zip(actions or (), table, strict=True)
    }
    kept = {key: value for key, value in rewards.items() if key not in ("outcomes", "table")}
    return {**content, "rewards": kept, "outcomes": {"names": names, "rewards": rows}}


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSpec(f"{key} is {value!r}: it must be a table, [{key}].")
    return value


def _names(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(it, str) and it for it in value):
        raise InvalidSpec(f"{key} is {value!r}: give a list of texts in quotes.")
    return tuple(value)
