"""A single run: one policy, one environment, one seed. It is computed once and then reused.

The result of a run is a long table: the sums of its measures over blocks of rounds, and the events
that the policy recorded, if it records any.

=========  =======  ==========================================================================
`horizon`  Int64    number of rounds of the run
`measure`  String   gain, reward, cost, expected_regret, realised_regret, value_of_looking,
                    uniform_regret, purchases, choices, rounds_by_observations,
                    reward_by_observations, events
`key`      String   the feature of purchases, the action of choices, the number of features
                    bought for the two measures by observations, the kind of events; otherwise
                    empty
`round`    Int64    first round of the block; for events, the round itself
`value`    Float64  sum over the block's rounds; for events, their number in the round
=========  =======  ==========================================================================
"""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.environments import Replay
from thrifty.environments.restricted import best_fixed_set, restricted, with_all_features
from thrifty.errors import InvalidSpec
from thrifty.experiments.environments import environment_named, takes_rounds
from thrifty.experiments.makers import class_name, maker_of, source_of
from thrifty.experiments.sources import digest_of, imported_modules, modules_of
from thrifty.experiments.spec import ALL, RECOMMENDED, Experiment
from thrifty.policies import policy_named
from thrifty.policies.registry import make_policy
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.regret import expected_regret, realised_regret, uniform_regret, value_of_information
from thrifty.rounds import Run
from thrifty.simulation import simulate
from thrifty.theory import recommended_window

SCHEMA_VERSION = 4
SCHEMA = {
    "horizon": pl.Int64,
    "measure": pl.String,
    "key": pl.String,
    "round": pl.Int64,
    "value": pl.Float64,
}
_OWN_MODULES = (
    "thrifty.environments.restricted",
    "thrifty.playing",
    "thrifty.policies.oracle",
    "thrifty.regret",
    "thrifty.theory",
)
"""Modules that every run uses, besides those of its policy and its environment."""
BLOCKS = 100
EVENTS = "events"
TOTALS = (
    "gain",
    "reward",
    "cost",
    "expected_regret",
    "realised_regret",
    "value_of_looking",
    "uniform_regret",
)
"""Measures without a key."""


@dataclass(frozen=True)
class SingleRun:
    """Everything that determines the result of one run. Parameters are JSON texts.

    A policy is a registered name, or FILE.py:Class with the text of the file as `source`. The order
    of the fields is part of `key`, under which results are kept on disk.
    """

    policy: str
    params: str
    environment: str
    environment_params: str
    seed: int
    rounds: int | None
    features: str = ALL
    source: str | None = None

    @property
    def parsed_params(self) -> dict[str, Any]:
        """Parameters of the policy."""
        parsed: dict[str, Any] = json.loads(self.params)
        return parsed

    @property
    def parsed_environment_params(self) -> dict[str, Any]:
        """Parameters of the environment."""
        parsed: dict[str, Any] = json.loads(self.environment_params)
        return parsed

    @property
    def key(self) -> str:
        """Hash of the run's contents, and of the code and versions that can change its result."""
        digest = run_digest(self.policy, self.environment, self.source)
        fields = vars(self) | {"policy": class_name(self.policy), "source": None}
        contents = [SCHEMA_VERSION, digest, *versions().values(), *fields.values()]
        return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]

    def compute(self) -> pl.DataFrame:
        """Play the run and return its table."""
        replay = _environment(self.environment, self.environment_params, self.seed)
        run, policy = self._play(replay)
        table = measure_run(run, _oracle_run(replay, self.rounds), replay)
        return pl.concat([table, event_table(policy, run.rounds)])

    def _play(self, replay: Replay) -> tuple[Run, Policy]:
        """Play the rounds, or the same rounds with the features of the best fixed set."""
        make = maker_of(self.policy, self.source)
        if self.features == ALL:
            return _play(make, replay, self.seed, self.rounds, **self.parsed_params)
        mask = _best_fixed_set(replay, self.rounds)
        fewer = restricted(replay, mask)
        run, policy = _play(make, fewer, self.seed, self.rounds, **self.parsed_params)
        return with_all_features(run, mask), policy


RunKey = tuple[str, int | None, int]
"""Place of a run in an experiment: the policy's label, the horizon, the seed."""


