"""The paper as a whole: which experiments it takes, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from thrifty.experiments.cells import world_of
from thrifty.experiments.claims import Claim, claims
from thrifty.experiments.results import Results, read_results
from thrifty.experiments.spec import Experiment, catalogue
from thrifty.experiments.tuning import Choice, choices, evaluation, judged_id

EVALUATED = ("nursery/published", "nursery/shuffled", "nursery/window")
GRIDS = ("nursery/tuning", "nursery/tuning-stationary")
THEORY = ("theory/stationary", "theory/changes")
LONGEST = 32_000
"""The theory's longest runs here; `thrifty theory` goes on."""

RunAll = Callable[[Sequence[Experiment]], list[Results]]


@dataclass(frozen=True)
class Reproduction:
    """The results of the paper's experiments, and of the parameters that the grids choose."""

    published: Results
    shuffled: Results
    windows: Results
    grids: tuple[Results, ...]
    theory: tuple[Results, ...]
    judged: Results

    @classmethod
    def read(cls, out: Path) -> Reproduction:
        """Read what `reproduce` left below `out`."""
        published, shuffled, windows = (read_results(out / name) for name in EVALUATED)
        return cls(
            published,
            shuffled,
            windows,
            tuple(read_results(out / name) for name in GRIDS),
            tuple(read_results(out / name) for name in THEORY),
            read_results(out / judged_id(EVALUATED[0])),
        )

    @cached_property
    def chosen(self) -> list[Choice]:
        """The parameters that the grids choose."""
        return choices(self.grids)

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's claims, measured."""
        replay = world_of(self.published.experiment)
        cuts = sorted({*replay.reward_changes, *replay.cost_changes})
        return claims(self.published.table, self.windows.table, cuts)

    @property
    def all(self) -> tuple[Results, ...]:
        """All results, in the order of a report."""
        return (self.published, self.shuffled, self.windows, *self.grids, self.judged, *self.theory)


def reproduce(run_all: RunAll, seeds: Sequence[int] | None = None) -> Reproduction:
    """Run everything by `run_all`, with other seeds if there are any.

    Grids and theory play no more seeds than their own number, which is small on purpose.
    """
    known = catalogue()
    evaluated = [
        replace(known[name], seeds=tuple(seeds or known[name].seeds)) for name in EVALUATED
    ]
    grids = [_few(known[name], seeds) for name in GRIDS]
    theory = [up_to(LONGEST, _few(known[name], seeds)) for name in THEORY]
    results = run_all([*evaluated, *grids, *theory])
    published, shuffled, windows = results[:3]
    done = tuple(results[3 : 3 + len(grids)])
    judged = evaluation(choices(done), published.experiment)
    return Reproduction(
        published, shuffled, windows, done, tuple(results[3 + len(grids) :]), run_all([judged])[0]
    )


def up_to(longest: int, experiment: Experiment) -> Experiment:
    """Return the experiment without horizons that are longer."""
    return replace(experiment, horizons=tuple(t for t in experiment.horizons if t <= longest))


def _few(experiment: Experiment, seeds: Sequence[int] | None) -> Experiment:
    own = experiment.seeds
    return replace(experiment, seeds=tuple(seeds or own)[: len(own)])
