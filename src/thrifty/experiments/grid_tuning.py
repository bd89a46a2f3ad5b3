"""Choose the parameters of every policy of a benchmark: one set for all worlds.

Policies declare what to try (`Policy.grid`). All combinations play the seeds that the worlds
reserve for choosing, and the one with the highest interquartile mean of scores is chosen.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.experiments.aggregates import BootstrapEstimate, draws, estimate, interquartile_mean
from thrifty.experiments.makers import maker_of
from thrifty.experiments.results import Results
from thrifty.experiments.scores import Scores, scores_of
from thrifty.experiments.spec import ALL, Entry, Experiment, for_choosing
from thrifty.policies.registry import parameter_names

FOLDER = "tuning"
"""Folder of the results of tuning, below the folder of all results."""
SEEDS = 5
"""Number of the reserved seeds that are used by default, from the first one on."""


@dataclass(frozen=True)
class GridChoice:
    """The chosen parameters of a policy.

    Parameters
    ----------
    entry : Entry
        The policy with its own parameters.
    chosen : mapping
        Best values of the parameters of the grid.
    score : BootstrapEstimate
        Interquartile mean of the scores with them.
    own_score : float or None
        The same with the entry's own parameters, if the grid has them.
    runner_up : float or None
        The same with the second best combination, if there are several.
    candidates : int
        Number of combinations.
    worlds : int
        Number of worlds that the policy plays.
    """

    entry: Entry
    chosen: Mapping[str, Any]
    score: BootstrapEstimate
    own_score: float | None
    runner_up: float | None
    candidates: int
    worlds: int


def grid_of(entry: Entry) -> dict[str, tuple[Any, ...]]:
    """Return the values that tuning tries for a policy, by parameter.

    Parameters
    ----------
    entry : Entry
        The policy.

    Returns
    -------
    dict
        Its declared grid, without parameters that it does not take; empty if there is nothing to
        tune.

    Examples
    --------
    >>> grid_of(Entry("mine", "epsilon-greedy"))
    {'epsilon': (0.01, 0.03, 0.1, 0.2)}
    """
    make: Any = maker_of(entry.policy)
    declared = getattr(getattr(make, "__self__", make), "grid", {})
    names = parameter_names(make)
    return {name: tuple(values) for name, values in declared.items() if name in names}


def tuning_experiments(
    experiments: Sequence[Experiment], seeds: tuple[int, ...] | None = None
) -> list[Experiment]:
    """Return the experiments with every combination of the grids, on the seeds for choosing.

    Parameters
    ----------
    experiments : sequence of Experiment
        Experiments of one folder.
    seeds : tuple of int, optional
        Seeds, among those that are reserved for choosing; the first five by default.

    Returns
    -------
    list of Experiment
        Experiments whose ids begin with "tuning/". Experiments without a policy to tune are left
        out.

    Raises
    ------
    InvalidSpec
        If no policy has a grid, or an experiment does not reserve the seeds.
    """
    grids = []
    for experiment in experiments:
        entries = tuple(one for entry in experiment.entries for one in _combinations(entry))
        if entries:
            chosen = for_choosing(experiment, seeds or experiment.choosing_seeds[:SEEDS])
            id_ = f"{FOLDER}/{experiment.id}"
            grids.append(replace(chosen, id=id_, entries=entries, targets=()))
    if not grids:
        raise InvalidSpec(
            "none of these policies declares a grid, so there is nothing to tune: set `grid` of "
            "the class to the values to try."
        )
    return grids


def choose(experiments: Sequence[Experiment], results: Sequence[Results]) -> list[GridChoice]:
    """Return the best combination of every policy. Among equally good ones the first is chosen.

    Parameters
    ----------
    experiments : sequence of Experiment
        The experiments that `tuning_experiments` was given.
    results : sequence of Results
        Results of the experiments that it returned.

    Returns
    -------
    list of GridChoice
        One for each policy with a grid, in the order of the longest list.
    """
    scores = scores_of(results)
    lists = sorted((experiment.entries for experiment in experiments), key=len, reverse=True)
    entries: dict[str, Entry] = {}
    for entry in (entry for entries_ in lists for entry in entries_):
        entries.setdefault(entry.label, entry)
    choices = (_choice(entry, scores) for entry in entries.values())
    return [choice for choice in choices if choice is not None]


def catalogue_lines(choices: Sequence[GridChoice], name: str) -> str:
    """Return the chosen policies as a list of the file policies.toml.

    Parameters
    ----------
    choices : sequence of GridChoice
        Chosen parameters.
    name : str
        Name of the list.

    Returns
    -------
    str
        Text in TOML.

    Examples
    --------
    >>> score = BootstrapEstimate(0.5, 0.4, 0.6)
    >>> chosen = GridChoice(Entry("UCB1", "ucb1"), {"alpha": 0.2}, score, None, None, 1, 1)
    >>> print(catalogue_lines([chosen], "mine"))
    [[mine]]
    label = "UCB1"
    policy = "ucb1"
    alpha = 0.2
    <BLANKLINE>
    """
    return "\n".join(_lines(choice, name) for choice in choices)


def _lines(choice: GridChoice, name: str) -> str:
    entry = choice.entry
    values: dict[str, Any] = {"label": entry.label, "policy": entry.policy}
    if entry.role is not None:
        values["role"] = entry.role.value
    if entry.features != ALL:
        values["features"] = entry.features
    values |= {**entry.params, **choice.chosen}
    # TOML has no None: it is the default of every parameter that may be None.
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    return "\n".join([f"[[{name}]]", *lines, ""])


def _combinations(entry: Entry) -> list[Entry]:
    grid = grid_of(entry)
    if not grid:
        return []
    return [
        replace(
            entry,
            label=" ".join([entry.label, *(f"{key}={value}" for key, value in chosen.items())]),
            params={**entry.params, **chosen},
            grid=tuple(grid),
            role=None,
            published=(),
        )
        for values in product(*grid.values())
        for chosen in [dict(zip(grid, values, strict=True))]
    ]


def _choice(entry: Entry, scores: Scores) -> GridChoice | None:
    """Return the best combination of a policy, or None if it has no grid or no scores."""
    combinations = {one.label: one for one in _combinations(entry)}
    played = [label for label in combinations if label in scores.labels and scores.of(label).size]
    if not played:
        return None
    means = {label: float(interquartile_mean(scores.of(label))) for label in played}
    best, *others = sorted(played, key=lambda label: -means[label])
    params = {**_defaults(entry), **entry.params}
    own = [label for label in played if combinations[label].params == params]
    worlds, seeds = scores.of(best).shape
    return GridChoice(
        entry=entry,
        chosen={name: combinations[best].params[name] for name in combinations[best].grid},
        score=estimate(scores.of(best), interquartile_mean, draws(worlds, seeds)),
        own_score=means[own[0]] if own else None,
        runner_up=means[others[0]] if others else None,
        candidates=len(played),
        worlds=worlds,
    )


def _defaults(entry: Entry) -> dict[str, Any]:
    """Return the default values of the parameters of a policy's grid."""
    known = inspect.signature(maker_of(entry.policy)).parameters
    return {name: known[name].default for name in grid_of(entry) if name in known}
