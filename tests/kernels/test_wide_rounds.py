"""The log of wide rounds, with numbers to check by hand first."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import subsets, wide_rounds
from thrifty.kernels.scout.wide_rounds import MAX_ROUNDS

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

record_round = numba.njit(
    lambda log, codes, observed, basis, a, r: wide_rounds.record_round(
        log, codes, observed, basis, a, r
    )
)
number = numba.njit(lambda log: wide_rounds.number(log))
place = numba.njit(lambda log, k: wide_rounds.place(log, k))
close = numba.njit(lambda log: wide_rounds.close(log))
teach = numba.njit(lambda log, tables, j: wide_rounds.teach(log, tables, j))


def mask(members: naive_scout.Set, n: int) -> int:
    return sum(1 << (n - 1 - i) for i in members)


def test_a_round_is_written_down_as_it_was() -> None:
    log = wide_rounds.initial(2)
    assert number(log) == 0
    record_round(log, np.array([1, -1]), 0b10, 0b00, 3, 0.25)
    assert log.states[0].tolist() == [1, -1]
    assert (log.observed[0], log.bases[0], log.actions[0], log.rewards[0]) == (0b10, 0, 3, 0.25)
    assert (number(log), place(log, 0)) == (1, 0)


def test_the_oldest_makes_room() -> None:
    log = wide_rounds.initial(1)
    for t in range(MAX_ROUNDS + 3):
        record_round(log, np.array([t % 2]), 1, 0, t % 5, 0.0)
    assert number(log) == MAX_ROUNDS
    assert [place(log, k) for k in (0, MAX_ROUNDS - 4, MAX_ROUNDS - 1)] == [3, MAX_ROUNDS - 1, 2]
    kept = [int(log.actions[place(log, k)]) for k in range(MAX_ROUNDS)]
    assert kept == [t % 5 for t in range(3, MAX_ROUNDS + 3)]


def test_closed_rounds_teach_nothing_but_stay_to_be_seen() -> None:
    log, tables = wide_rounds.initial(1), subsets.initial(np.array([2]), 1, 1)
    record_round(log, np.array([1]), 1, 0, 0, 1.0)
    close(log)
    assert (number(log), log.clock[0], log.states[0, 0]) == (0, 1, 1)
    record_round(log, np.array([0]), 1, 0, 0, 0.5)
    assert (number(log), place(log, 0)) == (1, 1)
    teach(log, tables, 1)
    assert tables.wide_sums[:, 0].tolist() == [0, 0.5, 0]


def test_what_three_rounds_teach_a_set() -> None:
    # The set of both features learns from a blind round and from one that acted by the first
    # feature; not from a round that did not see the second.
    log, tables = wide_rounds.initial(2), subsets.initial(np.array([2, 3]), 2, 2)
    record_round(log, np.array([1, 2]), 0b11, 0b00, 0, 1.0)
    record_round(log, np.array([1, 2]), 0b11, 0b10, 0, 0.5)
    record_round(log, np.array([1, -1]), 0b10, 0b00, 0, 1.0)
    teach(log, tables, 3)
    cell = tables.offsets[3] + 1 + 2 * 2
    assert tables.pulls.sum() == tables.wide_pulls.sum() == tables.pulls[cell, 0] == 2
    assert tables.sums[cell, 0] == tables.wide_sums[cell, 0] == 1.5
    teach(log, tables, 2)  # the second feature: below the basis of the second round
    assert tables.pulls[tables.offsets[2] + 2, 0] == 1


def test_a_place_without_a_set_is_taught_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_MEANS", "MAX_MEANS_WHEN_GROWING"):
        monkeypatch.setattr(subsets, name, 5)
    log, tables = wide_rounds.initial(2), subsets.initial(np.array([2, 2]), 1, 2)
    record_round(log, np.array([1, 1]), 0b11, 0b00, 0, 1.0)
    assert tables.masks[-1] == NONE
    teach(log, tables, len(tables.masks) - 1)
    assert not tables.pulls.any()


@st.composite
def rounds(draw: Any) -> tuple[tuple[int, ...], list[tuple[Any, ...]]]:
    levels = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple))
    played = []
    for _ in range(draw(st.integers(1, 20))):
        codes = tuple(draw(st.integers(-1, n - 1)) for n in levels)
        basis = tuple(i for i in naive_scout.seen_in(codes) if draw(st.integers(0, 3)) == 0)
        played.append((codes, basis, draw(st.integers(0, 1)), draw(st.floats(0, 1))))
    return levels, played


@repeatable
@given(rounds())
def test_the_log_teaches_what_the_rounds_taught(given: Any) -> None:
    levels, played = given
    n = len(levels)
    log, tables, twin = (
        wide_rounds.initial(n),
        subsets.initial(np.array(levels), 2, n),
        naive_scout.Tables(levels, 2),
    )
    for codes, basis, action, reward in played:
        observed = naive_scout.seen_in(codes)
        twin.learn(basis, observed, codes, action, reward)
        record_round(log, np.array(codes), mask(observed, n), mask(basis, n), action, reward)
    for j in range(len(tables.masks)):
        teach(log, tables, j)
    assert tables.wide_pulls.sum() == sum(pulls for pulls, _ in twin.compared.values())
    for (s, values, action), (pulls, total) in twin.compared.items():
        strides = np.cumprod([1, *(levels[i] for i in s)])[:-1]
        cell = tables.offsets[twin.sets.index(s)] + int(np.dot(strides, values))
        assert tables.wide_pulls[cell, action] == pulls
        assert tables.wide_sums[cell, action] == pytest.approx(total)
