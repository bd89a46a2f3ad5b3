"""Sets of features valued cell by cell: by hand, and like the slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_worth import learned_actions, out_of_fold_actions
from thrifty.kernels.shared import out_of_fold

ONE_PARENT = np.zeros(1, np.int32)


def divided(parents: list[int], codes: list[int], n_levels: int) -> tuple[list[int], list[int]]:
    cells = np.empty(len(codes), np.int32)
    of = out_of_fold.divide(
        np.array(parents, np.int32),
        np.array(codes, np.int16),
        max(parents) + 1,
        n_levels,
        cells,
    )
    return cells.tolist(), of.tolist()


def test_cells_are_numbered_as_they_occur() -> None:
    assert divided([0, 0, 0, 0], [2, 0, 2, 1], 3) == ([0, 1, 0, 2], [0, 0, 0])
    assert divided([0, 1, 1, 0], [1, 1, 0, 1], 2) == ([0, 1, 2, 0], [0, 1, 1])


def test_outcomes_are_counted_by_cell_and_fold() -> None:
    counts = np.empty((2, 2, 2))
    out_of_fold.count(
        np.array([0, 0, 1], np.int32),
        np.array([0, 1, 1], np.int8),
        np.array([1, 0, 0], np.int16),
        counts,
    )
    assert counts.tolist() == [[[0, 1], [1, 0]], [[0, 0], [1, 0]]]


def estimated(counts: np.ndarray) -> np.ndarray:
    whole = counts.sum(axis=0, keepdims=True)
    above = np.full((1, *counts.shape[1:]), 0.5)
    chances = np.empty_like(counts)
    parents = np.zeros(len(counts), np.int32)
    out_of_fold.estimate(counts, parents, whole, above, chances)
    return chances


def test_cells_that_differ_by_chance_only_keep_their_parents_chances() -> None:
    counts = np.array([[[5.0, 5.0], [5.0, 5.0]], [[5.0, 5.0], [5.0, 5.0]]])
    np.testing.assert_allclose(estimated(counts), 0.5, atol=1e-5)


def test_cells_that_differ_much_keep_their_own() -> None:
    counts = np.array([[[50.0, 0.0], [50.0, 0.0]], [[0.0, 50.0], [0.0, 50.0]]])
    strength = (1 - out_of_fold.MAX_RHO) / out_of_fold.MAX_RHO
    expected = (50 + strength / 2) / (50 + strength)
    assert estimated(counts)[0, 0, 0] == pytest.approx(expected)


def test_the_best_action_is_taken_and_paid_out_of_fold() -> None:
    rewards = np.array([[10.0, -90.0], [0.0, 0.0]])
    actions = np.empty((2, 1), np.int16)
    out_of_fold.decide(np.array([[[0.95, 0.05]], [[0.8, 0.2]]]), rewards, actions)
    assert actions.tolist() == [[0], [1]]  # 0.95 * 10 - 0.05 * 90 = 5; 0.8 * 10 - 0.2 * 90 < 0
    counts = np.array([[[9.0, 1.0]], [[3.0, 2.0]]])
    assert out_of_fold.earned(counts, actions, rewards) == 9 * 10 - 90


tables = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(tables, st.integers(1, 4), st.integers(2, 3), st.integers(20, 120))
def test_like_the_twin(seed: int, depth: int, n_outcomes: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, (depth, number)).astype(np.int16)
    outcomes = ((columns.sum(axis=0) + rng.integers(0, 2, number)) % n_outcomes).astype(np.int16)
    folds = (rng.permutation(number) % 3).astype(np.int8)
    rewards = rng.normal(size=(3, n_outcomes))
    cells = np.zeros(number, np.int32)
    counts = np.empty((1, 3, n_outcomes))
    out_of_fold.count(cells, folds, outcomes, counts)
    chances = counts.sum(axis=1, keepdims=True) - counts + 1 / n_outcomes
    chances /= chances.sum(axis=2, keepdims=True)
    for column in columns:
        finer = np.empty_like(cells)
        parents = out_of_fold.divide(cells, column, len(counts), 3, finer)
        new = np.empty((len(parents), 3, n_outcomes))
        out_of_fold.count(finer, folds, outcomes, new)
        known = np.empty_like(new)
        out_of_fold.estimate(new, parents, counts, chances, known)
        cells, counts, chances = finer, new, known
    actions = np.empty(counts.shape[:2], np.int16)
    out_of_fold.decide(chances, rewards, actions)
    by_case = actions[cells, folds]
    expected = out_of_fold_actions(columns.tolist(), folds.tolist(), outcomes.tolist(), rewards)
    assert by_case.tolist() == expected
    total = rewards[by_case, outcomes].sum()
    assert out_of_fold.earned(counts, actions, rewards) == pytest.approx(total, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables, st.integers(0, 3), st.integers(0, 30))
def test_a_fixed_set_like_its_twin(seed: int, depth: int, start: int) -> None:
    rng = np.random.default_rng(seed)
    number = 60
    columns = rng.integers(0, 3, (depth, number)).astype(np.int16)
    outcomes = rng.integers(0, 2, number).astype(np.int16)
    rewards = rng.normal(size=(2, 2))
    chain = [np.zeros(number, np.int32)]
    for column in columns:
        cells = np.empty(number, np.int32)
        out_of_fold.divide(chain[-1], column, int(chain[-1].max()) + 1, 3, cells)
        chain.append(cells)
    sizes = [int(cells.max()) + 1 for cells in chain]
    offsets = np.cumsum([0, *sizes[:-1]])
    counts = np.zeros((sum(sizes), 2))
    for offset, cells in zip(offsets, chain, strict=True):
        np.add.at(counts, (offset + cells[:start], outcomes[:start]), 1)
    actions = np.full(number, -1)
    stacked = np.ascontiguousarray(np.stack(chain, axis=1))
    out_of_fold.follow(stacked, offsets, outcomes, rewards, 5.0, start, counts, actions)
    expected = learned_actions(columns.tolist(), outcomes.tolist(), rewards, 5.0, start)
    assert actions[start:].tolist() == expected
    assert counts[0].sum() == number
