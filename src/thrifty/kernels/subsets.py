"""Tables of mean rewards for many observation sets at once, and the interval rule that fills them.

A round that observed the set O and drew its action from the values of B alone, B within O, is an
unbiased sample of r(a, psi_J) for every J with B within J within O, and in general for no other:
given psi_J the action tells nothing more about what was not observed in J. So a round teaches the
tables between B and O, and `learn` is the only way into them.

The sets are all subsets of the features, or those of at most K features if all would have too many
partial states. Two tables are kept of each set: of all rounds that may teach it, with a memory of
MEMORY visits to a cell, and of wide rounds alone (those that explore or probe), which compare sets.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from thrifty.kernels.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.compile import apart, inner

MOST_NUMBERS = 450_000
"""So many means, of cells and actions, at the most."""
MEMORY = 80.0
"""So many visits to a cell count; the older ones fade."""


class Subsets(NamedTuple):
    """The sets in the order of their size, the empty one first, and their tables, end to end.

    A set's cells are numbered by the levels of its features, the first one fastest; `rests` is the
    set without its `first` feature, from whose numbers they are made. `order` sorts the masks.
    """

    levels: Ints
    masks: Ints
    firsts: Ints
    rests: Ints
    offsets: Ints
    order: Ints
    pulls: Floats
    sums: Floats
    wide_pulls: Floats
    wide_sums: Floats
    cells: Ints  # where the sets' tables have the state at hand


def initial(levels: Ints, n_actions: int, most: int) -> Subsets:
    """Return empty tables of the sets of at most `most` features, or of as many sets as fit."""
    n = levels.size
    sets = _sets_that_fit(levels.tolist(), most, MOST_NUMBERS // n_actions)
    bits = [1 << (n - 1 - i) for i in range(n)]
    masks = np.array([_signed(sum(bits[i] for i in it)) for it in sets], np.int64)
    places = {it: k for k, it in enumerate(sets)}
    sizes = [prod(int(levels[i]) for i in it) for it in sets]
    shape = (sum(sizes), n_actions)
    return Subsets(
        levels=levels.copy(),
        masks=masks,
        firsts=np.array([it[0] if it else NONE for it in sets], np.int64),
        rests=np.array([places[it[1:]] if it else NONE for it in sets], np.int64),
        offsets=np.cumsum([0, *sizes], dtype=np.int64),
        order=np.argsort(masks),
        pulls=np.zeros(shape),
        sums=np.zeros(shape),
        wide_pulls=np.zeros(shape),
        wide_sums=np.zeros(shape),
        cells=np.zeros(len(sets), np.int64),
    )


def _signed(mask: int) -> int:
    return mask - 2**64 if mask >= 2**63 else mask


def _sets_that_fit(levels: list[int], most: int, room: int) -> list[tuple[int, ...]]:
    """Return the sets of at most K <= most features, K as large as there is room for their cells.

    >>> _sets_that_fit([2, 2, 2], most=3, room=20)  # one of 1, three of 2 and three of 4
    [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sets: list[tuple[int, ...]] = [()]
    for size in range(1, min(most, len(levels)) + 1):
        if size > 1 and sum(_cells(levels, k) for k in range(size + 1)) > room:
            break
        sets += combinations(range(len(levels)), size)
    return sets


def _cells(levels: list[int], size: int) -> int:
    """Return how many partial states all sets of this size have together.

    It is the elementary symmetric polynomial of the levels, so that nothing has to be listed.

    >>> _cells([2, 3, 4], 2)  # 2 3 + 2 4 + 3 4
    26
    """
    sums = [1] + [0] * size
    for n in levels:
        for k in range(size, 0, -1):
            sums[k] += n * sums[k - 1]
    return sums[size]


@inner
def size_of(subsets: Subsets, j: int) -> int:
    """Return how many partial states set j has."""
    return subsets.offsets[j + 1] - subsets.offsets[j]


@inner
def within(one: Mask, other: Mask) -> bool:
    """Whether all features of the one are features of the other."""
    return one & ~other == 0


@apart
def place_of(subsets: Subsets, mask: Mask) -> int:
    """Return the number of the set with this mask, or NONE if it has no tables."""
    low, high = 0, subsets.order.size
    while low < high:
        middle = (low + high) // 2
        if subsets.masks[subsets.order[middle]] < mask:
            low = middle + 1
        else:
            high = middle
    if low < subsets.order.size and subsets.masks[subsets.order[low]] == mask:
        return subsets.order[low]
    return NONE


@inner
def cell_of(subsets: Subsets, j: int, codes: Ints) -> int:
    """Return the cell of set j that has these codes."""
    cell = 0
    stride = 1
    start = subsets.offsets[j]
    while j != 0:
        i = subsets.firsts[j]
        cell += stride * codes[i]
        stride *= subsets.levels[i]
        j = subsets.rests[j]
    return start + cell


@apart
def find_cells(subsets: Subsets, observed: Mask, codes: Ints) -> None:
    """Note the cells of all sets within the observed one, each from a smaller set's."""
    for j in range(subsets.masks.size):
        if within(subsets.masks[j], observed):
            number = 0
            if j != 0:
                i = subsets.firsts[j]
                rest = subsets.rests[j]
                number = codes[i] + subsets.levels[i] * (
                    subsets.cells[rest] - subsets.offsets[rest]
                )
            subsets.cells[j] = subsets.offsets[j] + number


@inner
def learn_one(subsets: Subsets, cell: int, action: int, reward: float) -> None:
    """Add a reward to a cell, and let what it knows fade to its memory."""
    if subsets.pulls[cell, action] + 1 > MEMORY:
        subsets.sums[cell, action] *= (MEMORY - 1) / subsets.pulls[cell, action]
        subsets.pulls[cell, action] = MEMORY - 1
    subsets.pulls[cell, action] += 1
    subsets.sums[cell, action] += reward


@apart
def learn(subsets: Subsets, basis: Mask, observed: Mask, action: int, reward: float) -> None:
    """Teach every set between the basis and the observed one, whose cells have been found."""
    for j in range(subsets.masks.size):
        if within(basis, subsets.masks[j]) and within(subsets.masks[j], observed):
            cell = subsets.cells[j]
            learn_one(subsets, cell, action, reward)
            subsets.wide_pulls[cell, action] += 1
            subsets.wide_sums[cell, action] += reward


@inner
def forget_cell(subsets: Subsets, cell: int) -> None:
    """Forget what all rounds taught of a cell."""
    for a in range(subsets.pulls.shape[1]):
        subsets.pulls[cell, a] = 0.0
        subsets.sums[cell, a] = 0.0


@apart
def forget_all(subsets: Subsets) -> None:
    """Forget everything that was learnt."""
    for cell in range(subsets.pulls.shape[0]):
        for a in range(subsets.pulls.shape[1]):
            subsets.pulls[cell, a] = 0.0
            subsets.sums[cell, a] = 0.0
            subsets.wide_pulls[cell, a] = 0.0
            subsets.wide_sums[cell, a] = 0.0


@inner
def shrunk(total: float, count: float, prior: float, weight: float) -> float:
    """Return the mean of what was seen and of `weight` more rewards of size `prior`."""
    return (total + weight * prior) / (count + weight)
