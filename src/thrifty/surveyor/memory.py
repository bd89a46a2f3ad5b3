"""The latest cases in arrays of bounded size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

KEPT_SHARE = 0.75
"""Share of the cases that stay when the memory is full."""


class KeptCases(NamedTuple):
    """Cases with what was seen of them and what is known about their outcomes.

    Parameters
    ----------
    codes : array of int, shape (n, D)
        Codes by case and feature, -1 where a value is not known.
    settled : array of bool, shape (n, D)
        True where a value was known, or was bought and could not be obtained.
    possible : array of bool, shape (n, O)
        Outcomes that are possible after the reward.
    numbers : array of int, shape (n,)
        Number of each case, increasing.
    chances : array of float, shape (n, A)
        Probability with which each action was taken; all 1 if the outcome was known anyway.
    actions : array of int, shape (n,)
        Action taken, -1 if it is not known.
    rewards : array of float, shape (n,)
        Its reward in [0, 1], nan if it is not known.
    """

    codes: NDArray[np.int16]
    settled: Bools
    possible: Bools
    numbers: Integers
    chances: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]

    def since(self, number: int) -> KeptCases:
        """Return the cases from a number on."""
        start = int(np.searchsorted(self.numbers, number))
        later: list[Any] = [array[start:] for array in self]
        return KeptCases(*later)

    def copy(self) -> KeptCases:
        """Return the same cases in arrays of their own."""
        copies: list[Any] = [array.copy() for array in self]
        return KeptCases(*copies)

    def to_state(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays, their names with a prefix."""
        return {f"{prefix}_{name}": array for name, array in self._asdict().items()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], prefix: str) -> KeptCases:
        """Return what `to_state` described."""
        return cls(*(state[f"{prefix}_{name}"] for name in cls._fields))


class CaseMemory:
    """The latest cases. When the memory is full, the oldest quarter is forgotten.

    Parameters
    ----------
    n_features, n_outcomes, n_actions : int
        Size of a case.
    capacity : int
        Largest number of cases.
    """

    def __init__(self, n_features: int, n_outcomes: int, n_actions: int, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self._arrays = KeptCases(
            codes=np.empty((capacity, n_features), np.int16),
            settled=np.empty((capacity, n_features), np.bool_),
            possible=np.empty((capacity, n_outcomes), np.bool_),
            numbers=np.empty(capacity, np.int64),
            chances=np.empty((capacity, n_actions)),
            actions=np.empty(capacity, np.int16),
            rewards=np.empty(capacity),
        )

    @property
    def cases(self) -> KeptCases:
        """The cases, in arrays that change with the memory."""
        filled: list[Any] = [array[: self.size] for array in self._arrays]
        return KeptCases(*filled)

    @property
    def _writable(self) -> list[NDArray[Any]]:
        # Type checkers do not agree on the common type of the arrays in a named tuple.
        arrays: list[Any] = list(self._arrays)
        return arrays

    def count_since(self, number: int) -> int:
        """Return how many of the cases have this number or a larger one."""
        return self.size - int(np.searchsorted(self._arrays.numbers[: self.size], number))

    def add(
        self,
        codes: NDArray[np.integer],
        settled: Bools,
        possible: Bools,
        number: int,
        chances: NDArray[np.float64] | float = 1.0,
        action: int = -1,
        reward: float = math.nan,
    ) -> None:
        """Remember a case.

        Parameters
        ----------
        codes : array of int, shape (D,)
            Codes, -1 where a value is not known.
        settled : array of bool, shape (D,)
            True where a value was known, or was bought and could not be obtained.
        possible : array of bool, shape (O,)
            Outcomes that are possible.
        number : int
            Number of the case, larger than those before.
        chances : array of float, shape (A,), or 1.0
            Probability with which each action was taken.
        action : int
            Action taken, -1 if it is not known.
        reward : float
            Its reward in [0, 1], nan if it is not known.
        """
        if self.size == self.capacity:
            self._forget(self.capacity - int(KEPT_SHARE * self.capacity))
        case: tuple[Any, ...] = (
            *(codes, settled, possible, number, chances),
            *(action, reward),
        )
        for array, value in zip(self._writable, case, strict=True):
            array[self.size] = value
        self.size += 1

    def relabel(self, possible: Callable[[int, float, int], Bools]) -> None:
        """Find the possible outcomes of all cases again.

        Parameters
        ----------
        possible : callable
            Returns the outcomes that are possible, given action, reward and number of a case.
        """
        cases = self.cases
        told = zip(
            cases.actions.tolist(), cases.rewards.tolist(), cases.numbers.tolist(), strict=True
        )
        for row, (action, reward, number) in enumerate(told):
            cases.possible[row] = possible(action, reward, number)

    def _forget(self, n_oldest: int) -> None:
        kept = self.size - n_oldest
        for array in self._writable:
            array[:kept] = array[n_oldest : self.size]
        self.size = kept

    def get_state(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the cases as arrays, their names with a prefix."""
        return self.cases.copy().to_state(prefix)

    def set_state(self, state: Mapping[str, NDArray[Any]], prefix: str) -> None:
        """Restore what `get_state` returned."""
        restored = KeptCases.from_state(state, prefix)
        self.size = len(restored.numbers)
        for array, values in zip(self._writable, restored, strict=True):
            array[: self.size] = values


def state_form(state: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the types of saved arrays and their shapes, but not how many cases they have."""
    whole = ("paid", "rounds")
    return {
        name: (array.dtype, array.shape if name in whole else array.shape[1:])
        for name, array in state.items()
        if not name.startswith("due")
    }
