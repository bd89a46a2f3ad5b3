"""The tables of all sets and the interval rule, with numbers to check by hand first."""

from itertools import combinations, product
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import subsets

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

Ints = NDArray[np.int64]

n_features = numba.njit(lambda tables, j: subsets.n_features(tables, j))
ticket_of = numba.njit(lambda tables, j: subsets.ticket_of(tables, j))
set_with = numba.njit(lambda tables, ticket: subsets.set_with(tables, ticket))
bind = numba.njit(lambda tables, j, mask: subsets.bind(tables, j, mask))
within = numba.njit(lambda one, other: subsets.within(one, other))
place_of = numba.njit(lambda tables, mask: subsets.place_of(tables, mask))
cell_of = numba.njit(lambda tables, j, codes: subsets.cell_of(tables, j, codes))
find_cells = numba.njit(lambda tables, observed, codes: subsets.find_cells(tables, observed, codes))
learn_one = numba.njit(lambda tables, cell, a, r: subsets.learn_one(tables, cell, a, r))
remember = numba.njit(lambda tables, age: subsets.remember(tables, age))
learn = numba.njit(lambda tables, basis, seen, a, r: subsets.learn(tables, basis, seen, a, r))
forget_cell = numba.njit(lambda tables, cell: subsets.forget_cell(tables, cell))
forget_all = numba.njit(lambda tables: subsets.forget_all(tables))
shrunk_mean = numba.njit(lambda total, count, prior, k: subsets.shrunk_mean(total, count, prior, k))


def made(levels: tuple[int, ...], n_actions: int = 2) -> subsets.Subsets:
    return subsets.initial(np.array(levels, np.int64), n_actions, len(levels))


def mask(members: naive_scout.Set, n_features: int) -> np.int64:
    """Return the set as a 64-bit number, the first feature the most significant bit."""
    number = sum(1 << (n_features - 1 - i) for i in members)
    return np.uint64(number).astype(np.int64)


def sets_of(levels: tuple[int, ...], n_actions: int = 2) -> list[naive_scout.Set]:
    return naive_scout.sets_that_fit(levels, n_actions)


# By hand: two features of two and three levels.


def test_the_sets_of_two_features_end_to_end() -> None:
    tables = made((2, 3))
    assert tables.masks.tolist() == [0b00, 0b10, 0b01, 0b11]
    assert tables.offsets.tolist() == [0, 1, 3, 6, 12]
    assert tables.firsts.tolist() == [NONE, 0, 1, 0]
    assert tables.rests.tolist() == [NONE, 0, 0, 2]
    assert tables.pulls.shape == tables.sums.shape == tables.wide_pulls.shape == (12, 2)
    assert [n_features(tables, j) for j in range(4)] == [0, 1, 1, 2]


def test_the_first_feature_counts_fastest() -> None:
    tables, codes = made((2, 3)), np.array([1, 2])
    assert [cell_of(tables, j, codes) for j in range(4)] == [0, 1 + 1, 3 + 2, 6 + 1 + 2 * 2]


def test_a_set_that_has_no_table_is_nowhere() -> None:
    tables = made((2, 3))
    assert [place_of(tables, np.int64(m)) for m in range(5)] == [0, 2, 1, 3, NONE]


def test_a_blind_round_teaches_all_subsets() -> None:
    tables, codes = made((2, 3)), np.array([1, 2])
    find_cells(tables, 0b11, codes)
    learn(tables, 0b00, 0b11, 1, 0.5)
    taught = [0, 2, 5, 11]
    assert np.flatnonzero(tables.pulls[:, 1]).tolist() == taught
    assert tables.sums[taught, 1].tolist() == tables.wide_sums[taught, 1].tolist() == [0.5] * 4
    assert not tables.pulls[:, 0].any()


def test_a_probe_teaches_from_the_basis_up() -> None:
    tables, codes = made((2, 3)), np.array([1, 2])
    find_cells(tables, 0b11, codes)
    learn(tables, 0b10, 0b11, 0, 1.0)
    assert np.flatnonzero(tables.pulls[:, 0]).tolist() == [2, 11]


