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

n_features = numba.njit(lambda it, j: subsets.n_features(it, j))
ticket_of = numba.njit(lambda it, j: subsets.ticket_of(it, j))
set_with = numba.njit(lambda it, ticket: subsets.set_with(it, ticket))
bind = numba.njit(lambda it, j, mask: subsets.bind(it, j, mask))
within = numba.njit(lambda one, other: subsets.within(one, other))
place_of = numba.njit(lambda it, mask: subsets.place_of(it, mask))
cell_of = numba.njit(lambda it, j, codes: subsets.cell_of(it, j, codes))
find_cells = numba.njit(lambda it, observed, codes: subsets.find_cells(it, observed, codes))
learn_one = numba.njit(lambda it, cell, a, r: subsets.learn_one(it, cell, a, r))
remember = numba.njit(lambda it, age: subsets.remember(it, age))
learn = numba.njit(lambda it, basis, seen, a, r: subsets.learn(it, basis, seen, a, r))
forget_cell = numba.njit(lambda it, cell: subsets.forget_cell(it, cell))
forget_all = numba.njit(lambda it: subsets.forget_all(it))
shrunk_mean = numba.njit(lambda total, count, prior, k: subsets.shrunk_mean(total, count, prior, k))


def made(levels: tuple[int, ...], n_actions: int = 2) -> subsets.Subsets:
    return subsets.initial(np.array(levels, np.int64), n_actions, len(levels))


def mask(it: naive_scout.Set, n_features: int) -> np.int64:
    """Return the set as a 64-bit number, the first feature the most significant bit."""
    number = sum(1 << (n_features - 1 - i) for i in it)
    return np.uint64(number).astype(np.int64)


def sets_of(levels: tuple[int, ...], n_actions: int = 2) -> list[naive_scout.Set]:
    return naive_scout.sets_that_fit(levels, n_actions)


# By hand: two features of two and three levels.


def test_the_sets_of_two_features_end_to_end() -> None:
    it = made((2, 3))
    assert it.masks.tolist() == [0b00, 0b10, 0b01, 0b11]
    assert it.offsets.tolist() == [0, 1, 3, 6, 12]
    assert it.firsts.tolist() == [NONE, 0, 1, 0]
    assert it.rests.tolist() == [NONE, 0, 0, 2]
    assert it.pulls.shape == it.sums.shape == it.wide_pulls.shape == (12, 2)
    assert [n_features(it, j) for j in range(4)] == [0, 1, 1, 2]


def test_the_first_feature_counts_fastest() -> None:
    it, codes = made((2, 3)), np.array([1, 2])
    assert [cell_of(it, j, codes) for j in range(4)] == [0, 1 + 1, 3 + 2, 6 + 1 + 2 * 2]


def test_a_set_that_has_no_table_is_nowhere() -> None:
    it = made((2, 3))
    assert [place_of(it, np.int64(m)) for m in range(5)] == [0, 2, 1, 3, NONE]


def test_a_blind_round_teaches_all_subsets() -> None:
    it, codes = made((2, 3)), np.array([1, 2])
    find_cells(it, 0b11, codes)
    learn(it, 0b00, 0b11, 1, 0.5)
    taught = [0, 2, 5, 11]
    assert np.flatnonzero(it.pulls[:, 1]).tolist() == taught
    assert it.sums[taught, 1].tolist() == it.wide_sums[taught, 1].tolist() == [0.5] * 4
    assert not it.pulls[:, 0].any()


def test_a_probe_teaches_from_the_basis_up() -> None:
    it, codes = made((2, 3)), np.array([1, 2])
    find_cells(it, 0b11, codes)
    learn(it, 0b10, 0b11, 0, 1.0)
    assert np.flatnonzero(it.pulls[:, 0]).tolist() == [2, 11]


def test_a_cell_remembers_so_many_visits() -> None:
    it, memory = made((1,), 1), subsets.MEMORY
    for _ in range(int(memory)):
        learn_one(it, 0, 0, 1.0)
    assert (it.pulls[0, 0], it.sums[0, 0]) == (memory, memory)
    learn_one(it, 0, 0, 0.0)
    assert it.pulls[0, 0] == memory
    assert it.sums[0, 0] == pytest.approx(memory - 1)
    learn_one(it, 0, 0, 0.0)
    assert it.sums[0, 0] == pytest.approx((memory - 1) ** 2 / memory)


@pytest.mark.parametrize(("age", "memory"), [(0, 80), (1600, 80), (4000, 200), (99_999, 500)])
def test_what_held_for_long_is_remembered_for_longer(age: int, memory: float) -> None:
    it = made((1,), 1)
    remember(it, age)
    assert it.memory.tolist() == [memory]
    for _ in range(600):
        learn_one(it, 0, 0, 1.0)
    assert it.pulls[0, 0] == memory


