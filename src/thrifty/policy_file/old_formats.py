"""Upgrade files of release 0.1: policy.toml, price lists, and separate files of rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.names import suggestion

_NEW = ("policy", "table")
_REWARDS = {"unit", "low", "high", "outcomes", "table"}
_TABLE = ("target", "time", "missing", "leave_out", "encoding", "separator")
_LISTS = ("actions", "free")
_TABLES = ("prices", "bundles", "columns", "rewards")
_KNOWN = (*_TABLE, "currency", *_LISTS, *_TABLES)
_OLD = {*_TABLE, "currency", "free", "prices", "columns"}
_COLUMN_KEYS = {"levels": "max_levels", "missing": "absent"}

PRICE_LIST = (
    "this is a price list of release 0.1, which is still supported: policy.toml now has prices in "
    "[[features]], the target in [table] and rewards in [outcomes.rewards]."
)
POLICY = (
    "[rewards] outcomes and table are from release 0.1, which is still supported: they are now "
    "[outcomes], and an outcome can be reported instead of a reward."
)


def upgrade(content: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the content in the current format, and a notice if it was in an old one."""
    if _is_price_list(content):
        return upgrade_price_list(content), (PRICE_LIST,)
    rewards = content.get("rewards")
    if isinstance(rewards, dict) and not rewards.keys().isdisjoint({"outcomes", "table"}):
        return _from_old_policy(content, rewards), (POLICY,)
    return dict(content), ()


def upgrade_rewards(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file of rewards in the current format.

    Rewards are under `[outcomes.rewards]`; in release 0.1 they were under `[rewards]` or at the
    top of the file.
    """
    if isinstance(content.get("outcomes"), dict):
        return upgrade(content)[0]
    if "rewards" in content:
        return upgrade_price_list(content)
    return upgrade_price_list({"rewards": dict(content)})


def upgrade_price_list(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a price list of release 0.1 in the current format.

    A number or a table under a name that is not a setting is a price, so a file that contains
    only prices is a price list too.

    >>> upgrade_price_list({"target": "outcome", "income": 0.4})["features"]
    [{'name': 'income', 'price': 0.4}]
    """
    bare = {key: value for key, value in content.items() if key not in _KNOWN}
    for key, value in bare.items():
        if not isinstance(value, int | float | dict) or isinstance(value, bool):
            raise InvalidSpec(
                f"{key!r} is {value!r}, which is neither a setting nor a price"
                f"{suggestion(key, _KNOWN)}: settings are {', '.join(_KNOWN)}; a price is a number."
            )
    tables = {key: _table(content.get(key, {}), key) for key in _TABLES}
    offers = {**bare, **tables["prices"]}
    bundles = {
        name: offer
        for name, offer in offers.items()
        if isinstance(offer, dict) and "columns" in offer
    } | tables["bundles"]
    prices = {name: _price(offer) for name, offer in offers.items() if name not in bundles}
    new: dict[str, Any] = {
        "table": {key: content[key] for key in _TABLE if key in content},
        "bundles": [_bundle(name, bundle) for name, bundle in bundles.items()],
    }
    new["features"] = _features(content, prices, new["bundles"], tables["columns"])
    return new | _rewards(content, tables["rewards"])


def _is_price_list(content: Mapping[str, Any]) -> bool:
    """Return True for a price list of release 0.1, False for a policy.toml of any release."""
    # Both formats are TOML with free names, so each distinguishing mark is checked in turn.
    if isinstance(content.get("features"), list):
        return False
    if any(isinstance(value := content.get(key), dict) and not _is_offer(value) for key in _NEW):
        return False
    rewards = content.get("rewards")
    return (
        not content.keys().isdisjoint(_OLD)
        or isinstance(content.get("actions"), list)
        or isinstance(content.get("bundles"), dict)
        or (isinstance(rewards, dict) and not rewards.keys() <= _REWARDS)
        or any(map(_is_offer, content.values()))
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
    for name, settings in columns.items():
        keys = _table(settings, f"columns.{name}")
        coding = {_COLUMN_KEYS.get(key, key): value for key, value in keys.items()}
        # Release 0.1 allowed both and ignored bins.
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
            # Release 0.1 took the order of actions from their rewards.
            same_names = sorted(names) == sorted(rewards)
            new["actions"] = {"names": list(rewards) if same_names else names}
    return new


def _price(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


def _bundle(name: str, value: Any) -> dict[str, Any]:
    keys = _table(value, f"bundles.{name}")
    for key in ("columns", "price"):
        if key not in keys:
            raise InvalidSpec(
                f"bundle {name!r} has no `{key}`: give both `columns`, the columns it reveals, and "
                "`price`."
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
            "[rewards] table needs a row per action with a number per outcome: correct it, or use "
            "[outcomes] names and rewards instead, for example approve = {repaid = 120}."
        )
    assert isinstance(table, list)
    assert isinstance(names, list)
    rows = {
        str(action): {str(name): money for name, money in zip(names, row, strict=True)}
        for action, row in zip(actions or (), table, strict=True)
    }
    kept = {key: value for key, value in rewards.items() if key not in ("outcomes", "table")}
    new = {**content, "rewards": kept, "outcomes": {"names": names, "rewards": rows}}
    if isinstance(content.get("policy"), dict):
        # The default of release 0.1, so that its stores accept the file.
        new["policy"] = {"policy": "scout", **content["policy"]}
    return new


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSpec(f"{key} is {value!r}: write it as a table, [{key}].")
    return value


def _names(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise InvalidSpec(f"{key} is {value!r}: give a list of names in quotes.")
    return tuple(value)
