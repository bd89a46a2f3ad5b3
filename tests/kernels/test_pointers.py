"""States behind one pointer: every kind of field, read and written by compiled code."""

import os
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.pointers import PackedState

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)
RECORD = np.dtype([("age", np.int64), ("value", np.float64)], align=True)


class Part(NamedTuple):
    table: Floats
    on: bool


class State(NamedTuple):
    scale: float
    number: int
    part: Part
    codes: Ints
    book: Any


def made(scale: float = 0.5) -> State:
    book = np.zeros(2, RECORD)
    return State(scale, -3, Part(np.arange(6.0).reshape(2, 3), True), np.array([7, 8]), book)


def _read(state: Any) -> Any:
    table = state.part.table
    return (
        state.scale,
        state.number,
        state.part.on,
        table[1, 0],
        table.shape,
        table.size,
        state.codes.sum(),
    )


def _write(state: Any) -> None:
    state.part.table[0, 2] = -1.0
    state.book[1]["age"] += 4


read = numba.njit(_read)
write = numba.njit(_write)


def test_compiled_code_reads_numbers_arrays_and_nested_states() -> None:
    assert read(PackedState(made())) == (0.5, -3, True, 3.0, (2, 3), 6, 15)


def test_a_packed_state_shares_its_arrays() -> None:
    state = made()
    write(PackedState(state))
    assert state.part.table.tolist() == [[0.0, 1.0, -1.0], [3.0, 4.0, 5.0]]
    assert state.book["age"].tolist() == [0, 4]


def test_a_packed_state_keeps_its_arrays_alive() -> None:
    packed = PackedState(made())
    junk = [np.full(6, np.nan) for _ in range(1000)]
    assert len(junk) == 1000
    assert read(packed)[3] == 3.0


def test_the_type_depends_on_the_declared_kinds_alone() -> None:
    whole = PackedState(made(scale=1))
    assert whole.type == PackedState(made()).type
    assert read(whole)[0] == 1.0


def test_states_of_other_arrays_have_another_type() -> None:
    other: Any = made()._replace(book=np.zeros(2))
    assert PackedState(other).type != PackedState(made()).type
    assert read(PackedState(other)) == read(PackedState(made()))


def test_a_field_that_is_not_there_is_an_error_of_the_kernel() -> None:
    with pytest.raises(numba.TypingError, match="Unknown attribute 'nothing'"):
        numba.njit(lambda state: state.nothing)(PackedState(made()))


def test_an_array_in_another_order_is_refused() -> None:
    state = made()._replace(part=Part(np.zeros((3, 2)).T, False))
    with pytest.raises(ValueError, match="C order"):
        PackedState(state)
