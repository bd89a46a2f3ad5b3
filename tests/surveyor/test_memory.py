"""The memory of cases is bounded, keeps the latest ones, and is saved exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from thrifty.surveyor.memory import CaseMemory


def filled(n: int, capacity: int = 8) -> CaseMemory:
    """Return a memory after n cases; each has its number in everything that is remembered."""
    memory = CaseMemory(2, 2, 1, capacity)
    for k in range(n):
        codes, odd = np.array([k % 100, -1]), k % 2 == 1
        memory.add(codes, np.array([True, odd]), np.array([odd, not odd]), k, 1 / (k + 1))
    return memory


def test_a_full_memory_forgets_its_oldest_quarter() -> None:
    assert filled(8).cases.numbers.tolist() == list(range(8))
    assert filled(9).cases.numbers.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert filled(10).cases.numbers.tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert filled(11).cases.numbers.tolist() == [4, 5, 6, 7, 8, 9, 10]


@given(n=st.integers(0, 60), capacity=st.integers(1, 20))
def test_the_latest_cases_are_kept_in_order(n: int, capacity: int) -> None:
    memory = filled(n, capacity)
    assert min(n, int(0.75 * capacity)) <= memory.size <= min(n, capacity)
    numbers = np.arange(n)[n - memory.size :]
    np.testing.assert_array_equal(memory.cases.numbers, numbers)
    np.testing.assert_array_equal(memory.cases.codes[:, 0], numbers)
    assert (memory.cases.codes[:, 1] == -1).all()
    np.testing.assert_array_equal(memory.cases.settled[:, 1], numbers % 2 == 1)
    np.testing.assert_array_equal(memory.cases.possible[:, 0], numbers % 2 == 1)


def test_a_restored_memory_goes_on_like_the_one_that_was_saved() -> None:
    first, second = filled(13), filled(3)
    state = first.get_state("cases")
    names = ("codes", "settled", "possible", "numbers", "chances", "actions", "rewards")
    assert set(state) == {f"cases_{name}" for name in names}
    second.set_state(state, "cases")
    for memory in (first, second):
        for k in range(13, 20):
            memory.add(np.array([k, 0]), np.array([True, True]), np.array([True, True]), k)
    for name, array in second.get_state("cases").items():
        np.testing.assert_array_equal(array, first.get_state("cases")[name])
    assert state["cases_numbers"][-1] == 12  # a copy, which later cases do not change


def test_outcomes_are_found_again_from_actions_rewards_and_numbers() -> None:
    memory, every = CaseMemory(1, 3, 2, 8), np.ones(3, np.bool_)
    for k in range(3):
        memory.add(np.array([k]), np.array([True]), every, k, action=k % 2, reward=k / 4)
    told = []

    def possible(action: int, reward: float, number: int) -> NDArray[np.bool_]:
        told.append((action, reward, number))
        return np.asarray(np.arange(3) == number)

    memory.relabel(possible)
    assert told == [(0, 0.0, 0), (1, 0.25, 1), (0, 0.5, 2)]
    np.testing.assert_array_equal(memory.cases.possible, np.eye(3, dtype=np.bool_))


def test_cases_since_a_number() -> None:
    memory = filled(5)
    assert [memory.count_since(k) for k in (-1, 0, 3, 5)] == [5, 5, 2, 0]
    recent = memory.cases.since(3)
    assert recent.numbers.tolist() == [3, 4]
    assert recent.chances.tolist() == [[1 / 4], [1 / 5]]


def test_a_copy_does_not_change_with_the_memory() -> None:
    memory = filled(8)
    kept = memory.cases.copy()
    memory.add(np.array([50, -1]), np.array([True, True]), np.array([True, True]), 8)
    assert kept.numbers.tolist() == list(range(8))
