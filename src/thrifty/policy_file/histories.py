"""`history` in policy.toml: learn from a table of past cases before the first decision.

The specification holds what was learnt, as a saved agent. So a service that restarts, an audit and
a replay do not need the table again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import InvalidSpec
from thrifty.policies import policy_named
from thrifty.policies.auto import AUTO, chosen_by_auto
from thrifty.policies.registry import POLICIES, parameter_names, require_parameters
from thrifty.policy_factory import pack_policy, policy_from_name, saved_policy_name
from thrifty.policy_file.model import PolicyFile, PolicySection
from thrifty.problem import Problem

if TYPE_CHECKING:
    from thrifty.surveyor.history import History


def read_policy_history(
    file: PolicyFile, problem: Problem, free: Sequence[str], folder: Path | None
) -> History | None:
    """Return the past cases that `[policy]` names, or None if it names none.

    Parameters
    ----------
    file : PolicyFile
        The file; `[table]` has the target and says how the table is written.
    problem : Problem
        The problem of the file.
    free : sequence of str
        Features that come with every case.
    folder : Path or None
        Folder that the path of the history is relative to.

    Returns
    -------
    History or None
        The past cases.
    """
    name = None if file.policy is None else file.policy.history
    if file.policy is None or name is None:
        return None
    if file.policy.agent is not None:
        raise InvalidSpec(
            f"[policy] has history = {name!r} and agent = {file.policy.agent!r}, but a saved agent "
            "has learnt already: remove one of them."
        )
    if folder is None:
        raise InvalidSpec(
            f"[policy] history is {name!r}, a path relative to policy.toml, but the content was "
            "not read from a file: use read_spec."
        )
    for section in file.features:
        if section.parts:
            raise InvalidSpec(
                f"feature {section.name!r} has parts, so its levels are not in a column of the "
                "history: give each column a [[features]] entry, and sell them in [[bundles]]."
            )
    return _read(file, problem, free, folder / name)


def _read(file: PolicyFile, problem: Problem, free: Sequence[str], path: Path) -> History:
    # Imported here, because most files have no history and polars is slow to import.
    from thrifty.frames.history import HistoryFormat, read_history

    return read_history(
        path,
        problem,
        target=file.table.target,
        free=np.isin(problem.feature_names, list(free)),
        table_format=HistoryFormat(
            missing=file.table.missing,
            absent={section.name: section.absent for section in file.features},
            periods={
                section.name: section.edge_values for section in file.features if section.by_period
            },
            encoding=file.table.encoding,
            separator=file.table.separator,
        ),
    )


def chosen_policy(
    section: PolicySection, problem: Problem, free: Sequence[str], agent: bytes | None
) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a policy, with "auto" replaced by what it chooses.

    Parameters
    ----------
    section : PolicySection
        The section.
    problem : Problem
        The problem.
    free : sequence of str
        Features that come with every case.
    agent : bytes or None
        The saved agent to start from, whose policy has been chosen already.

    Returns
    -------
    name : str
        Name in the registry.
    parameters : dict
        Parameters of that policy.
    """
    if section.policy != AUTO:
        return section.policy, section.parameters
    if agent is None:
        has_history = section.history is not None
        kind = chosen_by_auto(problem, has_history=has_history, free=free)
        name = next(name for name, make in POLICIES.items() if make is kind)
    else:
        name = saved_policy_name(agent, "the saved agent") or AUTO
    known = parameter_names(policy_named(name))
    parameters = section.parameters
    if "horizon" not in known:
        parameters.pop("horizon", None)  # Scout needs no horizon
    require_parameters(policy_named(name), parameters, chosen=True)
    return name, parameters


def learnt_agent(
    name: str,
    problem: Problem,
    seed: int,
    parameters: dict[str, Any],
    history: History,
    notify: Callable[[str], None] | None,
) -> bytes:
    """Return a saved agent that has learnt from past cases.

    Parameters
    ----------
    name : str
        Name of the policy.
    problem : Problem
        The problem.
    seed : int
        Random seed.
    parameters : dict
        Parameters of the policy, amounts in money.
    history : History
        The past cases.
    notify : callable or None
        Called with each note about the history.

    Returns
    -------
    bytes
        The content of a file that `Agent.save` writes.
    """
    if notify is not None:
        for note in history.notes:
            notify(f"history: {note}")
    return pack_policy(policy_from_name(name, problem, seed, parameters, history))