def test_forgetting() -> None:
    it = made((2, 3))
    for array in (it.pulls, it.sums, it.wide_pulls, it.wide_sums):
        array[:] = 3.0
    forget_cell(it, 4)
    assert np.flatnonzero((it.pulls == 0).all(axis=1)).tolist() == [4]
    assert np.flatnonzero((it.sums == 0).all(axis=1)).tolist() == [4]
    assert it.wide_pulls.all()
    forget_all(it)
    assert not any(x.any() for x in (it.pulls, it.sums, it.wide_pulls, it.wide_sums))


def test_shrinking() -> None:
    assert shrunk_mean(3.0, 4.0, 0.5, 2.0) == pytest.approx((3 + 2 * 0.5) / (4 + 2))
    assert shrunk_mean(0.0, 0.0, 0.3, 1.0) == pytest.approx(0.3)


# As many sets as fit.


@pytest.mark.parametrize(
    "levels",
    [(1,), (2, 3), (4, 4, 3, 2, 3), (2,) * 10, (3,) * 15, (2,) * 40, (9,) * 12, (400, 400, 400)],
)
def test_the_sets_are_those_that_fit(levels: tuple[int, ...]) -> None:
    it, expected = made(levels, 3), sets_of(levels, 3)
    fixed, grown = len(it.order), 0 if naive_scout.all_fit(levels, 3) else subsets.MAX_GROWN_SETS
    assert it.masks[:fixed].tolist() == [int(mask(s, len(levels))) for s in expected]
    assert it.masks[fixed:].tolist() == [subsets.NO_SET] * grown
    cells = sum(np.prod([levels[i] for i in s], dtype=int) for s in expected)
    assert len(it.pulls) == it.offsets[-1] == cells + grown * subsets.MAX_CELLS
    most = subsets.MAX_MEANS_WHEN_GROWING if grown else subsets.MAX_MEANS
    assert 3 * cells <= max(most, 3 * (1 + sum(levels)))


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_no_set_is_larger_than_wanted(most: int) -> None:
    it = subsets.initial(np.array([2, 3, 2, 2]), 2, most)
    expected = [s for s in sets_of((2, 3, 2, 2)) if len(s) <= most]
    assert it.masks.tolist() == [int(mask(s, 4)) for s in expected]


def test_single_features_are_kept_however_many_levels_they_have() -> None:
    it = made((subsets.MAX_MEANS, 2), 1)
    assert it.masks[:3].tolist() == [0b00, 0b10, 0b01]
    assert (it.masks[3:] == subsets.NO_SET).all()


@pytest.mark.parametrize("levels", [(2, 3, 2), (2,) * 40, (2,) * 63])
def test_places_are_the_inverse_of_masks(levels: tuple[int, ...]) -> None:
    it = made(levels, 1)
    some = np.unique(np.linspace(0, len(it.order) - 1, 500).astype(int))
    assert [place_of(it, it.masks[j]) for j in some] == some.tolist()
    if len(levels) > 3:
        everything = mask(tuple(range(len(levels))), len(levels))
        assert place_of(it, everything) == NONE


# Larger sets, which come and go.


def growing(monkeypatch: pytest.MonkeyPatch) -> subsets.Subsets:
    """Return the tables of three features of which only single ones fit, with room for two sets."""
    monkeypatch.setattr(subsets, "MAX_MEANS", 20)
    monkeypatch.setattr(subsets, "MAX_MEANS_WHEN_GROWING", 20)
    monkeypatch.setattr(subsets, "MAX_GROWN_SETS", 2)
    return made((2, 3, 2), 2)


def test_a_place_without_a_set_learns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    it = growing(monkeypatch)
    assert it.masks.tolist() == [0, 0b100, 0b010, 0b001, subsets.NO_SET, subsets.NO_SET]
    assert np.diff(it.offsets).tolist() == [1, 2, 3, 2, subsets.MAX_CELLS, subsets.MAX_CELLS]
    find_cells(it, 0b111, np.array([1, 2, 1]))
    learn(it, 0, 0b111, 0, 1.0)
    assert not it.pulls[it.offsets[4] :].any()
    assert place_of(it, np.int64(0b101)) == NONE


def test_a_grown_set_counts_its_cells_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    it = growing(monkeypatch)
    bind(it, 5, 0b101)
    assert place_of(it, np.int64(0b101)) == 5
    assert n_features(it, 5) == 2
    codes = np.array([1, 2, 1])
    assert cell_of(it, 5, codes) == it.offsets[5] + 1 + 2 * 1
    find_cells(it, 0b111, codes)
    learn(it, 0b100, 0b111, 1, 0.5)
    assert np.flatnonzero(it.pulls[:, 1]).tolist() == [it.offsets[1] + 1, it.offsets[5] + 3]
    assert it.wide_sums[it.offsets[5] + 3, 1] == 0.5


