"""`PolicySpec`: the content of a policy.toml."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thrifty.prices import Bundle, Group
from thrifty.problem import Feature, Outcomes, PriceList, Problem, RewardRange

DEFAULT_TENANT = "default"
COST_LIMIT = 10
"""A cost above this multiple of the range of rewards is rejected as a typing error."""
CONTRACT = 2
"""Version of the specification; release 0.1 wrote none."""
WEEK = 7 * 86400.0


@dataclass(frozen=True)
class RewardRule:
    """Which rewards of a case count, and what happens at its deadline.

    Parameters
    ----------
    rule : str
        `first` learns from the first reward immediately. `last` and `sum` wait for the deadline.
    deadline : float
        Seconds from the opening of a case to its deadline.
    default : float, optional
        Reward of a case that has an action but no reward at its deadline. Without a default, the
        policy learns nothing from such a case.
    learn_late : bool
        True if the policy learns from a reward after the deadline, provided that it has learnt
        nothing from the case before.
    """

    rule: str = "first"
    deadline: float = WEEK
    default: float | None = None
    learn_late: bool = False


BY_HAND, WHEN_BETTER = PROMOTIONS = ("by-hand", "when-better")
"""When a shadow takes over: on request, or as soon as it is better beyond doubt."""


@dataclass(frozen=True)
class ShadowSettings:
    """The policies that decide beside a policy, and when one of them takes over.

    Parameters
    ----------
    specs : tuple of PolicySpec
        The shadows, all for the problem of the policy.
    traffic : float
        Share of the cases that the first shadow decides.
    promote : str
        `by-hand` or `when-better`.
    margin : float
        How much more per case, in money, a shadow must gain to take over when better.
    """

    specs: tuple[PolicySpec, ...] = ()
    traffic: float = 0.0
    promote: str = BY_HAND
    margin: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the shadows."""
        return tuple(spec.name for spec in self.specs)

    @property
    def digest(self) -> str:
        """Fingerprint of the settings and of all shadows."""
        shadows = [spec.digest for spec in self.specs]
        return json.dumps([shadows, self.traffic, self.promote, self.margin])


@dataclass(frozen=True)
class PolicySpec:
    """A policy to serve, as policy.toml declares it.

    Parameters
    ----------
    name : str
        Name of the policy, unique for its tenant.
    policy : str
        Name of the kind of policy in the registry.
    problem : Problem
        Features, actions, outcomes, prices and the range of rewards.
    free : tuple of str
        Features whose values come with every case.
    seed : int
        Random numbers depend on it and on the case.
    parameters : mapping
        Parameters of the policy. Amounts are in money.
    rule : RewardRule
        Which rewards count.
    tenant : str
        Owner of the policy.
    columns : mapping
        Table columns of a feature, if they have other names.
    agent : bytes, optional
        A saved agent to start from.
    shadows : ShadowSettings
        What decides beside it in the service. It may change under the same name, so it is neither
        a part of the fingerprint nor of `to_dict`; the log has it.
    """

    name: str
    policy: str
    problem: Problem
    free: tuple[str, ...] = ()
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rule: RewardRule = RewardRule()
    tenant: str = DEFAULT_TENANT
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    agent: bytes | None = field(default=None, repr=False)
    shadows: ShadowSettings = field(default=ShadowSettings(), compare=False)

    @property
    def id(self) -> str:
        """The tenant and the name, which together are unique."""
        return f"{self.tenant}/{self.name}"

    @property
    def unit(self) -> str:
        """The currency."""
        return self.problem.rewards.unit

    @property
    def max_cost(self) -> float:
        """Largest cost that is accepted."""
        return COST_LIMIT * self.problem.rewards.span

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the whole specification, including the saved agent."""
        return self._digest(self.to_dict())

    @property
    def digests(self) -> tuple[str, ...]:
        """The fingerprint, and the one that release 0.1 computed for the same file.

        Release 0.1 stored neither outcomes nor the levels of missing values.
        """
        added = ("contract", "outcomes")
        former = {key: value for key, value in self.to_dict().items() if key not in added}
        former["features"] = [
            {key: value for key, value in feature.items() if key != "missing"}
            for feature in former["features"]
        ]
        return self.digest, self._digest(former)

    def _digest(self, plain: Mapping[str, Any]) -> str:
        text = json.dumps(plain, sort_keys=True).encode()
        return hashlib.sha256(text + (self.agent or b"")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the saved agent as JSON values, the input for `from_dict`."""
        problem, prices = self.problem, self.problem.prices or PriceList()
        sales = prices.to_dict()
        plain: dict[str, Any] = {
            "contract": CONTRACT,
            "name": self.name,
            "tenant": self.tenant,
            "policy": self.policy,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "features": [self._feature_to_dict(feature, prices) for feature in problem.features],
            "actions": list(problem.actions),
            "rewards": {
                "unit": self.unit,
                "low": problem.rewards.low,
                "high": problem.rewards.high,
            },
            "reward_rule": {
                "rule": self.rule.rule,
                "deadline": self.rule.deadline,
                "default": self.rule.default,
                "learn_late": self.rule.learn_late,
            },
        }
        plain |= {key: sales[key] for key in ("groups", "bundles") if sales[key]}
        if problem.outcomes is not None:
            plain["outcomes"] = problem.outcomes.to_dict()
        return plain

    def _feature_to_dict(self, feature: Feature, prices: PriceList) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "name": feature.name,
            "levels": list(feature.levels),
            "price": prices.prices.get(feature.name),
            "free": feature.name in self.free,
            "edges": list(feature.edges),
            "columns": list(self.columns.get(feature.name, ())),
            "other": feature.other,
        }
        if feature.missing is not None:
            plain["missing"] = feature.missing
        if feature.is_date:
            plain["is_date"] = True
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], agent: bytes | None = None) -> PolicySpec:
        """Make a specification from the output of `to_dict`, of this release or of 0.1."""
        outcomes, features = plain.get("outcomes"), plain["features"]
        prices = {feature["name"]: feature["price"] for feature in features}
        listed = {name: price for name, price in prices.items() if price is not None}
        groups = [Group(**group) for group in plain.get("groups", ())]
        bundles = [Bundle(**bundle) for bundle in plain.get("bundles", ())]
        problem = Problem(
            features=tuple(map(Feature.from_dict, features)),
            actions=tuple(plain["actions"]),
            outcomes=None if outcomes is None else Outcomes(**outcomes),
            prices=PriceList(listed, groups, bundles) if listed or groups or bundles else None,
            rewards=RewardRange(**plain["rewards"]),
        )
        return cls(
            name=plain["name"],
            tenant=plain["tenant"],
            policy=plain["policy"],
            parameters=plain["parameters"],
            seed=plain["seed"],
            problem=problem,
            free=tuple(feature["name"] for feature in features if feature["free"]),
            rule=RewardRule(**plain["reward_rule"]),
            columns={
                feature["name"]: tuple(feature["columns"])
                for feature in features
                if feature["columns"]
            },
            agent=agent,
        )