def test_a_cell_remembers_so_many_visits() -> None:
    tables, memory = made((1,), 1), subsets.MEMORY
    for _ in range(int(memory)):
        learn_one(tables, 0, 0, 1.0)
    assert (tables.pulls[0, 0], tables.sums[0, 0]) == (memory, memory)
    learn_one(tables, 0, 0, 0.0)
    assert tables.pulls[0, 0] == memory
    assert tables.sums[0, 0] == pytest.approx(memory - 1)
    learn_one(tables, 0, 0, 0.0)
    assert tables.sums[0, 0] == pytest.approx((memory - 1) ** 2 / memory)


@pytest.mark.parametrize(("age", "memory"), [(0, 80), (1600, 80), (4000, 200), (99_999, 500)])
def test_what_held_for_long_is_remembered_for_longer(age: int, memory: float) -> None:
    tables = made((1,), 1)
    remember(tables, age)
    assert tables.memory.tolist() == [memory]
    for _ in range(600):
        learn_one(tables, 0, 0, 1.0)
    assert tables.pulls[0, 0] == memory


def test_forgetting() -> None:
    tables = made((2, 3))
    for array in (tables.pulls, tables.sums, tables.wide_pulls, tables.wide_sums):
        array[:] = 3.0
    forget_cell(tables, 4)
    assert np.flatnonzero((tables.pulls == 0).all(axis=1)).tolist() == [4]
    assert np.flatnonzero((tables.sums == 0).all(axis=1)).tolist() == [4]
    assert tables.wide_pulls.all()
    forget_all(tables)
    assert not any(
        x.any() for x in (tables.pulls, tables.sums, tables.wide_pulls, tables.wide_sums)
    )


def test_shrinking() -> None:
    assert shrunk_mean(3.0, 4.0, 0.5, 2.0) == pytest.approx((3 + 2 * 0.5) / (4 + 2))
    assert shrunk_mean(0.0, 0.0, 0.3, 1.0) == pytest.approx(0.3)


# As many sets as fit.


@pytest.mark.parametrize(
    "levels",
    [(1,), (2, 3), (4, 4, 3, 2, 3), (2,) * 10, (3,) * 15, (2,) * 40, (9,) * 12, (400, 400, 400)],
)
def test_the_sets_are_those_that_fit(levels: tuple[int, ...]) -> None:
    tables, expected = made(levels, 3), sets_of(levels, 3)
    fixed, grown = (
        len(tables.order),
        0 if naive_scout.all_fit(levels, 3) else subsets.MAX_GROWN_SETS,
    )
    assert tables.masks[:fixed].tolist() == [int(mask(s, len(levels))) for s in expected]
    assert tables.masks[fixed:].tolist() == [subsets.NO_SET] * grown
    cells = sum(np.prod([levels[i] for i in s], dtype=int) for s in expected)
    assert len(tables.pulls) == tables.offsets[-1] == cells + grown * subsets.MAX_CELLS
    most = subsets.MAX_MEANS_WHEN_GROWING if grown else subsets.MAX_MEANS
    assert 3 * cells <= max(most, 3 * (1 + sum(levels)))


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_no_set_is_larger_than_wanted(most: int) -> None:
    tables = subsets.initial(np.array([2, 3, 2, 2]), 2, most)
    expected = [s for s in sets_of((2, 3, 2, 2)) if len(s) <= most]
    assert tables.masks.tolist() == [int(mask(s, 4)) for s in expected]


def test_single_features_are_kept_however_many_levels_they_have() -> None:
    tables = made((subsets.MAX_MEANS, 2), 1)
    assert tables.masks[:3].tolist() == [0b00, 0b10, 0b01]
    assert (tables.masks[3:] == subsets.NO_SET).all()


