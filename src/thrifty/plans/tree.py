"""A plan as a tree: buy, compare a value with a threshold, go on; act at a leaf.

A fixed set of looks, buying nothing and buying everything are plans with a single leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import Bools, Floats, Look, LookSet, PastCases, list_looks
from thrifty.problem import Problem

Codes = NDArray[np.int16]
Actions = NDArray[np.int64]


class Rule(Protocol):
    """Chooses the action at a leaf."""

    def action_values(self, codes: Codes) -> Floats:
        """Return the expected reward of every action, (n, A), from codes (n, D)."""
        ...


@dataclass(frozen=True, eq=False)
class ActionRule:
    """Always take the same action.

    Parameters
    ----------
    action : int
        Position of the action.
    values : array of float, shape (A,)
        Expected reward of every action, in money; the action's is the largest.
    """

    action: int
    values: Floats

    def action_values(self, codes: Codes) -> Floats:
        """Return the same values for every case.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of the cases.

        Returns
        -------
        array of float, shape (n, A)
            Expected rewards in money.
        """
        return np.broadcast_to(self.values, (len(codes), len(self.values)))


@dataclass(frozen=True, eq=False)
class Leaf:
    """Buy, then act.

    Parameters
    ----------
    looks : tuple of int
        Looks to buy, all at once.
    rule : Rule
        Chooses the action.
    n_cases : int
        Number of past cases that ended here.
    gain : float
        Their mean gain in money, all purchases of the plan included.
    """

    looks: LookSet
    rule: Rule
    n_cases: int = 0
    gain: float = 0.0


@dataclass(frozen=True, eq=False)
class Split:
    """Buy, then go one way or the other by the level of a feature.

    Parameters
    ----------
    looks : tuple of int
        Looks to buy before the comparison; there may be none.
    feature : int
        Position of the feature to compare.
    is_low : array of bool, shape (levels + 1,)
        True for each level that goes to `low`. The last entry is for a value that could not be
        obtained.
    low, high : Leaf or Split
        How the plan goes on.
    n_cases : int
        Number of past cases that came here.
    """

    looks: LookSet
    feature: int
    is_low: Bools
    low: Node
    high: Node
    n_cases: int = 0


Node = Leaf | Split


class Decisions(NamedTuple):
    """What a plan does in many cases.

    Parameters
    ----------
    actions : array of int, shape (n,)
        Actions taken.
    bought : array of bool, shape (n, L)
        True for each look that was bought.
    """

    actions: Actions
    bought: Bools

    def costs(self, cases: PastCases) -> Floats:
        """Return what the purchases cost in every case.

        Parameters
        ----------
        cases : PastCases
            The cases that the decisions are about.

        Returns
        -------
        array of float, shape (n,)
            Costs in money.
        """
        costs = np.zeros(len(self.actions))
        kinds, which = np.unique(self.bought, axis=0, return_inverse=True)
        for k, mask in enumerate(kinds):
            rows = np.flatnonzero(which.ravel() == k)
            costs[rows] = cases.costs.subset(rows).total(np.flatnonzero(mask).tolist())
        return costs

    def gains(self, cases: PastCases) -> Floats:
        """Return reward minus costs of every case.

        Parameters
        ----------
        cases : PastCases
            The cases that the decisions are about.

        Returns
        -------
        array of float, shape (n,)
            Gains in money.
        """
        return cases.rewards[self.actions, cases.outcomes] - self.costs(cases)


@dataclass(frozen=True, eq=False)
class PlanTree:
    """A plan for a problem, as data.

    Parameters
    ----------
    problem : Problem
        The problem that codes and looks refer to.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    root : Leaf or Split
        Where every case starts.
    target : str, optional
        Column with the outcome of each case, in the table that the plan was learnt from.
    """

    problem: Problem
    free: Bools
    root: Node
    target: str | None = None

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """Everything that can be bought."""
        return list_looks(self.problem, self.free)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, those of low values first."""
        return tuple(node for node in walk(self.root) if isinstance(node, Leaf))

    @cached_property
    def used(self) -> LookSet:
        """Every look that the plan buys in some case."""
        return tuple(sorted({k for node in walk(self.root) for k in node.looks}))

    def decide(self, codes: Codes) -> Decisions:
        """Carry out the plan in many cases at once.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of all features; -1 where a value cannot be obtained. Only what the plan buys in a
            case is used in that case.

        Returns
        -------
        Decisions
            Actions and purchases.
        """
        decisions = Decisions(
            np.zeros(len(codes), np.int64), np.zeros((len(codes), len(self.looks)), np.bool_)
        )
        self._follow(self.root, codes, np.arange(len(codes)), decisions)
        return decisions

    def expected_rewards(self, codes: Codes) -> Floats:
        """Return the expected reward of every action at the leaf of each case.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of all features; -1 where a value cannot be obtained.

        Returns
        -------
        array of float, shape (n, A)
            Rewards in money, without costs.
        """
        found = np.zeros((len(codes), len(self.problem.actions)))

        def follow(node: Node, rows: NDArray[np.intp]) -> None:
            if not rows.size:
                return
            if isinstance(node, Leaf):
                found[rows] = node.rule.action_values(codes[rows])
                return
            is_low = node.is_low[codes[rows, node.feature]]
            follow(node.low, rows[is_low])
            follow(node.high, rows[~is_low])

        follow(self.root, np.arange(len(codes)))
        return found

    def _follow(
        self, node: Node, codes: Codes, rows: NDArray[np.intp], decisions: Decisions
    ) -> None:
        if not rows.size:
            return
        for look in node.looks:
            decisions.bought[rows, look] = True
        if isinstance(node, Leaf):
            decisions.actions[rows] = node.rule.action_values(codes[rows]).argmax(axis=1)
            return
        goes_low = node.is_low[codes[rows, node.feature]]
        self._follow(node.low, codes, rows[goes_low], decisions)
        self._follow(node.high, codes, rows[~goes_low], decisions)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, low values first.

    Parameters
    ----------
    node : Leaf or Split
        Where to start.

    Yields
    ------
    Leaf or Split
        The nodes, each before those below it.
    """
    yield node
    if isinstance(node, Split):
        yield from walk(node.low)
        yield from walk(node.high)
