"""Counts of partial states, kept only for observation sets that have been bought.

Two growing tables. A *set* is an observation set I that was bought at least once, with N(I), the
number of rounds that observed at least I (11). A *cell* is a partial state psi of such a set, with
N(I, psi) (12), and the number and sum of the rewards of each action taken in it. A set's counts
begin when it is first bought, and are then made up from the rounds that had observed more.

A set or a cell is *live* while some reward is counted in it. Only live cells can differ from what
is assumed of a partial state of which nothing is known; `excess` says by how much a live set does.

Sets are 64-bit masks, feature 1 the most significant of the D bits, so that the order of masks
(unsigned) is the order in which the paper's authors count subsets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.ncc.ordered_cells import insert, refresh, remove
from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.shared.masks import contains, mask_of

MAX_FEATURES = 64

SET = np.dtype(
    [
        ("mask", np.int64),
        ("seen", np.int64),  # N(I)
        ("states", np.float64),  # |Psi+(I)|, beyond any integer for many features
        ("cells", np.int64),  # partial states seen
        ("first", np.int64),  # a list through the cells' `next`
        ("first_live", np.int64),  # a list through the cells' `next_live`
        ("live_cells", np.int64),
        ("place", np.int64),  # among the live sets
        ("stale", np.int64),  # the excess must be computed again
        ("excess", np.float64),
        ("in_order", np.int64),  # whether the live cells are kept in order (see `ordered_cells`)
        ("root", np.int64),
    ],
    align=True,
)
CELL = np.dtype(
    [
        ("set", np.int64),
        ("seen", np.int64),  # N(I, psi)
        ("bought", np.int64),  # the part of it that was bought as exactly this set
        ("counted", np.int64),  # rewards counted in the cell, of all actions
        ("edge", np.float64),  # the cell's optimistic reward less the one of an unknown cell
        ("next", np.int64),
        ("next_live", np.int64),
        ("previous_live", np.int64),
        ("ordered", np.int64),  # whether it stands in its set's order; the rest belongs to that
        ("left", np.int64),
        ("right", np.int64),
        ("parent", np.int64),
        ("mass", np.int64),
        ("weighted", np.float64),
    ],
    align=True,
)


class PartialStates(NamedTuple):
    """The two tables, with a hash table each: `places` hold row numbers, or NONE."""

    levels: Ints
    feature_keys: Ints
    level_keys: Ints
    sizes: Ints  # sets, cells, live sets
    sets: NDArray[np.void]
    set_places: Ints
    live: Ints
    cells: NDArray[np.void]
    cell_places: Ints
    codes: NDArray[np.int32]
    pulls: Ints
    sums: Floats


def initial(levels: Ints, n_actions: int, *, sets: int = 64, cells: int = 1024) -> PartialStates:
    """Return empty tables with room for these numbers of rows (powers of two)."""
    # Fixed keys: hashing must give the same tables in every process.
    keys = np.random.default_rng(20231).integers(2**62, size=(levels.size, levels.max() + 1))
    return PartialStates(
        levels=levels.copy(),
        feature_keys=keys[:, -1].copy(),
        level_keys=keys[:, :-1].copy(),
        sizes=np.zeros(3, np.int64),
        sets=np.zeros(sets, SET),
        set_places=np.full(2 * sets, NONE),
        live=np.zeros(sets, np.int64),
        cells=np.zeros(cells, CELL),
        cell_places=np.full(2 * cells, NONE),
        codes=np.zeros((cells, levels.size), np.int32),
        pulls=np.zeros((cells, n_actions), np.int64),
        sums=np.zeros((cells, n_actions)),
    )


@jit
def has_room(tables: PartialStates) -> bool:
    """Return True if one more round fits: a cell for every set, or a new set with all its cells."""
    n_sets, n_cells = tables.sizes[0], tables.sizes[1]
    return n_sets < tables.sets.size and 2 * n_cells + n_sets + 1 < tables.cells.size


GROWING = ("sets", "set_places", "live", "cells", "cell_places", "codes", "pulls", "sums")
"""The arrays that `double_tables` makes longer."""


def double_tables(tables: PartialStates) -> PartialStates:
    """Return a copy of the tables with twice the room."""
    n_sets, n_cells = 2 * tables.sets.size, 2 * tables.cells.size
    larger = initial(tables.levels, tables.pulls.shape[1], sets=n_sets, cells=n_cells)
    larger.sizes[:] = tables.sizes
    for name in GROWING:
        if not name.endswith("places"):
            rows: NDArray[np.void] = getattr(tables, name)
            getattr(larger, name)[: len(rows)] = rows
    _enter_all(larger)
    return larger


@jit_inner
def clear(tables: PartialStates) -> None:
    """Remove all sets and cells; `_set_of` and `_cell_of` rely on counts of 0 in unused rows."""
    for s in range(tables.sizes[0]):
        sets = tables.sets
        sets[s]["seen"] = 0
        sets[s]["cells"] = 0
        sets[s]["live_cells"] = 0
        sets[s]["in_order"] = 0
    for c in range(tables.sizes[1]):
        cells = tables.cells
        cells[c]["seen"] = 0
        cells[c]["bought"] = 0
        cells[c]["counted"] = 0
        cells[c]["edge"] = 0.0
        cells[c]["ordered"] = 0
        for a in range(tables.pulls.shape[1]):
            tables.pulls[c, a] = 0
            tables.sums[c, a] = 0.0
    for place in range(tables.set_places.size):
        tables.set_places[place] = NONE
    for place in range(tables.cell_places.size):
        tables.cell_places[place] = NONE
    for k in range(tables.sizes.size):
        tables.sizes[k] = 0


@jit
def set_place(tables: PartialStates, places: Ints, mask: Mask) -> int:
    """Return the place of the set in the hash table, or the free place for it."""
    n = tables.levels.size
    key = 0
    for i in range(n):
        if contains(mask, i, n):
            key ^= tables.feature_keys[i]
    last = places.size - 1  # a power of two less one, so that & is the remainder
    place = key & last
    while places[place] != NONE and tables.sets[places[place]]["mask"] != mask:
        place = (place + 1) & last
    return place


@jit
def _enter_all(tables: PartialStates) -> None:
    """Fill the empty hash tables."""
    for s in range(tables.sizes[0]):
        tables.set_places[set_place(tables, tables.set_places, tables.sets[s]["mask"])] = s
    for c in range(tables.sizes[1]):
        place = cell_place(tables, tables.cells[c]["set"], tables.codes[c])
        tables.cell_places[place] = c


@jit_inner
def find_set(tables: PartialStates, mask: Mask) -> int:
    """Return the set's row, or NONE."""
    return tables.set_places[set_place(tables, tables.set_places, mask)]


