"""policy.toml: what a policy decides about, in the user's own names and money."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidField, InvalidSpec, ThriftyError
from thrifty.parameters import Constraint, Real, Whole
from thrifty.policies import policy_named
from thrifty.problem import Feature, Problem
from thrifty.simulation import require_parameters

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
DEFAULT_TENANT = "default"
RULES = ("first", "last", "sum")
MOST_FEATURES, MOST_LEVELS, MOST_ACTIONS = 256, 1024, 1024
COST_LIMIT = 10
"""A cost of more than so many times the range of rewards is taken for a slip."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_WEEK = 7 * 86400.0
_AGENT_LIMIT = 256 * 2**20


@dataclass(frozen=True)
class PricedFeature:
    """A feature, its list price if one is known, and how numbers become its levels.

    The `edges` are the upper ends of the bins of a number, each bin with its end; the last bin has
    none. `other` is the level of names that are none of the levels.

    >>> age = PricedFeature("age", ("young", "middle", "old"), edges=(30.0, 60.0))
    >>> age.level(30), age.level(30.5), age.level("old")
    ('young', 'middle', 'old')
    >>> PricedFeature("town", ("Rome", "elsewhere"), other="elsewhere").level("Oslo")
    'elsewhere'
    """

    name: str
    levels: tuple[str, ...]
    price: float | None = None
    free: bool = False
    edges: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    other: str | None = None

    @cached_property
    def feature(self) -> Feature:
        """The feature as policies know it."""
        return Feature(self.name, self.levels)

    def level(self, value: str | float) -> str:
        """Return the level that a value stands for: its name, or a number if there are edges."""
        if isinstance(value, str):
            if self.other is not None and value not in self.levels:
                return self.other
            if self.edges and value not in self.levels:
                raise InvalidSpec(
                    f"{value!r} is a text and no level: give a number, without quotes, or one of "
                    f"{self._known}."
                )
            self.feature.code(value)
            return value
        if not self.edges:
            raise InvalidSpec(
                f"{value!r} is a number, and the levels have names: use {self._known}."
            )
        return self.levels[bisect_left(self.edges, value)]

    @property
    def _known(self) -> str:
        return ", ".join(map(repr, self.levels[:20]))


@dataclass(frozen=True)
class Scale:
    """Rewards from `low` to `high` in some unit, and their place in [0, 1] for the policy.

    >>> euros = Scale("EUR", -900.0, 100.0)
    >>> euros.reward(100.0), euros.cost(5.0), euros.money(0.9)
    (1.0, 0.005, 0.0)
    """

    unit: str = ""
    low: float = 0.0
    high: float = 1.0

    @property
    def span(self) -> float:
        """How far apart the least and the largest reward are."""
        return self.high - self.low

    def reward(self, money: float) -> float:
        """Return a reward in [0, 1]; what lies beyond the ends counts as the end."""
        return min(1.0, max(0.0, (money - self.low) / self.span))

    def cost(self, money: float) -> float:
        """Return a cost as a share of the span."""
        return money / self.span

    def price(self, cost: float) -> float:
        """Return what a share of the span is in the unit."""
        return cost * self.span

    def money(self, reward: float) -> float:
        """Return what a reward in [0, 1] is in the unit."""
        return self.low + reward * self.span


@dataclass(frozen=True)
class RewardRule:
    """Which of a case's rewards count, and what happens at its deadline.

    `first` learns at once from the first reward. `last` and `sum` wait for the deadline. A case
    that has acted and has no reward then gets `default`, or teaches nothing if that is None.
    Rewards after the deadline are kept; they are learnt only with `learn_late`.
    """

    rule: str = "first"
    deadline: float = _WEEK
    default: float | None = None
    learn_late: bool = False


@dataclass(frozen=True)
class PolicySpec:
    """Everything that a policy's decisions rest on, besides the log."""

    name: str
    policy: str
    features: tuple[PricedFeature, ...]
    actions: tuple[str, ...]
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scale: Scale = Scale()
    rule: RewardRule = RewardRule()
    tenant: str = DEFAULT_TENANT
    agent: bytes | None = field(default=None, repr=False)

    @cached_property
    def problem(self) -> Problem:
        """The problem as policies know it."""
        return Problem(tuple(it.feature for it in self.features), self.actions)

    @cached_property
    def by_name(self) -> Mapping[str, PricedFeature]:
        """The features by name."""
        return {feature.name: feature for feature in self.features}

    @property
    def id(self) -> str:
        """The tenant and the name, which together are unique."""
        return f"{self.tenant}/{self.name}"

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all of it, the saved agent included."""
        text = json.dumps(self.to_dict(), sort_keys=True).encode()
        return hashlib.sha256(text + (self.agent or b"")).hexdigest()

    def place(self, name: str) -> int:
        """Return the position of a feature."""
        return self.problem.feature_index(name)

    def code(self, name: str, value: str | float) -> int:
        """Return the code of a value of a feature."""
        feature = self.by_name[name]
        return feature.feature.code(feature.level(value))

    def require_cost(self, field_: str, cost: float) -> float:
        """Return a cost that can have been paid, or refuse it."""
        most = COST_LIMIT * self.scale.span
        if not 0 <= cost <= most:
            raise InvalidField(
                field_,
                f"{cost!r} is no cost between 0 and {most:g}, ten times the range of rewards: one "
                "such slip would spoil every later estimate, so check it.",
            )
        return float(cost)

    def require_reward(self, field_: str, reward: float) -> float:
        """Return a reward within the agreed range, or refuse it."""
        low, high = self.scale.low, self.scale.high
        if not low <= reward <= high:
            raise InvalidField(
                field_,
                f"{reward!r} is not between {low:g} and {high:g}, the ends that policy.toml gives "
                "rewards: everything is learnt on that scale, so widen it or check the reward.",
            )
        return float(reward)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the saved agent as plain JSON values; `from_dict` is the way back."""
        return {
            "name": self.name,
            "tenant": self.tenant,
            "policy": self.policy,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "features": [_plain_feature(it) for it in self.features],
            "actions": list(self.actions),
            "rewards": {"unit": self.scale.unit, "low": self.scale.low, "high": self.scale.high},
            "reward_rule": {
                "rule": self.rule.rule,
                "deadline": self.rule.deadline,
                "default": self.rule.default,
                "learn_late": self.rule.learn_late,
            },
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], agent: bytes | None = None) -> PolicySpec:
        """Rebuild a specification from what `to_dict` returned."""
        return cls(
            name=plain["name"],
            tenant=plain["tenant"],
            policy=plain["policy"],
            parameters=plain["parameters"],
            seed=plain["seed"],
            features=tuple(
                PricedFeature(
                    it["name"],
                    tuple(it["levels"]),
                    it["price"],
                    it["free"],
                    tuple(it["edges"]),
                    tuple(it["columns"]),
                    it.get("other"),
                )
                for it in plain["features"]
            ),
            actions=tuple(plain["actions"]),
            scale=Scale(**plain["rewards"]),
            rule=RewardRule(**plain["reward_rule"]),
            agent=agent,
        )