def test_a_set_that_gets_the_place_of_another_knows_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = growing(monkeypatch)
    bind(it, 4, 0b101)
    for table in (it.pulls, it.sums, it.wide_pulls, it.wide_sums):
        table[:] = 3.0
    bind(it, 4, 0b011)
    start, stop = it.offsets[4:6]
    for table in (it.pulls, it.sums, it.wide_pulls, it.wide_sums):
        assert not table[start:stop].any()
        assert (table[:start] == 3).all()
        assert (table[stop:] == 3).all()
    assert place_of(it, np.int64(0b101)) == NONE


@repeatable
@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0b011, 0b101, 0b110, 0b111]))))
def test_a_ticket_never_stands_for_another_set(changes: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        it = growing(patch)
    tickets = [(int(ticket_of(it, j)), j, int(it.bindings[j])) for j in range(len(it.masks))]
    for place, other in changes:
        bind(it, 4 + place, other)
        tickets.append((int(ticket_of(it, 4 + place)), 4 + place, int(it.bindings[4 + place])))
        for ticket, j, binding in tickets:
            assert set_with(it, ticket) == (j if it.bindings[j] == binding else NONE)
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
    it, cells = made(levels), []
    for j, s in enumerate(sets_of(levels)):
        for values in product(*(range(levels[i]) for i in s)):
            codes = np.full(len(levels), NONE)
            codes[list(s)] = values
            cells.append(int(cell_of(it, j, codes)))
    assert sorted(cells) == list(range(len(it.pulls)))


@repeatable
@given(rounds())
def test_cells_are_found_like_one_by_one(given: Any) -> None:
    levels, played = given
    it = made(levels)
    for codes, *_ in played:
        observed = naive_scout.seen_in(codes)
        find_cells(it, mask(observed, len(levels)), np.array(codes))
        for j, s in enumerate(sets_of(levels)):
            if set(s) <= set(observed):
                assert it.cells[j] == cell_of(it, j, np.array(codes))


@repeatable
@given(rounds())
def test_learning_like_the_twin(given: Any) -> None:
    levels, played = given
    it, twin, n = made(levels), naive_scout.Tables(levels, 2), len(levels)
    for codes, basis, action, reward in played:
        observed = naive_scout.seen_in(codes)
        find_cells(it, mask(observed, n), np.array(codes))
        learn(it, mask(basis, n), mask(observed, n), action, reward)
        twin.learn(basis, observed, codes, action, reward)
    assert it.pulls.sum() == sum(pulls for pulls, _ in twin.known.values())
    for (s, values, action), (pulls, total) in twin.known.items():
        codes = np.full(n, NONE)
        codes[list(s)] = values
        cell = cell_of(it, place_of(it, mask(s, n)), codes)
        assert it.pulls[cell, action] == it.wide_pulls[cell, action] == pulls
        assert it.sums[cell, action] == pytest.approx(total)


@repeatable
@given(rounds())
def test_exactly_the_sets_between_basis_and_observed_learn(given: Any) -> None:
    levels, played = given
    n = len(levels)
    codes, basis, action, reward = played[0]
    observed = naive_scout.seen_in(codes)
    it = made(levels)
    find_cells(it, mask(observed, n), np.array(codes))
    learn(it, mask(basis, n), mask(observed, n), action, reward)
    free = [i for i in observed if i not in basis]
    interval = {
        tuple(sorted({*basis, *more}))
        for size in range(len(free) + 1)
        for more in combinations(free, size)
    }
    taught = {
        s
        for j, s in enumerate(sets_of(levels))
        if it.pulls[it.offsets[j] : it.offsets[j + 1]].any()
    }
    assert taught == interval
    assert it.pulls.sum() == len(interval) == 2 ** len(free)


@repeatable
@given(st.lists(st.floats(0, 1), min_size=1, max_size=400))
def test_older_rewards_fade_geometrically(rewards: list[float]) -> None:
    it, memory = made((1,), 1), subsets.MEMORY
    for reward in rewards:
        learn_one(it, 0, 0, reward)
    n = len(rewards)
    faded = [min(n - k, max(0, n - memory)) for k in range(1, n + 1)]
    expected = sum(r * (1 - 1 / memory) ** age for r, age in zip(rewards, faded, strict=True))
    assert it.pulls[0, 0] == min(n, memory)
    assert it.sums[0, 0] == pytest.approx(expected)
