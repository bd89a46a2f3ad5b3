"""Carry out a plan in one case at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thrifty.plans.printing import explain_node
from thrifty.plans.tree import Leaf, Node, PlanTree, Split
from thrifty.rounds import Observation


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A node in the form that is fast for single cases: positions of features, and plain lists.

    Parameters
    ----------
    node : Leaf or Split
        The node of the plan.
    features : tuple of int
        Positions of the features that are bought there.
    compared : int
        Position of the feature that is compared, or -1 at a leaf.
    is_low : tuple of bool
        True for each level that goes to `low`; the last entry is for a value that could not be
        obtained.
    low, high : Step, optional
        How the plan goes on.
    """

    node: Node
    features: tuple[int, ...]
    compared: int = -1
    is_low: tuple[bool, ...] = ()
    low: Step | None = None
    high: Step | None = None

    @classmethod
    def of(cls, tree: PlanTree, node: Node) -> Step:
        """Return a node of a plan, with everything below it.

        Parameters
        ----------
        tree : PlanTree
            The plan.
        node : Leaf or Split
            The node.

        Returns
        -------
        Step
            The step.
        """
        columns = tuple(sorted({i for k in node.looks for i in tree.looks[k].columns}))
        if isinstance(node, Leaf):
            return cls(node, columns)
        low, high = cls.of(tree, node.low), cls.of(tree, node.high)
        return cls(node, columns, node.feature, tuple(node.is_low.tolist()), low, high)

    def follow(self, known: Observation) -> tuple[Step, tuple[int, ...]]:
        """Return where a case is now, and the features to buy there.

        Parameters
        ----------
        known : Observation
            What is known about the case.

        Returns
        -------
        step : Step
            Where the case is.
        buy : tuple of int
            Positions of the features to buy; none at a leaf where everything is settled.
        """
        codes, costs = known.codes.tolist(), known.costs.tolist()
        step = self
        while True:
            # A cost that is not nan means that the feature was bought and not obtained.
            buy = tuple([i for i in step.features if codes[i] < 0 and costs[i] != costs[i]])
            if buy or step.low is None:
                return step, buy
            step = step.next(codes)

    def leaf(self, codes: list[int]) -> Step:
        """Return the leaf of a case in which nothing more is bought.

        Parameters
        ----------
        codes : list of int
            Codes of all features, -1 where a value is not known.

        Returns
        -------
        Step
            The leaf.
        """
        step = self
        while step.low is not None:
            step = step.next(codes)
        return step

    def next(self, codes: list[int]) -> Step:
        """Return the next node; code -1 takes the last entry, that of values not obtained.

        Parameters
        ----------
        codes : list of int
            Codes of all features, -1 where a value is not known.

        Returns
        -------
        Step
            The next step.
        """
        step = self.low if self.is_low[codes[self.compared]] else self.high
        assert step is not None
        return step


def explain_step(tree: PlanTree, root: Step, known: Observation) -> dict[str, Any]:
    """Explain what a plan does next in a case.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    root : Step
        Its first step.
    known : Observation
        What is known about the case.

    Returns
    -------
    dict
        `why`, a few sentences, and `path`, the comparisons that led there.
    """
    reached, buy = root.follow(known)
    codes, path, step = known.codes.tolist(), [], root
    while step is not reached:
        assert isinstance(step.node, Split)
        path.append((step.node, codes[step.compared]))
        step = step.next(codes)
    names = [tree.problem.feature_names[i] for i in buy]
    why, comparisons = explain_node(tree, reached.node, path, names)
    return {"why": why, "path": comparisons}
