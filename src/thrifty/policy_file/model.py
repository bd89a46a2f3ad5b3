"""The sections of policy.toml as frozen, strict pydantic models.

The models check each section and that the sections are consistent. Additional requirements of
`serve`, such as levels for every feature, are checked in `thrifty.policy_file.reading`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)

from thrifty.errors import InvalidSpec
from thrifty.features import (
    MISSING,
    Feature,
    date_interval_names,
    date_seconds,
    interval_names,
    require_distinct,
)
from thrifty.outcomes import Outcomes, RewardRange
from thrifty.parameters import as_float
from thrifty.policies.auto import AUTO
from thrifty.prices import Bundle, Group, PriceList
from thrifty.specification import BY_HAND, DEFAULT_TENANT, WEEK

MAX_MONEY = 1e12
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TEN_YEARS = 3660 * 86400


def duration(given: float | str) -> float:
    """Return a number of seconds, from seconds or a text such as `30m` or `14d`.

    >>> duration("1.5h"), duration(10)
    (5400.0, 10.0)
    """
    seconds = as_float(given)
    if isinstance(given, str) and (match := _DURATION.fullmatch(given)):
        seconds = float(match[1]) * _SECONDS[match[2]]
    if not 0.001 <= seconds <= _TEN_YEARS:
        raise ValueError("give seconds, or a text such as 30m, 12h or 14d, at most ten years")
    return seconds


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _optional(check: Callable[[Any], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: None if value is None else check(value))


def _amount(value: Any) -> Any:
    number = as_float(value)
    if not abs(number) <= MAX_MONEY:
        raise ValueError(f"give a finite number, at most {MAX_MONEY:g} in size")
    return number


def _fee(value: Any) -> Any:
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise ValueError("give a finite number of at least 0")
    return number


def _price(value: Any) -> Any:
    if isinstance(value, PriceColumn):
        return value
    if isinstance(value, dict) and list(value) == ["column"] and isinstance(value["column"], str):
        return PriceColumn(column=value["column"])
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise ValueError(
            "give a finite number of at least 0, or the column with each case's price, for example "
            '{column = "bureau_price"}'
        )
    return number


def _edge_list(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not value or not all(map(_is_edge, value)):
        raise ValueError("give a list of increasing numbers, the upper ends of the intervals")
    return tuple(edge.isoformat() if isinstance(edge, date) else edge for edge in value)


def _is_edge(value: Any) -> bool:
    return isinstance(value, int | float | str | date) and not isinstance(value, bool)


def _missing_level(value: Any) -> Any:
    if value is False:
        return None
    if value is not True and value is not None and not (isinstance(value, str) and value):
        raise ValueError(f"give true, which means {MISSING!r}, or the name of a level")
    return value


def _row(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _amount(money) for name, money in value.items()}
    return _amount(value)


def _whole(low: int, high: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        # bool is a subclass of int, and `seed = true` is a mistake.
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"give a whole number from {low} to {high}")
        return value

    return check


def _share(value: Any) -> Any:
    number = as_float(value)
    if not 0 <= number <= 0.5:
        raise ValueError("give a share of the cases from 0 to 0.5, for example 0.1")
    return number


def _address_part(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("use 1 to 64 letters, digits, _ and -, because it is part of URLs")
    return value


def _deadline(value: Any) -> Any:
    duration(value)
    return float(value) if not isinstance(value, str) else value


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_as_tuple)]
AddressPart = Annotated[str, AfterValidator(_address_part)]
Kind = Literal["number", "category", "boolean", "date", "text"]
Period = Literal["year", "quarter", "month", "week", "day"]
Edges = Annotated[tuple[float | str, ...] | None, _optional(_edge_list)]
Missing = Annotated[str | Literal[True] | None, BeforeValidator(_missing_level)]
Money = Annotated[float | None, _optional(_amount)]
Count = Annotated[int | None, _optional(_whole(2, 100))]
Row = Annotated[float | dict[str, float], BeforeValidator(_row)]


class Section(BaseModel):
    """A section of the file: strict, frozen, without unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PriceColumn(Section):
    """A price that differs by case and is in a column of the table."""

    column: Name


Price = Annotated[float | PriceColumn | None, _optional(_price)]


