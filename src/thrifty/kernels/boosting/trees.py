"""Histogram gradient boosting: fit shallow trees round by round, and predict with them.

Each round fits one tree per score to the gradient of the log loss (Friedman 2001) on a random part
of the cases; splits and leaf values use second derivatives, with a penalty on large leaves (Chen
and Guestrin 2016). Two outcomes need one score, the log odds of the second; more outcomes need one
score each. All random numbers are drawn beforehand and passed in.

What is known about the outcome of a case is a set of outcomes, as a bit set: the likelihood of a
case is the probability of its set, so its gradient is p - q, where q are the probabilities p
restricted to the set. A set of one outcome is the usual case; a set of all outcomes has no effect.

A tree is complete: node q of level d has the children 2q and 2q + 1 of level d + 1. A case goes to
the second child if its code is above the threshold. Where no split helps, the feature is -1 and
every case goes to the first child.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner

Small = NDArray[np.uint8]
Trees = tuple[Floats, NDArray[np.int16], Small, Floats, Floats]
"""First scores (K,), features and thresholds by round, score and node, values by leaf, and what
each split of a node lowers the loss by."""

N_REPETITIONS = 2
LEAST_GAIN = 1e-9
ROUNDING = 1e-9


@jit
def fit(
    codes: Small,
    sets: Ints,
    n_outcomes: int,
    n_bins: Ints,
    bags: NDArray[np.int32],
    used: NDArray[np.bool_],
    depth: int,
    rate: float,
    penalty: float,
    min_cases: int,
) -> Trees:
    """Fit trees to outcomes.

    `sets` (n,) has the bit set of possible outcomes. `codes` (n, F) are below `n_bins` (F,).
    Round r uses the cases `bags[r]`, and its tree for score k the columns with `used[r, k]`.
    """
    n, n_columns = codes.shape
    n_rounds, n_bag = bags.shape
    n_scores = 1 if n_outcomes == 2 else n_outcomes
    features = np.full((n_rounds, n_scores, 2**depth - 1), NONE, np.int16)
    thresholds = np.zeros((n_rounds, n_scores, 2**depth - 1), np.uint8)
    values = np.zeros((n_rounds, n_scores, 2**depth))
    gains = np.zeros(features.shape)
    first = _first_scores(sets, n_outcomes, n_scores)
    scores = np.empty((n, n_scores))
    scores[:] = first
    slopes = np.empty((n_scores, n_bag, 2))
    nodes = np.empty(n_bag, np.int32)
    columns = np.empty(n_columns, np.int64)
    sums = np.zeros((2 ** (depth - 1), n_columns, n_bins.max(), 3))
    for r in range(n_rounds):
        _slopes(scores, sets, bags[r], slopes)
        for k in range(n_scores):
            n_used = 0
            for f in range(n_columns):
                if used[r, k, f]:
                    columns[n_used] = f
                    n_used += 1
            used_columns, tree, cuts = columns[:n_used], features[r, k], thresholds[r, k]
            nodes[:] = 0
            for level in range(depth):
                _add_up(codes, bags[r], nodes, slopes[k], used_columns, n_bins, 1 << level, sums)
                for q in range(1 << level):
                    place = (1 << level) - 1 + q
                    tree[place], cuts[place], gains[r, k, place] = _best_split(
                        sums[q], used_columns, n_bins, penalty, min_cases
                    )
                _descend(codes, bags[r], nodes, tree, cuts, level)
            _leaf_values(nodes, slopes[k], rate, penalty, values[r, k])
            _add_tree(codes, tree, cuts, bags[r], nodes, values[r, k], depth, scores[:, k])
    return first, features, thresholds, values, gains


@jit_inner
def _first_scores(sets: Ints, n_outcomes: int, n_scores: int) -> Floats:
    """Return the scores of the overall frequencies, each outcome counted half a case too often.

    Cases with several possible outcomes are first divided equally among them, then by their
    frequencies. Two steps of expectation maximisation are enough: with more, an outcome that was
    never seen for sure would vanish, and the trees could not bring it back.
    """
    known = np.full(n_outcomes, 0.5)
    everything = (1 << n_outcomes) - 1
    n_unsure = 0
    for s in sets:
        if s == everything:
            continue
        if s & (s - 1):
            n_unsure += 1
        else:
            known[_lowest(s)] += 1
    counts = known.copy()
    if n_unsure > 0:
        counts[:] = 1.0
        for _ in range(N_REPETITIONS):
            shared = known.copy()
            for s in sets:
                if s & (s - 1) and s != everything:
                    total = 0.0
                    for k in range(n_outcomes):
                        if s >> k & 1:
                            total += counts[k]
                    for k in range(n_outcomes):
                        if s >> k & 1:
                            shared[k] += counts[k] / total
            counts = shared
    if n_scores == 1:
        return np.array([math.log(counts[1] / counts[0])])
    return np.log(counts / counts.sum())


@jit_inner
def _lowest(bits: int) -> int:
    """Return the position of the lowest bit."""
    k = 0
    while not bits >> k & 1:
        k += 1
    return k


@jit_inner
def _slopes(scores: Floats, sets: Ints, bag: NDArray[np.int32], slopes: Floats) -> None:
    """Fill the first and second derivatives of the log loss, (K, n_bag, 2)."""
    n_scores = scores.shape[1]
    for j in range(bag.size):
        i = bag[j]
        if n_scores == 1:
            p = 1.0 / (1.0 + math.exp(-scores[i, 0]))
            is_unsure = sets[i] == 3
            slopes[0, j, 0] = 0.0 if is_unsure else p - (sets[i] >> 1)
            slopes[0, j, 1] = 0.0 if is_unsure else p * (1.0 - p)
            continue
        highest = scores[i, 0]
        for k in range(1, n_scores):
            highest = max(highest, scores[i, k])
        total, possible = 0.0, 0.0
        for k in range(n_scores):
            slopes[k, j, 0] = math.exp(scores[i, k] - highest)
            total += slopes[k, j, 0]
            if sets[i] >> k & 1:
                possible += slopes[k, j, 0]
        is_unknown = sets[i] == (1 << n_scores) - 1
        for k in range(n_scores):
            q = slopes[k, j, 0] / possible if sets[i] >> k & 1 else 0.0
            p = slopes[k, j, 0] / total
            slopes[k, j, 0] = p - q
            slopes[k, j, 1] = 0.0 if is_unknown else p * (1.0 - p)


@jit_inner
def _add_up(
    codes: Small,
    bag: NDArray[np.int32],
    nodes: NDArray[np.int32],
    slopes: Floats,
    columns: Ints,
    n_bins: Ints,
    n_nodes: int,
    sums: Floats,
) -> None:
    """Add up derivatives and cases by node, column and code: `sums` (nodes, F, bins, 3)."""
    for node in range(n_nodes):
        for f in columns:
            sums[node, f, : n_bins[f]] = 0.0
    for j in range(bag.size):
        i, node = bag[j], nodes[j]
        slope, curvature = slopes[j, 0], slopes[j, 1]
        for f in columns:
            b = codes[i, f]
            sums[node, f, b, 0] += slope
            sums[node, f, b, 1] += curvature
            sums[node, f, b, 2] += 1.0


@jit_inner
def _best_split(
    sums: Floats, columns: Ints, n_bins: Ints, penalty: float, min_cases: int
) -> tuple[int, int, float]:
    """Return the feature and threshold that lower the loss most, or -1, and by how much."""
    best, feature, threshold = LEAST_GAIN, NONE, 0
    for f in columns:
        slope, curvature, cases = 0.0, 0.0, 0.0
        for b in range(n_bins[f]):
            slope += sums[f, b, 0]
            curvature += sums[f, b, 1]
            cases += sums[f, b, 2]
        whole = slope * slope / (curvature + penalty)
        low_slope, low_curvature, low_cases = 0.0, 0.0, 0.0
        for b in range(n_bins[f] - 1):
            if sums[f, b, 2] == 0.0:
                continue
            low_slope += sums[f, b, 0]
            low_curvature += sums[f, b, 1]
            low_cases += sums[f, b, 2]
            if low_cases < min_cases:
                continue
            if cases - low_cases < min_cases:
                break
            high_slope, high_curvature = slope - low_slope, curvature - low_curvature
            gain = (
                low_slope * low_slope / (low_curvature + penalty)
                + high_slope * high_slope / (high_curvature + penalty)
                - whole
            )
            # Of gains that are equal up to rounding, the first counts, on any machine.
            if gain > best * (1.0 + ROUNDING):
                best, feature, threshold = gain, f, b
    return feature, threshold, best


@jit_inner
def _descend(
    codes: Small,
    bag: NDArray[np.int32],
    nodes: NDArray[np.int32],
    features: NDArray[np.int16],
    thresholds: Small,
    level: int,
) -> None:
    """Move the cases of the bag from a level to the next."""
    for j in range(bag.size):
        place = (1 << level) - 1 + nodes[j]
        f = features[place]
        goes_high = f >= 0 and codes[bag[j], f] > thresholds[place]
        nodes[j] = 2 * nodes[j] + (1 if goes_high else 0)


@jit_inner
def _leaf_values(
    nodes: NDArray[np.int32], slopes: Floats, rate: float, penalty: float, values: Floats
) -> None:
    """Fill the value of every leaf, one damped Newton step."""
    sums = np.zeros((values.size, 2))
    for j in range(nodes.size):
        sums[nodes[j], 0] += slopes[j, 0]
        sums[nodes[j], 1] += slopes[j, 1]
    for leaf in range(values.size):
        values[leaf] = -rate * sums[leaf, 0] / (sums[leaf, 1] + penalty)


@jit_inner
def _leaf(codes: Small, i: int, features: NDArray[np.int16], thresholds: Small, depth: int) -> int:
    """Return the leaf of case i."""
    node = 0
    for level in range(depth):
        place = (1 << level) - 1 + node
        f = features[place]
        node = 2 * node + (1 if f >= 0 and codes[i, f] > thresholds[place] else 0)
    return node


@jit_inner
def _add_tree(
    codes: Small,
    features: NDArray[np.int16],
    thresholds: Small,
    bag: NDArray[np.int32],
    nodes: NDArray[np.int32],
    values: Floats,
    depth: int,
    scores: Floats,
) -> None:
    """Add a tree's values to the scores of all cases; those of the bag are in leaf `nodes`."""
    j = 0
    for i in range(codes.shape[0]):
        if j < bag.size and bag[j] == i:
            scores[i] += values[nodes[j]]
            j += 1
        else:
            scores[i] += values[_leaf(codes, i, features, thresholds, depth)]


@jit
def predict(
    codes: Small,
    first: Floats,
    features: NDArray[np.int16],
    thresholds: Small,
    values: Floats,
    probabilities: Floats,
) -> None:
    """Add the probability of every outcome to `probabilities` (n, O)."""
    n_rounds, n_scores, n_leaves = values.shape
    depth = round(math.log2(n_leaves))
    scores = np.empty(n_scores)
    for i in range(codes.shape[0]):
        scores[:] = first
        for r in range(n_rounds):
            for k in range(n_scores):
                leaf = _leaf(codes, i, features[r, k], thresholds[r, k], depth)
                scores[k] += values[r, k, leaf]
        if n_scores == 1:
            p = 1.0 / (1.0 + math.exp(-scores[0]))
            probabilities[i, 0] += 1.0 - p
            probabilities[i, 1] += p
            continue
        weights = np.exp(scores - scores.max())
        probabilities[i] += weights / weights.sum()
