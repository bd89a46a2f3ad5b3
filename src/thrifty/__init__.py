"""Decide what to look at, then what to do, when looking costs money and the world drifts.

Names are imported on first use, so `import thrifty` itself is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thrifty._version import __version__

if TYPE_CHECKING:
    from thrifty import environments, errors, policies, theory
    from thrifty.agent import Agent
    from thrifty.case import Case
    from thrifty.checks import check_environment, check_policy
    from thrifty.environment import Environment
    from thrifty.environments import Replay, Schedule, Truth, World
    from thrifty.plan import Plan
    from thrifty.playing import play
    from thrifty.policies import (
        NCCUCRL2,
        POLICIES,
        SWUCB,
        UCB1,
        EpsilonGreedy,
        LinUCB,
        Oracle,
        PlanPolicy,
        PSLinUCB,
        Scout,
        SimOOS,
        Uniform,
    )
    from thrifty.policy import Policy
    from thrifty.problem import (
        Bundle,
        Feature,
        Group,
        Outcomes,
        PriceList,
        Problem,
        RewardRange,
    )
    from thrifty.propensities import Propensity
    from thrifty.regret import accuracy_by_observations, expected_regret, realised_regret
    from thrifty.rounds import Observation, Purchase, Run, RunPropensities, Runs
    from thrifty.simulation import simulate

_NAMES_BY_MODULE = {
    "agent": ("Agent",),
    "case": ("Case",),
    "checks": ("check_environment", "check_policy"),
    "environment": ("Environment",),
    "environments": ("Replay", "Schedule", "Truth", "World"),
    "plan": ("Plan",),
    "playing": ("play",),
    "policies": (
        "POLICIES",
        "SWUCB",
        "UCB1",
        "EpsilonGreedy",
        "LinUCB",
        "NCCUCRL2",
        "Oracle",
        "PSLinUCB",
        "PlanPolicy",
        "Scout",
        "SimOOS",
        "Uniform",
    ),
    "policy": ("Policy",),
    "problem": (
        "Bundle",
        "Feature",
        "Group",
        "Outcomes",
        "PriceList",
        "Problem",
        "RewardRange",
    ),
    "propensities": ("Propensity",),
    "regret": ("accuracy_by_observations", "expected_regret", "realised_regret"),
    "rounds": ("Observation", "Purchase", "Run", "RunPropensities", "Runs"),
    "simulation": ("simulate",),
}
_MODULES = ("environments", "errors", "policies", "theory")
_MODULE_OF_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "NCCUCRL2",
    "POLICIES",
    "SWUCB",
    "UCB1",
    "Agent",
    "Bundle",
    "Case",
    "Environment",
    "EpsilonGreedy",
    "Feature",
    "Group",
    "LinUCB",
    "Observation",
    "Oracle",
    "Outcomes",
    "PSLinUCB",
    "Plan",
    "PlanPolicy",
    "Policy",
    "PriceList",
    "Problem",
    "Propensity",
    "Purchase",
    "Replay",
    "RewardRange",
    "Run",
    "RunPropensities",
    "Runs",
    "Schedule",
    "Scout",
    "SimOOS",
    "Truth",
    "Uniform",
    "World",
    "__version__",
    "accuracy_by_observations",
    "check_environment",
    "check_policy",
    "environments",
    "errors",
    "expected_regret",
    "play",
    "policies",
    "realised_regret",
    "simulate",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"thrifty.{name}")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    value = getattr(import_module(f"thrifty.{_MODULE_OF_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
