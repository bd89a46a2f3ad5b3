"""The split of some cases that lets the two sides do different things at the highest total gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints
from thrifty.kernels.runtime.compilation import jit


@jit
def add_up(
    rows: Ints, bins: NDArray[np.uint8], gains: Floats, sums: Floats, counts: Floats
) -> None:
    """Add up the gains of every option by bin: `gains` (n, M), `sums` (bins, M), `counts` (bins,).

    `bins` (n,) are those of one feature; only the cases in `rows` count.
    """
    sums[:] = 0.0
    counts[:] = 0.0
    for k in range(rows.size):
        i = rows[k]
        b = bins[i]
        counts[b] += 1.0
        for m in range(gains.shape[1]):
            sums[b, m] += gains[i, m]


@jit
def best_threshold(
    sums: Floats, counts: Floats, options: Ints, n_paid: int, paid: Floats, min_cases: int
) -> tuple[float, int, int, int]:
    """Return the largest total gain of a split, its threshold, and the option of each side.

    Each side takes the one of `options` (columns of `sums`) that gains most on it. From position
    `n_paid` on, options do not include what was paid before the split: `paid` (bins,) is
    subtracted. The threshold is -1 if no split leaves `min_cases` on each side and gives them
    different options.
    """
    n_bins, n_options = counts.size, options.size
    total = np.zeros(n_options)
    low = np.zeros(n_options)
    n_cases = 0.0
    for b in range(n_bins):
        n_cases += counts[b]
        for k in range(n_options):
            total[k] += sums[b, options[k]] - (paid[b] if k >= n_paid else 0.0)
    best, threshold, best_low, best_high = -np.inf, NONE, NONE, NONE
    n_low = 0.0
    for b in range(n_bins - 1):
        if counts[b] == 0.0:
            continue
        n_low += counts[b]
        low_option, high_option = 0, 0
        for k in range(n_options):
            low[k] += sums[b, options[k]] - (paid[b] if k >= n_paid else 0.0)
            if low[k] > low[low_option]:
                low_option = k
            if total[k] - low[k] > total[high_option] - low[high_option]:
                high_option = k
        if n_low < min_cases or low_option == high_option:
            continue
        if n_cases - n_low < min_cases:
            break
        gain = low[low_option] + total[high_option] - low[high_option]
        if gain > best:
            best, threshold, best_low, best_high = gain, b, low_option, high_option
    return best, threshold, best_low, best_high
