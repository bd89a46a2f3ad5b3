"""The policy file of coded cases: what a service needs to decide about the next ones."""

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
    RewardsSection,
)
from thrifty.tables.cases import Cases
from thrifty.tables.columns import Coding
from thrifty.tables.paid_prices import PaidFeature

POLICY, AGENT = "policy.toml", "agent.npz"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


def policy_file_of(cases: Cases, *, name: str, seed: int, agent: str | None = AGENT) -> PolicyFile:
    """Return a complete policy file: the one that the cases were read by, with what was found.

    Parameters
    ----------
    cases : Cases
        Coded cases.
    name : str
        The file of the cases, by which the policy is named unless `[policy]` has a name.
    seed : int
        Random seed of the policy.
    agent : str, optional
        Path of the saved agent, relative to the policy file.

    Returns
    -------
    PolicyFile
    """
    rewards, given = cases.rewards, cases.file.policy
    own = PolicySection(name=policy_name(name)) if given is None else given
    prices = cases.mean_prices.tolist()
    return PolicyFile(
        policy=PolicySection(name=own.name, seed=seed, agent=agent, tenant=own.tenant),
        table=cases.file.table,
        features=tuple(map(_described, cases.features, prices)),
        actions=ActionsSection(names=rewards.actions),
        rewards=RewardsSection(unit=rewards.currency, low=rewards.low, high=rewards.high),
        outcomes=OutcomesSection(names=rewards.outcomes, rewards=dict(rewards.by_action)),
        reward_rule=cases.file.reward_rule,
    )


def policy_name(file: str) -> str:
    """Return a name for the policy of a file of cases that can be part of an address.

    >>> policy_name("Fälle 2026.csv"), policy_name("申请.csv")
    ('F-lle-2026', 'policy')
    """
    stem = _NOT_IN_NAMES.sub("-", Path(file).stem).strip("-")
    return stem[:_LONGEST_NAME] or "policy"


def _described(feature: PaidFeature, price: float) -> FeatureSection:
    keys: dict[str, Any] = {"name": feature.name}
    keys |= {"free": True} if feature.free else {"price": price}
    if len(feature.parts) == 1:
        return FeatureSection(**_coding(feature.parts[0]) | keys)
    return FeatureSection(
        levels=feature.levels,
        other=feature.other,
        columns=tuple(part.name for part in feature.parts),
        parts=tuple(ColumnSection(**_coding(part)) for part in feature.parts),
        **keys,
    )


def _coding(coding: Coding) -> dict[str, Any]:
    edges: tuple[float | str, ...] | None = coding.edges
    if coding.edges is not None and coding.kind == "date":
        moments = (datetime.fromtimestamp(it, UTC) for it in coding.edges)
        edges = tuple(it.strftime("%Y-%m-%dT%H:%M:%S") for it in moments)
    return {
        "name": coding.name,
        "kind": coding.kind,
        "levels": coding.levels,
        "edges": edges,
        "missing": coding.missing,
        "other": coding.other,
        "absent": coding.absent,
    }
