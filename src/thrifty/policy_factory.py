"""Make policies from names, from policy.toml and from saved agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.archive import pack_archive, unpack_archive
from thrifty.errors import (
    ForeignFile,
    InvalidParameter,
    InvalidSpec,
    SaveError,
    ThriftyError,
    UnsupportedVersion,
)
from thrifty.json_values import to_json_value
from thrifty.policies import policy_named, registered_name
from thrifty.policies.registry import (
    chosen_maker,
    parameter_names,
    policy_maker,
    require_parameters,
)
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.seeds import Seed
from thrifty.specification import PolicySpec

AGENT, FORMAT = "agent", 2
"""Kind and format of an archive with a saved agent; release 0.1 wrote no format."""
DEFAULT_KEEP = 1000
"""Number of closed cases that an agent keeps, unless another number is given."""
HISTORY = "history"
"""Parameter of policies that can learn from past cases first."""


def policy_from_name(
    policy: str | Callable[..., Policy],
    problem: Problem,
    seed: Seed,
    parameters: Mapping[str, Any],
    history: Any = None,
) -> Policy:
    """Make a policy from its name or class; amounts of money are converted to its scale."""
    given, maker = dict(parameters), policy_maker(policy)
    make = chosen_maker(maker, problem, has_history=history is not None)
    if make is not maker and "horizon" not in parameter_names(make):
        given.pop("horizon", None)  # "auto" has chosen a policy that needs no horizon
    require_parameters(make, given, chosen=make is not maker)
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
    scaled = scaled_parameters(make, problem, given)
    if history is not None:
        require_history_use(make, name)
        scaled["history"] = history
    try:
        return make(problem, seed=seed, **scaled)
    except TypeError as error:
        raise InvalidParameter(
            f"{name} cannot be made with the parameters {sorted(given)} ({error}): give the "
            "agent exactly the parameters that the policy takes."
        ) from error


def require_history_use(make: Callable[..., Policy], name: str) -> None:
    """Raise `InvalidParameter` if a policy cannot learn from past cases first."""
    if HISTORY not in parameter_names(make):
        raise InvalidParameter(
            f"{name} cannot learn from a history, because it has no parameter {HISTORY!r}: use "
            "'surveyor', or leave out history."
        )


def scaled_parameters(
    make: Callable[..., Policy], problem: Problem, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters with amounts of money converted to the policy's scale."""
    kind: Any = getattr(make, "__self__", make)  # NCCUCRL2.published is a method of its class
    amounts: frozenset[str] = getattr(kind, "amounts", frozenset())
    return {
        name: problem.rewards.scaled_cost(value) if name in amounts and _is_number(value) else value
        for name, value in parameters.items()
    }


def parameters_in_money(policy: Policy) -> dict[str, Any]:
    """Return a policy's parameters with amounts converted back to money."""
    span = policy.problem.rewards.span
    return {
        # Rounded, because dividing by the span and multiplying again leaves rounding errors.
        name: float(f"{value * span:.12g}")
        if name in policy.amounts and _is_number(value)
        else value
        for name, value in policy.parameters.items()
    }


def policy_from_saved_agent(spec: PolicySpec, data: bytes) -> Policy:
    """Restore the policy of a saved agent, for the problem of the specification."""
    manifest, state = unpack_archive(data, Path(f"the saved agent of {spec.name!r}"))
    require_agent(manifest, f"the saved agent of {spec.name!r}")
    saved = manifest["policy"]
    signature = _signature if "format" in manifest else _signature_0_1
    saved_signature = (signature(Problem.from_dict(manifest["problem"])), saved["name"])
    if saved_signature != (signature(spec.problem), spec.policy):
        raise InvalidSpec(
            f"the saved agent is a {saved['class']} for other features, levels, edges, actions, "
            "another range of rewards or another policy than the file declares: save another agent "
            "or correct the file."
        )
    wanted = scaled_parameters(policy_named(spec.policy), spec.problem, spec.parameters)
    for name, value in wanted.items():
        before = saved["parameters"].get(name)
        if before != value and not _nearly(before, value):
            raise InvalidParameter(
                f"{name} = {value!r} on the policy's scale, but the saved agent was made with "
                f"{before!r}: leave {name} out, or save another agent."
            )
    return restore_policy(spec.problem, saved, state, None)