@pytest.mark.parametrize("levels", [(2, 3, 2), (2,) * 40, (2,) * 63])
def test_places_are_the_inverse_of_masks(levels: tuple[int, ...]) -> None:
    tables = made(levels, 1)
    some = np.unique(np.linspace(0, len(tables.order) - 1, 500).astype(int))
    assert [place_of(tables, tables.masks[j]) for j in some] == some.tolist()
    if len(levels) > 3:
        everything = mask(tuple(range(len(levels))), len(levels))
        assert place_of(tables, everything) == NONE


# Larger sets, which come and go.


def growing(monkeypatch: pytest.MonkeyPatch) -> subsets.Subsets:
    """Return the tables of three features of which only single ones fit, with room for two sets."""
    monkeypatch.setattr(subsets, "MAX_MEANS", 20)
    monkeypatch.setattr(subsets, "MAX_MEANS_WHEN_GROWING", 20)
    monkeypatch.setattr(subsets, "MAX_GROWN_SETS", 2)
    return made((2, 3, 2), 2)


def test_a_place_without_a_set_learns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = growing(monkeypatch)
    assert tables.masks.tolist() == [0, 0b100, 0b010, 0b001, subsets.NO_SET, subsets.NO_SET]
    assert np.diff(tables.offsets).tolist() == [1, 2, 3, 2, subsets.MAX_CELLS, subsets.MAX_CELLS]
    find_cells(tables, 0b111, np.array([1, 2, 1]))
    learn(tables, 0, 0b111, 0, 1.0)
    assert not tables.pulls[tables.offsets[4] :].any()
    assert place_of(tables, np.int64(0b101)) == NONE


def test_a_grown_set_counts_its_cells_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = growing(monkeypatch)
    bind(tables, 5, 0b101)
    assert place_of(tables, np.int64(0b101)) == 5
    assert n_features(tables, 5) == 2
    codes = np.array([1, 2, 1])
    assert cell_of(tables, 5, codes) == tables.offsets[5] + 1 + 2 * 1
    find_cells(tables, 0b111, codes)
    learn(tables, 0b100, 0b111, 1, 0.5)
    assert np.flatnonzero(tables.pulls[:, 1]).tolist() == [
        tables.offsets[1] + 1,
        tables.offsets[5] + 3,
    ]
    assert tables.wide_sums[tables.offsets[5] + 3, 1] == 0.5


def test_a_set_that_gets_the_place_of_another_knows_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = growing(monkeypatch)
    bind(tables, 4, 0b101)
    for table in (tables.pulls, tables.sums, tables.wide_pulls, tables.wide_sums):
        table[:] = 3.0
    bind(tables, 4, 0b011)
    start, stop = tables.offsets[4:6]
    for table in (tables.pulls, tables.sums, tables.wide_pulls, tables.wide_sums):
        assert not table[start:stop].any()
        assert (table[:start] == 3).all()
        assert (table[stop:] == 3).all()
    assert place_of(tables, np.int64(0b101)) == NONE


