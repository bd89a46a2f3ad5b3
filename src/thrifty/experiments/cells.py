"""A cell: one policy, one world, one seed. It is computed once and found again by its contents.

A cell's result is a tidy table: what the run added up to in each block of rounds, and the events
that the policy noted, if it notes any.

=========  =======  ==========================================================================
`horizon`  Int64    how many rounds the run had
`measure`  String   gain, reward, cost, expected_regret, realised_regret, value_of_looking,
                    purchases, choices, rounds_by_observations, reward_by_observations, events
`key`      String   the feature of purchases, the action of choices, the number of features
                    bought in the next two, the kind of events; empty for the others
`round`    Int64    the block's first round; the very round of an event
`value`    Float64  the sum over the block's rounds; how many such events the round had
=========  =======  ==========================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import thrifty
from thrifty.environments import Replay
from thrifty.errors import InvalidSpec
from thrifty.experiments.spec import RECOMMENDED, Experiment
from thrifty.experiments.worlds import takes_rounds, world_named
from thrifty.policies import policy_named
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.regret import expected_regret, realised_regret, value_of_information
from thrifty.rounds import Run
from thrifty.simulation import simulate
from thrifty.theory import recommended_window

SCHEMA_VERSION = 3
SCHEMA = {
    "horizon": pl.Int64,
    "measure": pl.String,
    "key": pl.String,
    "round": pl.Int64,
    "value": pl.Float64,
}
BLOCKS = 100
EVENTS = "events"
TOTALS = ("gain", "reward", "cost", "expected_regret", "realised_regret", "value_of_looking")
"""The measures without a key."""


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
    def parsed_params(self) -> dict[str, Any]:
        """The policy's parameters."""
        parsed: dict[str, Any] = json.loads(self.params)
        return parsed

    @property
    def parsed_world_params(self) -> dict[str, Any]:
        """The world's parameters."""
        parsed: dict[str, Any] = json.loads(self.world_params)
        return parsed

    @property
    def key(self) -> str:
        """The hash of the cell's contents, and of the code that computes it."""
        contents = [SCHEMA_VERSION, code_digest(), *vars(self).values()]
        return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]

    def compute(self) -> pl.DataFrame:
        """Play the run and add up its measures."""
        replay = _world(self.world, self.world_params, self.seed)
        run, policy = _run(self.policy, replay, self.seed, self.rounds, **self.parsed_params)
        table = measured(run, _oracle(replay, self.rounds), replay)
        return pl.concat([table, events_of(policy, run.rounds)])


Place = tuple[str, int | None, int]
"""Where a cell stands in an experiment: its policy's label, its horizon, its seed."""


def cells_of(experiment: Experiment) -> dict[Place, Cell]:
    """Return the cells of an experiment; policies go fastest, so that they share a world."""
    return {
        (entry.label, horizon, seed): Cell(
            entry.policy,
            _canonical(_params_at(horizon, entry.params, experiment)),
            experiment.world,
            _canonical(_world_params_at(horizon, experiment)),
            seed,
            horizon,
        )
        for horizon in experiment.horizons or (None,)
        for seed in experiment.seeds
        for entry in experiment.entries
    }


def _params_at(
    horizon: int | None, params: Mapping[str, Any], experiment: Experiment
) -> Mapping[str, Any]:
    if params.get("window") != RECOMMENDED:
        return params
    if horizon is None:
        raise InvalidSpec(
            f'window = "{RECOMMENDED}" depends on the number of rounds: give the experiment some.'
        )
    world_params = _canonical(_world_params_at(horizon, experiment))
    changes = _changes(experiment.world, world_params, experiment.seeds[0], horizon)
    return {**params, "window": recommended_window(horizon, changes)}


@lru_cache(maxsize=64)
def _changes(world: str, params: str, seed: int, rounds: int) -> int:
    return changes_within(_world(world, params, seed), rounds)


def changes_within(replay: Replay, rounds: int) -> int:
    """Return in how many of the first rounds mean rewards or mean costs change."""
    return sum(at < rounds for at in {*replay.reward_changes, *replay.cost_changes})


def _world_params_at(horizon: int | None, experiment: Experiment) -> Mapping[str, Any]:
    params = experiment.world_params
    if horizon is None or "rounds" in params or not takes_rounds(experiment.world):
        return params
    return {**params, "rounds": horizon}


