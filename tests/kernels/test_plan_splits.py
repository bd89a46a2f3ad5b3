"""The best split of cases between options, against trying everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.kernels.plans import splits


def test_sums_by_bin_by_hand() -> None:
    gains = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    sums, counts = np.empty((2, 2)), np.empty(2)
    splits.add_up(np.array([0, 2]), np.array([1, 0, 1], np.uint8), gains, sums, counts)
    assert sums.tolist() == [[0.0, 0.0], [5.0, 50.0]]
    assert counts.tolist() == [0.0, 2.0]


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_best_threshold_is_the_best_of_all(
    seed: int, n_bins: int, n_options: int, min_cases: int
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    bins = rng.integers(0, n_bins, n)
    gains = rng.normal(size=(n, n_options))
    cost, n_paid = rng.random(n), int(rng.integers(0, n_options + 1))
    sums, counts = np.empty((n_bins, n_options)), np.empty(n_bins)
    splits.add_up(np.arange(n), bins.astype(np.uint8), gains, sums, counts)
    paid = np.bincount(bins, cost, minlength=n_bins).astype(np.float64)
    value, threshold, low, high = splits.best_threshold(
        sums, counts, np.arange(n_options), n_paid, paid, min_cases
    )
    net = gains.copy()
    net[:, n_paid:] -= cost[:, None]
    best = -np.inf
    for b in range(n_bins - 1):
        below = bins <= b
        if not (bins == b).any() or min(below.sum(), (~below).sum()) < min_cases:
            continue
        left, right = net[below].sum(axis=0), net[~below].sum(axis=0)
        if left.argmax() != right.argmax():
            best = max(best, float(left.max() + right.max()))
    if threshold < 0:
        assert best == -np.inf
        return
    np.testing.assert_allclose(value, best)
    below = bins <= threshold
    np.testing.assert_allclose(net[below, low].sum() + net[~below, high].sum(), value)
