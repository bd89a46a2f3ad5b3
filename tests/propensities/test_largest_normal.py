"""The chance to be the largest normal variate."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import special

from thrifty.kernels.runtime.arrays import Floats
from thrifty.kernels.shared.largest_normal import ERROR, chances_of_largest

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
STEPS = np.arange(-12, 12.1, 0.25)


def computed(
    means: Sequence[float] | Floats,
    widths: Sequence[float] | Floats,
    available: Sequence[bool] | None = None,
) -> Floats:
    chances = np.empty(len(means))
    mask = np.ones(len(means), np.bool_) if available is None else np.array(available)
    chances_of_largest(np.array(means), np.array(widths), mask, chances)
    return chances


def test_by_hand() -> None:
    assert computed([2.0, 2.0, 2.0], [0.3, 0.3, 0.3]) == pytest.approx([1 / 3] * 3, abs=ERROR)
    assert computed([5.0, 2.0, 2.0], [1.0] * 3, [False, True, True]) == pytest.approx([0, 0.5, 0.5])
    # The difference of 3 with width 3 and 0 with width 4 has the width 5.
    found = computed([3.0, 0.0], [3.0, 4.0])
    assert found == pytest.approx([special.ndtr(0.6), special.ndtr(-0.6)], abs=ERROR)


def test_variates_without_width() -> None:
    """Of two that are equal the first one counts; a normal variate may be above both."""
    assert computed([0.0, 1.0, 1.0], [0.0, 0.0, 0.0]).tolist() == [0, 1, 0]
    found = computed([0.5, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0])
    assert found == pytest.approx([0, special.ndtr(-1), special.ndtr(1), 0], abs=ERROR)


@pytest.mark.parametrize("seed", range(60))
def test_dense_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    means = rng.normal(size=n) * math.exp(rng.normal())
    widths = np.exp(3 * rng.normal(size=n) - 1)
    widths[0] *= rng.random() < 0.8
    found = computed(means, widths)
    assert found == pytest.approx(dense(means, widths), abs=ERROR)
    assert found.sum() == pytest.approx(1, abs=ERROR)


def dense(means: Floats, widths: Floats) -> Floats:
    """Return the chances by many panels around every mean."""
    edges = np.sort((means + widths * STEPS[:, None]).ravel())
    half = np.diff(edges)[:, None] / 2
    s = edges[:-1, None] + half * (1 + NODES)
    fixed = widths == 0
    scales = np.where(fixed, 1.0, widths)
    below = [
        (s > means[a]).astype(float) if fixed[a] else special.ndtr((s - means[a]) / scales[a])
        for a in range(len(means))
    ]
    chances = np.zeros(len(means))
    for a in np.flatnonzero(~fixed).tolist():
        density = np.exp(-(((s - means[a]) / widths[a]) ** 2) / 2) / math.sqrt(2 * math.pi)
        others = np.prod([below[b] for b in range(len(means)) if b != a], axis=0)
        chances[a] = (half * WEIGHTS * density / widths[a] * others).sum()
    chances[fixed] = 1 - chances.sum()
    return chances


@pytest.mark.parametrize("seed", range(5))
def test_very_many_draws(seed: int) -> None:
    """Each test fails once in 10,000 seeds: five standard errors, of at most four actions."""
    rng = np.random.default_rng(seed)
    means, widths, n = rng.normal(size=4), rng.exponential(size=4), 200_000
    largest = rng.normal(means, widths, (n, 4)).argmax(axis=1)
    shares = np.bincount(largest, minlength=4) / n
    found = computed(means, widths)
    assert (abs(shares - found) <= 5 * np.sqrt(found * (1 - found) / n) + ERROR).all()
