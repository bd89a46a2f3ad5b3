"""The registry of policies: their classes, their names, and how they are made.

A new policy is a file in this folder, and here its import and its lines in `__all__` and
`POLICIES`. A compiled policy has one more file, in `thrifty.kernels`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from thrifty.environment import Environment
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.policies.ada_iltcb import AdaILTCB
from thrifty.policies.ada_iltcb_plus import AdaILTCBPlus
from thrifty.policies.adaptive_ts import AdaptiveTS
from thrifty.policies.auto import auto, chosen_by_auto
from thrifty.policies.bob_sw_linucb import BOBSWLinUCB
from thrifty.policies.cusum_ucb import CUSUMUCB
from thrifty.policies.d_linucb import DiscountedLinUCB
from thrifty.policies.d_ucb import DUCB
from thrifty.policies.dal_linucb import DALLinUCB
from thrifty.policies.dal_ncc_ucrl2 import DALNCCUCRL2
from thrifty.policies.discounted_ts import DiscountedTS
from thrifty.policies.dlinucb import DynamicLinUCB
from thrifty.policies.dlinucb_ensemble import DynamicEnsemble
from thrifty.policies.epsilon_greedy import EpsilonGreedy
from thrifty.policies.glr_klucb import GLRKLUCB
from thrifty.policies.linucb import LinUCB
from thrifty.policies.m_ucb import MUCB
from thrifty.policies.master import MASTER
from thrifty.policies.ncc_ucrl2 import NCCUCRL2
from thrifty.policies.oracle import Oracle
from thrifty.policies.particle_learning import ParticleLearning
from thrifty.policies.plan import PlanPolicy
from thrifty.policies.ps_linucb import PSLinUCB
from thrifty.policies.scout import Scout
from thrifty.policies.seq_oos import SeqOOS
from thrifty.policies.sim_oos import SimOOS
from thrifty.policies.surveyor import Surveyor
from thrifty.policies.sw_linucb import SWLinUCB
from thrifty.policies.sw_ucb import SWUCB
from thrifty.policies.tsrc import TSRC
from thrifty.policies.ucb1 import UCB1
from thrifty.policies.uniform import Uniform
from thrifty.policies.wtsrc import WTSRC
from thrifty.policy import Policy
from thrifty.problem import Problem

__all__ = [
    "CUSUMUCB",
    "DALNCCUCRL2",
    "DUCB",
    "GLRKLUCB",
    "MASTER",
    "MUCB",
    "NCCUCRL2",
    "POLICIES",
    "SWUCB",
    "TSRC",
    "UCB1",
    "WTSRC",
    "AdaILTCB",
    "AdaILTCBPlus",
    "AdaptiveTS",
    "BOBSWLinUCB",
    "DALLinUCB",
    "DiscountedLinUCB",
    "DiscountedTS",
    "DynamicEnsemble",
    "DynamicLinUCB",
    "EpsilonGreedy",
    "LinUCB",
    "Oracle",
    "PSLinUCB",
    "ParticleLearning",
    "PlanPolicy",
    "SWLinUCB",
    "Scout",
    "SeqOOS",
    "SimOOS",
    "Surveyor",
    "Uniform",
    "policy_named",
    "registered_name",
]
"""The names that `thrifty.policies` exports."""

POLICIES: Mapping[str, Callable[..., Policy]] = MappingProxyType(
    {
        "ada-iltcb": AdaILTCB,
        "ada-iltcb-plus": AdaILTCBPlus,
        "adaptive-ts": AdaptiveTS,
        "auto": auto,
        "bob-sw-linucb": BOBSWLinUCB,
        "cusum-ucb": CUSUMUCB,
        "d-linucb": DiscountedLinUCB,
        "d-ucb": DUCB,
        "dal-linucb": DALLinUCB,
        "dal-ncc-ucrl2": DALNCCUCRL2,
        "discounted-ts": DiscountedTS,
        "dlinucb": DynamicLinUCB,
        "dlinucb-ensemble": DynamicEnsemble,
        "epsilon-greedy": EpsilonGreedy,
        "glr-klucb": GLRKLUCB,
        "linucb": LinUCB,
        "m-ucb": MUCB,
        "master": MASTER,
        "ncc-ucrl2": NCCUCRL2,
        "ncc-ucrl2-published": NCCUCRL2.published,
        "ncc-ucrl2-repaired": NCCUCRL2.repaired,
        "oracle": Oracle,
        "particle-learning": ParticleLearning,
        "plan": PlanPolicy,
        "ps-linucb": PSLinUCB,
        "scout": Scout,
        "seq-oos": SeqOOS,
        "sim-oos": SimOOS,
        "surveyor": Surveyor,
        "sw-linucb": SWLinUCB,
        "sw-ucb": SWUCB,
        "tsrc": TSRC,
        "ucb1": UCB1,
        "uniform": Uniform,
        "wtsrc": WTSRC,
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


def policy_maker(policy: str | Callable[..., Policy]) -> Callable[..., Policy]:
    """Return the class or function that makes a policy, given that or the policy's name."""
    if isinstance(policy, str):
        return policy_named(policy)
    if isinstance(policy, Policy) or not callable(policy):
        raise InvalidParameter(
            f"{policy!r} is neither a policy's name nor its class: a new policy is made for every "
            "seed, so give a name or a class, for instance 'ucb1' or UCB1."
        )
    return policy


def chosen_maker(
    make: Callable[..., Policy], problem: Problem, *, has_history: bool = False
) -> Callable[..., Policy]:
    """Return the class that "auto" chooses for a problem, and any other maker as it is."""
    return chosen_by_auto(problem, has_history=has_history) if make is auto else make


def parameter_names(make: Callable[..., Policy]) -> list[str]:
    """Return the names of a policy's parameters; those of both choices for "auto"."""
    makers = (auto, Scout, Surveyor) if make is auto else (make,)
    found = [p for maker in makers for p in inspect.signature(maker).parameters.values()]
    names = {parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD}
    return sorted(names - {"problem", "seed", "truth"})


def require_parameters(
    make: Callable[..., Policy], params: Mapping[str, Any], *, chosen: bool = False
) -> None:
    """Raise `InvalidParameter` for a parameter that the policy does not have.

    With `chosen`, "auto" has chosen the policy, and the message says so.
    """
    known = parameter_names(make)
    for name in params:
        if name not in known:
            which, remedy = "the policy", ""
            if chosen:
                which = f"{getattr(make, '__name__', make)}, which 'auto' has chosen,"
                remedy = " Name the policy that you want, such as 'scout' or 'surveyor'."
            raise InvalidParameter(
                f"{which} has no parameter {name!r}: its parameters are "
                f"{', '.join(known) or 'none'}.{remedy}"
            )


def make_policy(
    make: Callable[..., Policy], world: Environment, seed: int, params: Mapping[str, Any]
) -> Policy:
    """Make a policy for an environment; parameters that it does not take are left out."""
    make = chosen_maker(make, world.problem, has_history=params.get("history") is not None)
    wanted = inspect.signature(make).parameters
    given = {name: value for name, value in params.items() if name in wanted}
    if "truth" in wanted:
        given["truth"] = _truth_of(world)
    return make(world.problem, seed=seed, **given)


def _truth_of(world: Environment) -> Any:
    truth = getattr(world, "truth", None)
    if truth is None:
        raise InvalidParameter(
            "this environment has no attribute `truth`, which the oracle needs: use a Replay, a "
            "World or another environment that has it."
        )
    return truth
