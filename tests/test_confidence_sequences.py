"""Confidence sequences: numbers checked by hand, a slow twin, and coverage at all times at once."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import zeta

from thrifty.confidence_sequences import (
    MeanSequence,
    running_interval,
    stitched_boundary,
)


def naive_interval(values: list[float], low: float, high: float) -> tuple[float, float]:
    """Follow the text of Howard et al. (2021): theorem 4 with equation (10), value by value."""
    averages = [sum(values[:k]) / k for k in range(1, len(values))]
    scale, predictions = high - low, [(low + high) / 2, *averages]
    v = sum((x - p) ** 2 for x, p in zip(values, predictions, strict=True))
    v, eta, s, alpha = max(v, scale**2), 2.0, 1.4, 0.025
    level = s * math.log(math.log(eta * v / scale**2)) + math.log(
        float(zeta(s)) / (alpha * math.log(eta) ** s)
    )
    k1, k2 = (eta**0.25 + eta**-0.25) / math.sqrt(2), (math.sqrt(eta) + 1) / 2
    bound = math.sqrt(k1**2 * v * level + k2**2 * scale**2 * level**2) + k2 * scale * level
    mean, half = sum(values) / len(values), bound / len(values)
    return max(low, mean - half), min(high, mean + half)


def test_the_boundary_by_hand() -> None:
    """With v = scale² = 1 the level is log(3.10555 / 0.025) = 4.82207.

    k1² = (1.189207 + 0.840896)² / 2 = 2.060660 and k2 = 1.207107, so the bound is
    sqrt(2.060660 · 4.82207 + 1.457107 · 23.25235) + 5.820753 = sqrt(43.817808) + 5.820753.
    """
    assert stitched_boundary(1.0, 1.0, 0.025) == pytest.approx(12.440255, abs=1e-5)
    assert stitched_boundary(0.0, 1.0, 0.025) == stitched_boundary(1.0, 1.0, 0.025)
    assert stitched_boundary(4.0, 2.0, 0.025) == pytest.approx(2 * 12.440255, abs=2e-5)


def test_a_sequence_by_hand() -> None:
    """Four values of 1 in [-1, 1]: only the first differs from its prediction, 0."""
    sequence = MeanSequence(-1.0, 1.0)
    assert sequence.interval() == (-1.0, 1.0)
    for _ in range(4):
        sequence.add(1.0)
    assert (sequence.mean, sequence.variance) == (1.0, 1.0)
    for _ in range(96):
        sequence.add(1.0)
    assert sequence.interval()[0] == pytest.approx(1 - 2 * 12.440255 / 100, abs=1e-5)
    assert sequence.interval()[1] == 1.0


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=60))
def test_the_slow_twin_agrees(values: list[float]) -> None:
    sequence = MeanSequence(-2.0, 3.0)
    for value in values:
        sequence.add(value)
    wanted = pytest.approx(naive_interval(values, -2.0, 3.0), abs=1e-9)
    assert sequence.interval() == wanted
    lower, upper = running_interval(np.array(values), -2.0, 3.0)
    assert (lower[-1], upper[-1]) == wanted


def test_values_outside_the_range_count_as_its_ends() -> None:
    one, other = MeanSequence(0.0, 1.0), MeanSequence(0.0, 1.0)
    for value in (-5.0, 0.5, 7.0):
        one.add(value)
        other.add(min(1.0, max(0.0, value)))
    assert one == other == MeanSequence.from_list(one.to_list())


Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda rng, shape: rng.random(shape), 0.5),
        (lambda rng, shape: (rng.random(shape) < 0.1).astype(float), 0.1),
        (lambda rng, shape: rng.beta(0.1, 0.4, shape), 0.2),
    ],
    ids=["uniform", "rare", "two ends"],
)
def test_coverage_at_all_times_at_once(draw: Draw, mean: float) -> None:
    """Of 500 sequences at most 5 % may ever miss the mean.

    If exactly 5 % did, more than 43 of 500 would with a probability of 2.5e-4, which is the rate
    of false alarms of this test. The sequences are in fact cautious, and almost none misses.
    """
    values = draw(np.random.default_rng(1), (500, 3000))
    lower, upper = running_interval(values, 0.0, 1.0)
    missed = ((lower > mean) | (upper < mean)).any(axis=1).sum()
    assert missed <= 43


def test_coverage_when_the_means_drift() -> None:
    """The interval is about the average of the means so far, each given the values before."""
    rng = np.random.default_rng(2)
    means = 0.5 + 0.4 * np.sin(np.arange(3000) / 300)
    values = (rng.random((300, 3000)) < means).astype(float)
    lower, upper = running_interval(values, 0.0, 1.0)
    average = means.cumsum() / np.arange(1, 3001)
    assert ((lower > average) | (upper < average)).any(axis=1).sum() <= 29


def test_the_interval_closes_in() -> None:
    """With 20,000 fair coins of 0 and 1 the half-width is between 1.2 and 5 standard errors."""
    rng = np.random.default_rng(3)
    lower, upper = running_interval(rng.integers(0, 2, 20_000).astype(float), 0.0, 1.0)
    half = (upper[-1] - lower[-1]) / 2
    assert 1.2 < half / (0.5 / math.sqrt(20_000)) < 5
