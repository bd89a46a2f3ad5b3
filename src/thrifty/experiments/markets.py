"""The benchmark of markets: strategies play families of markets whose best gain is known exactly.

The figure of a strategy is the share of the way from the best constant action (0) to the best
stepwise plan (1). In a family with nothing to gain it is the loss as a share of the headroom, which
is perfect foresight minus the best constant action; it is at most 0 on average. Gains count the
expected reward of an action given all values of the case, so the luck of outcomes does not count.

===========  =======  ==================================================================
`family`     String   name of the family
`seed`       Int64    seed of the market and of its cases
`strategy`   String   label of the strategy
`share`      Float64  see above
`late`       Float64  the same over the last quarter of the cases
`gain`       Float64  expected gain of a case, in money
`realised`   Float64  gain of a case with the outcomes that were drawn, in money
`spend`      Float64  the part of it that was paid for features
`constant`   Float64  exact gain of the best constant action
`free`       Float64  exact gain of acting on the free values only
`fixed`      Float64  exact gain of the best fixed set
`stepwise`   Float64  exact gain of the best stepwise plan
`foresight`  Float64  exact gain with perfect foresight
`seconds`    Float64  time to play
`settings`   String   policy, parameters and number of past cases, as JSON
`thrifty`..  String   versions of Thrifty, numpy, numba and Python
`digest`     String   hash of the trial's contents and of the code that computed it
===========  =======  ==================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from thrifty._version import __version__
from thrifty.environments.market import ROUNDS, Market, MarketDecisions
from thrifty.environments.markets import FAMILIES
from thrifty.errors import InvalidTable, UnknownName
from thrifty.experiments.executors import Executor
from thrifty.experiments.market_strategies import STRATEGIES, MarketStrategy
from thrifty.experiments.runner import CACHE_FOLDER
from thrifty.experiments.single_runs import versions
from thrifty.experiments.sources import digest_of
from thrifty.files import atomic_write

CHOOSING_SEEDS = tuple(range(100, 120))
"""Seeds for choosing the constants of a policy."""
REPORTING_SEEDS = tuple(range(200, 240))
"""Seeds that are reported. No constant may be chosen on them."""
LATE = 0.25
"""Share of the cases, the last ones, that `late` is about."""
SCHEMA_VERSION = 1
SCHEMA = {
    "family": pl.String,
    "seed": pl.Int64,
    "strategy": pl.String,
    "share": pl.Float64,
    "late": pl.Float64,
    "gain": pl.Float64,
    "realised": pl.Float64,
    "spend": pl.Float64,
    "constant": pl.Float64,
    "free": pl.Float64,
    "fixed": pl.Float64,
    "stepwise": pl.Float64,
    "foresight": pl.Float64,
    "seconds": pl.Float64,
}

Row = dict[str, Any]
"""One row of the table of results."""


@dataclass(frozen=True)
class MarketTrial:
    """One strategy in the market of one family and seed.

    Parameters
    ----------
    family : str
        Name of the family.
    seed : int
        Seed of the market and of its cases.
    strategy : MarketStrategy
        The strategy.
    rounds : int
        Number of cases.
    """

    family: str
    seed: int
    strategy: MarketStrategy
    rounds: int = ROUNDS

    @property
    def key(self) -> str:
        """Hash of the trial's contents, and of the code that computes it."""
        contents = [
            SCHEMA_VERSION,
            self.family,
            self.seed,
            self.strategy.label,
            self.strategy.settings,
            self.rounds,
            _digest(self.strategy.modules),
        ]
        text = json.dumps(contents, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def compute(self) -> Row:
        """Play the cases, and return the row."""
        market = _market(self.family, self.seed, self.rounds)
        start = perf_counter()
        decisions = self.strategy.decide(market, self.seed)
        seconds = perf_counter() - start
        return {
            "family": self.family,
            "seed": self.seed,
            "strategy": self.strategy.label,
            **score(market, self.seed, decisions),
            **asdict(market.truth),
            "seconds": seconds,
        }


def score(market: Market, seed: int, decisions: MarketDecisions) -> dict[str, float]:
    """Return how well a strategy decided in the cases of a seed.

    Parameters
    ----------
    market : Market
        The market.
    seed : int
        Seed of the cases.
    decisions : MarketDecisions
        What the strategy did.

    Returns
    -------
    dict
        `share`, `late`, `gain`, `realised` and `spend`, as in the table of results.
    """
    rows = np.arange(market.horizon)
    expected = market.expected_rewards(seed)
    gains = expected[rows, decisions.actions] - decisions.costs
    advantages = gains - expected[rows, market.best_constants()]
    start = market.horizon - max(1, round(LATE * market.horizon))
    cases = market.stream(seed)
    drawn = cases.rewards[decisions.actions, cases.outcomes]
    return {
        "share": market.truth.share(float(advantages.mean())),
        "late": market.truth_from(start).share(float(advantages[start:].mean())),
        "gain": float(gains.mean()),
        "realised": float((drawn - decisions.costs).mean()),
        "spend": float(decisions.costs.mean()),
    }


@lru_cache(maxsize=4)
def _market(family: str, seed: int, rounds: int) -> Market:
    return FAMILIES[family](seed, rounds=rounds)


@cache
def _digest(modules: tuple[str, ...]) -> str:
    own = ("thrifty.environments.markets", "thrifty.environments.market", "thrifty.playing")
    return digest_of([*own, *modules])


class MarketCache:
    """Folder of finished trials, with one JSON file for each.

    With `fresh`, files from before are ignored until they have been computed again.
    """

    def __init__(self, out: Path, *, fresh: bool = False) -> None:
        self.folder = out / CACHE_FOLDER
        self._added: set[Path] | None = set() if fresh else None

    def __contains__(self, trial: MarketTrial) -> bool:
        path = self._path(trial)
        return path.exists() if self._added is None else path in self._added

    def add(self, trial: MarketTrial, row: Row) -> None:
        """Write the row of a trial."""
        path = self._path(trial)
        with atomic_write(path, make_folder=True, sync=False) as draft:
            draft.write_text(json.dumps(row), encoding="utf-8")
        if self._added is not None:
            self._added.add(path)

    def row(self, trial: MarketTrial) -> Row:
        """Return the row of a trial."""
        path = self._path(trial)
        try:
            row: Row = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidTable(
                f"{path} is damaged ({error}): remove it, or run with --fresh."
            ) from error
        return row

    def _path(self, trial: MarketTrial) -> Path:
        return self.folder / f"{trial.key}.json"


def all_trials(
    families: Iterable[str] = tuple(FAMILIES),
    strategies: Sequence[MarketStrategy] = STRATEGIES,
    seeds: Sequence[int] = REPORTING_SEEDS,
    *,
    rounds: int = ROUNDS,
) -> list[MarketTrial]:
    """Return every trial of the benchmark.

    Seeds come first, so that an unfinished run has all families and strategies of the first seeds.

    Parameters
    ----------
    families : iterable of str
        Names of families.
    strategies : sequence of MarketStrategy
        The strategies.
    seeds : sequence of int
        The seeds.
    rounds : int
        Number of cases of each market.

    Returns
    -------
    list of MarketTrial
        The trials.

    Raises
    ------
    UnknownName
        If there is no such family.
    """
    chosen = tuple(families)
    for name in chosen:
        if name not in FAMILIES:
            raise UnknownName(
                f"there is no family of markets {name!r}: use one of {', '.join(FAMILIES)}."
            )
    return [
        MarketTrial(family, seed, strategy, rounds)
        for seed, family, strategy in product(seeds, chosen, strategies)
    ]


def run_markets(
    trials: Sequence[MarketTrial],
    cache: MarketCache,
    *,
    executor: Executor,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Run the trials that are not in the cache, and return the table of all results.

    Parameters
    ----------
    trials : sequence of MarketTrial
        What to run.
    cache : MarketCache
        Finished trials; each trial is added as soon as it is finished.
    executor : Executor
        Runs the trials.
    progress : callable, optional
        Called with the number of results that became available.

    Returns
    -------
    polars.DataFrame
        One row per trial; see the head of this module.
    """
    report = progress or (lambda _: None)
    missing = [trial for trial in trials if trial not in cache]
    report(len(trials) - len(missing))
    for index, row in executor.run([partial(MarketTrial.compute, trial) for trial in missing]):
        cache.add(missing[index], row)
        report(1)
    table = pl.DataFrame([cache.row(trial) for trial in trials], schema=SCHEMA)
    settings = [json.dumps(trial.strategy.settings, sort_keys=True) for trial in trials]
    own = {"thrifty": __version__, **versions()}
    return table.with_columns(
        pl.Series("settings", settings, dtype=pl.String),
        *(pl.lit(version).alias(name) for name, version in own.items()),
        pl.Series("digest", [trial.key for trial in trials], dtype=pl.String),
    )
