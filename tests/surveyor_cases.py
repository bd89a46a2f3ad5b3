"""Small problems whose best plan is known by hand, for tests of Surveyor."""

from __future__ import annotations

import numpy as np

from thrifty.plans.cases import PastCases
from thrifty.problem import Feature, Problem

SCREENING = Problem(
    [Feature("noise", ("low", "high")), Feature("test", ("low", "high"))],
    ["treat", "wait"],
    outcomes={"treat": {"ill": 50, "well": -50}, "wait": {"ill": -50, "well": 50}},
    prices={"noise": 5, "test": 5},
)
"""What is right earns 50 and what is wrong costs 50. Every action reveals the outcome."""
LENDING = Problem(
    [Feature("noise", ("low", "high")), Feature("score", ("low", "high"))],
    ["approve", "decline"],
    outcomes={"approve": {"repaid": 10, "default": -40}, "decline": 0},
    prices={"noise": 0.5, "score": 0.5},
)
"""Declining hides the outcome."""


def drawn_cases(
    problem: Problem,
    n: int,
    seed: int,
    *,
    chances: tuple[float, float] = (0.9, 0.1),
    column: int = 1,
    free: tuple[bool, bool] = (False, False),
) -> PastCases:
    """Return cases with even levels; a column says how likely the second outcome is."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, 2)).astype(np.int16)
    outcomes = (rng.random(n) < np.array(chances)[codes[:, column]]).astype(np.int64)
    return PastCases(problem, codes, outcomes, np.array(free))


def two_step_cases(n: int, seed: int) -> PastCases:
    """Return cases in which a cheap screen tells who needs a dear test."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.random(n) < 0.2, rng.random(n) < 0.5], axis=1).astype(np.int16)
    outcomes = 1 - codes[:, 0].astype(np.int64) * codes[:, 1]
    problem = Problem(
        [Feature("screen", ("low", "high")), Feature("test", ("low", "high"))],
        ["treat", "wait"],
        outcomes={"treat": {"ill": 100, "well": -100}, "wait": {"ill": -100, "well": 0}},
        prices={"screen": 1, "test": 8},
    )
    return PastCases(problem, codes, outcomes, np.zeros(2, np.bool_))


def joined(first: PastCases, second: PastCases) -> PastCases:
    """Return the cases of two tables, one after the other."""
    codes = np.concatenate([first.codes, second.codes])
    outcomes = np.concatenate([first.outcomes, second.outcomes])
    return PastCases(first.problem, codes, outcomes, first.free)
