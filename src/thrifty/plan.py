"""`Plan`: carry out a plan by the same verbs as `Agent`, and score it on new cases."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.case import Case
from thrifty.case_inputs import parse_reward
from thrifty.parameters import require_instance
from thrifty.plans.cases import Floats, PastCases
from thrifty.plans.files import read_plan, write_plan
from thrifty.plans.printing import format_plan
from thrifty.plans.tree import Decisions, PlanTree
from thrifty.policies.plan import PlanPolicy
from thrifty.problem import Problem

if TYPE_CHECKING:
    from thrifty.policy_file import PolicyFile

_Z = 1.959964
"""Half the width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class PlanTotals:
    """Sums over the cases of a plan whose reward is known.

    Parameters
    ----------
    cases : int
        Number of cases.
    reward : float
        Sum of their rewards, in money.
    spend : float
        Sum of what was paid in them, in money.
    """

    cases: int = 0
    reward: float = 0.0
    spend: float = 0.0

    @property
    def gain(self) -> float:
        """Reward minus spend."""
        return self.reward - self.spend


@dataclass(frozen=True, eq=False)
class PlanScore:
    """How a plan did in cases with known outcomes.

    Parameters
    ----------
    rewards : array of float, shape (n,)
        Reward of every case, in money.
    costs : array of float, shape (n,)
        What the plan bought in every case, in money.
    notes : tuple of str
        What a reader should know about how the cases were read.
    """

    rewards: Floats
    costs: Floats
    notes: tuple[str, ...] = ()

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.rewards)

    @property
    def gains(self) -> Floats:
        """Reward minus costs of every case."""
        return self.rewards - self.costs

    @property
    def gain_per_case(self) -> float:
        """Mean gain."""
        return float(self.gains.mean())

    @property
    def spend_per_case(self) -> float:
        """Mean cost."""
        return float(self.costs.mean())

    @property
    def reward_per_case(self) -> float:
        """Mean reward."""
        return float(self.rewards.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the means as JSON values.

        Returns
        -------
        dict
            `cases`, `gain_per_case`, `spend_per_case` and `reward_per_case`.
        """
        keys = ("cases", "gain_per_case", "spend_per_case", "reward_per_case")
        return {key: getattr(self, key) for key in keys}


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return a 95 % interval of a mean; it is not known for a single case.

    Parameters
    ----------
    values : array of float
        One value per case.

    Returns
    -------
    tuple of float
        Lower and upper end.

    Examples
    --------
    >>> [round(end, 2) for end in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [0.87, 3.13]
    """
    if len(values) < 2:
        return math.nan, math.nan
    error = _Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - error, float(values.mean()) + error


class Plan:
    """A plan: what to look at first, what next, and when to stop and act.

    `thrifty worth` learns a plan from past cases and writes it to a plan.json. A plan decides by
    the same verbs as `Agent`, and learns nothing: the same values always lead to the same action.

    Parameters
    ----------
    tree : PlanTree
        The plan as data.
    keep : int
        Number of closed cases that can still be explained.

    Attributes
    ----------
    tree : PlanTree
        The plan as data.
    totals : PlanTotals
        Sums over the cases whose reward was reported.

    Examples
    --------
    >>> from thrifty import Feature, Problem
    >>> from thrifty.plans.tree import ActionRule, Leaf, Split
    >>> problem = Problem(
    ...     [Feature.number("TSH", edges=(6.05,))],
    ...     ["wait", "treat"],
    ...     outcomes={"wait": {"well": 0, "ill": -900}, "treat": {"well": -200, "ill": 0}},
    ...     prices={"TSH": 22.78},
    ... )
    >>> wait, treat = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))
    >>> split = Split((0,), 0, np.array([True, False, True]), low=wait, high=treat)
    >>> plan = Plan(PlanTree(problem, np.array([False]), split))
    >>> case = plan.ask()
    >>> case.buy, case.expected_price
    (('TSH',), 22.78)
    >>> case = plan.observe(case, {"TSH": 7.5})
    >>> case.action
    'treat'
    >>> plan.tell(case, outcome="ill")
    >>> plan.totals.gain
    -22.78
    >>> plan.score({"TSH": [0.7, 9.1], "result": ["well", "well"]}, target="result").to_dict()
    {'cases': 2, 'gain_per_case': -122.78, 'spend_per_case': 22.78, 'reward_per_case': -100.0}
    """

    def __init__(self, tree: PlanTree, *, keep: int = 1000) -> None:
        require_instance(tree, PlanTree, "tree", "or read a file with Plan.load")
        self.tree = tree
        self.totals = PlanTotals()
        self._agent = Agent(tree.problem, PlanPolicy(tree.problem, plan=tree), keep=keep)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, keep: int = 1000) -> Plan:
        """Load a plan.json.

        Parameters
        ----------
        path : path
            File that `thrifty worth` or `save` wrote.
        keep : int
            Number of closed cases that can still be explained.

        Returns
        -------
        Plan
            The plan, which decides exactly as the saved one.

        Raises
        ------
        SaveError
            If the file cannot be read, is not a plan, has another version, or was changed.
        """
        return cls(read_plan(path), keep=keep)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the plan as a plan.json, without cases and totals.

        Parameters
        ----------
        path : path
            File to write.
        """
        write_plan(self.tree, path)

    @property
    def problem(self) -> Problem:
        """Features, actions, outcomes and prices."""
        return self.tree.problem

    @property
    def open_cases(self) -> tuple[int, ...]:
        """Ids of the cases that wait for an observation or a reward, oldest first."""
        return self._agent.open_cases

    def ask(
        self,
        free: Mapping[str, Any] | None = None,
        *,
        available: Iterable[str] | None = None,
    ) -> Case:
        """Open a case.

        Parameters
        ----------
        free : mapping, optional
            Values that are known without paying, by feature.
        available : iterable of str, optional
            Actions to choose from, in case nothing is bought. None means all.

        Returns
        -------
        Case
            The features to buy or, if there are none, the action.
        """
        return self._agent.ask(free, available=available)

    def observe(
        self,
        case: Case | int | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
    ) -> Case:
        """Report the result of a purchase.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        values : mapping, optional
            Values by feature. Leave out a feature that could not be obtained, or give None.
        costs : mapping, optional
            Costs in money, by feature or by bundle. A cost that you leave out is the list price, or
            0 if the value could not be obtained.
        available : iterable of str, optional
            Actions to choose from. None means all.

        Returns
        -------
        Case
            The features to buy next or, if there are none, the action.
        """
        return self._agent.observe(case, values, costs, available=available)

    def tell(
        self, case: Case | int | str, reward: float | None = None, *, outcome: str | None = None
    ) -> None:
        """Close a case with its reward or outcome, and add it to the totals.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        reward : float, optional
            Reward in money.
        outcome : str, optional
            Name of the outcome. The reward is then taken from the problem's table.
        """
        self._agent.case(case)  # refuses a case that is closed, before anything is counted
        told = self._agent.explain(case)
        self._agent.tell(case, reward, outcome=outcome)
        action = self.problem.action_index(told["action"])
        earned, _ = parse_reward(self.problem, action, reward, outcome)
        paid = math.fsum(cost for step in told["steps"] for cost in step["costs"].values())
        before = self.totals
        self.totals = PlanTotals(before.cases + 1, before.reward + earned, before.spend + paid)

    def abandon(self, case: Case | int | str) -> None:
        """Close a case without a reward; it is not added to the totals.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        """
        self._agent.abandon(case)

    def explain(self, case: Case | int | str) -> dict[str, Any]:
        """Return everything known about a case, and why the plan decided as it did.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id. It may be closed.

        Returns
        -------
        dict
            As `Agent.explain` returns it, and `why`: a text for each purchase and, once there is an
            action, one that says why nothing more is bought.
        """
        found = self._agent.explain(case)
        reasons = [*(step["reasons"] for step in found["steps"]), found["action_reasons"]]
        why = [reason["why"] for reason in reasons if reason is not None]
        return {**found, "why": why}

    def score(
        self, table: Any, *, target: str | None = None, prices: PolicyFile | None = None
    ) -> PlanScore:
        """Carry out the plan in cases with known outcomes, and return what it gains.

        In each case only what the plan buys there is used and paid for, at list prices.

        Parameters
        ----------
        table : path, DataFrame or mapping
            A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow, with a column for
            each feature that the plan uses.
        target : str, optional
            Column with the outcome of each case. By default the one that the plan was learnt from.
        prices : PolicyFile, optional
            A policy file with other prices, also by case.

        Returns
        -------
        PlanScore
            Rewards and costs of the cases with an outcome.

        Raises
        ------
        InvalidTable, InvalidSpec, UnknownName
            If the table does not fit the plan; the message says how to correct it.
        """
        from thrifty.tables.new_cases import read_new_cases

        new = read_new_cases(table, self.tree, target=target, file=prices)
        decisions = self.tree.decide(new.cases.codes)
        rewards = new.cases.rewards[decisions.actions, new.cases.outcomes]
        return PlanScore(rewards, _paid(self.tree, decisions, new.cases), new.notes)

    def __str__(self) -> str:
        """Return the plan as an indented tree.

        Returns
        -------
        str
            A line per purchase, comparison and action.
        """
        return format_plan(self.tree)

    def __repr__(self) -> str:
        n_leaves, n_open = len(self.tree.leaves), len(self.open_cases)
        return f"Plan({n_leaves} leaves, {n_open} open cases)"


def _paid(tree: PlanTree, decisions: Decisions, cases: PastCases) -> Floats:
    """Return what the purchases cost at the prices of the cases, which may have other bundles."""
    columns = np.zeros((len(cases.codes), tree.problem.n_features), np.bool_)
    for k, look in enumerate(tree.looks):
        columns[:, list(look.columns)] |= decisions.bought[:, [k]]
    bought = np.zeros((len(cases.codes), len(cases.looks)), np.bool_)
    for k, look in enumerate(cases.looks):
        bought[:, k] = columns[:, list(look.columns)].any(axis=1)
    return Decisions(decisions.actions, bought).costs(cases)
