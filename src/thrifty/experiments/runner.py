"""Run experiments in parallel, reuse finished runs, and resume after an interrupt.

Workers compute small batches of runs and return their tables. Each table is written to its own file
as soon as it arrives, so an interrupted experiment resumes where it stopped, and a worker that dies
costs only its batch. At the end the tables are joined in the order of the specification, so the
result does not depend on the order of computation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from itertools import groupby
from pathlib import Path

import polars as pl

from thrifty.errors import InvalidTable
from thrifty.experiments.executors import Executor, make_executor
from thrifty.experiments.makers import maker_of
from thrifty.experiments.results import Results, first_line, write_results
from thrifty.experiments.single_runs import SCHEMA, RunKey, SingleRun, single_runs
from thrifty.experiments.spec import Experiment
from thrifty.files import atomic_write

CACHE_FOLDER = "cells"
BATCH_SIZE = 16
SLOWEST_TO_COMPILE = "scout"


def run(
    experiment: Experiment,
    out: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Results:
    """Run an experiment, and write its table to OUT/ID/table.parquet.

    Runs that are already in OUT are not computed again.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    out : Path
        Folder for the results.
    workers : int, optional
        Number of worker processes; one per core by default.
    fresh : bool
        Compute every run again.
    progress : Callable[[int], None], optional
        Called with the number of runs that have become available.

    Returns
    -------
    Results
        The experiment and its table.

    Raises
    ------
    SaveError
        If a file cannot be written.
    InvalidTable
        If a file in OUT is damaged.
    """
    cache = RunCache(out, fresh=fresh)
    with make_executor(workers) as executor:
        return run_all([experiment], cache, executor=executor, progress=progress)[0]


def run_all(
    experiments: Sequence[Experiment],
    cache: RunCache,
    *,
    executor: Executor,
    progress: Callable[[int], None] | None = None,
) -> list[Results]:
    """Run several experiments with one executor; runs that they share are computed once."""
    runs = [run for experiment in experiments for run in single_runs(experiment).values()]
    compute_all(runs, cache, executor, progress)
    results = [
        Results(experiment, cache.table(single_runs(experiment))) for experiment in experiments
    ]
    for result in results:
        write_results(result, cache.out)
    return results


def compute_all(
    runs: Sequence[SingleRun],
    cache: RunCache,
    executor: Executor,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Compute the runs that are not in the cache, and add each to it as soon as it arrives."""
    distinct = dict.fromkeys(runs)
    missing = [run for run in distinct if run not in cache]
    report = progress or (lambda _: None)
    report(len(distinct) - len(missing))
    batches = _schedule(missing)
    for index, files in executor.run([partial(_compute, batch) for batch in batches]):
        for single_run, content in zip(batches[index], files, strict=True):
            cache.add(single_run, content)
        report(len(batches[index]))


class RunCache:
    """Folder of finished runs, with one file for each.

    With `fresh`, files from before are ignored until they have been computed again.
    """

    def __init__(self, out: Path, *, fresh: bool = False) -> None:
        self.out = out
        self.folder = out / CACHE_FOLDER
        self._added: set[SingleRun] | None = set() if fresh else None

    def __contains__(self, run: SingleRun) -> bool:
        return self.path(run).exists() if self._added is None else run in self._added

    def add(self, run: SingleRun, content: bytes) -> None:
        """Write the table of a run, given as the content of a Parquet file."""
        with atomic_write(self.path(run), make_folder=True, sync=False) as draft:
            draft.write_bytes(content)
        if self._added is not None:
            self._added.add(run)

    def table(self, runs: dict[RunKey, SingleRun]) -> pl.DataFrame:
        """Return the tables of all runs in this order, with the policy's label and the seed."""
        paths = [str(self.path(run)) for run in runs.values()]
        try:
            rows = pl.read_parquet(
                list(dict.fromkeys(paths)), schema=SCHEMA, include_file_paths="path"
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InvalidTable(
                f"a file in {self.folder} is damaged ({first_line(error)}): remove it, or run with "
                "--fresh."
            ) from error
        places = pl.DataFrame(
            [(path, label, seed) for path, (label, _, seed) in zip(paths, runs, strict=True)],
            schema={"path": pl.String, "policy": pl.String, "seed": pl.Int64},
            orient="row",
        )
        joined = places.join(rows, on="path", maintain_order="left_right")
        return joined.select("policy", "seed", *SCHEMA)

    def path(self, run: SingleRun) -> Path:
        """Return the path of a run's table."""
        return self.folder / f"{run.key}.parquet"


def _schedule(runs: list[SingleRun]) -> list[list[SingleRun]]:
    """Return the runs in batches, ordered so that workers compile different policies.

    One run of every policy comes first, as a batch of its own: without a cache on disk every batch
    would compile all policies, in all workers at once. The policy that compiles longest is first,
    and the batches that need it are last, so that the other workers do not wait for it.
    """
    pilots: dict[object, SingleRun] = {}
    for run in sorted(runs, key=_compiles_fast):
        pilots.setdefault(_compiled_class(run), run)
    first = {*pilots.values()}
    batches = _batches([run for run in runs if run not in first])
    batches.sort(key=lambda batch: not all(map(_compiles_fast, batch)))
    return [[run] for run in pilots.values()] + batches


def _compiles_fast(run: SingleRun) -> bool:
    return run.policy != SLOWEST_TO_COMPILE


def _compiled_class(run: SingleRun) -> object:
    """Return the class of a run's policy; its variants share their compiled code."""
    make = maker_of(run.policy, run.source)
    return getattr(make, "__self__", make)


def _batches(runs: list[SingleRun]) -> list[list[SingleRun]]:
    """Return the runs in batches that share an environment, so that it is made once."""
    by_environment = groupby(
        runs, key=lambda run: (run.environment, run.environment_params, run.seed)
    )
    groups = [list(group) for _, group in by_environment]
    return [group[k : k + BATCH_SIZE] for group in groups for k in range(0, len(group), BATCH_SIZE)]


def _compute(runs: Sequence[SingleRun]) -> list[bytes]:
    """Return the tables of the runs, each as the content of a Parquet file."""
    return [_to_parquet(run.compute()) for run in runs]


def _to_parquet(table: pl.DataFrame) -> bytes:
    file = BytesIO()
    table.write_parquet(file)
    return file.getvalue()
