"""Tables of mean rewards for many observation sets at once, and the interval rule that fills them.

A round that observed the set O and drew its action from the values of B alone, B within O, is an
unbiased sample of r(a, psi_J) for every J with B within J within O, and in general for no other:
given psi_J the action says nothing about the features outside J. So a round teaches the tables
between B and O, and only `learn` writes to them.

The sets are all subsets of the features. If these have too many partial states, the sets are those
of at most K features, and there is room for MAX_GROWN_SETS larger ones, which come and go (see
`growth`). Each set has two tables: one of all rounds that may teach it, in which old visits to a
cell fade, and one of wide rounds only (those that explore or probe), which compares sets.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.masks import contains

MAX_MEANS, MAX_MEANS_WHEN_GROWING = 450_000, 60_000
"""Largest number of means (cells times actions): of all sets, or of the small sets if sets grow."""
MAX_GROWN_SETS, MAX_CELLS = 24, 256
"""Largest number of grown sets, and of partial states of each."""
NO_SET = NONE
"""Mask of a place without a set. No mask contains it, because Scout takes at most 63 features."""
MEMORY, MEMORY_OF_AGE, MAX_MEMORY = 80.0, 0.05, 500.0
"""Number of visits to a cell that count: the first, or the second times the rounds since the last
restart if that is more, and at most the third. Older visits fade."""


class Subsets(NamedTuple):
    """The fixed sets ordered by size, the empty one first, then the places of grown sets.

    Their tables lie end to end. A set's cells are numbered by the levels of its features, the first
    one fastest; `rests` is the place of the set without its `firsts` feature, from whose cells
    they are computed. `order` sorts the fixed masks. `bindings` counts how often a place got
    another set. `memory` is the number of visits to a cell that count at present.
    """

    levels: Ints
    masks: Ints
    firsts: Ints
    rests: Ints
    offsets: Ints
    order: Ints
    bindings: Ints
    pulls: Floats
    sums: Floats
    wide_pulls: Floats
    wide_sums: Floats
    cells: Ints  # cell of each set for the present state
    memory: Floats


def initial(levels: Ints, n_actions: int, most: int) -> Subsets:
    """Return empty tables of the sets of at most `most` features, as far as there is room."""
    n = levels.size
    sets, grown = _sets_that_fit(levels.tolist(), most, n_actions)
    bits = [1 << (n - 1 - i) for i in range(n)]
    masks = np.array([sum(bits[i] for i in members) for members in sets], np.int64)
    places = {members: k for k, members in enumerate(sets)}
    sizes = [prod(int(levels[i]) for i in members) for members in sets] + [MAX_CELLS] * grown
    shape = (sum(sizes), n_actions)
    return Subsets(
        levels=levels.copy(),
        masks=np.concatenate([masks, np.full(grown, NO_SET)]),
        firsts=np.array([members[0] if members else NONE for members in sets], np.int64),
        rests=np.array([places[members[1:]] if members else NONE for members in sets], np.int64),
        offsets=np.cumsum([0, *sizes], dtype=np.int64),
        order=np.argsort(masks),
        bindings=np.zeros(len(sizes), np.int64),
        pulls=np.zeros(shape),
        sums=np.zeros(shape),
        wide_pulls=np.zeros(shape),
        wide_sums=np.zeros(shape),
        cells=np.zeros(len(sizes), np.int64),
        memory=np.full(1, MEMORY),
    )


def _sets_that_fit(
    levels: list[int], most: int, n_actions: int
) -> tuple[list[tuple[int, ...]], int]:
    """Return all sets of at most `most` features, or the small ones, and how many may grow.

    >>> _sets_that_fit([2, 2], most=2, n_actions=3)
    ([(), (0,), (1,), (0, 1)], 0)
    >>> sets, grown = _sets_that_fit([3] * 30, most=30, n_actions=3)
    >>> len(sets), len(sets[-1]), grown
    (466, 2, 24)
    """
    most = min(most, len(levels))
    largest, grown = most, 0
    if _numbers(levels, most, n_actions) > MAX_MEANS:
        largest = 1
        while _numbers(levels, largest + 1, n_actions) <= MAX_MEANS_WHEN_GROWING:
            largest += 1
        grown = MAX_GROWN_SETS
    features = range(len(levels))
    sets = [members for size in range(largest + 1) for members in combinations(features, size)]
    return sets, grown


def _numbers(levels: list[int], largest: int, n_actions: int) -> int:
    """Return the number of means in the tables of all sets of at most `largest` features."""
    return n_actions * sum(_cells(levels, size) for size in range(largest + 1))


def _cells(levels: list[int], size: int) -> int:
    """Return the number of partial states of all sets of this size together.

    It is the elementary symmetric polynomial of the levels, so no set has to be listed.

    >>> _cells([2, 3, 4], 2)  # 2 3 + 2 4 + 3 4
    26
    """
    sums = [1] + [0] * size
    for n in levels:
        for k in range(size, 0, -1):
            sums[k] += n * sums[k - 1]
    return sums[size]


@jit_inner
def within(one: Mask, other: Mask) -> bool:
    """Return True if all features of one set are in the other."""
    return one & ~other == 0


@jit_inner
def n_features(subsets: Subsets, j: int) -> int:
    """Return the number of features of set j."""
    n = subsets.levels.size
    number = 0
    for i in range(n):
        number += contains(subsets.masks[j], i, n)
    return number


@jit_inner
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
    for j in range(subsets.order.size, subsets.masks.size):
        if subsets.masks[j] == mask:
            return j
    return NONE


@jit_inner
def ticket_of(subsets: Subsets, j: int) -> int:
    """Return a number that identifies set j for as long as it has its place."""
    return j + subsets.masks.size * subsets.bindings[j]


@jit_inner
def set_with(subsets: Subsets, ticket: int) -> int:
    """Return the number of the set that got this ticket, or NONE if its place has another now."""
    j = ticket % subsets.masks.size
    return j if subsets.bindings[j] == ticket // subsets.masks.size else NONE


@jit_inner
def cell_of(subsets: Subsets, j: int, codes: Ints) -> int:
    """Return the cell of set j that has these codes."""
    return cell_in_place(subsets, j, subsets.masks[j], codes)


@jit_inner
def cell_in_place(subsets: Subsets, j: int, mask: Mask, codes: Ints) -> int:
    """Return the cell with these codes of the set with this mask that has, or had, place j."""
    start = subsets.offsets[j]
    if j >= subsets.order.size:
        return start + number_of(subsets.levels, mask, codes)
    cell = 0
    stride = 1
    while j != 0:
        i = subsets.firsts[j]
        cell += stride * codes[i]
        stride *= subsets.levels[i]
        j = subsets.rests[j]
    return start + cell


@jit_inner
def number_of(levels: Ints, mask: Mask, codes: Ints) -> int:
    """Return which of the mask's partial states these codes are in."""
    number = 0
    stride = 1
    for i in range(levels.size):
        if contains(mask, i, levels.size):
            number += stride * codes[i]
            stride *= levels[i]
    return number


