"""`shadow` in policy.toml: the policies and plans that decide beside a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from thrifty.errors import InvalidSpec
from thrifty.features import require_distinct
from thrifty.plans.files import plan_to_dict, read_plan
from thrifty.policies.plan import require_same_problem
from thrifty.policy_file.model import PolicySection
from thrifty.policy_file.plans import PLAN
from thrifty.specification import PolicySpec, ShadowSettings

Read = Callable[[Path], PolicySpec]
"""Reads the policy.toml of a shadow."""


def read_shadows(
    section: PolicySection, spec: PolicySpec, folder: Path | None, read: Read
) -> ShadowSettings:
    """Return the shadows that `[policy]` names, for the problem of the policy.

    Parameters
    ----------
    section : PolicySection
        The section.
    spec : PolicySpec
        The policy, which the shadows decide beside.
    folder : Path or None
        Folder that the paths of the shadows are relative to.
    read : callable
        Reads a policy.toml.

    Returns
    -------
    ShadowSettings
        The shadows, and when they take over.
    """
    if section.shadow and folder is None:
        raise InvalidSpec(
            f"[policy] shadow is {list(section.shadow)}, paths relative to policy.toml, but the "
            "content was not read from a file: use read_spec."
        )
    specs = [_read(spec, (folder or Path()) / name, read) for name in section.shadow]
    require_distinct([spec.name, *(shadow.name for shadow in specs)], "[policy] shadow: policy")
    return ShadowSettings(tuple(specs), section.traffic, section.promote, section.promote_margin)


def _read(spec: PolicySpec, path: Path, read: Read) -> PolicySpec:
    if path.suffix == ".json":
        tree = read_plan(path)
        require_same_problem(tree, spec.problem)
        plan = {PLAN: plan_to_dict(tree)}
        return replace(spec, name=path.stem, policy=PLAN, parameters=plan, seed=0, agent=None)
    shadow = read(path)
    _require_same(spec, shadow, path)
    # The rest is that of the policy: the shadow decides the same cases under the same rules.
    return replace(
        spec,
        name=shadow.name,
        policy=shadow.policy,
        parameters=shadow.parameters,
        seed=shadow.seed,
        agent=shadow.agent,
    )


def _require_same(spec: PolicySpec, shadow: PolicySpec, path: Path) -> None:
    """Refuse a shadow for another problem."""
    own, other = spec.problem, shadow.problem
    pairs = {
        "features": (own.features, other.features),
        "actions": (own.actions, other.actions),
        "outcomes": (own.outcomes, other.outcomes),
        "ranges of rewards": (own.rewards, other.rewards),
        "prices": (own.prices, other.prices),
        "free features": (spec.free, shadow.free),
    }
    for what, (mine, its) in pairs.items():
        if mine != its:
            raise InvalidSpec(
                f"the shadow {path} has other {what} than the policy, so it cannot decide the same "
                "cases: give both files the same [[features]], [actions], [outcomes] and [rewards]."
            )
