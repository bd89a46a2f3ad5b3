"""The ranking of policies over many worlds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thrifty.experiments.aggregates import (
    RESAMPLES,
    BootstrapEstimate,
    Floats,
    draws,
    estimate,
    estimate_improvement,
    interquartile_mean,
    mean_score,
    optimality_gap,
)
from thrifty.experiments.scores import Scores


@dataclass(frozen=True)
class Ranked:
    """A policy in the ranking.

    Parameters
    ----------
    label : str
        Label of the policy.
    worlds : int
        Number of worlds that it plays.
    seeds : int
        Number of seeds of each world.
    interquartile_mean : BootstrapEstimate
        Mean of the middle half of its scores.
    mean : float
        Mean over worlds of its mean scores.
    optimality_gap : BootstrapEstimate
        Mean distance of its scores from 1, the oracle.
    first_beats_it : BootstrapEstimate or None
        Probability that a run of the first policy scores higher, over the worlds that both play.
        None for the first policy.
    median_rank : float
        Median over worlds of its rank by mean score, among the policies that play the world.
    share : float or None
        Mean over worlds of its gain as a share of the oracle's, where that is known.
    """

    label: str
    worlds: int
    seeds: int
    interquartile_mean: BootstrapEstimate
    mean: float
    optimality_gap: BootstrapEstimate
    first_beats_it: BootstrapEstimate | None
    median_rank: float
    share: float | None


def rank(scores: Scores, *, resamples: int = RESAMPLES) -> list[Ranked]:
    """Return the policies in order of their interquartile means.

    Policies that do not play every world come after all others.

    Parameters
    ----------
    scores : Scores
        Scores of the policies.
    resamples : int
        Number of resamples of the intervals.

    Returns
    -------
    list of Ranked
        The ranking; empty if there are no scores.
    """
    labels = _in_order(scores)
    ranks = dict(zip(scores.labels, world_ranks(scores), strict=True))
    shares = _mean_shares(scores)
    ranking = []
    for label in labels:
        own = scores.of(label)
        drawn = _drawn(own, resamples)
        pair = scores.of_both(labels[0], label)
        is_compared = label != labels[0] and pair[0].size > 0
        ranking.append(
            Ranked(
                label=label,
                worlds=len(own),
                seeds=own.shape[1],
                interquartile_mean=estimate(own, interquartile_mean, drawn),
                mean=float(mean_score(own)),
                optimality_gap=estimate(own, optimality_gap, drawn),
                first_beats_it=estimate_improvement(*pair, _drawn(pair[0], resamples))
                if is_compared
                else None,
                median_rank=float(np.nanmedian(ranks[label])),
                share=shares.get(label),
            )
        )
    return ranking


def world_ranks(scores: Scores) -> Floats:
    """Return the rank of every policy in every world by mean score.

    Equally good policies share the mean of their ranks.

    Parameters
    ----------
    scores : Scores
        Scores of the policies.

    Returns
    -------
    array of float, shape (L, W)
        Ranks from 1; NaN where a policy does not play.
    """
    played = scores.played
    means = np.full(played.shape, np.nan)
    means[played] = np.nanmean(scores.values[played], axis=-1)
    better = (means[None] > means[:, None]).sum(axis=1)
    equal = (means[None] == means[:, None]).sum(axis=1)
    ranks: Floats = np.where(played, better + (equal + 1) / 2, np.nan)
    return ranks


def _drawn(scores: Floats, resamples: int) -> NDArray[np.int64]:
    worlds, seeds = scores.shape
    return _cached_draws(worlds, seeds, resamples)


@lru_cache(maxsize=4)
def _cached_draws(worlds: int, seeds: int, resamples: int) -> NDArray[np.int64]:
    return draws(worlds, seeds, resamples)


def _in_order(scores: Scores) -> list[str]:
    plays_all = {label: bool(scores.played[k].all()) for k, label in enumerate(scores.labels)}
    means = {
        label: float(interquartile_mean(own))
        for label in scores.labels
        if (own := scores.of(label)).size
    }
    return sorted(means, key=lambda label: (plays_all[label], means[label]), reverse=True)


def _mean_shares(scores: Scores) -> dict[str, float]:
    if scores.shares is None:
        return {}
    return {
        label: float(np.nanmean(scores.shares[k, played], axis=-1).mean())
        for k, label in enumerate(scores.labels)
        if (played := scores.played[k]).any()
    }
