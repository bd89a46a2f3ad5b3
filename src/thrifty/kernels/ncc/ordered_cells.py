"""The live cells of a set ordered by their edges, with the sums below any point.

With a window of a hundred thousand rounds a set may have as many live cells, and Problem (17) asks
for the sum over those of the lowest edges. A binary search tree, kept in balance by fixed random
priorities (a treap), holds the sums of every subtree: a round changes a few cells, and each change
and each query takes a logarithmic number of steps. Sums are always computed from the children, so
rounding errors do not add up over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.runtime.compilation import jit_inner

if TYPE_CHECKING:
    from thrifty.kernels.ncc.partial_states import PartialStates


@jit_inner
def insert(tables: PartialStates, s: int, c: int) -> None:
    """Put cell c, with its edge, into the order of set s."""
    cells = tables.cells
    cells[c]["ordered"] = 1
    cells[c]["left"] = NONE
    cells[c]["right"] = NONE
    cells[c]["parent"] = NONE
    _sum_up(tables, c)
    node = tables.sets[s]["root"]
    if node == NONE:
        tables.sets[s]["root"] = c
        return
    while True:
        smaller = _comes_before(tables, c, node)
        child = cells[node]["left"] if smaller else cells[node]["right"]
        if child == NONE:
            break
        node = child
    cells[c]["parent"] = node
    if smaller:
        cells[node]["left"] = c
    else:
        cells[node]["right"] = c
    while cells[c]["parent"] != NONE and _priority(c) > _priority(cells[c]["parent"]):
        _rotate_up(tables, s, c)
    refresh(tables, cells[c]["parent"])


@jit_inner
def remove(tables: PartialStates, s: int, c: int) -> None:
    """Take cell c out of the order of set s."""
    cells = tables.cells
    while cells[c]["left"] != NONE or cells[c]["right"] != NONE:
        left, right = cells[c]["left"], cells[c]["right"]
        if right == NONE or (left != NONE and _priority(left) > _priority(right)):
            _rotate_up(tables, s, left)
        else:
            _rotate_up(tables, s, right)
    parent = cells[c]["parent"]
    _replace_child(tables, s, parent, c, NONE)
    cells[c]["ordered"] = 0
    refresh(tables, parent)


@jit_inner
def refresh(tables: PartialStates, c: int) -> None:
    """Compute the sums again from cell c up to the root."""
    while c != NONE:
        _sum_up(tables, c)
        c = tables.cells[c]["parent"]


@jit_inner
def lowest_edge(tables: PartialStates, s: int) -> float:
    """Return the lowest edge of all."""
    c = tables.sets[s]["root"]
    while tables.cells[c]["left"] != NONE:
        c = tables.cells[c]["left"]
    return tables.cells[c]["edge"]


@jit_inner
def highest_edge(tables: PartialStates, s: int) -> float:
    """Return the highest edge of all."""
    c = tables.sets[s]["root"]
    while tables.cells[c]["right"] != NONE:
        c = tables.cells[c]["right"]
    return tables.cells[c]["edge"]


@jit_inner
def below(tables: PartialStates, s: int, edge: float) -> tuple[float, float]:
    """Return how often cells of a lower edge were seen, and the sum of seen times edge of these."""
    cells = tables.cells
    mass = 0.0
    weighted = 0.0
    c = tables.sets[s]["root"]
    while c != NONE:
        if cells[c]["edge"] < edge:
            mass += cells[c]["seen"]
            weighted += cells[c]["seen"] * cells[c]["edge"]
            left = cells[c]["left"]
            if left != NONE:
                mass += cells[left]["mass"]
                weighted += cells[left]["weighted"]
            c = cells[c]["right"]
        else:
            c = cells[c]["left"]
    return mass, weighted


@jit_inner
def lowest(tables: PartialStates, s: int, amount: float) -> float:
    """Return the sum of seen times edge over the `amount` of seen with the lowest edges."""
    cells = tables.cells
    total = 0.0
    c = tables.sets[s]["root"]
    while c != NONE and amount > 0.0:
        left = cells[c]["left"]
        if left != NONE:
            if amount <= cells[left]["mass"]:
                c = left
                continue
            total += cells[left]["weighted"]
            amount -= cells[left]["mass"]
        own = min(amount, float(cells[c]["seen"]))
        total += own * cells[c]["edge"]
        amount -= own
        c = cells[c]["right"]
    return total


@jit_inner
def _comes_before(tables: PartialStates, c: int, other: int) -> bool:
    one, two = tables.cells[c]["edge"], tables.cells[other]["edge"]
    return one < two or (one == two and c < other)


@jit_inner
def _priority(c: int) -> int:
    """Return a number that looks random: 32 bits of c, mixed twice."""
    h = ((c ^ (c >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return h ^ (h >> 16)


@jit_inner
def _sum_up(tables: PartialStates, c: int) -> None:
    cells = tables.cells
    mass = cells[c]["seen"]
    weighted = cells[c]["seen"] * cells[c]["edge"]
    left, right = cells[c]["left"], cells[c]["right"]
    if left != NONE:
        mass += cells[left]["mass"]
        weighted += cells[left]["weighted"]
    if right != NONE:
        mass += cells[right]["mass"]
        weighted += cells[right]["weighted"]
    cells[c]["mass"] = mass
    cells[c]["weighted"] = weighted


@jit_inner
def _rotate_up(tables: PartialStates, s: int, c: int) -> None:
    """Let cell c and its parent change places; the order stays."""
    cells = tables.cells
    parent = cells[c]["parent"]
    if cells[parent]["left"] == c:
        moved = cells[c]["right"]
        cells[parent]["left"] = moved
        cells[c]["right"] = parent
    else:
        moved = cells[c]["left"]
        cells[parent]["right"] = moved
        cells[c]["left"] = parent
    if moved != NONE:
        cells[moved]["parent"] = parent
    grandparent = cells[parent]["parent"]
    _replace_child(tables, s, grandparent, parent, c)
    cells[c]["parent"] = grandparent
    cells[parent]["parent"] = c
    _sum_up(tables, parent)
    _sum_up(tables, c)


@jit_inner
def _replace_child(tables: PartialStates, s: int, parent: int, old: int, new: int) -> None:
    cells = tables.cells
    if parent == NONE:
        tables.sets[s]["root"] = new
    elif cells[parent]["left"] == old:
        cells[parent]["left"] = new
    else:
        cells[parent]["right"] = new
