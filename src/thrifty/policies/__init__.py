"""Every policy, one file each, and the registry of their names.

A new policy is a file here, its import, and its line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from thrifty.errors import UnknownName
from thrifty.policies.epsilon_greedy import EpsilonGreedy
from thrifty.policies.linucb import LinUCB
from thrifty.policies.ncc_ucrl2 import NCCUCRL2
from thrifty.policies.oracle import Oracle
from thrifty.policies.ps_linucb import PSLinUCB
from thrifty.policies.scout import Scout
from thrifty.policies.sim_oos import SimOOS
from thrifty.policies.sw_ucb import SWUCB
from thrifty.policies.ucb1 import UCB1
from thrifty.policies.uniform import Uniform
from thrifty.policy import Policy

__all__ = [
    "NCCUCRL2",
    "POLICIES",
    "SWUCB",
    "UCB1",
    "EpsilonGreedy",
    "LinUCB",
    "Oracle",
    "PSLinUCB",
    "Scout",
    "SimOOS",
    "Uniform",
    "policy_named",
    "registered_name",
]

POLICIES: Mapping[str, Callable[..., Policy]] = MappingProxyType(
    {
        "epsilon-greedy": EpsilonGreedy,
        "linucb": LinUCB,
        "ncc-ucrl2": NCCUCRL2,
        "ncc-ucrl2-published": NCCUCRL2.published,
        "ncc-ucrl2-repaired": NCCUCRL2.repaired,
        "oracle": Oracle,
        "ps-linucb": PSLinUCB,
        "scout": Scout,
        "sim-oos": SimOOS,
        "sw-ucb": SWUCB,
        "ucb1": UCB1,
        "uniform": Uniform,
    }
)
"""Policies by name. `simulate`, `Agent`, files and the command line use these names."""


def policy_named(name: str) -> Callable[..., Policy]:
    """Return the class or function that makes a policy.

    Parameters
    ----------
    name : str
        Name in `POLICIES`.

    Returns
    -------
    callable
        Call it as `make(problem, seed=..., **parameters)`.

    Raises
    ------
    UnknownName
        If there is no policy with this name.

    Examples
    --------
    >>> policy_named("ucb1") is UCB1
    True
    """
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise UnknownName(f"there is no policy {name!r}: use one of {known}.")
    return POLICIES[name]


def registered_name(policy: Policy) -> str | None:
    """Return the name under which a policy's class is registered.

    Parameters
    ----------
    policy : Policy
        Any policy.

    Returns
    -------
    str or None
        Name in `POLICIES`, or None if the class is not registered.

    Examples
    --------
    >>> from thrifty.problem import Problem
    >>> registered_name(UCB1(Problem.anonymous((2,), 2)))
    'ucb1'
    """
    return next((name for name, make in POLICIES.items() if make is type(policy)), None)
