"""`baseline = "plan.json"` in policy.toml: a plan that a policy's gains are compared with.

The specification holds the plan itself, as for `policy = "plan"`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.plans.files import plan_to_dict, read_plan

BASELINE = "baseline"


def with_baseline(parameters: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the parameters of a policy with the plan that `baseline` names, if it names one.

    Parameters
    ----------
    parameters : dict
        Parameters as the file has them.
    folder : Path or None
        Folder that the path of the plan is relative to.

    Returns
    -------
    dict
        The parameters, with the content of the plan instead of its path.
    """
    name = parameters.get(BASELINE)
    if name is None:
        return parameters
    if not isinstance(name, str):
        raise InvalidSpec(
            f"[policy] baseline is {name!r}: give the path of a plan that `thrifty worth` or "
            'Plan.save wrote, as in baseline = "plan.json".'
        )
    if folder is None:
        raise InvalidSpec(
            f"[policy] baseline is {name!r}, a path relative to policy.toml, but the content was "
            "not read from a file: use read_spec."
        )
    return {**parameters, BASELINE: plan_to_dict(read_plan(folder / name))}
