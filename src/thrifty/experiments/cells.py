"""A cell: one policy, one world, one seed. It is computed once and found again by its contents.

A cell's result is a tidy table: what the run added up to in each block of rounds.

=========  =======  ==========================================================================
`measure`  String   gain, reward, cost, expected_regret, realised_regret, purchases, choices,
                    rounds_by_observations, reward_by_observations
`key`      String   the feature of purchases, the action of choices, the number of features
                    bought in the last two; empty for the others
`round`    Int64    the block's first round
`value`    Float64  the sum over the block's rounds
=========  =======  ==========================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import thrifty
from thrifty.environments import Replay
from thrifty.experiments.spec import Experiment
from thrifty.experiments.worlds import world_named
from thrifty.regret import expected_regret, realised_regret
from thrifty.rounds import Run
from thrifty.simulation import simulate

SCHEMA_VERSION = 1
SCHEMA = {"measure": pl.String, "key": pl.String, "round": pl.Int64, "value": pl.Float64}
BLOCKS = 100


@dataclass(frozen=True)
class Cell:
    """What determines a run."""

    policy: str
    params: str
    world: str
    world_params: str
    seed: int
    rounds: int | None

    @property
    def key(self) -> str:
        """The hash of the cell's contents, and of the code that computes it."""
        contents = [SCHEMA_VERSION, _code(), *vars(self).values()]
        return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]

    def compute(self) -> pl.DataFrame:
        """Play the run and add up its measures."""
        replay = _world(self.world, self.world_params, self.seed)
        run = _run(self.policy, replay, self.seed, self.rounds, **json.loads(self.params))
        return measured(run, _oracle(replay, self.rounds), replay)


def cells_of(experiment: Experiment) -> dict[tuple[str, int], Cell]:
    """Return the cells of an experiment by label and seed; seeds go slowest, to share worlds."""
    world_params = _canonical(experiment.world_params)
    return {
        (entry.label, seed): Cell(
            entry.policy,
            _canonical(entry.params),
            experiment.world,
            world_params,
            seed,
            experiment.rounds,
        )
        for seed in experiment.seeds
        for entry in experiment.entries
    }


def measured(run: Run, oracle: Run, replay: Replay) -> pl.DataFrame:
    """Return a run's tidy table."""
    problem = replay.problem
    block = _blocks(run.rounds)
    bought = run.observed.sum(axis=1)
    series: list[tuple[str, str, NDArray[Any]]] = [
        ("gain", "", run.gains),
        ("reward", "", run.rewards),
        ("cost", "", run.costs),
        ("expected_regret", "", expected_regret(run, replay)),
        ("realised_regret", "", realised_regret(run, oracle)),
    ]
    for i, feature in enumerate(problem.features):
        series.append(("purchases", feature.name, run.observed[:, i]))
    for a, action in enumerate(problem.actions):
        series.append(("choices", action, run.actions == a))
    for n in range(problem.n_features + 1):
        series.append(("rounds_by_observations", str(n), bought == n))
        series.append(("reward_by_observations", str(n), run.rewards * (bought == n)))
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    measures, keys, values = zip(*series, strict=True)
    columns = {
        "measure": np.repeat(measures, starts.size),
        "key": np.repeat(keys, starts.size),
        "round": np.tile(starts, len(series)),
        "value": np.concatenate([np.bincount(block, weights=value) for value in values]),
    }
    return pl.DataFrame(columns, schema=SCHEMA)


def _blocks(rounds: int) -> NDArray[np.int64]:
    """Return the block of every round: 100 of them, or one for each round if there are fewer."""
    return np.arange(rounds) // max(1, -(-rounds // BLOCKS))


@lru_cache(maxsize=4)
def _world(name: str, params: str, seed: int) -> Replay:
    return world_named(name)(seed, **json.loads(params))


@lru_cache(maxsize=4)
def _oracle(replay: Replay, rounds: int | None) -> Run:
    return _run("oracle", replay, 0, rounds)


def _run(policy: str, replay: Replay, seed: int, rounds: int | None, **params: Any) -> Run:
    return simulate(policy, lambda _: replay, seeds=[seed], workers=1, rounds=rounds, **params)[0]


def _canonical(params: Mapping[str, Any]) -> str:
    return json.dumps(dict(params), sort_keys=True)


@cache
def _code() -> str:
    """Return the digest of what makes the numbers: other code may give other ones."""
    root = Path(thrifty.__file__).parent
    parts = (root / part for part in ("kernels", "policies", "environments", "experiments"))
    sources = sorted([*root.glob("*.py"), *(path for part in parts for path in part.rglob("*.py"))])
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
