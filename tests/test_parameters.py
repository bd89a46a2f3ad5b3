"""What parameters may be, and how they are refused."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from thrifty.errors import InvalidParameter
from thrifty.parameters import FLAG, Choice, Constraint, Real, Whole, check_parameter

CLOSED, OPEN, LOOSE = Real(0, 1), Real(0, 1, open=True), Real(0)


@pytest.mark.parametrize(
    ("allowed", "value", "accepted"),
    [
        *[(CLOSED, value, True) for value in (0, 1, 0.5, np.float64(0.5), Fraction(1, 3))],
        *[(CLOSED, value, False) for value in (-0.1, 1.1, math.nan, math.inf, True, "0.5", None)],
        *[(OPEN, value, True) for value in (0.5, 1e-300, np.float32(0.5))],
        *[(OPEN, value, False) for value in (0, 1, 0.0, 1.0, math.nan)],
        *[(LOOSE, value, True) for value in (0, 10**9)],
        *[(LOOSE, value, False) for value in (-1, math.inf, 1j, 10**400)],
        *[(Whole(1), value, True) for value in (1, 2**53, np.int64(3), np.uint8(1))],
        *[(Whole(1), value, False) for value in (0, 10**30, 1.0, True, "1", None, math.nan)],
        *[(Choice("a", "b"), value, True) for value in ("a", "b")],
        *[(Choice("a", "b"), value, False) for value in ("c", "", None, 1)],
        *[(FLAG, value, True) for value in (True, False)],
        *[(FLAG, value, False) for value in (1, 0, 1.0, "True", None, np.array([True]))],
    ],
)
def test_values(allowed: Constraint, value: Any, accepted: bool) -> None:
    assert allowed.accepts(value) is accepted
    if accepted:
        check_parameter("size", value, allowed, owner="Box")
    else:
        with pytest.raises(InvalidParameter, match=r"^Box's size is .*, but it must be .*: "):
            check_parameter("size", value, allowed, owner="Box")


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (CLOSED, "a number with 0 <= value <= 1"),
        (OPEN, "a number with 0 < value < 1"),
        (LOOSE, "a number with 0 <= value"),
        (Whole(1, 9), "a whole number from 1 to 9"),
        (Choice("a", 2), "one of 'a', 2"),
        (FLAG, "one of True, False"),
    ],
)
def test_the_message_says_what_is_allowed(allowed: Constraint, text: str) -> None:
    assert str(allowed) == text
