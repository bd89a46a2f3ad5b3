from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thrifty.environments import Schedule
from thrifty.errors import InvalidParameter, InvalidTable


def test_nothing_changes_by_default() -> None:
    piece, tables = Schedule().pieces(np.array([[0.3, 0.4]]), rounds=3)
    assert piece.tolist() == [0, 0, 0]
    assert tables.tolist() == [[0.3, 0.4]]


def test_abrupt_changes() -> None:
    piece, tables = Schedule((1, 3)).pieces(np.array([0.1, 0.5, 0.2]), rounds=5)
    assert piece.tolist() == [0, 1, 1, 2, 2]
    assert tables.tolist() == [0.1, 0.5, 0.2]


def test_a_gradual_change_has_equal_stairs() -> None:
    piece, tables = Schedule((2,), ramp=4, steps=2).pieces(np.array([0.0, 0.6]), rounds=8)
    np.testing.assert_allclose(tables[piece], [0, 0, 0.2, 0.2, 0.4, 0.4, 0.6, 0.6])
    np.testing.assert_allclose(np.diff(tables), 0.2)


def test_more_steps_than_rounds_change_every_round() -> None:
    piece, tables = Schedule((1,), ramp=2, steps=10).pieces(np.array([0.0, 0.9]), rounds=5)
    np.testing.assert_allclose(tables[piece], [0, 0.3, 0.6, 0.9, 0.9])


def test_ramps_one_after_the_other_end_exactly_on_the_tables() -> None:
    schedule = Schedule((2, 5), ramp=3)
    means = np.array([[0.1, 0.9], [0.7, 0.3], [0.2, 0.2]])
    piece, tables = schedule.pieces(means, rounds=9)
    assert tables[piece][[0, 1]].tolist() == [[0.1, 0.9]] * 2
    assert tables[piece][8].tolist() == [0.2, 0.2]
    np.testing.assert_allclose(tables[piece][2:5, 0], [0.25, 0.4, 0.55])
    np.testing.assert_allclose(tables[piece][5:8, 0], [0.575, 0.45, 0.325])


def test_a_ramp_may_be_cut_off_by_the_end() -> None:
    piece, tables = Schedule((1,), ramp=4, steps=4).pieces(np.array([0.0, 1.0]), rounds=3)
    np.testing.assert_allclose(tables[piece], [0, 0.2, 0.4])


def test_schedules_are_values() -> None:
    assert Schedule([1, 2]) == Schedule((1, 2))
    assert hash(Schedule([1, 2])) == hash(Schedule((1, 2)))


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ((0,), {}, "from 1 on"),
        ((2, 2), {}, "strictly increasing"),
        ((1.5,), {}, "whole numbers"),
        ((2, 4), {"ramp": 3}, "from change point 2 on is not over when the next change .* at 4"),
        ((2,), {"ramp": -1}, "Schedule's ramp is -1"),
        ((2,), {"ramp": 2, "steps": 0}, "Schedule's steps is 0"),
    ],
)
def test_schedules_that_make_no_sense(changes: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Schedule(changes, **settings)


def test_tables_and_rounds_must_fit_the_schedule() -> None:
    with pytest.raises(InvalidTable, match="1 tables of means for 1 changes"):
        Schedule((1,)).pieces(np.array([0.5]), rounds=3)
    with pytest.raises(InvalidParameter, match="last change is at round 3 and the last round is 2"):
        Schedule((3,)).pieces(np.array([0.5, 0.6]), rounds=3)