@jit
def cell_place(tables: PartialStates, s: int, codes: Ints) -> int:
    """Return the place of the cell of set s with these codes, or the free place for it."""
    n = tables.levels.size
    mask = tables.sets[s]["mask"]
    key = 0
    for i in range(n):
        if contains(mask, i, n):
            key ^= tables.level_keys[i, codes[i]]
    last = tables.cell_places.size - 1
    place = key & last
    while True:
        c = tables.cell_places[place]
        if c == NONE or (tables.cells[c]["set"] == s and _agrees(tables, c, mask, codes)):
            return place
        place = (place + 1) & last


@jit_inner
def _agrees(tables: PartialStates, c: int, mask: Mask, codes: Ints) -> bool:
    n = tables.levels.size
    for i in range(n):
        if contains(mask, i, n) and tables.codes[c, i] != codes[i]:
            return False
    return True


@jit_inner
def find_cell(tables: PartialStates, codes: Ints) -> int:
    """Return the row of the partial state `codes`, or NONE."""
    s = find_set(tables, mask_of(codes))
    return NONE if s == NONE else tables.cell_places[cell_place(tables, s, codes)]


@jit_inner
def _cell_of(tables: PartialStates, s: int, codes: Ints) -> int:
    """Return the row of the cell of set s with these codes; add one if it is missing."""
    place = cell_place(tables, s, codes)
    c = tables.cell_places[place]
    if c != NONE:
        return c
    c = tables.sizes[1]
    tables.sizes[1] += 1
    tables.cell_places[place] = c
    tables.cells[c]["set"] = s
    tables.cells[c]["next"] = tables.sets[s]["first"]
    tables.sets[s]["first"] = c
    tables.sets[s]["cells"] += 1
    n = tables.levels.size
    for i in range(n):
        tables.codes[c, i] = codes[i] if contains(tables.sets[s]["mask"], i, n) else NONE
    return c


@jit_inner
def _set_of(tables: PartialStates, mask: Mask) -> int:
    """Return the row of the set `mask`; if it is missing, add one and count the rounds so far."""
    place = set_place(tables, tables.set_places, mask)
    s = tables.set_places[place]
    if s != NONE:
        return s
    s = tables.sizes[0]
    tables.sizes[0] += 1
    tables.set_places[place] = s
    sets = tables.sets
    sets[s]["mask"] = mask
    sets[s]["first"] = NONE
    sets[s]["first_live"] = NONE
    sets[s]["root"] = NONE
    sets[s]["states"] = 1.0
    n = tables.levels.size
    for i in range(n):
        if contains(mask, i, n):
            sets[s]["states"] *= tables.levels[i]
    for larger in range(s):
        if mask & ~sets[larger]["mask"] == 0:
            _make_up(tables, s, larger)
    return s


