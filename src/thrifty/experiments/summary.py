"""What is reported of a policy's runs over several seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.rounds import Runs

RESAMPLES = 10_000


@dataclass(frozen=True)
class Summary:
    """Total gain over the seeds: mean, its 95 % interval and range; mean total reward and cost."""

    seeds: int
    gain: float
    low: float
    high: float
    worst: float
    best: float
    reward: float
    cost: float


def summarise(runs: Runs) -> Summary:
    """Summarise the runs of a policy.

    >>> from thrifty.environments import nursery
    >>> from thrifty.simulation import simulate
    >>> summary = summarise(simulate("ucb1", nursery.published(), seeds=[0, 1]))
    >>> summary.gain, summary.low, summary.high, summary.cost
    (5809.0, 5809.0, 5809.0, 0.0)
    """
    gains = runs.gains.sum(axis=1)
    low, high = bootstrap_interval(gains)
    return Summary(
        seeds=len(runs),
        gain=float(gains.mean()),
        low=low,
        high=high,
        worst=float(gains.min()),
        best=float(gains.max()),
        reward=float(runs.rewards.sum(axis=1).mean()),
        cost=float(runs.costs.sum(axis=1).mean()),
    )


def bootstrap_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean, the same for the same values.

    >>> bootstrap_interval(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    chosen = rng.integers(values.size, size=(RESAMPLES, values.size))
    low, high = np.quantile(values[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)
