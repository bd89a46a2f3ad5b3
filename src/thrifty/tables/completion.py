"""The complete policy file of coded cases, which a service needs to decide about new ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import (
    ActionsSection,
    ColumnSection,
    FeatureSection,
    OutcomesSection,
    PolicySection,
    RewardRuleSection,
    RewardsSection,
)
from thrifty.policy_file.writing import WRITTEN_RULE
from thrifty.tables.cases import Cases
from thrifty.tables.columns import Coding
from thrifty.tables.features import TableFeature

POLICY, AGENT = "policy.toml", "agent.npz"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 64


def complete_policy_file(
    cases: Cases, *, name: str, seed: int, agent: str | None = AGENT
) -> PolicyFile:
    """Return the policy file that the cases were read with, completed from the table.

    Parameters
    ----------
    cases : Cases
        Coded cases.
    name : str
        Name of the file of cases, which names the policy unless `[policy]` has a name.
    seed : int
        Random seed of the policy.
    agent : str, optional
        Path of the saved agent, relative to the policy file.

    Returns
    -------
    PolicyFile
        With the levels of every feature, mean prices, actions, outcomes and rewards. The policy
        and its parameters are those of the original file.
    """
    rewards, given, rule = cases.rewards, cases.policy_file.policy, cases.policy_file.reward_rule
    policy = PolicySection(name=policy_name(name)) if given is None else given
    return PolicyFile(
        policy=policy.model_copy(update={"seed": seed, "agent": agent}),
        table=cases.policy_file.table,
        features=tuple(map(_feature_section, cases.features, cases.mean_prices.tolist())),
        actions=ActionsSection(names=rewards.actions),
        rewards=RewardsSection(unit=rewards.currency, low=rewards.low, high=rewards.high),
        outcomes=OutcomesSection(names=rewards.outcomes, rewards=dict(rewards.by_action)),
        reward_rule=WRITTEN_RULE if rule == RewardRuleSection() else rule,
    )


def policy_name(file: str) -> str:
    """Return a name for the policy that can be part of a URL.

    >>> policy_name("Fälle 2026.csv"), policy_name("申请.csv")
    ('F-lle-2026', 'policy')
    """
    stem = _NOT_IN_NAMES.sub("-", Path(file).stem).strip("-")
    return stem[:_MAX_NAME] or "policy"


def _feature_section(feature: TableFeature, price: float) -> FeatureSection:
    keys: dict[str, Any] = {"name": feature.name}
    keys |= {"free": True} if feature.free else {"price": price}
    if len(feature.parts) == 1:
        return FeatureSection(**_coding_keys(feature.parts[0]) | keys)
    return FeatureSection(
        levels=feature.levels,
        other=feature.other,
        columns=tuple(part.name for part in feature.parts),
        parts=tuple(ColumnSection(**_coding_keys(part)) for part in feature.parts),
        **keys,
    )


def _coding_keys(coding: Coding) -> dict[str, Any]:
    edges: tuple[float | str, ...] | None = coding.edges
    if coding.edges is not None and coding.kind == "date":
        starts = (datetime.fromtimestamp(edge, UTC) for edge in coding.edges)
        edges = tuple(start.strftime("%Y-%m-%dT%H:%M:%S") for start in starts)
    return {
        "name": coding.name,
        "kind": coding.kind,
        "levels": coding.levels,
        "edges": edges,
        "missing": coding.missing,
        "other": coding.other,
        "absent": coding.absent,
    }