def world_of(experiment: Experiment) -> Replay:
    """Return the world of the experiment's first seed, at its longest horizon."""
    horizon = max(experiment.horizons, default=None)
    params = _canonical(_world_params_at(horizon, experiment))
    return _world(experiment.world, params, experiment.seeds[0])


def measured(run: Run, oracle: Run, replay: Replay) -> pl.DataFrame:
    """Return a run's tidy table."""
    problem = replay.problem
    block = _blocks(run.rounds)
    bought = run.observed.sum(axis=1)
    series: list[NDArray[Any]] = [
        run.gains,
        run.rewards,
        run.costs,
        expected_regret(run, replay),
        realised_regret(run, oracle),
        _looking(replay)[: run.rounds],
        *run.observed.T,
        *(run.actions == a for a in range(problem.n_actions)),
    ]
    for n in range(problem.n_features + 1):
        series += [bought == n, run.rewards * (bought == n)]
    values = np.concatenate([np.bincount(block, weights=values) for values in series])
    return _names(problem, run.rounds).with_columns(value=values).select(*SCHEMA)


def events_of(policy: Policy, rounds: int) -> pl.DataFrame:
    """Return what the policy noted, in the form of a tidy table; it may remember the last only."""
    noted = Counter((it.kind, it.round) for it in getattr(policy, "events", ()))
    rows = [(rounds, EVENTS, kind, at, float(n)) for (kind, at), n in sorted(noted.items())]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@lru_cache(maxsize=8)
def _names(problem: Problem, rounds: int) -> pl.DataFrame:
    """Return the columns that are the same for every run: all but the values."""
    names = [(measure, "") for measure in TOTALS]
    names += [("purchases", feature.name) for feature in problem.features]
    names += [("choices", action) for action in problem.actions]
    for n in range(problem.n_features + 1):
        names += [("rounds_by_observations", str(n)), ("reward_by_observations", str(n))]
    starts = np.flatnonzero(np.diff(_blocks(rounds), prepend=-1))
    measures, keys = zip(*names, strict=True)
    columns = {
        "horizon": np.full(len(names) * starts.size, rounds),
        "measure": np.repeat(measures, starts.size),
        "key": np.repeat(keys, starts.size),
        "round": np.tile(starts, len(names)),
    }
    return pl.DataFrame(columns, schema={name: SCHEMA[name] for name in columns})


def _blocks(rounds: int) -> NDArray[np.int64]:
    """Return the block of every round: 100 of them, or one for each round if there are fewer."""
    return np.arange(rounds) // max(1, -(-rounds // BLOCKS))


@lru_cache(maxsize=4)
def _world(name: str, params: str, seed: int) -> Replay:
    return world_named(name)(seed, **json.loads(params))


@lru_cache(maxsize=4)
def _oracle(replay: Replay, rounds: int | None) -> Run:
    return _run("oracle", replay, 0, rounds)[0]


@lru_cache(maxsize=4)
def _looking(replay: Replay) -> NDArray[np.float64]:
    return value_of_information(replay)


def _run(
    name: str, replay: Replay, seed: int, rounds: int | None, **params: Any
) -> tuple[Run, Policy]:
    """Play one seed; return the run, and the policy as it is afterwards."""
    make = policy_named(name)
    played: list[Policy] = []

    @wraps(make)
    def kept(*given: Any, **more: Any) -> Policy:
        played.append(make(*given, **more))
        return played[0]

    runs = simulate(kept, lambda _: replay, seeds=[seed], workers=1, rounds=rounds, **params)
    return runs[0], played[0]


def _canonical(params: Mapping[str, Any]) -> str:
    return json.dumps(dict(params), sort_keys=True)


@cache
def code_digest() -> str:
    """Return the digest of what makes the numbers: other code may give other ones."""
    root = Path(thrifty.__file__).parent
    parts = (root / part for part in ("kernels", "policies", "environments"))
    here = (Path(__file__), Path(__file__).with_name("worlds.py"))
    others = (path for part in parts for path in part.rglob("*.py"))
    sources = sorted([*root.glob("*.py"), *others, *here])
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
