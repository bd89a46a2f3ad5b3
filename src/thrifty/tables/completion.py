"""The complete policy file of coded cases, which a service needs to decide about new ones."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thrifty.features import date_text
from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import (
    ActionsSection,
    BundleSection,
    ColumnSection,
    FeatureSection,
    GroupSection,
    OutcomesSection,
    PolicySection,
    RewardRuleSection,
    RewardsSection,
)
from thrifty.policy_file.writing import WRITTEN_RULE
from thrifty.problem import PriceList, Problem
from thrifty.tables.cases import Cases
from thrifty.tables.columns import MAX_BINS, Coding
from thrifty.tables.features import TableFeature

POLICY, AGENT = "policy.toml", "agent.npz"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 64


def complete_policy_file(
    cases: Cases,
    *,
    name: str,
    seed: int,
    agent: str | None = AGENT,
    problem: Problem | None = None,
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
    problem : Problem, optional
        Features and prices to write instead of `cases.problem`: `cases.past_cases.problem`, which a
        plan decides about, or one with some of its features or other prices. A feature without a
        price is free.

    Returns
    -------
    PolicyFile
        With the levels or edges of every feature, mean prices, setup fees, actions, outcomes and
        rewards. The policy and its parameters are those of the original file.
    """
    rewards, given, rule = cases.rewards, cases.policy_file.policy, cases.policy_file.reward_rule
    policy = PolicySection(name=policy_name(name)) if given is None else given
    if problem is None:
        prices = cases.problem.prices
        features = tuple(map(_feature_section, cases.features, cases.mean_prices.tolist()))
    else:
        prices = problem.prices
        features = _column_sections(cases, problem)
    groups, bundles = (prices.groups, prices.bundles) if prices is not None else ((), ())
    return PolicyFile(
        policy=policy.model_copy(update={"seed": seed, "agent": agent, "history": None}),
        table=cases.policy_file.table,
        features=features,
        groups=tuple(GroupSection(**asdict(group)) for group in groups),
        bundles=tuple(BundleSection(**asdict(bundle)) for bundle in bundles),
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


def _column_sections(cases: Cases, problem: Problem) -> tuple[FeatureSection, ...]:
    codings = {coding.name: coding for coding in cases.columns}
    prices = problem.prices or PriceList()
    bundled = {name for bundle in prices.bundles for name in bundle.features}
    sections = []
    for feature in problem.features:
        keys = _coding_keys(codings[feature.name])
        if feature.name in prices.prices:
            keys["price"] = prices.prices[feature.name]
        elif feature.name not in bundled:
            keys["free"] = True
        sections.append(FeatureSection(**keys))
    return tuple(sections)


def _coding_keys(coding: Coding) -> dict[str, Any]:
    edges: tuple[float | str, ...] | None = coding.edges
    if coding.edges is not None and coding.kind == "date":
        edges = tuple(map(date_text, coding.edges))
    keys: dict[str, Any] = {
        "name": coding.name,
        "kind": coding.kind,
        "levels": coding.levels,
        "edges": edges,
        "missing": coding.missing,
        "other": coding.other,
        "absent": coding.absent,
    }
    # Names that follow from the edges are left out: there may be hundreds of them.
    by_edges = ColumnSection(**keys | {"levels": None}) if _is_long(coding) else None
    if by_edges is not None and by_edges.feature() == coding.feature:
        keys["levels"] = None
    return keys


def _is_long(coding: Coding) -> bool:
    return coding.edges is not None and not coding.by_period and len(coding.edges) > MAX_BINS
