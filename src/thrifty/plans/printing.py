"""Plans in words: conditions such as "TSH is at most 6.05", and the tree as indented text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from thrifty.features import Feature, date_text, short_number
from thrifty.names import display_name, join_names
from thrifty.plans.cases import Bools, LookSet
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Split
from thrifty.prices import PriceList

MAX_NAMES = 6
"""Number of levels that a condition lists before it counts the rest."""
MAX_LEVEL = 40
"""Longer names of levels are shortened."""
_WIDTH = 78

Possible = Mapping[int, Bools]
"""Levels that a feature can still have, by position of the feature; all if it is not listed."""


def describe_condition(feature: Feature, chosen: Bools) -> str:
    """Return the condition that a value is at one of the chosen levels.

    Parameters
    ----------
    feature : Feature
        The feature that is compared.
    chosen : array of bool, shape (levels + 1,)
        True for each level that fulfils the condition. The last entry is for a value that could not
        be obtained.

    Returns
    -------
    str
        Completes a sentence that begins with the name of the feature.

    Examples
    --------
    >>> tsh = Feature.number("TSH", edges=(0.5, 6.05), missing=True)
    >>> describe_condition(tsh, np.array([True, True, False, True, True]))
    'is at most 6.05 or missing'
    >>> describe_condition(tsh, np.array([False, False, True, False, False]))
    'is above 6.05'
    """
    n_intervals = len(feature.edges) + 1 if feature.edges else 0
    parts = _intervals(feature, chosen[:n_intervals]) if n_intervals else []
    names = feature.levels[n_intervals:]
    parts += [
        "another value" if level == feature.other else display_name(level, MAX_LEVEL)
        for level, is_chosen in zip(names, chosen[n_intervals:].tolist(), strict=False)
        if is_chosen and level != feature.missing
    ]
    hidden = len(parts) - MAX_NAMES
    if hidden > 0:
        parts = [*parts[:MAX_NAMES], f"{hidden} other levels"]
    if _is_missing_chosen(feature, chosen):
        parts.append("missing")
    elif chosen[-1]:
        parts.append("not obtained")
    return "is " + (" or ".join(parts) or "at no level")


def _is_missing_chosen(feature: Feature, chosen: Bools) -> bool:
    """Return True if a missing value fulfils the condition."""
    place = -1 if feature.missing is None else feature.levels.index(feature.missing)
    return bool(chosen[place])


def _intervals(feature: Feature, chosen: Bools) -> list[str]:
    """Return the chosen intervals of a number, with neighbours joined."""
    changes = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False]))))
    pairs = changes.reshape(-1, 2).tolist()
    return [_interval(feature, start, end) for start, end in pairs]


def _interval(feature: Feature, start: int, end: int) -> str:
    """Return the condition that the code of a number or date is from `start` to `end` - 1."""
    format_edge = date_text if feature.is_date else exact_number
    above = f"above {format_edge(feature.edges[start - 1])}" if start > 0 else ""
    at_most = f"at most {format_edge(feature.edges[end - 1])}" if end <= len(feature.edges) else ""
    return " and ".join(filter(None, (above, at_most))) or "any value"


def exact_number(value: float) -> str:
    """Return a number as text that reads back as the same number.

    >>> exact_number(6.05), exact_number(1250.0), exact_number(0.1 + 0.2)
    ('6.05', '1,250', '0.30000000000000004')
    """
    short = short_number(value)
    return short if float(short.replace(",", "")) == value else repr(value)


def purchase_price(tree: PlanTree, looks: LookSet, owned: LookSet) -> float:
    """Return the list price of looks after others, with the setup fees that are still due.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    looks : tuple of int
        Looks to buy now.
    owned : tuple of int
        Looks bought earlier in the case.

    Returns
    -------
    float
        Price in money.
    """
    groups = (tree.problem.prices or PriceList()).groups
    new = [k for k in looks if k not in owned]
    paid = {tree.looks[k].group for k in owned}
    due = {tree.looks[k].group for k in new} - paid - {-1}
    return math.fsum([*(tree.looks[k].price for k in new), *(groups[g].setup for g in sorted(due))])


def format_amount(tree: PlanTree, value: float) -> str:
    """Return an amount without the currency, with as many decimals as the smallest price needs."""
    smallest = min((look.price for look in tree.looks if look.price > 0), default=1.0)
    decimals = min(max(2, math.ceil(-math.log10(smallest)) + 1), 6)
    text = f"{value:,.{decimals}f}"
    # Without this, -0.001 would become "-0.00".
    return text if text.strip("-0.,") else text.removeprefix("-")


def format_plan(tree: PlanTree) -> str:
    """Return a plan as an indented tree for the terminal.

    Parameters
    ----------
    tree : PlanTree
        The plan.

    Returns
    -------
    str
        A line per node: what is bought and its price, the comparison, the share of past cases, the
        spend so far, and at leaves the action and the mean gain.

    Examples
    --------
    >>> from thrifty.problem import Problem
    >>> problem = Problem(
    ...     [Feature.number("TSH", edges=(6.05,))], ["wait", "treat"], prices={"TSH": 22.78}
    ... )
    >>> wait, treat = (ActionRule(a, np.eye(2)[a]) for a in range(2))
    >>> below, above = Leaf((), wait, 90, -22.0), Leaf((), treat, 10, -30.0)
    >>> split = Split((0,), 0, np.array([True, False, True]), below, above, 100)
    >>> print(format_plan(PlanTree(problem, np.array([False]), split)))
    buy TSH for 22.78                        100 % of cases, spent 22.78
    ├─ TSH is at most 6.05 or missing: wait   90 % of cases, gain -22.00
    └─ TSH is above 6.05: treat               10 % of cases, gain -30.00
    """
    rows = list(_rows(tree, tree.root, "", ("", ""), (), {}))
    width = min(max(len(text) for text, _ in rows), _WIDTH)
    return "\n".join(f"{text:{width}}  {figures}".rstrip() for text, figures in rows)


def explain_node(
    tree: PlanTree, node: Node, path: Sequence[tuple[Split, int]], buy: Sequence[str]
) -> tuple[str, list[str]]:
    """Return why a plan buys features at a node, or why it stops there.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    node : Leaf or Split
        Where the case is.
    path : sequence of tuple
        The comparisons that led there, each with the code of the value that was compared.
    buy : sequence of str
        Features to buy now. If there are none, the plan acts.

    Returns
    -------
    why : str
        A few sentences.
    comparisons : list of str
        The comparisons in words.
    """
    comparisons = [_seen(tree, split, code) for split, code in path]
    where = " and ".join(comparisons)
    if buy:
        parts = [f"{where}: buy {join_names(buy)}." if where else f"First, buy {join_names(buy)}."]
        if isinstance(node, Split):
            side = min((_side(tree, node, is_low) for is_low in (True, False)), key=len)
            parts.append(f"What comes next depends on whether {side}.")
        else:
            parts.append("This is the last purchase; the action follows from the values.")
        verb, figures = "came", ""
    else:
        first = "No further look pays." if node.looks else "No look pays."
        parts = [f"{where}: no further look pays." if where else first]
        gain = node.gain if isinstance(node, Leaf) else math.nan
        unit = f" {tree.problem.rewards.unit}".rstrip()
        verb, figures = "ended", f" with a mean gain of {format_amount(tree, gain)}{unit}"
    if tree.root.n_cases:
        parts.append(f"{node.n_cases:,} of {tree.root.n_cases:,} past cases {verb} here{figures}.")
    return " ".join(parts), comparisons


def _seen(tree: PlanTree, split: Split, code: int) -> str:
    """Return what a case showed at a split: its side of a threshold, or its level."""
    feature = tree.problem.features[split.feature]
    name = display_name(feature.name)
    if code < 0:
        return f"{name} could not be obtained"
    if feature.levels[code] == feature.missing:
        return f"{name} is missing"
    chosen = np.arange(len(split.is_low)) == code
    if code <= len(feature.edges) and feature.edges:
        chosen = split.is_low == split.is_low[code]
        chosen[len(feature.edges) + 1 :] = False
    return f"{name} {describe_condition(feature, chosen)}"


def _side(tree: PlanTree, split: Split, is_low: bool) -> str:
    """Return the condition of one side of a split."""
    feature = tree.problem.features[split.feature]
    chosen = split.is_low if is_low else ~split.is_low
    return f"{display_name(feature.name)} {describe_condition(feature, chosen)}"


def branches(
    tree: PlanTree, split: Split, possible: Possible
) -> Iterator[tuple[Node, str, Possible]]:
    """Yield both sides of a split.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    split : Split
        A comparison of the plan.
    possible : mapping
        Levels that earlier comparisons of the same features leave.

    Yields
    ------
    node : Leaf or Split
        How the plan goes on.
    condition : str
        Completes a sentence that begins with the name of the compared feature.
    possible : mapping
        Levels that are left there.
    """
    feature = tree.problem.features[split.feature]
    left = possible.get(split.feature, np.ones(len(split.is_low), np.bool_))
    for child, side in ((split.low, split.is_low), (split.high, ~split.is_low)):
        chosen = side & left
        yield child, describe_condition(feature, chosen), {**possible, split.feature: chosen}


def _rows(
    tree: PlanTree,
    node: Node,
    condition: str,
    lines: tuple[str, str],
    owned: LookSet,
    possible: Possible,
) -> Iterator[tuple[str, str]]:
    """Yield the text and the figures of each node.

    `lines` draws the branches: what comes before this node, and before those below it.
    """
    head, tail = lines
    bought = tuple(sorted({*owned, *node.looks}))
    if isinstance(node, Leaf):
        figure = f"gain {format_amount(tree, node.gain)}"
    else:
        figure = f"spent {format_amount(tree, purchase_price(tree, bought, ()))}"
    yield head + condition + _steps(tree, node, owned), _share(tree, node) + figure
    if isinstance(node, Leaf):
        return
    name = display_name(tree.problem.feature_names[node.feature])
    for child, side, left in branches(tree, node, possible):
        branch, below = ("├─ ", "│  ") if child is node.low else ("└─ ", "   ")
        below_lines = (tail + branch, tail + below)
        yield from _rows(tree, child, f"{name} {side}: ", below_lines, bought, left)


def _steps(tree: PlanTree, node: Node, owned: LookSet) -> str:
    """Return what happens at a node: the purchase, and at a leaf the action."""
    steps = []
    if node.looks:
        price = format_amount(tree, purchase_price(tree, node.looks, owned))
        steps.append(f"buy {join_names([tree.looks[k].name for k in node.looks])} for {price}")
    if isinstance(node, Leaf):
        if isinstance(node.rule, ActionRule):
            steps.append(display_name(tree.problem.actions[node.rule.action]))
        else:
            steps.append("act by the model")
    elif not steps:
        steps.append(f"compare {display_name(tree.problem.feature_names[node.feature])}")
    return ", then ".join(steps)


def _share(tree: PlanTree, node: Node) -> str:
    n_all = tree.root.n_cases
    return f"{100 * node.n_cases / n_all:3.0f} % of cases, " if n_all else ""
