"""The paper's experiments as a whole: which ones to run, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from thrifty.experiments.claims import Claim, check_claims
from thrifty.experiments.results import Results, read_results
from thrifty.experiments.single_runs import first_environment
from thrifty.experiments.spec import Experiment, catalogue
from thrifty.experiments.tuning import (
    TunedParameters,
    best_parameters,
    tuned_experiment,
    tuned_id,
)

EVALUATIONS = ("nursery/published", "nursery/shuffled", "nursery/window")
GRIDS = ("nursery/tuning", "nursery/tuning-stationary")
THEORY = ("theory/stationary", "theory/changes")
MAX_HORIZON = 32_000
"""Longest horizon of the theory experiments here; `thrifty theory` runs longer ones."""

RunAll = Callable[[Sequence[Experiment]], list[Results]]


@dataclass(frozen=True)
class Reproduction:
    """Results of the paper's experiments, and of the parameters that the grids choose."""

    published: Results
    shuffled: Results
    windows: Results
    grids: tuple[Results, ...]
    theory: tuple[Results, ...]
    tuned: Results

    @classmethod
    def read(cls, out: Path) -> Reproduction:
        """Read the results that `reproduce` wrote to the folder `out`."""
        published, shuffled, windows = (read_results(out / name) for name in EVALUATIONS)
        return cls(
            published,
            shuffled,
            windows,
            tuple(read_results(out / name) for name in GRIDS),
            tuple(read_results(out / name) for name in THEORY),
            read_results(out / tuned_id(EVALUATIONS[0])),
        )

    @cached_property
    def tuned_parameters(self) -> list[TunedParameters]:
        """Parameters that the grids choose."""
        return best_parameters(self.grids)

    @cached_property
    def claims(self) -> list[Claim]:
        """Claims of the paper with their verdicts."""
        replay = first_environment(self.published.experiment)
        changes = sorted({*replay.reward_changes, *replay.cost_changes})
        return check_claims(self.published, self.windows, changes)

    @property
    def all(self) -> tuple[Results, ...]:
        """All results, in the order of a report."""
        return (self.published, self.shuffled, self.windows, *self.grids, self.tuned, *self.theory)


def reproduce(run_all: RunAll, seeds: Sequence[int] | None = None) -> Reproduction:
    """Run everything with `run_all`, with other seeds if they are given.

    Grids and theory use at most as many seeds as they have in the catalogue, because they are slow.
    """
    known = catalogue()
    evaluations = [
        replace(known[name], seeds=tuple(seeds or known[name].seeds)) for name in EVALUATIONS
    ]
    grids = [_with_few_seeds(known[name], seeds) for name in GRIDS]
    theory = [up_to(MAX_HORIZON, _with_few_seeds(known[name], seeds)) for name in THEORY]
    results = run_all([*evaluations, *grids, *theory])
    published, shuffled, windows = results[:3]
    grid_results = tuple(results[3 : 3 + len(grids)])
    tuned = tuned_experiment(best_parameters(grid_results), published.experiment)
    return Reproduction(
        published,
        shuffled,
        windows,
        grid_results,
        tuple(results[3 + len(grids) :]),
        run_all([tuned])[0],
    )


def up_to(longest: int, experiment: Experiment) -> Experiment:
    """Return the experiment without the horizons that are longer."""
    return replace(experiment, horizons=tuple(t for t in experiment.horizons if t <= longest))


def _with_few_seeds(experiment: Experiment, seeds: Sequence[int] | None) -> Experiment:
    own = experiment.seeds
    return replace(experiment, seeds=tuple(seeds or own)[: len(own)])
