"""Run experiments from the command line: seeds, executors, progress and interrupts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import typer

from thrifty.commands.output import progress_bar
from thrifty.experiments.executors import Executor, make_executor
from thrifty.experiments.results import Results
from thrifty.experiments.runner import RunCache, run_all
from thrifty.experiments.single_runs import single_runs
from thrifty.experiments.spec import Experiment, for_choosing, parse_seeds
from thrifty.experiments.until_clear import PairDecisions, run_until_clear

_COMPILING = "compiling (only the first time)"


class Session(NamedTuple):
    """Cache of runs, executor for runs, and executor for figures, which is always local."""

    cache: RunCache
    runs: Executor
    figures: Executor


def with_seeds(experiment: Experiment, seeds: str | None, *, choosing: bool = False) -> Experiment:
    """Return the experiment with these seeds, or with the seeds for choosing constants."""
    given = None if seeds is None else parse_seeds(seeds)
    if choosing:
        return for_choosing(experiment, given)
    return experiment if given is None else replace(experiment, seeds=given)


def run_with_progress(experiments: Sequence[Experiment], session: Session) -> list[Results]:
    """Run experiments and show a progress bar."""
    runs = {run for experiment in experiments for run in single_runs(experiment).values()}
    with progress_bar("runs", len(runs), at_first=_COMPILING) as advance:
        return run_all(experiments, session.cache, executor=session.runs, progress=advance)


def run_in_groups(
    experiments: Sequence[Experiment], session: Session
) -> tuple[list[Results], PairDecisions]:
    """Run experiments group by group of seeds until it is clear which policies are better."""
    runs = {run for experiment in experiments for run in single_runs(experiment).values()}
    with progress_bar("runs at most", len(runs), at_first=_COMPILING) as advance:
        return run_until_clear(experiments, session.cache, executor=session.runs, progress=advance)


@contextmanager
def open_session(
    workers: int | None, out: Path, *, fresh: bool, cluster: str | None = None
) -> Iterator[Session]:
    """Open the cache and the executors; after an interrupt, print where finished runs are."""
    try:
        with ExitStack() as stack:
            local = stack.enter_context(make_executor(workers))
            remote = None if cluster is None else stack.enter_context(make_executor(None, cluster))
            yield Session(RunCache(out, fresh=fresh), remote or local, local)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Finished runs are kept in {out}: run again to continue.", err=True)
        raise typer.Exit(130) from None
