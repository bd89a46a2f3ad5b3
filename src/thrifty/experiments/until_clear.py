"""A sequential rule for the number of seeds: play until it is clear which policies are better.

Seeds are played in groups. After each group all pairs of policies that are still open are tested,
and pairs that differ clearly are closed. A policy plays on while it is in an open pair. The idea of
group-sequential permutation tests is that of T. Mathieu, R. Della Vecchia, A. Shilova, M. M.
Centa, H. Kohler, O.-A. Maillard and P. Preux, "AdaStop: adaptive statistical testing for sound
comparisons of deep RL agents", TMLR 2024. The test here uses that runs are paired.

The units are the differences in score between two policies, one for each world and seed. The
statistic of a pair is the sum of its differences divided by the root of the sum of their squares.
Its distribution without a difference is that under random signs. All pairs share the signs, and the
step-down procedure of P. H. Westfall and S. S. Young (1993) compares each statistic with the
largest one of the pairs that are left. With K groups each of them uses the level 5 % / K.

So the probability that any pair of equally good policies is closed is at most 5 %. For one pair
this is exact if the two policies' scores are exchangeable in every world; for several pairs, and
for policies that are equal on average only, it holds approximately. Tests check it by simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec
from thrifty.experiments.aggregates import Floats
from thrifty.experiments.executors import Executor
from thrifty.experiments.results import Results, write_results
from thrifty.experiments.runner import RunCache, compute_all
from thrifty.experiments.scores import Scores, run_scores, scores_table
from thrifty.experiments.single_runs import RunKey, SingleRun, single_runs
from thrifty.experiments.spec import Experiment

GROUP = 5
"""Number of seeds of a group."""
LEVEL = 0.05
"""Probability that some pair of equally good policies is closed."""
FLIPS = 10_000
"""Number of random signs of a unit."""


@dataclass(frozen=True)
class ClosedPair:
    """Two policies of which one is clearly better.

    Parameters
    ----------
    better : str
        Label of the policy with the higher mean score.
    worse : str
        Label of the other one.
    difference : float
        Difference of their mean scores over the runs that both played.
    seeds : int
        Number of seeds after which it was clear.
    """

    better: str
    worse: str
    difference: float
    seeds: int


@dataclass(frozen=True)
class PairDecisions:
    """What a sequential run has found.

    Parameters
    ----------
    closed : tuple of ClosedPair
        Pairs of which one policy is clearly better, in the order in which this was found.
    open : tuple of pairs of str
        Pairs that are not clear after all seeds.
    seeds : dict
        Number of seeds that each policy played, by label.
    """

    closed: tuple[ClosedPair, ...]
    open: tuple[tuple[str, str], ...]
    seeds: dict[str, int]


class SequentialTest:
    """Tests all pairs of policies after each group of seeds.

    Parameters
    ----------
    labels : iterable of str
        Labels of the policies.
    looks : int
        K, the number of groups that are planned.
    level : float
        Probability that some pair of equally good policies is closed.
    flips : int
        Number of random signs of a unit.

    Examples
    --------
    >>> test = SequentialTest(["good", "bad"], looks=1)
    >>> noise = np.random.default_rng(0).normal(size=(2, 1, 30))
    >>> closed = test.look(Scores(("good", "bad"), ("world",), noise + [[[2.0]], [[0.0]]]))
    >>> closed[0].better, test.open
    ('good', [])
    """

    def __init__(
        self, labels: Iterable[str], looks: int, *, level: float = LEVEL, flips: int = FLIPS
    ) -> None:
        self.open = [*combinations(labels, 2)]
        self.closed: list[ClosedPair] = []
        self._level = level / looks
        self._flips = flips
        self._rng = np.random.default_rng(0)

    @property
    def active(self) -> set[str]:
        """Labels of the policies that are in an open pair."""
        return {label for pair in self.open for label in pair}

    def look(self, scores: Scores) -> list[ClosedPair]:
        """Test the open pairs, and close those that differ clearly.

        Parameters
        ----------
        scores : Scores
            All scores so far.

        Returns
        -------
        list of ClosedPair
            Pairs that are closed now.
        """
        if not self.open:
            return []
        rows = [[scores.labels.index(label) for label in pair] for pair in self.open]
        first, second = (scores.values[list(side)] for side in zip(*rows, strict=True))
        differences = (first - second).reshape(len(rows), -1)  # (pairs, units)
        clear = step_down(np.nan_to_num(differences), self._level, self._rng, self._flips)
        found = [
            _closed(pair, own[~np.isnan(own)], scores.values.shape[-1])
            for pair, own, is_clear in zip(self.open, differences, clear, strict=True)
            if is_clear
        ]
        self.open = [pair for pair, is_clear in zip(self.open, clear, strict=True) if not is_clear]
        self.closed += found
        return found


def step_down(
    differences: Floats, level: float, rng: np.random.Generator, flips: int = FLIPS
) -> NDArray[np.bool_]:
    """Return the pairs whose mean difference is not 0, by the step-down procedure.

    Parameters
    ----------
    differences : array of float, shape (P, N)
        Differences of P pairs in N units; 0 where a pair has no difference.
    level : float
        Probability of any false one.
    rng : Generator
        Source of the random signs.
    flips : int
        Number of random signs of a unit.

    Returns
    -------
    array of bool, shape (P,)
        True for each pair that differs.

    Examples
    --------
    >>> units = np.array([[1.0, 2.0, 1.5, 1.0, 3.0, 2.0, 1.0, 1.2], [1.0, -1.0] * 4])
    >>> step_down(units, 0.05, np.random.default_rng(0)).tolist()
    [True, False]
    """
    norms = np.sqrt((differences**2).sum(axis=1, keepdims=True))
    units = np.divide(differences, norms, out=np.zeros_like(differences), where=norms > 0)
    found = np.abs(units.sum(axis=1))
    order = np.argsort(-found, kind="stable")
    signs = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(flips, units.shape[1]))
    flipped = np.abs(signs @ units[order].T.astype(np.float32))
    largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    tolerance = 1e-4  # sums that are equal may differ by rounding
    as_extreme = (largest >= found[order] - tolerance).sum(axis=0)
    p_values = np.maximum.accumulate((1 + as_extreme) / (1 + flips))
    clear = np.zeros(len(found), dtype=np.bool_)
    clear[order] = p_values <= level
    return clear


def run_until_clear(
    experiments: Sequence[Experiment],
    cache: RunCache,
    *,
    executor: Executor,
    group: int = GROUP,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Results], PairDecisions]:
    """Run experiments in groups of seeds, until all pairs of policies are clear or seeds end.

    Parameters
    ----------
    experiments : sequence of Experiment
        Experiments with the same seeds.
    cache : RunCache
        Finished runs.
    executor : Executor
        Runs the tasks.
    group : int
        Number of seeds of a group.
    progress : callable, optional
        Called with the number of runs that have become available.

    Returns
    -------
    tuple
        The results, in which policies may have different numbers of seeds, and what was found.

    Raises
    ------
    InvalidSpec
        If the experiments have different seeds.
    """
    seeds = _common_seeds(experiments)
    groups = [seeds[k : k + group] for k in range(0, len(seeds), group)]
    play = _Play(experiments, cache, executor, progress)
    test = SequentialTest(play.rivals, len(groups))
    for chosen in groups:
        test.look(play.play(chosen, test.active))
        if not test.open:
            break
    return play.results(), PairDecisions(tuple(test.closed), tuple(test.open), play.seeds)


class _Play:
    """Runs of experiments so far, and their scores."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        cache: RunCache,
        executor: Executor,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.experiments, self.cache = experiments, cache
        self._compute = partial(compute_all, cache=cache, executor=executor, progress=progress)
        entries = [entry for experiment in experiments for entry in experiment.entries]
        self.rivals = [*dict.fromkeys(entry.label for entry in entries if not entry.is_oracle)]
        self._oracles = {entry.label for entry in entries if entry.is_oracle}
        self.seeds = dict.fromkeys((entry.label for entry in entries), 0)
        self._runs: list[dict[RunKey, SingleRun]] = [{} for _ in experiments]
        self._rows: list[pl.DataFrame] = []

    def play(self, seeds: tuple[int, ...], active: set[str]) -> Scores:
        """Let these policies and the oracles play the seeds, and return all scores so far."""
        labels = active | self._oracles
        parts = [_part(experiment, seeds, labels) for experiment in self.experiments]
        runs = [single_runs(part) for part in parts]
        self._compute([run for one in runs for run in one.values()])
        pairs = zip(parts, runs, strict=True)
        self._rows.append(run_scores([Results(a, self.cache.table(b)) for a, b in pairs if b]))
        for mine, new in zip(self._runs, runs, strict=True):
            mine.update(new)
        self.seeds |= {label: self.seeds[label] + len(seeds) for label in labels}
        return scores_table(pl.concat(self._rows, how="diagonal"), self.rivals)

    def results(self) -> list[Results]:
        """Write and return the results of all runs so far."""
        played = max(self.seeds.values())
        found = [
            Results(replace(experiment, seeds=experiment.seeds[:played]), self.cache.table(runs))
            for experiment, runs in zip(self.experiments, self._runs, strict=True)
        ]
        for result in found:
            write_results(result, self.cache.out)
        return found


def _part(experiment: Experiment, seeds: tuple[int, ...], active: set[str]) -> Experiment:
    entries = tuple(entry for entry in experiment.entries if entry.label in active)
    return replace(experiment, seeds=seeds, entries=entries)


def _common_seeds(experiments: Sequence[Experiment]) -> tuple[int, ...]:
    seeds = {experiment.seeds for experiment in experiments}
    if len(seeds) > 1:
        raise InvalidSpec(
            "these experiments have different seeds, so they cannot be run in the same groups: "
            "give --seeds."
        )
    return seeds.pop()


def _closed(pair: tuple[str, str], differences: Floats, seeds: int) -> ClosedPair:
    mean = float(differences.mean())
    better, worse = pair if mean > 0 else pair[::-1]
    return ClosedPair(better, worse, abs(mean), seeds)
