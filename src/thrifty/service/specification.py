"""policy.toml: what a policy decides about, in the user's own names and money."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidSpec, ThriftyError
from thrifty.features import MISSING, interval_names, unused_name
from thrifty.parameters import Constraint, Real, Whole
from thrifty.policies import policy_named
from thrifty.prices import Bundle, Group
from thrifty.problem import Feature, Outcomes, PriceList, Problem, RewardRange
from thrifty.simulation import require_parameters
from thrifty.specification import DEFAULT_TENANT, WEEK, PolicySpec, RewardRule

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
RULES = ("first", "last", "sum")
MOST_FEATURES, MOST_LEVELS, MOST_ACTIONS = 256, 1024, 1024
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_AGENT_LIMIT = 256 * 2**20


def read_spec(path: Path) -> PolicySpec:
    """Read policy.toml, and the saved agent that it names."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSpec(f"{path} cannot be read ({error}): give a policy.toml.") from error
    try:
        return _spec(content, path.parent)
    except ThriftyError as error:
        raise InvalidSpec(f"{path}: {error}") from error


def parse_spec(content: Mapping[str, Any]) -> PolicySpec:
    """Return the specification of a policy.toml that was read already and names no agent."""
    return _spec(content, None)


def _spec(content: Mapping[str, Any], folder: Path | None) -> PolicySpec:
    top = _Table(content, "the file")
    own = _Table(top.take("policy", dict), "[policy]")
    name, tenant = own.name("name"), own.name("tenant", DEFAULT_TENANT)
    policy = own.take("policy", str, "scout")
    seed = own.number("seed", Whole(), 0)
    agent = own.take("agent", str, "")
    parameters = own.rest()
    if policy == "oracle":
        raise InvalidSpec("the oracle knows the truth and cannot serve: choose another policy.")
    require_parameters(policy_named(policy), parameters)
    read = [_feature(it) for it in top.take("features", list)]
    if not 1 <= len(read) <= MOST_FEATURES:
        raise InvalidSpec(f"there are {len(read)} features: give 1 to {MOST_FEATURES}.")
    listed = {it.name: price for it, price, _, _ in read if price is not None}
    groups = [Group(**it) for it in top.take("groups", list, [])]
    bundles = [Bundle(**it) for it in top.take("bundles", list, [])]
    actions = _actions(top.take("actions", dict))
    declared = top.take("outcomes", dict, {})
    outcomes = Outcomes(**declared) if declared else None
    problem = Problem(
        features=tuple(it for it, _, _, _ in read),
        actions=actions,
        outcomes=outcomes,
        prices=PriceList(listed, groups, bundles) if listed or groups or bundles else None,
        rewards=_scale(top.take("rewards", dict, {}), outcomes),
    )
    rule = _rule(top.take("reward_rule", dict, {}), problem.rewards)
    top.require_nothing_left()
    return PolicySpec(
        name=name,
        tenant=tenant,
        policy=policy,
        parameters=parameters,
        seed=seed,
        problem=problem,
        free=tuple(it.name for it, _, free, _ in read if free),
        rule=rule,
        columns={it.name: columns for it, _, _, columns in read if columns},
        agent=_agent(agent, folder),
    )


def _agent(name: str, folder: Path | None) -> bytes | None:
    if not name:
        return None
    if folder is None:
        raise InvalidSpec(f"agent = {name!r} is relative to a file, and there is none.")
    path = folder / name
    try:
        if path.stat().st_size > _AGENT_LIMIT:
            raise InvalidSpec(f"agent {path} is larger than {_AGENT_LIMIT} bytes: it is no agent.")
        return path.read_bytes()
    except OSError as error:
        raise InvalidSpec(
            f"agent {path} cannot be read ({error}): give the path that Agent.save wrote to, "
            "relative to this file."
        ) from error


def _feature(content: Any) -> tuple[Feature, float | None, bool, tuple[str, ...]]:
    table = _Table(content, "a [[features]] entry")
    name = table.text("name")
    table.what = f"feature {name!r}"
    edges = _edges(table)
    default = interval_names(edges) if edges else None
    levels = table.texts("levels", MOST_LEVELS, default)
    price = table.number("price", Real(0), None)
    free = table.take("free", bool, False)
    columns = table.texts("columns", MOST_FEATURES, ())
    missing, other = table.any("missing"), table.any("other")
    if missing is True:
        missing = unused_name(MISSING, levels)
    if missing and missing not in levels:
        levels = (*levels, missing)
    table.require_nothing_left()
    return Feature(name, levels, tuple(edges), missing or None, other), price, free, columns


def _edges(table: _Table) -> list[Any]:
    """Take the ends of a number's bins, and what `thrifty worth` says of how a column was coded.

    Dates, bundles and missing values come to the service as the names of their levels.
    """
    edges: list[Any] = table.take("edges", list, [])
    kind = table.text("kind", "number")
    table.take("absent", list, [])
    table.take("parts", list, [])
    return [] if kind == "date" else edges