class PolicySection(Section):
    """`[policy]`: name and kind of the policy, and its shadows. Other keys are its parameters."""

    model_config = ConfigDict(extra="allow")

    name: AddressPart
    policy: Name = AUTO
    seed: Annotated[int, BeforeValidator(_whole(0, 2**53))] = 0
    agent: Name | None = None
    history: Name | None = None
    tenant: AddressPart = DEFAULT_TENANT
    shadow: Names = ()
    traffic: Annotated[float, BeforeValidator(_share)] = 0.0
    promote: Literal["by-hand", "when-better"] = "by-hand"
    promote_margin: Annotated[float, BeforeValidator(_fee)] = 0.0

    @model_validator(mode="after")
    def _check_shadows(self) -> Self:
        if not self.shadow and (self.traffic or self.promote != BY_HAND):
            raise ValueError(
                "traffic and promote are for shadows, but there are none: name them in shadow, or "
                "remove traffic and promote"
            )
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the policy."""
        return dict(self.model_extra or {})


class TableSection(Section):
    """`[table]`: how tables of past cases are read."""

    target: Name | None = None
    time: Name | None = None
    missing: Names = ()
    leave_out: Names = ()
    encoding: Name | None = None
    separator: Name | None = None


def _pattern(value: Any) -> Any:
    if not (isinstance(value, str) and "{feature}" in value):
        raise ValueError('write {feature} where the name of the feature goes, as in "p_{feature}"')
    return value


Pattern = Annotated[str | None, _optional(_pattern)]


class LogSection(Section):
    """`[log]`: columns of a log of decisions, for `thrifty evaluate`."""

    action: Name = "action"
    reward: Name = "reward"
    outcome: Name | None = None
    case: Name | None = None
    action_probability: Name = "action_probability"
    buy_probability: Name = "buy_probability"
    sequence: Name | None = None
    feature_probability: Pattern = None
    bought: Pattern = None
    cost: Pattern = None


class ColumnSection(Section):
    """How a column is coded as levels; keys that are not given are determined from the table."""

    name: Name
    kind: Kind | None = None
    levels: Names | None = None
    edges: Edges = None
    missing: Missing = None
    other: Name | None = None
    absent: Names = ()
    bins: Count = None
    max_levels: Count = None
    period: Period | None = None

    @property
    def missing_level(self) -> str | None:
        """The level of missing values."""
        return MISSING if self.missing is True else self.missing

    @property
    def edge_values(self) -> tuple[float, ...]:
        """The edges as numbers; those of a date in seconds since 1970."""
        to_number = date_seconds if self.kind == "date" else float
        return tuple(map(to_number, self.edges or ()))

    @property
    def by_period(self) -> bool:
        """True if a date has named periods; for policies these are a category."""
        return self.kind == "date" and self.levels is not None

    def feature(self) -> Feature | None:
        """Return the feature, or None if its levels are not given."""
        edges = () if self.by_period else self.edge_values
        is_date = bool(edges) and self.kind == "date"
        levels = self.levels
        if levels is None:
            if not edges:
                return None
            levels = date_interval_names(edges) if is_date else interval_names(edges)
        missing = self.missing_level
        if missing is not None and missing not in levels:
            levels = (*levels, missing)
        return Feature(self.name, levels, edges, missing, self.other, is_date)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._require_edges()
        for one, other in (("bins", "edges"), ("max_levels", "levels"), ("bins", "levels")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise ValueError(f"{one} and {other} exclude each other: remove one of them")
        if self.feature() is None and self.other is not None:
            raise ValueError("other names a level, but no levels are given: add levels")
        return self

    def _require_edges(self) -> None:
        if self.edges is None:
            return
        if self.kind == "date":
            self._require_dates(self.edges)
        elif self.kind not in (None, "number"):
            raise ValueError(
                f"edges are for numbers and dates, but kind is {self.kind!r}: remove one of them"
            )
        elif any(isinstance(edge, str) for edge in self.edges):
            raise ValueError(
                f"edges {list(self.edges)} contain text: write numbers without quotes, or add "
                'kind = "date" if they are dates'
            )

    def _require_dates(self, edges: tuple[float | str, ...]) -> None:
        seconds = [date_seconds(str(edge)) for edge in edges]
        if not all(map(math.isfinite, seconds)) or any(a >= b for a, b in pairwise(seconds)):
            raise ValueError(f"edges {list(edges)} must be increasing dates such as '2024-05-31'")
        if self.levels is not None and len(self.levels) <= len(edges):
            raise ValueError(
                f"{len(edges)} edges make {len(edges) + 1} periods, but there are "
                f"{len(self.levels)} levels: name every period, the earliest first"
            )


class FeatureSection(ColumnSection):
    """`[[features]]`: a feature that is free or can be bought, its price, and its levels."""

    price: Price = None
    free: bool = False
    columns: Names = ()
    parts: Annotated[tuple[ColumnSection, ...], BeforeValidator(_as_tuple)] = ()

    @model_validator(mode="after")
    def _check_feature(self) -> Self:
        if self.free and self.price not in (None, 0.0):
            raise ValueError(
                "it is free and has a price, which contradict each other: remove `free = true` or "
                "the price"
            )
        if self.parts and self.levels is None:
            raise ValueError("it has parts but no levels: add the levels of their combinations")
        require_distinct([part.name for part in self.parts], f"feature {self.name!r}: part")
        return self


class GroupSection(Section):
    """`[[groups]]`: features that share a setup fee."""

    name: Name
    features: Names
    setup: Annotated[float, BeforeValidator(_fee)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.features:
            raise ValueError("features is empty: name the features that share the setup fee")
        return self


class BundleSection(Section):
    """`[[bundles]]`: features that are sold together."""

    name: Name
    features: Names
    price: Price = None


class ActionsSection(Section):
    """`[actions]`: the actions to choose from."""

    names: Names

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.names:
            raise ValueError("names is empty: name the actions to choose from")
        require_distinct(self.names, "action")
        return self


class RewardsSection(Section):
    """`[rewards]`: the currency and the range of rewards."""

    unit: str = ""
    low: Money = None
    high: Money = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low = {self.low:g} is not below high = {self.high:g}: correct them")
        return self

    def range(self, outcomes: Outcomes | None) -> RewardRange:
        """Return the range; it defaults to that of the outcomes, or to 0 and 1."""
        low, high = (0.0, 1.0) if outcomes is None else outcomes.range
        low = low if self.low is None else self.low
        return RewardRange(low, high if self.high is None else self.high, self.unit)


class OutcomesSection(Section):
    """`[outcomes]`: possible outcomes, and the reward of each action for each of them."""

    names: Names | None = None
    rewards: dict[str, Row] = Field(default_factory=dict)

    def all_names(self) -> tuple[str, ...] | None:
        """Return the names, or those that the rewards use; None if neither is given."""
        if self.names is not None:
            return self.names
        rows = [row for row in self.rewards.values() if isinstance(row, dict)]
        return tuple(dict.fromkeys(name for row in rows for name in row)) or None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.names is not None:
            Outcomes(self.names, self.rewards)
        return self


class RewardRuleSection(Section):
    """`[reward_rule]`: which rewards count, and what happens at the deadline."""

    rule: Literal["first", "last", "sum"] = "first"
    deadline: Annotated[float | str, BeforeValidator(_deadline)] = WEEK
    default: Money = None
    learn_late: bool = False

    @property
    def seconds(self) -> float:
        """The deadline in seconds."""
        return duration(self.deadline)


class PolicyFile(Section):
    """The content of a policy.toml.

    All sections are optional here. `thrifty worth` determines levels, actions and rewards from a
    table; `serve` and `Agent.from_file` refuse an incomplete file.

    Parameters
    ----------
    policy : PolicySection, optional
        Name and kind of the policy, and its parameters.
    table : TableSection
        How tables of past cases are read.
    log : LogSection
        Columns of a log of decisions.
    features : tuple of FeatureSection
        Features, their prices and levels.
    groups : tuple of GroupSection
        Features that share a setup fee.
    bundles : tuple of BundleSection
        Features that are sold together.
    actions : ActionsSection, optional
        Names of the actions.
    rewards : RewardsSection
        Currency and range of rewards.
    outcomes : OutcomesSection, optional
        Outcomes, and rewards by action and outcome.
    reward_rule : RewardRuleSection
        Which rewards count, and the deadline.

    Examples
    --------
    >>> file = PolicyFile(features=(FeatureSection(name="age", edges=(18, 65), price=2.5),))
    >>> file.features[0].feature().levels
    ('up to 18', '18 to 65', 'over 65')
    """

    policy: PolicySection | None = None
    table: TableSection = TableSection()
    log: LogSection = LogSection()
    features: Annotated[tuple[FeatureSection, ...], BeforeValidator(_as_tuple)] = ()
    groups: Annotated[tuple[GroupSection, ...], BeforeValidator(_as_tuple)] = ()
    bundles: Annotated[tuple[BundleSection, ...], BeforeValidator(_as_tuple)] = ()
    actions: ActionsSection | None = None
    rewards: RewardsSection = RewardsSection()
    outcomes: OutcomesSection | None = None
    reward_rule: RewardRuleSection = RewardRuleSection()
    # Private: notices come from reading and are not part of the file.
    _notices: tuple[str, ...] = PrivateAttr(default=())

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user, for example that the file has the format of release 0.1."""
        return self._notices

    def with_notices(self, notices: tuple[str, ...]) -> PolicyFile:
        """Return a copy with other notices.

        Parameters
        ----------
        notices : tuple of str
            The notices.

        Returns
        -------
        PolicyFile
            The copy.
        """
        copy = self.model_copy()
        copy._notices = notices
        return copy

    def replace(self, **sections: Any) -> PolicyFile:
        """Return a copy with some sections replaced, validated again.

        Parameters
        ----------
        **sections
            New sections by name.

        Returns
        -------
        PolicyFile
            The copy.
        """
        return PolicyFile(**{**dict(self), **sections}).with_notices(self.notices)

    def with_table(self, **keys: str | None) -> PolicyFile:
        """Return a copy with some keys of `[table]` replaced.

        Parameters
        ----------
        **keys
            New values by key; None keeps the present value.

        Returns
        -------
        PolicyFile
            The copy.
        """
        given = {key: value for key, value in keys.items() if value is not None}
        return self.replace(table=TableSection(**{**dict(self.table), **given}))

    def feature(self, name: str) -> FeatureSection | None:
        """Return the section of a feature.

        Parameters
        ----------
        name : str
            Name of the feature.

        Returns
        -------
        FeatureSection or None
            The section, or None if there is no such feature.
        """
        return next((feature for feature in self.features if feature.name == name), None)

    def unpriced_features(self) -> list[str]:
        """Return the features that are neither free nor sold, alone or in a bundle.

        Returns
        -------
        list of str
            Names of the features.
        """
        bundled = {name for bundle in self.bundles for name in bundle.features}
        return [
            feature.name
            for feature in self.features
            if feature.price is None and not feature.free and feature.name not in bundled
        ]

    def price_list(self) -> PriceList | None:
        """Return the list prices.

        Returns
        -------
        PriceList or None
            Prices, groups and bundles, or None if there are none. Prices that are columns of a
            table are left out.
        """
        prices = {
            feature.name: feature.price
            for feature in self.features
            if isinstance(feature.price, float)
        }
        groups = [Group(group.name, group.features, group.setup) for group in self.groups]
        bundles = [
            Bundle(
                bundle.name,
                bundle.features,
                bundle.price if isinstance(bundle.price, float) else None,
            )
            for bundle in self.bundles
        ]
        return PriceList(prices, groups, bundles) if prices or groups or bundles else None

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [feature.name for feature in self.features]
        require_distinct(names, "feature")
        prices = self.price_list()
        if prices is not None:
            prices.require_features(names)
        self._require_sold_once()
        self._require_actions()
        if self.rewards.low is not None or self.rewards.high is not None:
            self.rewards.range(self._outcomes())
        return self

    def _outcomes(self) -> Outcomes | None:
        names = None if self.outcomes is None else self.outcomes.all_names()
        if self.outcomes is None or names is None:
            return None
        return Outcomes(names, self.outcomes.rewards)

    def _require_sold_once(self) -> None:
        for bundle in self.bundles:
            for name in bundle.features:
                feature = self.feature(name)
                if feature is not None and (feature.free or feature.price is not None):
                    own = "is free" if feature.free else "has its own price"
                    raise InvalidSpec(
                        f"feature {name!r} {own} and is also in bundle {bundle.name!r}, so its "
                        "price is ambiguous: remove it from one of them."
                    )

    def _require_actions(self) -> None:
        rows = {} if self.outcomes is None else self.outcomes.rewards
        if not rows or self.actions is None:
            return
        for action in rows:
            if action not in self.actions.names:
                raise InvalidSpec(
                    f"[outcomes.rewards] has action {action!r}, which is not in [actions] names, "
                    f"{', '.join(map(repr, self.actions.names))}: correct it, or add it to "
                    "[actions]."
                )
        for action in self.actions.names:
            if action not in rows:
                raise InvalidSpec(
                    f"action {action!r} has no rewards: add it to [outcomes.rewards]."
                )