def _plain_feature(feature: PricedFeature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "levels": list(feature.levels),
        "price": feature.price,
        "free": feature.free,
        "edges": list(feature.edges),
        "columns": list(feature.columns),
        "other": feature.other,
    }


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
    features = tuple(_feature(it) for it in top.take("features", list))
    actions = _actions(top.take("actions", dict))
    scale = _scale(top.take("rewards", dict, {}))
    rule = _rule(top.take("reward_rule", dict, {}), scale)
    top.require_nothing_left()
    if not 1 <= len(features) <= MOST_FEATURES:
        raise InvalidSpec(f"there are {len(features)} features: give 1 to {MOST_FEATURES}.")
    spec = PolicySpec(
        name=name,
        tenant=tenant,
        policy=policy,
        parameters=parameters,
        seed=seed,
        features=features,
        actions=actions,
        scale=scale,
        rule=rule,
        agent=_agent(agent, folder),
    )
    spec.problem  # noqa: B018 (names that stand twice are refused here)
    return spec


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


def _feature(content: Any) -> PricedFeature:
    table = _Table(content, "a [[features]] entry")
    name = table.text("name")
    table.what = f"feature {name!r}"
    levels = table.texts("levels", MOST_LEVELS)
    edges = _edges(table)
    price = table.number("price", Real(0), None)
    free = table.take("free", bool, False)
    columns = table.texts("columns", MOST_FEATURES, ())
    other = _other(table, levels)
    table.require_nothing_left()
    numbers = [float(edge) for edge in edges if Real().accepts(edge)]
    if len(numbers) < len(edges) or numbers != sorted(set(numbers)):
        raise InvalidSpec(f"feature {name!r}: edges {edges} must be finite numbers that rise.")
    if edges and len(levels) <= len(edges):
        raise InvalidSpec(
            f"feature {name!r}: {len(edges)} edges make {len(edges) + 1} bins, and there are "
            f"{len(levels)} levels: name every bin, lowest first."
        )
    feature = PricedFeature(name, levels, price, free, tuple(numbers), columns, other)
    feature.feature  # noqa: B018 (levels that stand twice are refused here)
    return feature


def _edges(table: _Table) -> list[Any]:
    """Take the ends of a number's bins, and what `thrifty worth` says of how a column was coded.

    Dates, bundles and missing values come to the service as the names of their levels.
    """
    edges: list[Any] = table.take("edges", list, [])
    kind = table.text("kind", "number")
    table.take("absent", list, [])
    table.take("parts", list, [])
    return [] if kind == "date" else edges


def _other(table: _Table, levels: Sequence[str]) -> str | None:
    for key in ("missing", "other"):
        level = table.any(key)
        if level is not None and level not in levels:
            raise InvalidSpec(f"{table.what}: {key} is {level!r}, which is none of its levels.")
    return level if isinstance(level, str) else None


def _actions(content: Mapping[str, Any]) -> tuple[str, ...]:
    table = _Table(content, "[actions]")
    names = table.texts("names", MOST_ACTIONS)
    table.require_nothing_left()
    return names


def _scale(content: Mapping[str, Any]) -> Scale:
    table = _Table(content, "[rewards]")
    unit = table.text("unit", "")
    low, high = (
        table.number("low", Real(-1e12, 1e12), 0.0),
        table.number("high", Real(-1e12, 1e12), 1.0),
    )
    table.take("outcomes", list, [])  # with `table`, what `thrifty worth` made rewards of
    table.take("table", list, [])
    table.require_nothing_left()
    if not high - low >= 1e-9:
        raise InvalidSpec(f"[rewards] low = {low:g} and high = {high:g}: low must be below high.")
    return Scale(unit, low, high)


def _rule(content: Mapping[str, Any], scale: Scale) -> RewardRule:
    table = _Table(content, "[reward_rule]")
    rule = table.take("rule", str, "first")
    if rule not in RULES:
        raise InvalidSpec(f"[reward_rule] rule = {rule!r}: use one of {', '.join(RULES)}.")
    deadline = _duration(table.any("deadline", _WEEK))
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