@repeatable
@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0b011, 0b101, 0b110, 0b111]))))
def test_a_ticket_never_stands_for_another_set(changes: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tables = growing(patch)
    tickets = [
        (int(ticket_of(tables, j)), j, int(tables.bindings[j])) for j in range(len(tables.masks))
    ]
    for place, other in changes:
        bind(tables, 4 + place, other)
        tickets.append(
            (int(ticket_of(tables, 4 + place)), 4 + place, int(tables.bindings[4 + place]))
        )
        for ticket, j, binding in tickets:
            assert set_with(tables, ticket) == (j if tables.bindings[j] == binding else NONE)
    assert len({ticket for ticket, _, _ in tickets}) == len(tickets)


# Properties, and the twin.

LEVELS = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


@st.composite
def rounds(draw: Any) -> tuple[tuple[int, ...], list[tuple[Any, ...]]]:
    """Draw levels and rounds: (codes of what was observed, basis, action, reward)."""
    levels = draw(LEVELS)
    played = []
    for _ in range(draw(st.integers(1, 12))):
        observed = [draw(st.booleans()) for _ in levels]
        codes = tuple(
            draw(st.integers(0, n - 1)) if seen else NONE
            for n, seen in zip(levels, observed, strict=True)
        )
        basis = tuple(i for i, seen in enumerate(observed) if seen and draw(st.booleans()))
        played.append((codes, basis, draw(st.integers(0, 1)), draw(st.floats(0, 1))))
    return levels, played


@repeatable
@given(LEVELS, st.data())
def test_within(levels: tuple[int, ...], data: st.DataObject) -> None:
    all_sets = sets_of(levels)
    one, other = data.draw(st.sampled_from(all_sets)), data.draw(st.sampled_from(all_sets))
    n = len(levels)
    assert bool(within(mask(one, n), mask(other, n))) == (set(one) <= set(other))


@repeatable
@given(LEVELS)
def test_different_partial_states_have_different_cells(levels: tuple[int, ...]) -> None:
    tables, cells = made(levels), []
    for j, s in enumerate(sets_of(levels)):
        for values in product(*(range(levels[i]) for i in s)):
            codes = np.full(len(levels), NONE)
            codes[list(s)] = values
            cells.append(int(cell_of(tables, j, codes)))
    assert sorted(cells) == list(range(len(tables.pulls)))


@repeatable
@given(rounds())
def test_cells_are_found_like_one_by_one(given: Any) -> None:
    levels, played = given
    tables = made(levels)
    for codes, *_ in played:
        observed = naive_scout.seen_in(codes)
        find_cells(tables, mask(observed, len(levels)), np.array(codes))
        for j, s in enumerate(sets_of(levels)):
            if set(s) <= set(observed):
                assert tables.cells[j] == cell_of(tables, j, np.array(codes))


@repeatable
@given(rounds())
def test_learning_like_the_twin(given: Any) -> None:
    levels, played = given
    tables, twin, n = made(levels), naive_scout.Tables(levels, 2), len(levels)
    for codes, basis, action, reward in played:
        observed = naive_scout.seen_in(codes)
        find_cells(tables, mask(observed, n), np.array(codes))
        learn(tables, mask(basis, n), mask(observed, n), action, reward)
        twin.learn(basis, observed, codes, action, reward)
    assert tables.pulls.sum() == sum(pulls for pulls, _ in twin.known.values())
    for (s, values, action), (pulls, total) in twin.known.items():
        codes = np.full(n, NONE)
        codes[list(s)] = values
        cell = cell_of(tables, place_of(tables, mask(s, n)), codes)
        assert tables.pulls[cell, action] == tables.wide_pulls[cell, action] == pulls
        assert tables.sums[cell, action] == pytest.approx(total)


@repeatable
@given(rounds())
def test_exactly_the_sets_between_basis_and_observed_learn(given: Any) -> None:
    levels, played = given
    n = len(levels)
    codes, basis, action, reward = played[0]
    observed = naive_scout.seen_in(codes)
    tables = made(levels)
    find_cells(tables, mask(observed, n), np.array(codes))
    learn(tables, mask(basis, n), mask(observed, n), action, reward)
    free = [i for i in observed if i not in basis]
    interval = {
        tuple(sorted({*basis, *more}))
        for size in range(len(free) + 1)
        for more in combinations(free, size)
    }
    taught = {
        s
        for j, s in enumerate(sets_of(levels))
        if tables.pulls[tables.offsets[j] : tables.offsets[j + 1]].any()
    }
    assert taught == interval
    assert tables.pulls.sum() == len(interval) == 2 ** len(free)


@repeatable
@given(st.lists(st.floats(0, 1), min_size=1, max_size=400))
def test_older_rewards_fade_geometrically(rewards: list[float]) -> None:
    tables, memory = made((1,), 1), subsets.MEMORY
    for reward in rewards:
        learn_one(tables, 0, 0, reward)
    n = len(rewards)
    faded = [min(n - k, max(0, n - memory)) for k in range(1, n + 1)]
    expected = sum(r * (1 - 1 / memory) ** age for r, age in zip(rewards, faded, strict=True))
    assert tables.pulls[0, 0] == min(n, memory)
    assert tables.sums[0, 0] == pytest.approx(expected)
