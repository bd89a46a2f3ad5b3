"""Runs that were not played by any policy: given or random purchases and actions on a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.environments import Replay
from thrifty.rounds import Run, Runs


def run_of(replay: Replay, observed: NDArray[np.bool_], actions: NDArray[np.int64]) -> Run:
    """Take the actions on the replay's own rows."""
    t = np.arange(len(actions))
    costs = (observed * replay.costs[: len(actions)]).sum(axis=1)
    return Run(observed, actions, replay.rewards[t, actions], costs)


def random_runs(replay: Replay, seeds: tuple[int, ...]) -> Runs:
    runs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        observed = rng.random(replay.contexts.shape) < 0.5
        runs.append(
            run_of(replay, observed, rng.integers(replay.problem.n_actions, size=replay.horizon))
        )
    return Runs(
        observed=np.stack([run.observed for run in runs]),
        actions=np.stack([run.actions for run in runs]),
        rewards=np.stack([run.rewards for run in runs]),
        costs=np.stack([run.costs for run in runs]),
        seeds=seeds,
    )
