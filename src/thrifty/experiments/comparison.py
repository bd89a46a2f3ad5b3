"""Comparisons: policies within one experiment, and across several experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.experiments.measures import (
    Difference,
    Summary,
    difference,
    holm,
    regret_summaries,
    summaries,
)
from thrifty.experiments.results import Results, with_strings
from thrifty.experiments.spec import Entry, Experiment


@dataclass(frozen=True)
class GainComparison:
    """Paired differences in gain between one policy and all others of an experiment."""

    reference: Summary
    others: tuple[Summary, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class LeaderComparison:
    """Regret of the leading policy minus that of the best other one, in one experiment.

    `p_holm` is the p-value corrected for the number of experiments.
    """

    difference: Difference
    p_holm: float


def compare_gains(results: Sequence[Results], against: str | None = None) -> GainComparison:
    """Compare all policies with the one labelled `against`, by default the best but the oracle."""
    combined = combine(results)
    rows = {row.policy: row for row in summaries(combined)}
    reference = against or _best_policy(combined, rows)
    if reference not in rows:
        raise UnknownName(
            f"no policy has the label {reference!r} in these results: use one of {', '.join(rows)}."
        )
    others = tuple(row for row in rows.values() if row.policy != reference)
    return GainComparison(
        reference=rows[reference],
        others=others,
        differences=tuple(difference(combined.table, row.policy, reference) for row in others),
    )


def _best_policy(results: Results, rows: Mapping[str, Summary]) -> str:
    rivals = [label for label in rows if label not in results.experiment.oracle_labels]
    if not rivals:
        raise InvalidTable(
            "these results have no policy except the oracle, so there is nothing to compare: add a "
            "policy to the experiment and run it again."
        )
    return max(rivals, key=lambda label: rows[label].gain)


def combine(results: Sequence[Results]) -> Results:
    """Return the results as one; runs that several of them have are kept once."""
    entries = _common_entries([result.experiment for result in results])
    table = pl.concat(with_strings(result.table) for result in results).unique(
        ["policy", "seed", "horizon", "measure", "key", "round"], maintain_order=True
    )
    return Results(replace(results[0].experiment, entries=entries), table)


def _common_entries(experiments: Sequence[Experiment]) -> tuple[Entry, ...]:
    """Return the policies of all experiments, or raise an error if pairing would be wrong."""
    first, entries = experiments[0], dict[str, Entry]()
    for experiment in experiments:
        if _environment(experiment) != _environment(first):
            raise InvalidTable(
                f"{first.id} and {experiment.id} have different environments, so the same seed "
                "does not give the same rounds: compare folders with the same environment."
            )
        for entry in experiment.entries:
            other = entries.setdefault(entry.label, entry)
            if _contents(entry) != _contents(other):
                raise InvalidTable(
                    f"{entry.label!r} of {experiment.id} has other parameters than the policy with "
                    "the same label in another folder: give it a different label, and run it again."
                )
    return tuple(entries.values())


def _contents(entry: Entry) -> tuple[str, Mapping[str, object], str]:
    return entry.policy, entry.params, entry.features


def _environment(experiment: Experiment) -> tuple[str, Mapping[str, object]]:
    return experiment.environment, experiment.environment_params


def require_single_regret(experiments: Sequence[Experiment]) -> None:
    """Raise an error for experiments that do not have one regret for each policy."""
    unfit = [
        experiment.id
        for experiment in experiments
        if experiment.is_grid or len(experiment.horizons) > 1
    ]
    if unfit:
        ids = ", ".join(experiment.id for experiment in experiments)
        raise InvalidSpec(
            f"{', '.join(unfit)}: a grid or several horizons do not fit into one table of regrets, "
            f"so this folder cannot be run at once. Run one experiment by its id: {ids}."
        )


def find_leader(results: Sequence[Results]) -> str | None:
    """Return the policy with the lowest mean regret, among those in every experiment."""
    regrets = [mean_regrets(result) for result in results]
    everywhere = set.intersection(*(set(row) for row in regrets))
    return min(
        everywhere, key=lambda label: (sum(row[label] for row in regrets), label), default=None
    )


def mean_regrets(results: Results) -> dict[str, float]:
    """Return the mean regret by label, for all policies but the oracle."""
    oracles = results.experiment.oracle_labels
    return {
        row.policy: row.regret for row in regret_summaries(results) if row.policy not in oracles
    }


def compare_leader(results: Sequence[Results]) -> dict[str, LeaderComparison]:
    """Compare the leader with the best other policy of every experiment, by id.

    Differences are in total regret, paired by seed: negative where the leader is better. The other
    policy is chosen on the same seeds, which can only make the leader look worse.
    """
    leader = find_leader(results)
    pairs = {}
    for result in results:
        others = {
            label: regret for label, regret in mean_regrets(result).items() if label != leader
        }
        if leader is not None and others:
            second = min(others, key=lambda label: others[label])
            measure = f"{result.experiment.regret}_regret"
            pairs[result.experiment.id] = difference(result.table, leader, second, measure=measure)
    corrected = holm([pair.p_value for pair in pairs.values()])
    return {
        name: LeaderComparison(pair, p_holm)
        for (name, pair), p_holm in zip(pairs.items(), corrected, strict=True)
    }


def has_usual_length(results: Sequence[Results]) -> NDArray[np.bool_]:
    """Return True for experiments with the most common number of rounds.

    Total regrets of longer or shorter experiments do not belong in one mean.
    """
    rounds = np.array([result.table["horizon"].max() for result in results])
    lengths, counts = np.unique(rounds, return_counts=True)
    usual: NDArray[np.bool_] = rounds == lengths[counts.argmax()]
    return usual
