"""Read the target of an evaluation, and a log of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from thrifty.errors import InvalidTable, UnknownName
from thrifty.evaluation.logged_cases import Bools, LoggedCases
from thrifty.evaluation.table_log import read_table_log
from thrifty.frames.reader import read_table
from thrifty.names import quote_names
from thrifty.plans.files import plan_from_dict, read_plan
from thrifty.plans.tree import PlanTree
from thrifty.policy import Policy
from thrifty.policy_factory import policy_from_name, policy_from_saved_agent
from thrifty.policy_file import PolicyFile, build_spec, read_policy_file
from thrifty.policy_file.plans import PLAN, planned_problem
from thrifty.problem import Problem
from thrifty.specification import DEFAULT_TENANT, PolicySpec

FIXED_POLICIES = frozenset(("oracle", PLAN, "uniform"))
"""Policies that never learn."""
_EVENT_COLUMNS = frozenset(("transaction", "seq", "case", "kind", "body"))
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True, eq=False)
class EvaluationTarget:
    """The policy to evaluate.

    Parameters
    ----------
    problem : Problem
        Its features, actions, prices and range of rewards.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    file : PolicyFile
        The policy file, which says how a table is read.
    tree : PlanTree, optional
        The plan, if the target is one.
    spec : PolicySpec, optional
        The specification, if the target is a policy.toml.
    """

    problem: Problem
    free: Bools
    file: PolicyFile
    tree: PlanTree | None = None
    spec: PolicySpec | None = None

    @property
    def learns(self) -> bool:
        """True if the target is a policy that learns."""
        return self.spec is not None and self.spec.policy not in FIXED_POLICIES

    def policy(self) -> Policy:
        """Return the policy of a policy.toml, in the state in which it would start.

        Returns
        -------
        Policy
            A new object at every call.
        """
        assert self.spec is not None
        spec = self.spec
        if spec.agent is not None:
            return policy_from_saved_agent(spec, spec.agent)
        return policy_from_name(spec.policy, spec.problem, spec.seed, spec.parameters)


def read_target(
    path: Path, file: PolicyFile | None = None, *, notify: Callable[[str], None] | None = None
) -> EvaluationTarget:
    """Read a plan.json or a policy.toml.

    Parameters
    ----------
    path : Path
        The file.
    file : PolicyFile, optional
        For a plan: other prices, and how a table is read.
    notify : callable, optional
        Called with each notice about a policy.toml.

    Returns
    -------
    EvaluationTarget
        The target.

    Raises
    ------
    InvalidSpec, SaveError
        If the file cannot be used.
    """
    if path.suffix.lower() == ".json":
        tree, own = read_plan(path), file or PolicyFile()
        problem = planned_problem(own, tree) if own.features else _repriced(own, tree)
        return EvaluationTarget(problem, tree.free, own, tree)
    own = read_policy_file(path)
    spec = build_spec(own, path.parent, notify=notify)
    free = np.isin(spec.problem.feature_names, list(spec.free))
    plan = plan_from_dict(spec.parameters[PLAN]) if spec.policy == PLAN else None
    return EvaluationTarget(spec.problem, free, file or own, plan, spec)


def _repriced(file: PolicyFile, tree: PlanTree) -> Problem:
    return tree.problem if file == PolicyFile(log=file.log) else planned_problem(file, tree)


def read_log(path: Path | str, target: EvaluationTarget, *, of: str | None = None) -> LoggedCases:
    """Read a log of any kind for a target.

    Parameters
    ----------
    path : path or str
        A file that `thrifty export` wrote, a store, or a CSV or Parquet file with a row per case.
    target : EvaluationTarget
        The target, whose features code the values.
    of : str, optional
        Name of the policy in the log of a service. By default its only one, or that of the target.

    Returns
    -------
    LoggedCases
        The cases.

    Raises
    ------
    InvalidTable, UnknownName, StoreError
        If the log cannot be used.
    """
    if _is_store(path):
        return _read_store(str(path), target, of)
    path = Path(path)
    if path.suffix.lower() in {".parquet", ".pq"} and _is_export(path):
        return _read_export(path, target, of)
    table_format = target.file.table
    table = read_table(path, encoding=table_format.encoding, separator=table_format.separator)
    return read_table_log(table, target.problem, target.free, target.file)


def _is_store(path: Path | str) -> bool:
    if str(path).startswith(("postgresql://", "postgres://")):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise InvalidTable(f"{path} cannot be read ({error.strerror}): check the path.") from error


def _is_export(path: Path) -> bool:
    try:
        return set(pl.read_parquet_schema(path)) >= _EVENT_COLUMNS
    except pl.exceptions.PolarsError:
        return False  # the reader of tables says what is wrong


def _read_export(path: Path, target: EvaluationTarget, of: str | None) -> LoggedCases:
    from thrifty.evaluation.event_log import read_event_log
    from thrifty.service.export import exported_events

    names = pl.read_parquet(path, columns=["tenant", "policy"]).unique().rows()
    tenant, policy = _chosen(names, target, of)
    return read_event_log(exported_events(path, policy, tenant), target.problem, target.free)


def _read_store(address: str, target: EvaluationTarget, of: str | None) -> LoggedCases:
    from thrifty.evaluation.event_log import events_of_store, read_event_log
    from thrifty.service.stores import open_store

    store = open_store(address, read_only=True)
    try:
        names = [(spec.tenant, spec.name) for spec in store.policies.specs()]
        tenant, policy = _chosen(names, target, of)
        return read_event_log(events_of_store(store, policy, tenant), target.problem, target.free)
    finally:
        store.close()


def _chosen(
    names: list[tuple[str, str]], target: EvaluationTarget, of: str | None
) -> tuple[str, str]:
    """Return the tenant and the name of the policy whose log is used."""
    own = None if target.spec is None else target.spec
    tenant = DEFAULT_TENANT if own is None else own.tenant
    if of is None and len(names) == 1:
        return names[0]
    wanted = of or (None if own is None else own.name)
    found = [pair for pair in names if pair[1] == wanted]
    if wanted is None or not found:
        known = quote_names(sorted({name for _, name in names}))
        raise UnknownName(
            f"the log has {len(names)} policies, {known}, and none is chosen: name the policy that "
            "made the decisions with --of."
            if wanted is None
            else f"the log has no policy {wanted!r}; its policies are {known or 'no policy'}: "
            "choose one with --of."
        )
    return next((pair for pair in found if pair[0] == tenant), found[0])