@jit_inner
def _make_up(tables: PartialStates, s: int, larger: int) -> None:
    """Count for the new set s the rounds that bought the larger set."""
    c = tables.sets[larger]["first"]
    while c != NONE:
        bought = tables.cells[c]["bought"]
        if bought > 0:
            tables.cells["seen"][_cell_of(tables, s, tables.codes[c])] += bought
            tables.sets[s]["seen"] += bought
        c = tables.cells[c]["next"]


@jit_inner
def _count(tables: PartialStates, c: int) -> None:
    tables.cells[c]["seen"] += 1
    if tables.cells[c]["ordered"]:
        refresh(tables, c)


@jit_inner
def observe(tables: PartialStates, codes: Ints, substates_too: bool) -> int:
    """Count a round that observed the partial state `codes`; return its cell.

    N(J) and N(J, psi') grow for every substate psi' of psi, as in (11) and (12), or for psi alone.
    """
    own = _set_of(tables, mask_of(codes))
    sets = tables.sets
    if not substates_too:
        sets[own]["seen"] += 1
        sets[own]["stale"] = 1
        c = _cell_of(tables, own, codes)
        _count(tables, c)
        return c
    for s in range(tables.sizes[0]):
        if sets[s]["mask"] & ~sets[own]["mask"] == 0:
            sets[s]["seen"] += 1
            sets[s]["stale"] = 1
            _count(tables, _cell_of(tables, s, codes))
    c = _cell_of(tables, own, codes)
    tables.cells[c]["bought"] += 1
    return c


@jit_inner
def count_reward(tables: PartialStates, c: int, action: int, reward: float) -> None:
    """Count a reward in cell c."""
    tables.pulls[c, action] += 1
    tables.sums[c, action] += reward
    tables.cells[c]["counted"] += 1
    if tables.cells[c]["counted"] == 1:
        _enter(tables, c)


@jit_inner
def forget_reward(tables: PartialStates, c: int, action: int, reward: float) -> None:
    """Remove a reward from cell c."""
    tables.pulls[c, action] -= 1
    tables.sums[c, action] -= reward
    if tables.pulls[c, action] == 0:
        tables.sums[c, action] = 0.0  # rounding errors must not outlive the last reward
    tables.cells[c]["counted"] -= 1
    if tables.cells[c]["counted"] == 0:
        _leave(tables, c)


@jit_inner
def _enter(tables: PartialStates, c: int) -> None:
    """Make cell c live, and its set if it is the first one."""
    cells, sets = tables.cells, tables.sets
    s = cells[c]["set"]
    after = sets[s]["first_live"]
    cells[c]["previous_live"] = NONE
    cells[c]["next_live"] = after
    if after != NONE:
        cells[after]["previous_live"] = c
    sets[s]["first_live"] = c
    sets[s]["live_cells"] += 1
    if sets[s]["live_cells"] == 1:
        sets[s]["place"] = tables.sizes[2]
        tables.live[tables.sizes[2]] = s
        tables.sizes[2] += 1


@jit_inner
def _leave(tables: PartialStates, c: int) -> None:
    """Make cell c not live, and its set if it was the last one."""
    cells, sets = tables.cells, tables.sets
    s = cells[c]["set"]
    if cells[c]["ordered"]:
        remove(tables, s, c)
    before, after = cells[c]["previous_live"], cells[c]["next_live"]
    if before == NONE:
        sets[s]["first_live"] = after
    else:
        cells[before]["next_live"] = after
    if after != NONE:
        cells[after]["previous_live"] = before
    sets[s]["live_cells"] -= 1
    if sets[s]["live_cells"] == 0:
        tables.sizes[2] -= 1
        last = tables.live[tables.sizes[2]]
        tables.live[sets[s]["place"]] = last
        sets[last]["place"] = sets[s]["place"]


@jit_inner
def set_edge(tables: PartialStates, c: int, edge: float) -> None:
    """Set the edge of cell c."""
    s = tables.cells[c]["set"]
    if tables.cells[c]["ordered"]:
        remove(tables, s, c)
    tables.cells[c]["edge"] = edge
    if tables.sets[s]["in_order"] and tables.cells[c]["counted"] > 0:
        insert(tables, s, c)
    tables.sets["stale"][s] = 1
