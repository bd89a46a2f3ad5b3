"""What the benchmark of evaluation prints: numbers by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.evaluation import Measured, is_covered, summary

from thrifty.evaluation.estimates import GainEstimate

COVERED = Measured(coverage=0.95, bias=0.0, noise=0.1, error=2.0, stated=2.0)


def test_a_method_is_measured_in_percent_of_the_spread() -> None:
    """The true gain is 2, with a spread of 1. Only the second interval reaches it."""
    world: Any = SimpleNamespace(gains=np.array([1.0, 3.0]))
    found = Measured.of(world, [GainEstimate(1.0, 0.1), GainEstimate(2.5, 0.3)])
    assert found.coverage == 0.5
    assert found.bias == pytest.approx(100 * -0.25)
    assert found.error == pytest.approx(100 * np.sqrt((1 + 0.25) / 2))
    assert found.stated == pytest.approx(20)
    assert found.noise == pytest.approx(100 * 0.75 / np.sqrt(2))


def methods(robust: Measured) -> dict[str, Measured]:
    poor = Measured(coverage=0.1, bias=9.0, noise=0.1, error=1.0, stated=0.1)
    others = dict.fromkeys(("weighted", "self-normalised"), COVERED)
    return {"direct": poor, **others, "doubly robust": robust, "agreeing cases": poor}


def test_the_summary_is_about_methods_that_need_no_model() -> None:
    better = Measured(coverage=0.94, bias=0.0, noise=0.1, error=1.5, stated=1.5)
    worse = Measured(coverage=0.92, bias=0.0, noise=0.1, error=2.5, stated=2.5)
    found = {"one": methods(better), "other": methods(worse)}
    assert summary(found)[2:] == [
        "doubly robust: coverage at least 92.0% (other; goal 93%)",
        "doubly robust has the smallest error in 1 of 2 worlds",
    ]
    assert not is_covered(found)
    assert is_covered({"one": methods(better)})
