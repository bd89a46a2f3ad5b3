"""Strategies of the benchmark of markets: policies, and references that know more than a policy.

References may see the outcome of every past case, also of one that the safe action hides.

- `nothing` always takes the best constant action of the regime, and knows it.
- `best plan` carries out the best stepwise plan of the regime, and knows it.
- `everything` buys everything and acts by a model that is fitted again after each tenth.
- `fixed plan` does so in the first quarter of the cases, then follows the plan learnt from them.
- `told` learns a plan from past cases of each regime, and changes plans when the regime changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from thrifty.environments.market import Market, MarketDecisions
from thrifty.errors import UnknownName
from thrifty.experiments.makers import class_name, full_name, is_file, maker_of, source_of
from thrifty.experiments.market_references import (
    best_plan,
    everything,
    fixed_plan,
    nothing,
    told,
)
from thrifty.experiments.sources import imported_modules, modules_of
from thrifty.policies import POLICIES
from thrifty.simulation import simulate

HISTORY = 2_000
"""Number of past cases of a warm start."""


class MarketStrategy(Protocol):
    """Decides in all cases of a market."""

    @property
    def label(self) -> str:
        """Name in tables."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the results besides the code, as JSON values."""
        ...

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the modules that the results depend on."""
        ...

    def decide(self, market: Market, seed: int) -> MarketDecisions:
        """Play the cases of a seed from the first to the last."""
        ...


@dataclass(frozen=True)
class PolicyStrategy:
    """A policy, which sees what it buys and the reward of its action.

    Parameters
    ----------
    label : str
        Name in tables.
    policy : str
        Name in `POLICIES`, or FILE.py:Class.
    parameters : mapping
        Parameters of the policy, as JSON values.
    past_cases : int
        Number of past cases that the policy gets as the parameter `history`; 0 for a cold start.
    source : str, optional
        Text of the file of FILE.py:Class.
    """

    label: str
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    past_cases: int = 0
    source: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the results besides the code."""
        return {
            "policy": class_name(self.policy),
            "parameters": dict(self.parameters),
            "past_cases": self.past_cases,
            **({} if self.source is None else {"source": self.source}),
        }

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the policy."""
        own = modules_of(maker_of(self.policy, self.source))
        return tuple(sorted(own | imported_modules(self.source or "")))

    def decide(self, market: Market, seed: int) -> MarketDecisions:
        """Play the cases of a seed from the first to the last."""
        given = dict(self.parameters)
        if self.past_cases:
            given["history"] = market.past_cases(self.past_cases, seed)
        make = maker_of(self.policy, self.source)
        runs = simulate(make, market, seeds=[seed], workers=1, **given)
        return MarketDecisions(runs.actions[0], runs.costs[0] * market.problem.rewards.span)


@dataclass(frozen=True)
class ReferenceStrategy:
    """A strategy that knows more than a policy.

    Parameters
    ----------
    label : str
        Name in tables.
    function : callable
        Returns the decisions, given a market and a seed.
    """

    label: str
    function: Callable[[Market, int], MarketDecisions]

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the results besides the code."""
        return {"reference": self.function.__name__}

    @property
    def modules(self) -> tuple[str, ...]:
        """The module of the function."""
        return (self.function.__module__,)

    def decide(self, market: Market, seed: int) -> MarketDecisions:
        """Play the cases of a seed from the first to the last."""
        return self.function(market, seed)


RELATED_WORK = (
    "ps-linucb",
    "d-linucb",
    "sw-linucb",
    "bob-sw-linucb",
    "dlinucb",
    "dlinucb-ensemble",
    "dal-linucb",
    "adaptive-ts",
    "particle-learning",
    "ada-iltcb",
    "ada-iltcb-plus",
    "dal-ncc-ucrl2",
    "tsrc",
    "wtsrc",
    "d-ucb",
    "discounted-ts",
    "cusum-ucb",
    "m-ucb",
    "glr-klucb",
    "master",
)
"""Policies of related work that play markets. `sim-oos` and `seq-oos` do not: they plan over all
partial states, of which a market has up to 10^13."""

STRATEGIES: tuple[MarketStrategy, ...] = (
    ReferenceStrategy("best plan", best_plan),
    ReferenceStrategy("told", told),
    ReferenceStrategy("fixed plan", fixed_plan),
    ReferenceStrategy("everything", everything),
    ReferenceStrategy("nothing", nothing),
    PolicyStrategy("surveyor, warm", "surveyor", past_cases=HISTORY),
    PolicyStrategy("surveyor", "surveyor"),
    PolicyStrategy("scout", "scout"),
    PolicyStrategy("ncc-ucrl2-repaired", "ncc-ucrl2-repaired"),
    PolicyStrategy("linucb", "linucb"),
    PolicyStrategy("sw-ucb", "sw-ucb"),
    PolicyStrategy("ucb1", "ucb1"),
    PolicyStrategy("epsilon-greedy", "epsilon-greedy"),
    *(PolicyStrategy(name, name) for name in RELATED_WORK),
)
"""The strategies of `thrifty run markets`. A new policy is one more line, or two if it can start
warm."""


def strategies_named(names: Iterable[str]) -> tuple[MarketStrategy, ...]:
    """Return strategies by label, or by the name of a registered policy.

    Parameters
    ----------
    names : iterable of str
        Labels of `STRATEGIES`, or names of policies. A policy that is not among the strategies
        plays with its default parameters; if it has a parameter `history`, also a second time with
        past cases. FILE.py:Class adds a policy of your own to the others. No names besides files
        mean all strategies.

    Returns
    -------
    tuple of MarketStrategy
        The strategies.

    Raises
    ------
    UnknownName
        If there is no such strategy or policy.

    Examples
    --------
    >>> [strategy.label for strategy in strategies_named(["told", "uniform"])]
    ['told', 'uniform']
    """
    given = list(names)
    own = [full_name(name) for name in given if is_file(name)]
    chosen = [strategy for name in given if not is_file(name) for strategy in _strategies_of(name)]
    return (*(chosen or STRATEGIES), *(one for name in own for one in policy_variants(name)))


def _strategies_of(name: str) -> list[MarketStrategy]:
    declared = [
        strategy
        for strategy in STRATEGIES
        if name in (strategy.label, getattr(strategy, "policy", None))
    ]
    if declared:
        return declared
    if name not in POLICIES or name in ("oracle", "plan"):
        labels = ", ".join(strategy.label for strategy in STRATEGIES)
        raise UnknownName(
            f"there is no strategy {name!r} for markets: use the name of a policy that learns, or "
            f"one of {labels}."
        )
    return policy_variants(name)


def policy_variants(name: str) -> list[MarketStrategy]:
    """Return a policy with a cold start and, if it takes a history, with a warm one."""
    source, label = source_of(name), class_name(name)
    if label in {strategy.label for strategy in STRATEGIES}:
        label += " (own)"
    cold = PolicyStrategy(label, name, source=source)
    if "history" not in inspect.signature(maker_of(name, source)).parameters:
        return [cold]
    return [cold, PolicyStrategy(f"{label}, warm", name, past_cases=HISTORY, source=source)]