@jit_inner
def find_cells(subsets: Subsets, observed: Mask, codes: Ints) -> None:
    """Store the cells of all sets within the observed one; a fixed set's from a smaller set's."""
    for j in range(subsets.masks.size):
        if within(subsets.masks[j], observed):
            if j == 0 or j >= subsets.order.size:
                subsets.cells[j] = cell_of(subsets, j, codes)
            else:
                i = subsets.firsts[j]
                rest = subsets.rests[j]
                number = subsets.cells[rest] - subsets.offsets[rest]
                subsets.cells[j] = subsets.offsets[j] + codes[i] + subsets.levels[i] * number


@jit_inner
def remember(subsets: Subsets, age: int) -> None:
    """Set the memory: the longer since the last restart, the more visits count."""
    subsets.memory[0] = min(max(MEMORY, MEMORY_OF_AGE * age), MAX_MEMORY)


@jit_inner
def learn_one(subsets: Subsets, cell: int, action: int, reward: float) -> None:
    """Add a reward to a cell after reducing its visits to the memory."""
    memory = subsets.memory[0]
    if subsets.pulls[cell, action] + 1 > memory:
        subsets.sums[cell, action] *= (memory - 1) / subsets.pulls[cell, action]
        subsets.pulls[cell, action] = memory - 1
    subsets.pulls[cell, action] += 1
    subsets.sums[cell, action] += reward


@jit_inner
def learn(subsets: Subsets, basis: Mask, observed: Mask, action: int, reward: float) -> None:
    """Teach every set between the basis and the observed one, whose cells have been found."""
    for j in range(subsets.masks.size):
        if within(basis, subsets.masks[j]) and within(subsets.masks[j], observed):
            learn_wide(subsets, subsets.cells[j], action, reward)


@jit_inner
def learn_wide(subsets: Subsets, cell: int, action: int, reward: float) -> None:
    """Add the reward of a wide round to both tables of a cell."""
    learn_one(subsets, cell, action, reward)
    subsets.wide_pulls[cell, action] += 1
    subsets.wide_sums[cell, action] += reward


@jit_inner
def bind(subsets: Subsets, j: int, mask: Mask) -> None:
    """Give the place of grown set j to the set with this mask, and clear its tables."""
    subsets.masks[j] = mask
    subsets.bindings[j] += 1
    for cell in range(subsets.offsets[j], subsets.offsets[j + 1]):
        forget_cell(subsets, cell)
        for a in range(subsets.pulls.shape[1]):
            subsets.wide_pulls[cell, a] = 0.0
            subsets.wide_sums[cell, a] = 0.0


@jit_inner
def forget_cell(subsets: Subsets, cell: int) -> None:
    """Clear a cell in the table of all rounds."""
    for a in range(subsets.pulls.shape[1]):
        subsets.pulls[cell, a] = 0.0
        subsets.sums[cell, a] = 0.0


@jit_inner
def forget_all(subsets: Subsets) -> None:
    """Clear all tables."""
    for cell in range(subsets.pulls.shape[0]):
        for a in range(subsets.pulls.shape[1]):
            subsets.pulls[cell, a] = 0.0
            subsets.sums[cell, a] = 0.0
            subsets.wide_pulls[cell, a] = 0.0
            subsets.wide_sums[cell, a] = 0.0


@jit_inner
def shrunk_mean(total: float, count: float, prior: float, weight: float) -> float:
    """Return the mean of the rewards and of `weight` more rewards of size `prior`."""
    return (total + weight * prior) / (count + weight)