def require_agent(manifest: Mapping[str, Any], where: str) -> None:
    """Raise `SaveError` unless the archive contains an agent of this release or of 0.1."""
    if manifest.get("kind") != AGENT:
        raise ForeignFile(
            f"{where} contains {manifest.get('kind')!r}, not an agent: give a file written by "
            "Agent.save."
        )
    if manifest.get("format", FORMAT) != FORMAT:
        raise UnsupportedVersion(
            f"{where} has format {manifest['format']!r}, but this release reads format {FORMAT}: "
            "load it with the release that saved it."
        )


def _signature(problem: Problem) -> tuple[Any, ...]:
    """Return what gives a policy's codes and numbers their meaning; prices may change."""
    return problem.features, problem.actions, (problem.rewards.low, problem.rewards.high)


def _signature_0_1(problem: Problem) -> tuple[Any, ...]:
    """Return the part of the signature that release 0.1 saved."""
    features = tuple((feature.name, feature.levels) for feature in problem.features)
    return features, problem.actions


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearly(one: Any, other: Any) -> bool:
    """Return True if both are the same number up to rounding errors."""
    return _is_number(one) and _is_number(other) and math.isclose(one, other)


def restore_policy(
    problem: Problem,
    saved: Mapping[str, Any],
    state: Mapping[str, NDArray[Any]],
    factory: Callable[..., Policy] | None,
) -> Policy:
    """Make a policy from the description and the state that `Agent.save` wrote."""
    if factory is None and saved["name"] is None:
        raise SaveError(
            f"the file contains a {saved['class']}, which is not in the registry, so it cannot be "
            "made from its name: give load its class as policy=..."
        )
    make = policy_named(saved["name"]) if factory is None else factory
    try:
        # Any seed will do: the state of the generator is restored below.
        policy = make(problem, seed=0, **saved["parameters"])
        policy.set_state(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ThriftyError):
            raise
        raise SaveError(
            f"a {saved['class']} was saved, but its state does not fit the class that is given "
            f"now ({error!r}): load it with the class that was saved."
        ) from error
    policy.rounds = saved["rounds"]
    _restore_generator(policy, saved["generator"])
    return policy


def _restore_generator(policy: Policy, state: Mapping[str, Any]) -> None:
    if type(policy.rng.bit_generator).__name__ != state["bit_generator"]:
        policy.rng = np.random.Generator(getattr(np.random, state["bit_generator"])())
    policy.rng.bit_generator.state = state


def describe_policy(policy: Policy) -> dict[str, Any]:
    """Return the description that `restore_policy` needs besides the state, as JSON values."""
    return {
        "name": registered_name(policy),
        "class": type(policy).__qualname__,
        "parameters": to_json_value(policy.parameters, allow_nan=True),
        "rounds": policy.rounds,
        "generator": to_json_value(policy.rng.bit_generator.state, allow_nan=True),
    }


def pack_policy(policy: Policy) -> bytes:
    """Return the content of a file that `Agent.save` would write for a new agent with a policy."""
    manifest = {
        **describe_agent(policy),
        "keep": DEFAULT_KEEP,
        "free": [],
        "most_cost": None,
        "next_id": 1,
        "open": [],
        "closed": [],
    }
    return pack_archive(manifest, policy.get_state())


def describe_agent(policy: Policy) -> dict[str, Any]:
    """Return the part of an agent's manifest that is about its policy."""
    return {
        "kind": AGENT,
        "format": FORMAT,
        "problem": policy.problem.to_dict(),
        "policy": describe_policy(policy),
    }


def saved_policy_name(data: bytes, where: str) -> str | None:
    """Return the registered name of the policy of a saved agent."""
    manifest, _ = unpack_archive(data, Path(where))
    require_agent(manifest, where)
    name: str | None = manifest["policy"]["name"]
    return name
