"""The benchmark of priced tables, by the protocol of Turney (JAIR 2, 1995).

Each table is divided at random into 2/3 to learn from and 1/3 to test, ten times. An error costs k
and a right answer nothing, for seven values of k. The figure of a method is the mean cost of a test
case, purchases and errors, as a percentage of the standard cost T + (1 - f) k: T is the price of
everything, with every setup fee paid once, and f the share of the most frequent class.

=============  =======  ===========================================================
`table`        String   name of the table
`split`        Int64    number of the division into cases to learn from and to test
`error_cost`   Float64  k, in money
`method`       String   label of the method
`percent`      Float64  mean cost as a percentage of the standard cost
`cost`         Float64  mean cost of a test case, in money
`spend`        Float64  the part of it that was paid for looks
`error_share`  Float64  share of the test cases with a wrong answer
`seconds`      Float64  time to learn and to decide, with all labels of its method
=============  =======  ===========================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from thrifty.errors import InvalidTable
from thrifty.experiments.executors import Executor
from thrifty.experiments.priced_methods import FittedMethod, MethodSource
from thrifty.experiments.priced_tables import PricedTable, read_priced_table
from thrifty.experiments.runner import CACHE_FOLDER
from thrifty.files import atomic_write
from thrifty.plans.cases import Integers, PastCases

ERROR_COSTS = (10.0, 50.0, 100.0, 500.0, 1_000.0, 5_000.0, 10_000.0)
SPLITS = tuple(range(10))
LEARNING_SHARE = 2 / 3
SCHEMA_VERSION = 1
SCHEMA = {
    "table": pl.String,
    "split": pl.Int64,
    "error_cost": pl.Float64,
    "method": pl.String,
    "percent": pl.Float64,
    "cost": pl.Float64,
    "spend": pl.Float64,
    "error_share": pl.Float64,
    "seconds": pl.Float64,
}

Row = dict[str, Any]
"""One row of the table of results."""


@dataclass(frozen=True)
class Trial:
    """One method on one split of one table, for some error costs.

    Parameters
    ----------
    folder : Path
        Folder with the tables.
    table : str
        Name of the table.
    split : int
        Number of the division into cases to learn from and to test.
    method : MethodSource
        The method.
    error_costs : tuple of float
        Costs of an error, in money.
    """

    folder: Path
    table: str
    split: int
    method: MethodSource
    error_costs: tuple[float, ...]

    def compute(self) -> list[list[Row]]:
        """Return the rows of each error cost."""
        table = _table(self.folder, self.table)
        learning, test, seed = divide(table, self.split)
        method = self.method.load()()
        rows = []
        for error_cost in self.error_costs:
            cases = table.with_error_cost(error_cost)
            start = perf_counter()
            deciders = method.fit(cases.subset(learning), seed)
            scores = {label: score(deciders[label], cases.subset(test)) for label in method.labels}
            shared: Row = {
                "table": self.table,
                "split": self.split,
                "error_cost": error_cost,
                "seconds": perf_counter() - start,
            }
            percent = 100 / table.standard_cost(error_cost)
            rows.append(
                [
                    {**shared, "method": label, **found, "percent": percent * found["cost"]}
                    for label, found in scores.items()
                ]
            )
        return rows


def divide(table: PricedTable, split: int) -> tuple[Integers, Integers, int]:
    """Return the rows to learn from, the rows to test, and the seed of methods."""
    drawn, methods = np.random.SeedSequence([split, crc32(table.name.encode())]).spawn(2)
    order = np.random.default_rng(drawn).permutation(table.cases.n_cases)
    count = round(LEARNING_SHARE * len(order))
    return np.sort(order[:count]), np.sort(order[count:]), int(methods.generate_state(1)[0] >> 1)


def score(decider: FittedMethod, cases: PastCases) -> dict[str, float]:
    """Return the mean cost, the mean spend and the share of errors of a method on test cases."""
    decisions = decider.decide(cases.codes)
    rewards = cases.rewards[decisions.actions, cases.outcomes]
    spend = decisions.costs(cases)
    return {
        "cost": float((spend - rewards).mean()),
        "spend": float(spend.mean()),
        "error_share": float((rewards < 0).mean()),
    }


@lru_cache(maxsize=2)
def _table(folder: Path, name: str) -> PricedTable:
    return read_priced_table(folder, name)


class TrialCache:
    """Folder of finished trials, with one JSON file per table, split, method and error cost.

    With `fresh`, files from before are ignored until they have been computed again.
    """

    def __init__(self, out: Path, *, fresh: bool = False) -> None:
        self.folder = out / CACHE_FOLDER
        self._added: set[Path] | None = set() if fresh else None

    def __contains__(self, trial: Trial) -> bool:
        # Work that error costs share may depend on all of them, so a trial is computed as a whole.
        return all(self._has(self._path(trial, cost)) for cost in trial.error_costs)

    def add(self, trial: Trial, rows: Sequence[Sequence[Row]]) -> None:
        """Write the rows of a trial, one file for each error cost."""
        for error_cost, part in zip(trial.error_costs, rows, strict=True):
            path = self._path(trial, error_cost)
            with atomic_write(path, make_folder=True, sync=False) as draft:
                draft.write_text(json.dumps(part), encoding="utf-8")
            if self._added is not None:
                self._added.add(path)

    def rows(self, trial: Trial) -> list[Row]:
        """Return all rows of a trial."""
        return [row for cost in trial.error_costs for row in self._read(self._path(trial, cost))]

    def _read(self, path: Path) -> list[Row]:
        try:
            rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidTable(
                f"{path} is damaged ({error}): remove it, or run with --fresh."
            ) from error
        return rows

    def _has(self, path: Path) -> bool:
        return path.exists() if self._added is None else path in self._added

    def _path(self, trial: Trial, error_cost: float) -> Path:
        contents = [
            SCHEMA_VERSION,
            _table(trial.folder, trial.table).digest,
            trial.split,
            trial.method.name,
            _digest(trial.method),
            error_cost,
        ]
        key = hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]
        return self.folder / f"{key}.json"


@lru_cache(maxsize=64)
def _digest(method: MethodSource) -> str:
    return method.digest()


def all_trials(
    folder: Path,
    tables: Iterable[str],
    methods: Sequence[MethodSource],
    splits: Sequence[int] = SPLITS,
    error_costs: tuple[float, ...] = ERROR_COSTS,
) -> list[Trial]:
    """Return every trial of the benchmark: one per error cost, unless the method shares work.

    Splits come first, so that an unfinished run has all methods on the first splits.
    """
    trials = []
    for split, table, method in product(splits, tables, methods):
        shares = method.load().shares_error_costs
        parts = [error_costs] if shares else [(error_cost,) for error_cost in error_costs]
        trials += [Trial(folder, table, split, method, part) for part in parts]
    return trials


def run_priced(
    trials: Sequence[Trial],
    cache: TrialCache,
    *,
    executor: Executor,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Run the trials that are not in the cache, and return the table of all results.

    Parameters
    ----------
    trials : sequence of Trial
        What to run.
    cache : TrialCache
        Finished trials; each trial is added as soon as it is finished.
    executor : Executor
        Runs the trials.
    progress : callable, optional
        Called with the number of results (one per trial and error cost) that became available.

    Returns
    -------
    polars.DataFrame
        One row per table, split, error cost and label; see the head of this module.
    """
    report = progress or (lambda _: None)
    missing = [trial for trial in trials if trial not in cache]
    report(count_results(trials) - count_results(missing))
    for index, rows in executor.run([partial(Trial.compute, trial) for trial in missing]):
        cache.add(missing[index], rows)
        report(len(rows))
    found = [row for trial in trials for row in cache.rows(trial)]
    return pl.DataFrame(found, schema=SCHEMA)


def count_results(trials: Iterable[Trial]) -> int:
    """Return the number of results: one per trial and error cost."""
    return sum(len(trial.error_costs) for trial in trials)
