"""Aggregates of scores over worlds and seeds, with stratified bootstrap intervals.

The definitions are those of R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville and M. G.
Bellemare, "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, and
of their package rliable. Scores have the shape (W, S): one row for each world, one column for each
seed. Functions of scores also accept leading axes, one entry for each resample.

The bootstrap draws seeds with replacement within each world. Policies with equally many seeds share
the draws, because a seed stands for the same rounds for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 1_000
CONFIDENCE = 0.95
TRIMMED = 0.25
"""Share of the runs that the interquartile mean leaves out at each end."""


@dataclass(frozen=True)
class BootstrapEstimate:
    """A number with its 95 % bootstrap interval.

    Parameters
    ----------
    value : float
        The number.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    """

    value: float
    low: float
    high: float


def interquartile_mean(scores: Floats) -> Floats:
    """Return the mean of the middle half of all runs.

    A quarter of the runs, rounded down, is left out at each end.

    Parameters
    ----------
    scores : array of float, shape (..., W, S)
        Scores by world and seed.

    Returns
    -------
    array of float, shape (...)
        Interquartile means.

    Examples
    --------
    >>> float(interquartile_mean(np.array([[0.0, 0.5], [0.7, 9.0]])))
    0.6
    """
    runs = scores.reshape(*scores.shape[:-2], -1)
    cut = int(TRIMMED * runs.shape[-1])
    middle = slice(cut, runs.shape[-1] - cut)
    parts = np.partition(runs, [middle.start, middle.stop - 1], axis=-1)
    means: Floats = parts[..., middle].mean(axis=-1)
    return means


def mean_score(scores: Floats) -> Floats:
    """Return the mean over worlds of the mean over seeds.

    Parameters
    ----------
    scores : array of float, shape (..., W, S)
        Scores by world and seed.

    Returns
    -------
    array of float, shape (...)
        Means.

    Examples
    --------
    >>> float(mean_score(np.array([[0.0, 0.5], [0.5, 1.0]])))
    0.5
    """
    means: Floats = scores.mean(axis=(-2, -1))
    return means


def optimality_gap(scores: Floats, target: float = 1.0) -> Floats:
    """Return how far the runs are from the target on average; runs above it count as on it.

    Parameters
    ----------
    scores : array of float, shape (..., W, S)
        Scores by world and seed.
    target : float
        The target; 1 is the oracle.

    Returns
    -------
    array of float, shape (...)
        Gaps.

    Examples
    --------
    >>> float(optimality_gap(np.array([[0.5, 2.0]])))
    0.25
    """
    gaps: Floats = target - np.minimum(scores, target).mean(axis=(-2, -1))
    return gaps


def performance_profile(scores: Floats, thresholds: Floats) -> Floats:
    """Return the share of the runs with a score above each threshold.

    Parameters
    ----------
    scores : array of float, shape (..., W, S)
        Scores by world and seed.
    thresholds : array of float, shape (N,)
        The thresholds.

    Returns
    -------
    array of float, shape (..., N)
        Shares.

    Examples
    --------
    >>> performance_profile(np.array([[0.0, 0.5], [0.5, 1.0]]), np.array([0.2, 0.5])).tolist()
    [0.75, 0.25]
    """
    runs = np.sort(scores.reshape(-1, scores.shape[-2] * scores.shape[-1]), axis=-1)
    above = [row.size - np.searchsorted(row, thresholds, side="right") for row in runs]
    shares: Floats = np.array(above) / runs.shape[-1]
    return shares.reshape(*scores.shape[:-2], thresholds.size)


def probability_of_improvement(scores: Floats, others: Floats) -> float:
    """Return the probability that a run of one policy scores higher than a run of another one.

    It is the share of all pairs of runs of a world in which the first is higher. Equal scores count
    half. Worlds have equal weights.

    Parameters
    ----------
    scores : array of float, shape (W, S)
        Scores of the policy.
    others : array of float, shape (W, S')
        Scores of the policy that it is compared with, in the same worlds.

    Returns
    -------
    float
        The probability.

    Examples
    --------
    >>> probability_of_improvement(np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]]))
    0.875
    """
    return float(_wins(scores, others).mean())


def draws(worlds: int, seeds: int, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """Return the seeds of each resample, drawn within each world; always the same ones.

    Parameters
    ----------
    worlds : int
        W, the number of worlds.
    seeds : int
        S, the number of seeds of each world.
    resamples : int
        B, the number of resamples.

    Returns
    -------
    array of int, shape (B, W, S)
        Positions of seeds.

    Examples
    --------
    >>> draws(2, 5, resamples=3).shape
    (3, 2, 5)
    """
    return np.random.default_rng(0).integers(seeds, size=(resamples, worlds, seeds))


def estimate(
    scores: Floats, statistic: Callable[[Floats], Floats], drawn: NDArray[np.int64]
) -> BootstrapEstimate:
    """Return a statistic of the scores with its interval.

    Parameters
    ----------
    scores : array of float, shape (W, S)
        Scores by world and seed.
    statistic : callable
        Function of scores, such as `interquartile_mean`.
    drawn : array of int, shape (B, W, S)
        Result of `draws`.

    Returns
    -------
    BootstrapEstimate
        The statistic.

    Examples
    --------
    >>> estimate(np.ones((2, 3)), mean_score, draws(2, 3))
    BootstrapEstimate(value=1.0, low=1.0, high=1.0)
    """
    resampled = np.take_along_axis(scores[None], drawn, axis=-1)
    return _with_interval(float(statistic(scores)), statistic(resampled))


def estimate_improvement(
    scores: Floats, others: Floats, drawn: NDArray[np.int64]
) -> BootstrapEstimate:
    """Return the probability of improvement with its interval; both policies share the draws.

    Parameters
    ----------
    scores : array of float, shape (W, S)
        Scores of the policy.
    others : array of float, shape (W, S)
        Scores of the other policy, in the same worlds and with the same seeds.
    drawn : array of int, shape (B, W, S)
        Result of `draws`.

    Returns
    -------
    BootstrapEstimate
        The probability.

    Examples
    --------
    >>> better = np.array([[2.0, 3.0, 4.0]])
    >>> estimate_improvement(better, better - 5, draws(1, 3))
    BootstrapEstimate(value=1.0, low=1.0, high=1.0)
    """
    wins = _wins(scores, others)
    resamples, worlds, seeds = drawn.shape
    places = np.arange(resamples * worlds).reshape(resamples, worlds, 1) * seeds + drawn
    counts = np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape)
    weights = counts.swapaxes(0, 1) / seeds  # (W, B, S)
    chances = ((weights @ wins) * weights).sum(axis=-1).mean(axis=0)
    return _with_interval(float(wins.mean()), chances)


def _wins(scores: Floats, others: Floats) -> Floats:
    """Return 1 where a run is higher than another one of its world, 0.5 where equal, (W, S, S')."""
    mine, theirs = scores[:, :, None], others[:, None, :]
    wins: Floats = (mine > theirs) + 0.5 * (mine == theirs)
    return wins


def _with_interval(value: float, resampled: Floats) -> BootstrapEstimate:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return BootstrapEstimate(value, float(low), float(high))
