"""A plan as nested JSON values with every condition in words, for pages that draw it."""

from __future__ import annotations

from typing import Any

from thrifty.plans.cases import LookSet
from thrifty.plans.printing import Possible, branches, purchase_price
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree

EVERY_CASE = "In every case"


def plan_outline(tree: PlanTree) -> dict[str, Any]:
    """Return the boxes of a plan as JSON values.

    Parameters
    ----------
    tree : PlanTree
        The plan.

    Returns
    -------
    dict
        The first box: `condition` (when the plan gets there), `buy` (names) with its `price`,
        `compare` (the feature that is compared next, or None), `action` (None if a model chooses
        it, or if the plan goes on), `acts` (True at the end), `share` of the cases, `spent` so far,
        `gain` per case (None if the plan goes on) and `below`, the boxes that follow.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.plans.tree import Split
    >>> from thrifty.problem import Feature, Problem
    >>> problem = Problem(
    ...     [Feature.number("TSH", edges=(6.05,))], ["wait", "treat"], prices={"TSH": 22.78}
    ... )
    >>> wait, treat = (ActionRule(a, np.eye(2)[a]) for a in range(2))
    >>> below, above = Leaf((), wait, 90, -22.0), Leaf((), treat, 10, -30.0)
    >>> split = Split((0,), 0, np.array([True, False, True]), below, above, 100)
    >>> outline = plan_outline(PlanTree(problem, np.array([False]), split))
    >>> outline["buy"], outline["price"], outline["compare"]
    (['TSH'], 22.78, 'TSH')
    >>> [(box["condition"], box["action"], box["share"]) for box in outline["below"]]
    [('TSH is at most 6.05 or missing', 'wait', 0.9), ('TSH is above 6.05', 'treat', 0.1)]
    """
    return _box(tree, tree.root, (), EVERY_CASE, {})


def _box(
    tree: PlanTree, node: Node, owned: LookSet, condition: str, possible: Possible
) -> dict[str, Any]:
    bought = (*owned, *node.looks)
    acts = isinstance(node, Leaf)
    below, compare, action, gain = [], None, None, None
    if isinstance(node, Leaf):
        gain = float(node.gain)
        if isinstance(node.rule, ActionRule):
            action = tree.problem.actions[node.rule.action]
    else:
        compare = tree.problem.feature_names[node.feature]
        below = [
            _box(tree, child, bought, f"{compare} {words}", left)
            for child, words, left in branches(tree, node, possible)
        ]
    return {
        "condition": condition,
        "buy": [tree.looks[k].name for k in node.looks],
        "price": purchase_price(tree, node.looks, owned),
        "compare": compare,
        "action": action,
        "acts": acts,
        "share": node.n_cases / tree.root.n_cases if tree.root.n_cases else None,
        "spent": purchase_price(tree, bought, ()),
        "gain": gain,
        "below": below,
    }
