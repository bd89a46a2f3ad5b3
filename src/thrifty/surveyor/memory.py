"""The latest cases in arrays of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

KEPT_SHARE = 0.75
"""Share of the cases that stay when the memory is full."""


class CaseMemory:
    """Cases with what was seen of them and the outcomes that their reward leaves possible.

    When it is full, the oldest quarter is forgotten.

    Parameters
    ----------
    n_features, n_outcomes : int
        Size of a case.
    capacity : int
        Largest number of cases.
    """

    def __init__(self, n_features: int, n_outcomes: int, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self._codes = np.empty((capacity, n_features), np.int16)
        self._settled = np.empty((capacity, n_features), np.bool_)
        self._possible = np.empty((capacity, n_outcomes), np.bool_)
        self._numbers = np.empty(capacity, np.int64)

    @property
    def codes(self) -> NDArray[np.int16]:
        """Codes by case and feature, -1 where a value is not known, (n, D)."""
        return self._codes[: self.size]

    @property
    def settled(self) -> Bools:
        """True where a value was known, or was bought and could not be obtained, (n, D)."""
        return self._settled[: self.size]

    @property
    def possible(self) -> Bools:
        """Outcomes that are possible after the reward, (n, O)."""
        return self._possible[: self.size]

    @property
    def numbers(self) -> Integers:
        """Number of each case, increasing, (n,)."""
        return self._numbers[: self.size]

    def add(self, codes: NDArray[np.int64], settled: Bools, possible: Bools, number: int) -> None:
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
        """
        if self.size == self.capacity:
            self._forget(self.capacity - int(KEPT_SHARE * self.capacity))
        k = self.size
        self._codes[k], self._settled[k], self._possible[k] = codes, settled, possible
        self._numbers[k] = number
        self.size += 1

    def _forget(self, n_oldest: int) -> None:
        kept = self.size - n_oldest
        for array in (self._codes, self._settled, self._possible, self._numbers):
            array[:kept] = array[n_oldest : self.size]
        self.size = kept

    def get_state(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the cases as arrays, their names with a prefix."""
        return {
            f"{prefix}_codes": self.codes.copy(),
            f"{prefix}_settled": self.settled.copy(),
            f"{prefix}_possible": self.possible.copy(),
            f"{prefix}_numbers": self.numbers.copy(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]], prefix: str) -> None:
        """Restore what `get_state` returned."""
        self.size = len(state[f"{prefix}_numbers"])
        self._codes[: self.size] = state[f"{prefix}_codes"]
        self._settled[: self.size] = state[f"{prefix}_settled"]
        self._possible[: self.size] = state[f"{prefix}_possible"]
        self._numbers[: self.size] = state[f"{prefix}_numbers"]
