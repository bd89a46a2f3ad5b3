"""Files of cases that come with Thrifty: Nursery, and two made-up ones whose truth is known."""

from __future__ import annotations

from thrifty.environments import nursery
from thrifty.examples.known import Known
from thrifty.examples.lending import LENDING
from thrifty.examples.triage import TRIAGE
from thrifty.policy_file import Comments, of_prices, to_toml
from thrifty.policy_file.model import PolicySection
from thrifty.seeds import Seed, generator

__all__ = ["KNOWN", "Known", "csv_of", "prices_of"]

KNOWN = {"lending": LENDING, "triage": TRIAGE}
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


def csv_of(name: str, rows: int | None = None, seed: Seed = 1) -> str:
    """Return the cases of an example as the text of a CSV file.

    >>> csv_of("nursery", 40).splitlines()[0]
    'parents,has_nurs,form,children,housing,finance,social,health,class'
    """
    if name in KNOWN:
        return KNOWN[name].as_csv(rows or ROWS, seed)
    table = nursery.table()
    order = generator(seed).permutation(len(table))[:rows]
    lines = [",".join((*nursery.ATTRIBUTES, "class")), *(",".join(table[k]) for k in order)]
    return "\n".join(lines) + "\n"


def prices_of(name: str) -> str:
    """Return the policy file of an example, with prices and rewards, as the text of a TOML file."""
    if name in KNOWN:
        return KNOWN[name].as_toml()
    file = of_prices(_NURSERY_PRICES, target="class", free=["parents"])
    header = "Nursery: features and prices, as parts of a right decision, for `thrifty worth`."
    return to_toml(file.changed(policy=PolicySection(name="nursery")), Comments((header,)))
