"""Example cases: Nursery, and two synthetic tables with known answers."""

from __future__ import annotations

from thrifty.environments import nursery
from thrifty.examples.lending import LENDING
from thrifty.examples.synthetic import SyntheticExample
from thrifty.examples.triage import TRIAGE
from thrifty.policy_file import Comments, from_prices, to_toml
from thrifty.policy_file.model import PolicySection
from thrifty.policy_file.writing import DEADLINE_COMMENT, WRITTEN_RULE
from thrifty.seeds import Seed, generator

__all__ = ["SYNTHETIC", "SyntheticExample", "example_csv", "example_policy"]

SYNTHETIC = {"lending": LENDING, "triage": TRIAGE}
ROWS = 40_000

_NURSERY_PRICES = {
    "has_nurs": 0.02,
    "form": 0.02,
    "children": 0.03,
    "housing": 0.03,
    "finance": 0.02,
    "social": 0.02,
    "health": 0.05,
}


def example_csv(name: str, rows: int | None = None, seed: Seed = 1) -> str:
    """Return the cases of an example as CSV.

    >>> example_csv("nursery", 40).splitlines()[0]
    'parents,has_nurs,form,children,housing,finance,social,health,class'
    """
    if name in SYNTHETIC:
        return SYNTHETIC[name].as_csv(rows or ROWS, seed)
    table = nursery.table()
    order = generator(seed).permutation(len(table))[:rows]
    lines = [",".join((*nursery.ATTRIBUTES, "class")), *(",".join(table[k]) for k in order)]
    return "\n".join(lines) + "\n"


def example_policy(name: str) -> str:
    """Return the policy.toml of an example, with prices and rewards."""
    if name in SYNTHETIC:
        return SYNTHETIC[name].as_toml()
    file = from_prices(_NURSERY_PRICES, target="class", free=["parents"])
    header = "Nursery: features and prices for `thrifty worth`; a correct prediction earns 1."
    complete = file.replace(policy=PolicySection(name="nursery"), reward_rule=WRITTEN_RULE)
    return to_toml(complete, Comments((header,), DEADLINE_COMMENT))