def _actions(content: Mapping[str, Any]) -> tuple[str, ...]:
    table = _Table(content, "[actions]")
    names = table.texts("names", MOST_ACTIONS)
    table.require_nothing_left()
    return names


def _scale(content: Mapping[str, Any], outcomes: Outcomes | None) -> RewardRange:
    table = _Table(content, "[rewards]")
    unit = table.text("unit", "")
    ends = [table.number(key, Real(-1e12, 1e12), None) for key in ("low", "high")]
    table.take("outcomes", list, [])  # with `table`, what `thrifty worth` made rewards of
    table.take("table", list, [])
    table.require_nothing_left()
    low, high = (0.0, 1.0) if outcomes is None else outcomes.range
    return RewardRange(
        low if ends[0] is None else ends[0], high if ends[1] is None else ends[1], unit
    )


def _rule(content: Mapping[str, Any], scale: RewardRange) -> RewardRule:
    table = _Table(content, "[reward_rule]")
    rule = table.take("rule", str, "first")
    if rule not in RULES:
        raise InvalidSpec(f"[reward_rule] rule = {rule!r}: use one of {', '.join(RULES)}.")
    deadline = _duration(table.any("deadline", WEEK))
    default = table.number("default", Real(scale.low, scale.high), None)
    learn_late = table.take("learn_late", bool, False)
    table.require_nothing_left()
    return RewardRule(rule, deadline, default, learn_late)


def _duration(given: Any) -> float:
    """Return seconds, from a number of them or a text such as 30m or 14d.

    >>> _duration("1.5h"), _duration(10)
    (5400.0, 10.0)
    """
    seconds = math.nan
    if Real().accepts(given):
        seconds = float(given)
    elif isinstance(given, str) and (match := _DURATION.fullmatch(given)):
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0.001 <= seconds <= 3660 * 86400:
        raise InvalidSpec(
            f"[reward_rule] deadline = {given!r}: give seconds, or a text such as 30m, 12h or 14d, "
            "up to ten years."
        )
    return seconds


_KINDS = {dict: "a table", list: "a list", str: "a text", bool: "true or false"}


class _Table:
    """A table of the file, from which keys are taken one by one until nothing may be left."""

    def __init__(self, content: Any, what: str) -> None:
        if not isinstance(content, Mapping):
            raise InvalidSpec(f"{what} is {content!r}: it must be a table.")
        self.left, self.what = dict(content), what
        self.known: list[str] = []

    def any(self, key: str, default: Any = None) -> Any:
        self.known.append(key)
        return self.left.pop(key, default)

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.any(key, default)
        if value is None:
            raise InvalidSpec(f"{self.what} has no {key!r}, which must be {_KINDS[kind]}: add it.")
        if not isinstance(value, kind):
            raise InvalidSpec(f"{self.what}: {key} is {value!r}: it must be {_KINDS[kind]}.")
        return value

    def number(self, key: str, allowed: Constraint, default: Any) -> Any:
        given = key in self.left
        value = self.any(key, default)
        if given and not allowed.accepts(value):
            raise InvalidSpec(f"{self.what}: {key} is {value!r}, but it must be {allowed}.")
        return allowed.convert(value) if given else default

    def text(self, key: str, default: str | None = None) -> str:
        value: str = self.take(key, str, default)
        _require_text(value, f"{self.what}: {key}")
        return value

    def texts(self, key: str, most: int, default: Sequence[str] | None = None) -> tuple[str, ...]:
        values = self.take(key, list, None if default is None else list(default))
        if len(values) > most:
            raise InvalidSpec(f"{self.what}: {key} has {len(values)} entries: {most} at the most.")
        for value in values:
            if not isinstance(value, str):
                raise InvalidSpec(f"{self.what}: {key} holds {value!r}: give texts.")
            _require_text(value, f"{self.what}: {key}")
        return tuple(values)

    def name(self, key: str, default: str | None = None) -> str:
        value: str = self.take(key, str, default)
        if not NAME.fullmatch(value):
            raise InvalidSpec(
                f"{self.what}: {key} is {value!r}: use 1 to 64 letters, digits, _ and -, for it "
                "stands in addresses."
            )
        return value

    def rest(self) -> dict[str, Any]:
        rest, self.left = self.left, {}
        return rest

    def require_nothing_left(self) -> None:
        if self.left:
            raise InvalidSpec(
                f"{self.what} has unknown keys {sorted(self.left)}: it can have "
                f"{', '.join(self.known)}. Check spelling."
            )


def _require_text(value: str, what: str) -> None:
    if len(value) > 200 or any(ord(it) < 32 for it in value):
        raise InvalidSpec(f"{what} {value[:40]!r} is too long or holds control characters.")
