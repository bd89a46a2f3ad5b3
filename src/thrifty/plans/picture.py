"""A plan as a picture for HTML pages: nested lists that CSS draws as a tree.

The picture needs no script and no other file. In a wide container it runs from left to right; in a
narrow one, and if it has many levels, it is an indented list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from thrifty.names import display_name
from thrifty.plans.cases import Floats, LookSet
from thrifty.plans.printing import Possible, branches, format_amount, purchase_price
from thrifty.plans.tree import ActionRule, Codes, Leaf, Node, PlanTree, Split

MAX_COLUMNS = 5
"""A plan with more levels than this is always drawn as an indented list."""
MAX_LISTED = 6
"""Number of purchases that a box lists; the others can be unfolded."""
_MAX_NAME = 40
_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#F0E442", "#999999"),
)

PICTURE_CSS = """
.plan { container-type: inline-size; margin: 1.2rem 0 2.2rem; overflow: visible;
  --edge: color-mix(in srgb, currentColor 30%, transparent); font-size: .88rem; line-height: 1.35; }
.plan ul { list-style: none; margin: 0; padding: 0; }
.plan li { position: relative; }
.plan p { margin: 0; overflow-wrap: anywhere; }
.plan bdi { unicode-bidi: isolate; display: inline; min-width: 0; }
.plan-box { border: 1px solid var(--edge); border-left: 4px solid var(--edge); border-radius: 4px;
  padding: .35rem .55rem; margin: .3rem 0; max-width: 26rem; box-sizing: border-box; }
.plan-box.leaf { border-left-color: var(--action, var(--edge)); }
.plan-if { font-weight: 600; }
.plan-act strong { font-weight: 600; }
.plan-taken { display: inline-block; max-width: 100%; }
.plan-act i { display: inline-block; width: .7em; height: .7em; border-radius: 2px;
  background: var(--action); }
.plan-facts { opacity: .8; font-variant-numeric: tabular-nums; }
.plan-bar { display: flex; height: .4rem; margin: .2rem 0; border-radius: 2px; overflow: hidden;
  background: color-mix(in srgb, currentColor 12%, transparent); }
