"""Weights of the sets J: the hypotheses "rewards depend on psi_J and on nothing else".

A wide round teaches all sets that compete in it, so the tables of wide rounds compare hypotheses
fairly: each predicts the reward before learning it, and its weight is multiplied by the likelihood
of the reward. With the tables of all rounds the set in use would win because it has learnt most. A
small share of all weight returns to the prior each time, because the world may change.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints, Mask
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.scout.likelihood import clip_mean, log_likelihood
from thrifty.kernels.scout.subsets import NO_SET, Subsets, n_features, shrunk_mean, within

SHARE = 0.003
TEMPER = 0.5
"""Share of the log weights that is kept after a restart; the rest comes from the prior."""
BAND = 5.0
MAX_LISTED = 8
PRIOR_PULLS = 2.0
NOTHING = -700.0
"""Log weight of a place without a set."""


class Weights(NamedTuple):
    """Logarithms of the prior and of the weights, which sum to 1, and the short list.

    The list holds the empty set and the heaviest ones, at most BAND behind the heaviest of all.
    """

    prior_of_size: Floats
    prior: Floats
    log: Floats
    listed: Ints
    length: Ints
    shares: Floats


def initial(sizes: Ints, n_features: int, most: int) -> Weights:
    """Return the prior weights of sets of these numbers of features; the empty set is listed.

    Every number of features up to `most` is equally likely, and so are all sets of as many
    features. A size of NONE stands for a place without a set.
    """
    by_size = [-math.log((most + 1) * math.comb(n_features, k)) for k in range(n_features + 1)]
    prior = np.array([by_size[k] if k != NONE else NOTHING for k in sizes.tolist()])
    return Weights(
        prior_of_size=np.array(by_size),
        prior=prior,
        log=prior - math.log(np.exp(prior).sum()),
        listed=np.zeros(MAX_LISTED, np.int64),
        length=np.ones(1, np.int64),
        shares=np.ones(MAX_LISTED),
    )


@jit_inner
def centre_of(subsets: Subsets, action: int, mean: float) -> float:
    """Return the mean of an action in blind wide rounds, shrunk_mean to that of all actions."""
    return shrunk_mean(subsets.wide_sums[0, action], subsets.wide_pulls[0, action], mean, 1.0)


@jit_inner
def weigh(
    subsets: Subsets,
    weights: Weights,
    basis: Mask,
    observed: Mask,
    action: int,
    reward: float,
    mean: float,
    dispersion: float,
) -> None:
    """Let the sets between the basis and the observed one, whose cells are found, compete.

    `mean` is that of blind rewards. The competitors' total weight stays as it is.
    """
    centre = centre_of(subsets, action, mean)
    before = 0.0
    after = 0.0
    for j in range(subsets.masks.size):
        if within(basis, subsets.masks[j]) and within(subsets.masks[j], observed):
            cell = subsets.cells[j]
            total, count = subsets.wide_sums[cell, action], subsets.wide_pulls[cell, action]
            p = centre if j == 0 else shrunk_mean(total, count, centre, PRIOR_PULLS)
            gain = log_likelihood(reward, clip_mean(p)) / dispersion
            before += math.exp(weights.log[j])
            weights.log[j] += gain
            after += math.exp(weights.log[j])
    if before > 0.0:  # else no competing set has tables
        _rescale(subsets, weights, basis, observed, math.log(before / after))


@jit_inner
def _rescale(
    subsets: Subsets, weights: Weights, basis: Mask, observed: Mask, change: float
) -> None:
    """Restore the total weight of the competitors, and move a share of all weights to the prior."""
    total = 0.0
    for j in range(weights.log.size):
        if within(basis, subsets.masks[j]) and within(subsets.masks[j], observed):
            weights.log[j] += change
        total += math.exp(weights.log[j])
    for j in range(weights.log.size):
        kept = (1 - SHARE) * math.exp(weights.log[j]) / total
        weights.log[j] = math.log(kept + SHARE * math.exp(weights.prior[j]))


@jit_inner
def take_priors(weights: Weights, subsets: Subsets) -> None:
    """Give the grown sets the priors of their sizes."""
    for j in range(subsets.order.size, subsets.masks.size):
        empty = subsets.masks[j] == NO_SET
        weights.prior[j] = NOTHING if empty else weights.prior_of_size[n_features(subsets, j)]


@jit_inner
def temper(weights: Weights) -> None:
    """Move the weights towards the prior."""
    for j in range(weights.log.size):
        weights.log[j] = TEMPER * weights.log[j] + (1 - TEMPER) * weights.prior[j]
    normalise(weights)


@jit_inner
def normalise(weights: Weights) -> None:
    """Scale the weights to a sum of 1."""
    total = 0.0
    for j in range(weights.log.size):
        total += math.exp(weights.log[j])
    for j in range(weights.log.size):
        weights.log[j] -= math.log(total)


@jit_inner
def make_short_list(weights: Weights) -> float:
    """Make the short list; return the largest weight."""
    best = weights.log[0]
    for j in range(1, weights.log.size):
        best = max(best, weights.log[j])
    length = 1
    weights.listed[0] = 0
    for j in range(1, weights.log.size):
        if weights.log[j] > best - BAND:
            length = _insert_in_list(weights, length, j)
    for k in range(length):
        weights.shares[k] = math.exp(weights.log[weights.listed[k]])
    weights.length[0] = length
    return math.exp(best)


@jit_inner
def _insert_in_list(weights: Weights, length: int, j: int) -> int:
    """Insert set j by its weight, after the empty set; return the length of the list."""
    listed = weights.listed
    if length < listed.size:
        length += 1
    elif weights.log[listed[length - 1]] >= weights.log[j]:
        return length
    k = length - 1
    while k > 1 and weights.log[listed[k - 1]] < weights.log[j]:
        listed[k] = listed[k - 1]
        k -= 1
    listed[k] = j
    return length
