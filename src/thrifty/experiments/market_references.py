"""References of the benchmark of markets: strategies that know more than a policy.

They may see the outcome of every past case, also of one that the safe action hides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.environments.market import Market, MarketDecisions
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.refitting import refitted_actions
from thrifty.plans.tree import Decisions

LEARNING_CASES = 2_000
"""Number of past cases of a regime that plans are learnt from."""
FIRST_PART = 0.25
"""Share of the stream in which the fixed plan buys everything: 2,000 of 8,000 cases."""


def nothing(market: Market, seed: int) -> MarketDecisions:  # noqa: ARG001 (the same for all cases)
    """Buy nothing, and take the best constant action of the regime."""
    return MarketDecisions(market.best_constants(), np.zeros(market.horizon))


def best_plan(market: Market, seed: int) -> MarketDecisions:
    """Carry out the best stepwise plan of the regime."""
    return market.best_decisions(seed)


def everything(market: Market, seed: int) -> MarketDecisions:
    """Buy everything, and act by a model that is fitted again after each tenth."""
    cases = market.stream(seed)
    return _buying_everything(cases, seed)


def fixed_plan(market: Market, seed: int) -> MarketDecisions:
    """Buy everything in the first part, then follow the plan learnt from it."""
    cases = market.stream(seed)
    first = np.arange(max(1, round(FIRST_PART * cases.n_cases)))
    learning = _buying_everything(cases.subset(first), seed)
    rest = cases.subset(np.arange(len(first), cases.n_cases))
    following = _in_money(learn(cases.subset(first), seed=seed).plan.decide(rest.codes), rest)
    return _joined([learning, following])


def told(market: Market, seed: int) -> MarketDecisions:
    """Follow a plan learnt from past cases of the regime, another one after each change."""
    cases = market.stream(seed)
    parts = []
    for regime in range(len(market.regimes)):
        part = cases.subset(market.regime_of_case == regime)
        past = market.past_cases(LEARNING_CASES, seed, regime=regime)
        parts.append(_in_money(learn(past, seed=seed).plan.decide(part.codes), part))
    return _joined(parts)


def _buying_everything(cases: PastCases, seed: int) -> MarketDecisions:
    actions = refitted_actions(cases, seed=seed)["everything"]
    return MarketDecisions(actions, cases.cost(range(len(cases.looks))))


def _in_money(decisions: Decisions, cases: PastCases) -> MarketDecisions:
    return MarketDecisions(decisions.actions, decisions.costs(cases))


def _joined(parts: Sequence[MarketDecisions]) -> MarketDecisions:
    return MarketDecisions(*(np.concatenate(column) for column in zip(*parts, strict=True)))