.plan-bar span { background: #0072B2; width: calc(100% * var(--share)); }
.plan-bar.actions span { background: var(--action); }
.plan summary { cursor: pointer; }
.plan li li { padding-left: 1.1rem; }
.plan li li::before { content: ""; position: absolute; left: 0; top: 1rem; width: 1.1rem;
  height: calc(1px + 8px * var(--share)); background: var(--edge); transform: translateY(-50%); }
.plan li li::after { content: ""; position: absolute; left: 0; top: -.3rem; bottom: 0;
  border-left: 1px solid var(--edge); }
.plan li li:last-child::after { bottom: auto; height: 1.3rem; }
@container (max-width: 32rem) {
  .plan-tree.deep li li { padding-left: .55rem; }
  .plan-tree.deep li li::before { width: .55rem; }
}
@container (min-width: 52rem) {
  .plan-tree:not(.deep) li { display: flex; align-items: center; }
  .plan-tree:not(.deep) .plan-box { flex: none; margin: .3rem 0; max-width: 17rem;
    width: calc((100cqi - (var(--columns) - 1) * 2.4rem) / var(--columns)); }
  .plan-tree:not(.deep) ul { position: relative; padding-left: 1.2rem; }
  .plan-tree:not(.deep) ul::before { content: ""; position: absolute; left: 0; top: 50%;
    width: 1.2rem; height: calc(1px + 8px * var(--share)); background: var(--edge);
    transform: translateY(-50%); }
  .plan-tree:not(.deep) li li { padding-left: 1.2rem; }
  .plan-tree:not(.deep) li li::before { top: 50%; width: 1.2rem; }
  .plan-tree:not(.deep) li li::after { top: 0; height: auto; }
  .plan-tree:not(.deep) li li:first-child::after { top: 50%; bottom: 0; }
  .plan-tree:not(.deep) li li:last-child::after { top: 0; bottom: 50%; height: auto; }
  .plan-tree.deep .plan-box { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center;
    max-width: none; width: fit-content; padding: .15rem .55rem; margin: .2rem 0; }
  .plan-tree.deep .plan-bar { width: 5rem; margin: 0; }
}
"""
"""Style of the picture. It takes its colours from the text around it, light or dark."""


def plan_picture(
    tree: PlanTree, *, currency: str = "", codes: Codes | None = None, caption: str = ""
) -> str:
    """Return a plan as HTML, to be shown with `PICTURE_CSS`.

    Parameters
    ----------
    tree : PlanTree
        The plan; a fixed set and buying nothing are drawn as a single box.
    currency : str
        Currency of the amounts.
    codes : array of int, shape (n, D), optional
        Cases to carry the plan out in. Leaves that act by a model then show how often they take
        each action.
    caption : str
        Text below the picture.

    Returns
    -------
    str
        A `figure` element. All names are escaped and shortened.
    """
    shares = {} if codes is None else dict(_action_shares(tree, tree.root, codes))
    picture = _Picture(tree, currency, shares)
    columns = _n_levels(tree.root)
    kind = "plan-tree deep" if columns > MAX_COLUMNS else "plan-tree"
    figcaption = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure class="plan" role="group" aria-label="Plan as a tree">'
        f'<ul class="{kind}" role="list" style="--columns:{columns}">'
        f"{picture.node(tree.root, (), 'In every case', {})}</ul>{figcaption}</figure>"
    )


def _n_levels(node: Node) -> int:
    if isinstance(node, Leaf):
        return 1
    return 1 + max(_n_levels(node.low), _n_levels(node.high))


def _action_shares(tree: PlanTree, node: Node, codes: Codes) -> Iterator[tuple[int, Floats]]:
    """Yield the identity of each leaf, and how often it takes each action in these cases."""
    if isinstance(node, Leaf):
        actions = node.rule.action_values(codes).argmax(axis=1) if len(codes) else []
        counts = np.bincount(actions, minlength=len(tree.problem.actions))
        yield id(node), counts / max(len(codes), 1)
        return
    is_low = node.is_low[codes[:, node.feature]]
    yield from _action_shares(tree, node.low, codes[is_low])
    yield from _action_shares(tree, node.high, codes[~is_low])


@dataclass(frozen=True, eq=False)
class _Picture:
    """Writes the boxes of a plan."""

    tree: PlanTree
    currency: str
    action_shares: dict[int, Floats]

    def node(self, node: Node, owned: LookSet, condition: str, possible: Possible) -> str:
        """Return a box, and below it those that the plan goes on to."""
        bought = (*owned, *node.looks)
        lines = [f'<p class="plan-if">{condition}</p>', *self._purchase(node, owned)]
        kind = "split"
        style = f"--share:{self._share(node):.4f}"
        if isinstance(node, Leaf):
            kind = "leaf"
            lines += self._action(node)
            if isinstance(node.rule, ActionRule):
                style += f";{_action_style(node.rule.action)}"
        elif not node.looks:
            lines.append(f"<p>Compare {_bdi(self.tree.problem.feature_names[node.feature])}</p>")
        lines.append(self._facts(node, bought))
        box = f'<div class="plan-box {kind}">{"".join(lines)}</div>'
        below = "" if isinstance(node, Leaf) else self._sides(node, bought, possible)
        return f'<li style="{style}">{box}{below}</li>'

    def _sides(self, split: Split, bought: LookSet, possible: Possible) -> str:
        name = _bdi(self.tree.problem.feature_names[split.feature])
        sides = [
            self.node(child, bought, f"{name} {escape(condition)}", left)
            for child, condition, left in branches(self.tree, split, possible)
        ]
        return f'<ul role="list">{"".join(sides)}</ul>'

    def _purchase(self, node: Node, owned: LookSet) -> list[str]:
        if not node.looks:
            return []
        names = [_bdi(self.tree.looks[k].name) for k in node.looks]
        price = self._money(purchase_price(self.tree, node.looks, owned))
        shown, others = names[:MAX_LISTED], names[MAX_LISTED:]
        lines = [f"<p>Buy {', '.join(shown)}{' …' if others else ''} for {price}</p>"]
        if others:
            summary = f"<summary>and {len(others)} more</summary>"
            lines.append(f"<details>{summary}<p>{', '.join(others)}</p></details>")
        return lines

    def _action(self, leaf: Leaf) -> list[str]:
        actions = self.tree.problem.actions
        if isinstance(leaf.rule, ActionRule):
            name = _bdi(actions[leaf.rule.action])
            return [f'<p class="plan-act">Action: <i></i> <strong>{name}</strong></p>']
        lines = ['<p class="plan-act"><strong>Act by the model</strong></p>']
        shares = self.action_shares.get(id(leaf))
        if shares is not None and shares.any():
            taken = [(a, float(shares[a])) for a in np.argsort(-shares, kind="stable").tolist()]
            lines += _actions_taken(actions, [(a, share) for a, share in taken if share > 0])
        return lines

    def _facts(self, node: Node, bought: LookSet) -> str:
        facts = []
        n_all = self.tree.root.n_cases
        if n_all:
            facts.append(f"{_percent(self._share(node))} of cases ({node.n_cases:,})")
        facts.append(f"spent {self._money(purchase_price(self.tree, bought, ()))}")
        if isinstance(node, Leaf):
            facts.append(f"gain {self._money(node.gain)} per case")
        bar = '<div class="plan-bar" aria-hidden="true"><span></span></div>' if n_all else ""
        return f'{bar}<p class="plan-facts">{", ".join(facts)}</p>'

    def _share(self, node: Node) -> float:
        return node.n_cases / self.tree.root.n_cases if self.tree.root.n_cases else 0.0

    def _money(self, value: float) -> str:
        amount = format_amount(self.tree, value)
        return f"{amount} {escape(display_name(self.currency, 12))}".strip()


def _actions_taken(actions: Sequence[str], taken: Sequence[tuple[int, float]]) -> list[str]:
    """Return a bar with the share of each action, and the shares as text."""
    parts = "".join(
        f'<span style="{_action_style(a)};--share:{share:.4f}"></span>' for a, share in taken
    )
    words = ", ".join(
        f'<span class="plan-taken"><i style="{_action_style(a)}"></i> '
        f"{_bdi(actions[a])} {_percent(share)}</span>"
        for a, share in taken
    )
    return [
        f'<div class="plan-bar actions" aria-hidden="true">{parts}</div>',
        f'<p class="plan-act">{words}</p>',
    ]


def _action_style(action: int) -> str:
    return f"--action:{_COLOURS[action % len(_COLOURS)]}"


def _percent(share: float) -> str:
    """Return a share in percent, with a decimal if it is small.

    >>> _percent(0.5), _percent(0.004), _percent(0.00001), _percent(0.9999)
    ('50%', '0.4%', '<0.1%', '>99.9%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{share:.1%}" if share < 0.1 or 0.99 < share < 1 else f"{share:.0%}"


def _bdi(name: str) -> str:
    """Return a name as HTML that cannot reorder the text around it."""
    return f"<bdi>{escape(display_name(name, _MAX_NAME))}</bdi>"
