"""Boosting against its naive twin, hand-checkable numbers, and LightGBM's accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from naive_boosting import NaiveTrees, first_scores
from thrifty.kernels.boosting import trees

Array = NDArray[Any]


def draws(
    rng: np.random.Generator, n: int, n_columns: int, n_scores: int, rounds: int
) -> tuple[Array, Array]:
    bags = np.array([np.sort(rng.permutation(n)[: max(1, int(0.7 * n))]) for _ in range(rounds)])
    used = rng.random((rounds, n_scores, n_columns)) < 0.8
    used |= ~used.any(axis=2, keepdims=True)
    return bags.astype(np.int32), used


def fitted(codes: Array, sets: Array, n_outcomes: int, rounds: int = 1, rate: float = 1.0) -> Any:
    """Fit trees of one split to all cases of a single column with two codes."""
    n_scores = 1 if n_outcomes == 2 else n_outcomes
    bags = np.tile(np.arange(len(codes), dtype=np.int32), (rounds, 1))
    used = np.ones((rounds, n_scores, 1), np.bool_)
    return trees.fit(codes, sets, n_outcomes, np.array([2]), bags, used, 1, rate, 1.0, 1)


def predicted(codes: Array, model: Any, n_outcomes: int) -> Array:
    found = np.zeros((len(codes), n_outcomes))
    first, features, thresholds, values, _ = model
    trees.predict(codes, first, features, thresholds, values, found)
    return found


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 60),
    n_columns=st.integers(1, 3),
    n_outcomes=st.integers(2, 4),
    depth=st.integers(1, 3),
)
@settings(max_examples=30, deadline=None)
def test_predicts_what_the_naive_twin_predicts(
    seed: int, n: int, n_columns: int, n_outcomes: int, depth: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (n, n_columns)).astype(np.uint8)
    # Any set of outcomes but the empty one, and in about half of the cases a single outcome.
    sets = rng.integers(1, 1 << n_outcomes, n)
    sets = np.where(rng.random(n) < 0.5, 1 << rng.integers(0, n_outcomes, n), sets)
    n_scores = 1 if n_outcomes == 2 else n_outcomes
    bags, used = draws(rng, n, n_columns, n_scores, 4)
    model = trees.fit(
        codes, sets, n_outcomes, np.full(n_columns, 6), bags, used, depth, 0.3, 1.0, 2
    )
    found = predicted(codes, model, n_outcomes)
    naive = NaiveTrees(
        codes,
        sets,
        n_outcomes,
        bags,
        used,
        depth=depth,
        rate=0.3,
        penalty=1.0,
        min_cases=2,
    )
    np.testing.assert_allclose(found, naive.predict(codes), atol=1e-9)


def test_one_split_by_hand() -> None:
    """Codes 0 and 1, outcomes equal to them: one Newton step from even odds."""
    codes = np.repeat(np.array([0, 1], np.uint8), 4)[:, None]
    outcomes = np.repeat([0, 1], 4)
    first, features, thresholds, values, gains = fitted(codes, 1 << outcomes, 2)
    assert first.tolist() == [0.0]
    assert (features.ravel().tolist(), thresholds.ravel().tolist()) == ([0], [0])
    # Slopes are +-1/2 in 4 cases, curvatures 1/4: a step of 2 / (1 + 1).
    assert values.ravel().tolist() == [-1.0, 1.0]
    assert gains.ravel().tolist() == [4.0]  # 2^2 / 2 on both sides, 0 before


def test_sets_of_two_outcomes_by_hand() -> None:
    """Where {0, 2} and {1, 2} are equally frequent, outcome 2 explains both."""
    codes = np.repeat(np.array([0, 1], np.uint8), 4)[:, None]
    sets = np.array([0b001, 0b010, 0b001, 0b010, 0b101, 0b110, 0b101, 0b110])
    model = first, _, _, values, _ = fitted(codes, sets, 3)
    # Known cases and half a case each: 2.5, 2.5, 0.5. Unsure ones divided equally: 3.5, 3.5, 2.5.
    # Divided 7:5 between 0 or 1 on one side and 2 on the other: 11/3, 11/3, 13/6.
    np.testing.assert_allclose(np.exp(first), [22 / 57, 22 / 57, 13 / 57])
    # Slopes of outcome 2: its probability in region 0, minus 13/(22 + 13) in region 1.
    curvature = 4 * 13 / 57 * 44 / 57
    slopes = 4 * np.array([13 / 57, 13 / 57 - 13 / 35])
    np.testing.assert_allclose(values[0, 2], -slopes / (curvature + 1))
    before = np.exp(first)[2]
    found = predicted(codes[[0, 4]], model, 3)[:, 2]
    assert found[0] < before < found[1]
    later = predicted(codes[[0, 4]], fitted(codes, sets, 3, rounds=200, rate=0.3), 3)[:, 2]
    assert later[0] < 0.02
    assert later[1] > 0.98


@pytest.mark.parametrize("n_outcomes", [2, 3])
def test_cases_of_unknown_outcome_have_no_effect(n_outcomes: int) -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (30, 1)).astype(np.uint8)
    sets = 1 << np.where(codes[:, 0] == 1, 1, rng.integers(0, n_outcomes, 30))
    unknown = np.full(50, (1 << n_outcomes) - 1)
    more = rng.integers(0, 2, (50, 1)).astype(np.uint8)
    known_only = fitted(codes, sets, n_outcomes, rounds=3)
    both = fitted(
        np.concatenate([codes, more]), np.concatenate([sets, unknown]), n_outcomes, rounds=3
    )
    for one, other in zip(known_only, both, strict=True):
        np.testing.assert_allclose(one, other)


def test_without_columns_the_frequencies_remain() -> None:
    outcomes = np.array([0, 1, 1, 2])
    first, features, thresholds, values, _ = trees.fit(
        np.zeros((4, 0), np.uint8),
        1 << outcomes,
        3,
        np.ones(1, np.int64),
        np.zeros((0, 2), np.int32),
        np.zeros((0, 3, 0), np.bool_),
        2,
        0.1,
        1.0,
        1,
    )
    found = np.zeros((1, 3))
    trees.predict(np.zeros((1, 0), np.uint8), first, features, thresholds, values, found)
    np.testing.assert_allclose(found[0], [1.5 / 5.5, 2.5 / 5.5, 1.5 / 5.5])
    np.testing.assert_allclose(first, first_scores(1 << outcomes, 3))


def test_no_split_leaves_fewer_cases_than_asked() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 20, (200, 2)).astype(np.uint8)
    outcomes = (codes[:, 0] > 15).astype(np.int64)
    bags, used = draws(rng, 200, 2, 1, 5)
    _, features, thresholds, _, _ = trees.fit(
        codes, 1 << outcomes, 2, np.full(2, 20), bags, used, 2, 0.3, 1.0, 30
    )
    for r, bag in enumerate(bags):
        f, threshold = features[r, 0, 0], thresholds[r, 0, 0]
        n_low = int((codes[bag, f] <= threshold).sum())
        assert f < 0 or min(n_low, len(bag) - n_low) >= 30


def test_as_accurate_as_lightgbm() -> None:
    """Log loss on new cases within 3 % of LightGBM with the same settings."""
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    rng = np.random.default_rng(7)

    def draw(n: int) -> tuple[Array, Array]:
        codes = rng.integers(0, 100, (n, 4)).astype(np.uint8)
        odds = 2.0 * (codes[:, 0] > 80) + (codes[:, 1] - 50) / 25 * (codes[:, 2] > 40)
        return codes, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)

    (codes, outcomes), (new, truth) = draw(3_000), draw(10_000)
    bags, used = draws(rng, 3_000, 4, 1, 40)
    first, features, thresholds, values, _ = trees.fit(
        codes, 1 << outcomes, 2, np.full(4, 100), bags, used, 3, 0.2, 1.0, 10
    )
    found = np.zeros((len(new), 2))
    trees.predict(new, first, features, thresholds, values, found)
    peer = lightgbm.LGBMClassifier(
        n_estimators=40, learning_rate=0.2, max_depth=3, num_leaves=8, min_child_samples=10,
        reg_lambda=1.0, subsample=0.7, subsample_freq=1, colsample_bytree=0.8, verbose=-1,
        random_state=1, n_jobs=1,
    )  # fmt: skip
    names = [f"x{j}" for j in range(4)]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    peer.fit(pandas.DataFrame(codes, columns=names), outcomes)
    theirs = peer.predict_proba(pandas.DataFrame(new, columns=names))

    def log_loss(p: Array) -> float:
        return float(-np.log(p[np.arange(len(truth)), truth]).mean())

    assert log_loss(found) < 1.03 * log_loss(theirs)