def single_runs(experiment: Experiment) -> dict[RunKey, SingleRun]:
    """Return the runs of an experiment, grouped so that neighbours share an environment."""
    sources = {entry.policy: source_of(entry.policy) for entry in experiment.entries}
    return {
        (entry.label, horizon, seed): SingleRun(
            entry.policy,
            _canonical_json(_params_at(horizon, entry.params, experiment)),
            experiment.environment,
            _canonical_json(_environment_params_at(horizon, experiment)),
            seed,
            horizon,
            entry.features,
            sources[entry.policy],
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
            f'window = "{RECOMMENDED}" needs a number of rounds: add rounds to the experiment.'
        )
    environment_params = _canonical_json(_environment_params_at(horizon, experiment))
    changes = _count_changes(
        experiment.environment, environment_params, experiment.seeds[0], horizon
    )
    return {**params, "window": recommended_window(horizon, changes)}


@lru_cache(maxsize=64)
def _count_changes(environment: str, params: str, seed: int, rounds: int) -> int:
    return changes_within(_environment(environment, params, seed), rounds)


def changes_within(replay: Replay, rounds: int) -> int:
    """Return the number of the first `rounds` rounds in which mean rewards or costs change."""
    return sum(change < rounds for change in {*replay.reward_changes, *replay.cost_changes})


def _environment_params_at(horizon: int | None, experiment: Experiment) -> Mapping[str, Any]:
    params = experiment.environment_params
    if horizon is None or "rounds" in params or not takes_rounds(experiment.environment):
        return params
    return {**params, "rounds": horizon}


def first_environment(experiment: Experiment) -> Replay:
    """Return the environment of the experiment's first seed, at its longest horizon."""
    horizon = max(experiment.horizons, default=None)
    params = _canonical_json(_environment_params_at(horizon, experiment))
    return _environment(experiment.environment, params, experiment.seeds[0])


def measure_run(run: Run, oracle: Run, replay: Replay) -> pl.DataFrame:
    """Return the sums of all measures over blocks of rounds."""
    problem = replay.problem
    block = _blocks(run.rounds)
    bought = run.observed.sum(axis=1)
    series: list[NDArray[Any]] = [
        run.gains,
        run.rewards,
        run.costs,
        expected_regret(run, replay),
        realised_regret(run, oracle),
        _value_of_information(replay)[: run.rounds],
        _uniform_regret(replay)[: run.rounds],
        *run.observed.T,
        *(run.actions == a for a in range(problem.n_actions)),
    ]
    for n in range(problem.n_features + 1):
        series += [bought == n, run.rewards * (bought == n)]
    values = np.concatenate([np.bincount(block, weights=values) for values in series])
    return _key_columns(problem, run.rounds).with_columns(value=values).select(*SCHEMA)


def event_table(policy: Policy, rounds: int) -> pl.DataFrame:
    """Return the events that the policy recorded. A policy may keep only the latest ones."""
    counts = Counter((event.kind, event.round) for event in getattr(policy, "events", ()))
    rows = [(rounds, EVENTS, kind, at, float(n)) for (kind, at), n in sorted(counts.items())]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@lru_cache(maxsize=8)
def _key_columns(problem: Problem, rounds: int) -> pl.DataFrame:
    """Return all columns but the values: they are the same for every run of a problem."""
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
    """Return the block of every round: at most 100 blocks, or one for each round."""
    return np.arange(rounds) // max(1, -(-rounds // BLOCKS))


@lru_cache(maxsize=4)
def _environment(name: str, params: str, seed: int) -> Replay:
    return environment_named(name)(seed, **json.loads(params))


@lru_cache(maxsize=4)
def _best_fixed_set(replay: Replay, rounds: int | None) -> NDArray[np.bool_]:
    return best_fixed_set(replay, rounds)


@lru_cache(maxsize=4)
def _oracle_run(replay: Replay, rounds: int | None) -> Run:
    return _play(policy_named("oracle"), replay, 0, rounds)[0]


@lru_cache(maxsize=4)
def _value_of_information(replay: Replay) -> NDArray[np.float64]:
    return value_of_information(replay)


@lru_cache(maxsize=4)
def _uniform_regret(replay: Replay) -> NDArray[np.float64]:
    return uniform_regret(replay)


def _play(
    make: Callable[..., Policy], replay: Replay, seed: int, rounds: int | None, **params: Any
) -> tuple[Run, Policy]:
    """Play one seed; return the run, and the policy in its final state."""
    policies: list[Policy] = []

    @wraps(make)  # `simulate` looks at the signature
    def make_and_keep(*args: Any, **kwargs: Any) -> Policy:
        policies.append(make(*args, **kwargs))
        return policies[0]

    runs = simulate(
        make_and_keep, lambda _: replay, seeds=[seed], workers=1, rounds=rounds, **params
    )
    return runs[0], policies[0]


def _canonical_json(params: Mapping[str, Any]) -> str:
    return json.dumps(dict(params), sort_keys=True)


@cache
def run_digest(policy: str, environment: str, source: str | None = None) -> str:
    """Return the hash of the code that the runs of a policy in an environment can use.

    Code that belongs to other policies and other environments does not count.
    """
    modules = run_modules(policy, environment, source)
    files = [Path(__file__), Path(inspect.getfile(simulate)), Path(inspect.getfile(takes_rounds))]
    parts = [digest_of(modules).encode(), inspect.getsource(make_policy).encode()]
    parts += [file.read_bytes() for file in files]
    return hashlib.sha256(b"".join([*parts, (source or "").encode()])).hexdigest()


def run_modules(policy: str, environment: str, source: str | None = None) -> list[str]:
    """Return the names of the modules that runs depend on, with everything that these import."""
    own = modules_of(maker_of(policy, source)) | imported_modules(source or "")
    return sorted({*_OWN_MODULES, *own, environment_named(environment).__module__})


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on, besides Thrifty's own code."""
    return {
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
