"""The best observation set, exactly, without enumerating the power set.

The value of a set, less that of a partial state of which nothing is known, is its excess minus the
sum of its features' prices. Sets that are not live have excess 0, so the best of them is the
cheapest one: subsets are visited in order of their price until one is not live.

Excesses and prices are on the grid (see `grid`), so that sets that tie do so to the last bit; the
first one in the order of masks wins.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from thrifty.kernels.ncc.optimism import optimistic_mean
from thrifty.kernels.ncc.ordered_cells import below, highest_edge, insert, lowest, lowest_edge
from thrifty.kernels.ncc.partial_states import PartialStates, find_set
from thrifty.kernels.runtime.arrays import NONE, Floats, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.masks import price_of

MAX_SCANNED_CELLS = 64  # live cells of a set: up to this number a scan is faster
SIGN = np.int64(-(2**63))  # x ^ SIGN turns the order of unsigned masks into that of signed numbers


@jit_inner
def excess_of(
    tables: PartialStates, s: int, radius: float, unseen_mass: bool, simplex: bool
) -> float:
    """Return the optimistic value (17) of live set s before prices, less that of an unknown state.

    The live cells have their edges; all other partial states of the set make up one more entry
    with edge 0. With `unseen_mass` a state never seen has the probability of one seen once, as the
    maximum in the numerator of (13) has it.
    """
    sets, cells = tables.sets, tables.cells
    n_live = sets[s]["live_cells"]
    others = 1 if sets[s]["states"] > n_live else 0
    edges = np.zeros(n_live + others)
    masses = np.empty(n_live + others)
    seen = float(sets[s]["seen"])
    surplus = (sets[s]["states"] - sets[s]["cells"]) / seen if unseen_mass else 0.0
    rest = seen
    c = sets[s]["first_live"]
    for k in range(n_live):
        edges[k] = cells[c]["edge"]
        masses[k] = cells[c]["seen"] / seen
        rest -= cells[c]["seen"]
        c = cells[c]["next_live"]
    if others:
        masses[n_live] = rest / seen + surplus
    return optimistic_mean(edges, masses, radius, surplus, simplex)


@jit_inner
def kept_excess_of(
    tables: PartialStates, s: int, radius: float, unseen_mass: bool, simplex: bool
) -> float:
    """Return the same as `excess_of`, in fewer steps if the set has many live cells.

    Above MAX_SCANNED_CELLS they are kept in order; below half of that scanning is faster.
    """
    n_live = tables.sets[s]["live_cells"]
    if tables.sets[s]["in_order"]:
        if n_live < MAX_SCANNED_CELLS // 2:
            _forget_order(tables, s)
    elif n_live > MAX_SCANNED_CELLS:
        put_in_order(tables, s)
    if tables.sets[s]["in_order"]:
        return excess_in_order(tables, s, radius, unseen_mass, simplex)
    return excess_of(tables, s, radius, unseen_mass, simplex)


@jit_inner
def excess_in_order(
    tables: PartialStates, s: int, radius: float, unseen_mass: bool, simplex: bool
) -> float:
    """Return what `excess_of` does, for a set whose live cells are in order.

    It is `optimistic_mean` with counts in the place of masses; the partial states that are not
    live have edge 0, between the negative and the positive edges.
    """
    sets = tables.sets
    root = tables.cells[sets[s]["root"]]
    seen = float(sets[s]["seen"])
    surplus = (sets[s]["states"] - sets[s]["cells"]) / seen if unseen_mass else 0.0
    others = sets[s]["states"] > sets[s]["live_cells"]
    rest = seen - root["mass"] + surplus * seen if others else 0.0
    best, worst = highest_edge(tables, s), lowest_edge(tables, s)
    if others:
        best, worst = max(best, 0.0), min(worst, 0.0)
    mean = root["weighted"] / seen
    up = max(0.0, (radius - surplus) / 2)
    if not simplex:
        return mean + up * best - (up + surplus) * worst
    at_best = root["mass"] - below(tables, s, best)[0]
    if others and best == 0.0:
        at_best += rest
    up = min(up, max(0.0, 1.0 - at_best / seen))
    return mean + up * best - _lowest_with(tables, s, (up + surplus) * seen, rest) / seen


@jit_inner
def _lowest_with(tables: PartialStates, s: int, amount: float, rest: float) -> float:
    """Return the sum over the lowest `amount`, where `rest` has edge 0."""
    mass, weighted = below(tables, s, 0.0)
    if amount <= mass:
        return lowest(tables, s, amount)
    if amount <= mass + rest:
        return weighted
    return lowest(tables, s, amount - rest)


@jit_inner
def put_in_order(tables: PartialStates, s: int) -> None:
    """Begin to keep the live cells of the set in order."""
    tables.sets[s]["in_order"] = 1
    c = tables.sets[s]["first_live"]
    while c != NONE:
        insert(tables, s, c)
        c = tables.cells[c]["next_live"]


@jit_inner
def _forget_order(tables: PartialStates, s: int) -> None:
    tables.sets[s]["in_order"] = 0
    tables.sets[s]["root"] = NONE
    c = tables.sets[s]["first_live"]
    while c != NONE:
        tables.cells[c]["ordered"] = 0
        c = tables.cells[c]["next_live"]


@jit_inner
def best_set(tables: PartialStates, prices: Floats) -> Mask:
    """Return the mask of the set of largest value; prices and excesses are on the grid."""
    best = np.int64(0)
    value = -np.inf
    for k in range(tables.sizes[2]):
        s = tables.live[k]
        mask = tables.sets[s]["mask"]
        worth = tables.sets[s]["excess"] - price_of(mask, prices)
        if worth > value or (worth == value and mask ^ SIGN < best ^ SIGN):
            best, value = mask, worth
    found, mask, worth = _cheapest_not_live(tables, prices, value)
    if found and (worth > value or (worth == value and mask ^ SIGN < best ^ SIGN)):
        best = mask
    return best


@jit_inner
def _is_live(tables: PartialStates, mask: Mask) -> bool:
    s = find_set(tables, mask)
    return s != NONE and tables.sets[s]["live_cells"] > 0


@jit_inner
def _cheapest_not_live(
    tables: PartialStates, prices: Floats, at_least: float
) -> tuple[bool, Mask, float]:
    """Return whether a set that is not live is worth `at_least`, then the best one and its worth.

    The cheapest set of all holds the features of negative price. Any other differs from it by
    some features and is dearer by the sum of their prices' sizes. Nodes of the search are such
    sets of differences, each made from its parent by a difference further to the right, which is
    never cheaper nor, if equally cheap, earlier; so they leave the heap in order.
    """
    n = prices.size
    cheapest = np.int64(0)
    for i in range(n):
        cheapest = (cheapest << 1) | np.int64(prices[i] < 0.0)
    least = price_of(cheapest, prices)
    if -least < at_least:
        return False, cheapest, -least
    if not _is_live(tables, cheapest):
        return True, cheapest, -least
    heap = [(0.0, cheapest ^ SIGN, 0)]
    while len(heap) > 0:
        dearer, key, start = heappop(heap)
        mask = key ^ SIGN
        if not _is_live(tables, mask):
            return True, mask, -least - dearer
        for i in range(start, n):
            more = dearer + abs(prices[i])
            if -least - more >= at_least:
                heappush(heap, (more, (mask ^ (np.int64(1) << (n - 1 - i))) ^ SIGN, i + 1))
    return False, cheapest, -least
