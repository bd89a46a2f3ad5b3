"""Targets: carry out a policy in logged cases, as far as the log shows what it looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.evaluation.logged_cases import Bools, Codes, Integers, LoggedCases
from thrifty.plans.tree import Leaf, Node, PlanTree, walk
from thrifty.policy import Policy
from thrifty.rounds import Observation

NEVER = -1
"""Step of a feature that the target does not buy, and action of a case that does not show it."""


@dataclass(frozen=True, eq=False)
class Followed:
    """What a target does in logged cases.

    Parameters
    ----------
    steps : array of int, shape (n, D)
        Step in which the target buys each feature, counted from 0; -1 if it does not. In a case
        that does not show a purchase, later ones are not known.
    shown : array of bool, shape (n,)
        True if the case shows everything that the target looks at, so its action is known.
    actions : array of int, shape (n,)
        Actions of the target; -1 where they are not known.
    leaves : array of int, shape (n,), optional
        Leaf of a plan where each case ends; -1 where it is not known.
    leaf_names : tuple of str
        Name of each leaf.

    Examples
    --------
    >>> steps = np.array([[0, -1], [0, 1]])
    >>> followed = Followed(steps, np.array([True, False]), np.array([1, -1]))
    >>> followed.bought.tolist()
    [[True, False], [True, True]]
    """

    steps: NDArray[np.int8]
    shown: Bools
    actions: Integers
    leaves: Integers | None = None
    leaf_names: tuple[str, ...] = ()

    @property
    def bought(self) -> Bools:
        """True for each feature that the target buys, (n, D)."""
        bought: Bools = self.steps >= 0
        return bought


def follow_plan(tree: PlanTree, log: LoggedCases) -> Followed:
    """Carry out a plan in logged cases.

    Values that the plan has not bought by then are hidden from it, also if the log has them.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    log : LoggedCases
        The cases; their features are those of the plan, in the same order.

    Returns
    -------
    Followed
        Purchases and actions.
    """
    return _PlanWalk(tree, log).walk()


class _PlanWalk:
    """One plan being carried out in all cases at once, node by node."""

    def __init__(self, tree: PlanTree, log: LoggedCases) -> None:
        self.tree, self.log = tree, log
        n = log.n_cases
        self.steps = np.full((n, tree.problem.n_features), NEVER, np.int8)
        self.shown = np.zeros(n, np.bool_)
        self.actions, self.leaves = np.full(n, NEVER), np.full(n, NEVER)

    def walk(self) -> Followed:
        self._visit(self.tree.root, np.arange(self.log.n_cases), 0, 0)
        names = tuple(f"leaf {k + 1}" for k in range(len(self.tree.leaves)))
        return Followed(self.steps, self.shown, self.actions, self.leaves, names)

    def _visit(self, node: Node, rows: NDArray[np.intp], step: int, first_leaf: int) -> None:
        wanted = sorted({i for k in node.looks for i in self.tree.looks[k].columns})
        if wanted:
            # A feature that is settled before the purchase, because it is free, is not bought.
            new = np.array([i for i in wanted if not self.log.free[i]], dtype=np.int64)
            self.steps[np.ix_(rows, new)] = step
            rows = rows[self.log.settled[np.ix_(rows, new)].all(axis=1)]
        if not rows.size:
            return
        if isinstance(node, Leaf):
            self._act(node, rows)
            self.leaves[rows] = first_leaf
            return
        low = node.is_low[self.log.codes[rows, node.feature]]
        next_leaf = first_leaf + sum(isinstance(below, Leaf) for below in walk(node.low))
        self._visit(node.low, rows[low], step + 1, first_leaf)
        self._visit(node.high, rows[~low], step + 1, next_leaf)

    def _act(self, leaf: Leaf, rows: NDArray[np.intp]) -> None:
        seen = np.where(
            (self.steps[rows] >= 0) | self.log.free, self.log.codes[rows], np.int16(-1)
        ).astype(np.int16)
        self.shown[rows] = True
        self.actions[rows] = leaf.rule.action_values(seen).argmax(axis=1)


def follow_policy(policy: Policy, log: LoggedCases) -> Followed:
    """Carry out a policy that does not learn in logged cases, one by one.

    A policy that draws random numbers draws new ones for every case. Estimates stay unbiased,
    because the draws do not depend on what the log shows.

    Parameters
    ----------
    policy : Policy
        The policy; its `update` is not called.
    log : LoggedCases
        The cases; their features are those of the policy, in the same order.

    Returns
    -------
    Followed
        Purchases and actions.
    """
    n, n_features = log.codes.shape
    steps = np.full((n, n_features), NEVER, np.int8)
    actions = np.full(n, NEVER)
    for row in range(n):
        actions[row] = follow_case(policy, log, row, steps[row])[0]
    return Followed(steps, actions >= 0, actions)


def follow_case(
    policy: Policy, log: LoggedCases, row: int, steps: NDArray[np.int8]
) -> tuple[int, Observation]:
    """Carry out a policy in one logged case.

    Parameters
    ----------
    policy : Policy
        The policy.
    log : LoggedCases
        The cases.
    row : int
        Position of the case.
    steps : array of int, shape (D,)
        Filled with the step in which each feature is bought.

    Returns
    -------
    action : int
        The action, or -1 if the case does not show what the policy buys.
    observation : Observation
        What the policy knew in the end, on its own scale.
    """
    codes, settled, span = log.codes[row], log.settled[row], log.problem.rewards.span
    seen: Codes = np.where(log.free, codes, np.int16(-1)).astype(np.int16)
    costs = np.full(len(codes), np.nan)
    known = Observation.unchecked(seen.astype(np.int64), costs, 0)
    for step in range(len(codes) + 1):
        purchase = policy.choose_features(known)
        mask = purchase.mask & np.isnan(costs) & (seen < 0)
        steps[mask] = step
        if not settled[mask].all():
            return NEVER, known
        seen, costs = np.where(mask, codes, seen), np.where(mask, log.costs[row] / span, costs)
        known = Observation.unchecked(seen.astype(np.int64), costs, purchase.purpose)
        if not (policy.stepwise and mask.any()):
            break
    return policy.choose_action(known), known
