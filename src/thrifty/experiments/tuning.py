"""Choose parameters in one environment, and measure their gain in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from thrifty.errors import InvalidParameter, InvalidSpec
from thrifty.experiments.measures import Difference, difference, totals
from thrifty.experiments.results import Results
from thrifty.experiments.roles import Role
from thrifty.experiments.spec import Entry, Experiment


@dataclass(frozen=True)
class TunedParameters:
    """Best parameters of a policy in a grid. Among equally good ones the first is taken.

    Parameters
    ----------
    policy : str
        Registered name of the policy.
    params : Mapping[str, Any]
        Its best parameters.
    grid : tuple[str, ...]
        Names of the parameters that the grid varies.
    gain : float
        Mean gain of the best parameters in the tuning environment.
    candidates : int
        Number of parameter combinations in the grid.
    runner_up : float or None
        Mean gain of the second best combination, if there is one.
    reported : Mapping[str, Any]
        Parameters that the paper's authors chose.
    """

    policy: str
    params: Mapping[str, Any]
    grid: tuple[str, ...]
    gain: float
    candidates: int
    runner_up: float | None
    reported: Mapping[str, Any]

    @property
    def chosen(self) -> dict[str, Any]:
        """Best values of the parameters that the grid varies."""
        return {name: self.params[name] for name in self.grid}


def best_parameters(grids: Sequence[Results]) -> list[TunedParameters]:
    """Return the parameters with the highest mean gain, for every policy of the grids.

    Parameters
    ----------
    grids : Sequence[Results]
        Results of experiments with grids.

    Returns
    -------
    list[TunedParameters]
        Best parameters of each policy, in the order of the grids.

    Raises
    ------
    InvalidSpec
        If several grids have the same policy.
    """
    found = [tuned for grid in grids for tuned in _best_in_grid(grid)]
    policies = [tuned.policy for tuned in found]
    if len(set(policies)) < len(policies):
        raise InvalidSpec(
            f"several grids have the same policy, among {policies}: give each policy one grid."
        )
    return found


def _best_in_grid(grid: Results) -> list[TunedParameters]:
    gains = _mean_gains(grid)
    found = []
    for policy in dict.fromkeys(entry.policy for entry in grid.experiment.entries):
        entries = [entry for entry in grid.experiment.entries if entry.policy == policy]
        best, *others = sorted(entries, key=lambda entry: -gains[entry.label])
        found.append(
            TunedParameters(
                policy=policy,
                params=best.params,
                grid=best.grid,
                gain=gains[best.label],
                candidates=len(entries),
                runner_up=gains[others[0].label] if others else None,
                reported=best.reported,
            )
        )
    return found


def _mean_gains(grid: Results) -> dict[str, float]:
    rows = totals(grid.table).group_by("policy", maintain_order=True).agg(pl.col("gain").mean())
    return dict(rows.iter_rows())


def tuned_experiment(tuned: Sequence[TunedParameters], base: Experiment) -> Experiment:
    """Return the experiment with its own and with the tuned parameters of the same policies.

    Parameters
    ----------
    tuned : Sequence[TunedParameters]
        Parameters to evaluate.
    base : Experiment
        Experiment to evaluate them in.

    Returns
    -------
    Experiment
        Experiment in which the tuned policies have the role `Role.TUNED`.
    """
    own = (_untuned_entry(item.policy, base) for item in tuned)
    new = (
        Entry(f"tuned {item.policy}", item.policy, item.params, role=Role.TUNED) for item in tuned
    )
    entries = (*(entry for entry in own if entry is not None), *new)
    title = f"{base.title}: own and tuned parameters"
    return replace(base, id=tuned_id(base.id), title=title, entries=entries)


def tuned_id(base: str) -> str:
    """Return the id of the experiment that evaluates tuned parameters.

    Parameters
    ----------
    base : str
        Id of the experiment to evaluate them in.

    Returns
    -------
    str
        Id of the new experiment.

    Examples
    --------
    >>> tuned_id("nursery/published")
    'nursery/published-tuned'
    """
    return f"{base}-tuned"


def gains_from_tuning(evaluated: Results) -> dict[str, Difference]:
    """Return the difference in gain between tuned and own parameters, by policy.

    Parameters
    ----------
    evaluated : Results
        Results of an experiment that `tuned_experiment` returned.

    Returns
    -------
    dict[str, Difference]
        Differences by registered name, for the policies that have parameters of their own.
    """
    experiment = evaluated.experiment
    pairs = (
        (_untuned_entry(entry.policy, experiment), entry)
        for entry in experiment.entries
        if entry.role is Role.TUNED
    )
    return {
        tuned.policy: difference(evaluated.table, tuned.label, own.label)
        for own, tuned in pairs
        if own is not None
    }


def _untuned_entry(policy: str, experiment: Experiment) -> Entry | None:
    entries = (entry for entry in experiment.entries if entry.role is not Role.TUNED)
    return next((entry for entry in entries if entry.policy == policy), None)


def require_grid(experiment: Experiment) -> None:
    """Raise an error if the experiment has no grid.

    Parameters
    ----------
    experiment : Experiment
        Experiment to check.

    Raises
    ------
    InvalidSpec
        If no parameter has a list of values.
    """
    if not experiment.is_grid:
        raise InvalidSpec(
            f"{experiment.id} has no grid, so there is nothing to choose: give a parameter a list "
            "of values."
        )


def require_other_environment(grid: Experiment, base: Experiment) -> None:
    """Raise an error if parameters would be evaluated on the data that they are chosen on.

    Parameters
    ----------
    grid : Experiment
        Experiment that chooses parameters.
    base : Experiment
        Experiment that evaluates them.

    Raises
    ------
    InvalidParameter
        If both have the same environment.
    """
    if grid.environment == base.environment:
        raise InvalidParameter(
            f"{grid.id} and {base.id} have the same environment, {grid.environment}: parameters "
            "look better on the data they were chosen on, so use other data with --on."
        )


@dataclass(frozen=True)
class Surface:
    """Mean gains over a grid of two parameters.

    Further parameters are set to their best values. With a single parameter there is one row,
    without a name.

    Parameters
    ----------
    policy : str
        Registered name of the policy.
    row_name : str
        Name of the parameter of the rows.
    column_name : str
        Name of the parameter of the columns.
    rows : tuple[Any, ...]
        Values of the rows.
    columns : tuple[Any, ...]
        Values of the columns.
    gains : tuple[tuple[float, ...], ...]
        Mean gains, row by row.
    best : tuple[int, int]
        Row and column of the highest gain.
    reported : tuple[int, int] or None
        Row and column of the parameters that the paper's authors chose, if the grid has them.
    """

    policy: str
    row_name: str
    column_name: str
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    gains: tuple[tuple[float, ...], ...]
    best: tuple[int, int]
    reported: tuple[int, int] | None


def surfaces(grid: Results) -> list[Surface]:
    """Return the mean gains of every policy of the experiment that has a grid.

    Parameters
    ----------
    grid : Results
        Results of an experiment with grids.

    Returns
    -------
    list[Surface]
        One surface for each policy.
    """
    gains = _mean_gains(grid)
    entries = [entry for entry in grid.experiment.entries if entry.grid]
    groups = dict.fromkeys((entry.policy, entry.grid) for entry in entries)
    return [
        _surface([entry for entry in entries if (entry.policy, entry.grid) == group], gains)
        for group in groups
    ]


def _surface(entries: Sequence[Entry], gains: Mapping[str, float]) -> Surface:
    names = entries[0].grid
    row_name, column_name = names[:2] if len(names) > 1 else ("", names[0])
    found: dict[tuple[Any, Any], float] = {}
    for entry in entries:
        place = entry.params.get(row_name), entry.params[column_name]
        found[place] = max(gains[entry.label], found.get(place, gains[entry.label]))
    rows, columns = (tuple(dict.fromkeys(values)) for values in zip(*found, strict=True))
    places = {(row, column): (rows.index(row), columns.index(column)) for row, column in found}
    reported = entries[0].reported
    return Surface(
        policy=entries[0].policy,
        row_name=row_name,
        column_name=column_name,
        rows=rows,
        columns=columns,
        gains=tuple(tuple(found[row, column] for column in columns) for row in rows),
        best=places[max(found, key=lambda place: found[place])],
        reported=places.get((reported.get(row_name), reported.get(column_name))),
    )
