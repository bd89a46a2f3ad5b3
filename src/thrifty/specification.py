"""Everything that a policy's decisions rest on, besides what it has learnt."""

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
"""A cost above this multiple of the range of rewards is refused as a slip."""
CONTRACT = 2
"""Marks specifications of this contract; release 0.1 wrote no such mark."""
WEEK = 7 * 86400.0


@dataclass(frozen=True)
class RewardRule:
    """Which of a case's rewards count, and what happens at its deadline.

    Parameters
    ----------
    rule : str
        `first` learns at once from the first reward. `last` and `sum` wait for the deadline.
    deadline : float
        Seconds from the opening of a case.
    default : float, optional
        The reward of a case that has acted and has no reward at its deadline. Without it such a
        case teaches nothing.
    learn_late : bool
        Whether a reward after the deadline is learnt, if nothing was learnt from the case before.
    """

    rule: str = "first"
    deadline: float = WEEK
    default: float | None = None
    learn_late: bool = False


@dataclass(frozen=True)
class PolicySpec:
    """A policy to serve, as policy.toml declares it.

    Parameters
    ----------
    name, tenant : str
        Together they identify the policy.
    policy : str
        Name in the registry of policies.
    problem : Problem
        Features, actions, outcomes, prices and the range of rewards.
    free : tuple of str
        Features that come with every case.
    seed : int
        Random numbers depend on it and on the case.
    parameters : mapping
        Parameters of the policy; amounts are in money.
    rule : RewardRule
        Which rewards count.
    columns : mapping
        Table columns that a feature stands for, if they have other names.
    agent : bytes, optional
        A saved agent to start from.
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
        """The largest cost that is accepted."""
        return COST_LIMIT * self.problem.rewards.span

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the whole specification, the saved agent included."""
        return self._digest(self.to_dict())

    @property
    def digests(self) -> tuple[str, ...]:
        """The fingerprint, and the one that release 0.1 gave to the same file.

        That release kept neither outcomes nor the levels of missing values.
        """
        added = ("contract", "outcomes")
        former = {key: value for key, value in self.to_dict().items() if key not in added}
        former["features"] = [
            {key: value for key, value in it.items() if key != "missing"}
            for it in former["features"]
        ]
        return self.digest, self._digest(former)

    def _digest(self, plain: Mapping[str, Any]) -> str:
        text = json.dumps(plain, sort_keys=True).encode()
        return hashlib.sha256(text + (self.agent or b"")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return all but the saved agent as JSON values; `from_dict` reverses it."""
        problem, prices = self.problem, self.problem.prices or PriceList()
        sales = prices.to_dict()
        plain: dict[str, Any] = {
            "contract": CONTRACT,
            "name": self.name,
            "tenant": self.tenant,
            "policy": self.policy,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "features": [self._plain_feature(it, prices) for it in problem.features],
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

    def _plain_feature(self, feature: Feature, prices: PriceList) -> dict[str, Any]:
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
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], agent: bytes | None = None) -> PolicySpec:
        """Rebuild a specification from what `to_dict` returned, in this release or in 0.1."""
        outcomes, features = plain.get("outcomes"), plain["features"]
        listed = {it["name"]: it["price"] for it in features if it["price"] is not None}
        groups = [Group(**it) for it in plain.get("groups", ())]
        bundles = [Bundle(**it) for it in plain.get("bundles", ())]
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
            free=tuple(it["name"] for it in features if it["free"]),
            rule=RewardRule(**plain["reward_rule"]),
            columns={it["name"]: tuple(it["columns"]) for it in features if it["columns"]},
            agent=agent,
        )
