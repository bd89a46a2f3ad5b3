"""Choosing parameters on one world, and what the choice is worth on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from thrifty.errors import InvalidSpec
from thrifty.experiments.measures import Difference, difference, totals
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment

TUNED = "tuned "


@dataclass(frozen=True)
class Choice:
    """A policy's best parameters on the tuning world, the first of equally good ones.

    `grid` are those among which there was a choice, and `reported` the values that the paper chose.
    """

    policy: str
    params: Mapping[str, Any]
    grid: tuple[str, ...]
    gain: float
    candidates: int
    runner_up: float | None
    reported: Mapping[str, Any]


def choices(grids: Sequence[Results]) -> list[Choice]:
    """Return the parameters with the highest mean gain, for every policy of the grids."""
    found = [choice for grid in grids for choice in _choices(grid)]
    policies = [it.policy for it in found]
    if len(set(policies)) < len(policies):
        raise InvalidSpec(
            f"several grids choose for the same policy, of {policies}: give one each."
        )
    return found


def _choices(grid: Results) -> list[Choice]:
    rows = totals(grid.table).group_by("policy", maintain_order=True).agg(pl.col("gain").mean())
    gains: dict[str, float] = dict(rows.iter_rows())
    found = []
    for policy in dict.fromkeys(entry.policy for entry in grid.experiment.entries):
        entries = [entry for entry in grid.experiment.entries if entry.policy == policy]
        best, *others = sorted(entries, key=lambda entry: -gains[entry.label])
        found.append(
            Choice(
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


def evaluation(chosen: Sequence[Choice], evaluated: Experiment) -> Experiment:
    """Return the experiment with the chosen parameters beside its own, for the same policies.

    Labels of the chosen ones begin with "tuned ".
    """
    own = tuple(_own_entry(it.policy, evaluated) for it in chosen)
    tuned = tuple(Entry(TUNED + it.policy, it.policy, it.params) for it in chosen)
    entries = tuple(entry for entry in own if entry is not None) + tuned
    title = f"{evaluated.title}: own and tuned parameters"
    return replace(evaluated, id=judged_id(evaluated.id), title=title, entries=entries)


def judged_id(evaluated: str) -> str:
    """Return the id of the experiment that judges a choice on this one."""
    return f"{evaluated}-tuned"


def worth(chosen: Sequence[Choice], judged: Results) -> dict[str, Difference]:
    """Return how much more the tuned parameters gain than the experiment's own, by policy."""
    own = {it.policy: _own_entry(it.policy, judged.experiment) for it in chosen}
    return {
        policy: difference(judged.table, TUNED + policy, entry.label)
        for policy, entry in own.items()
        if entry is not None and not entry.label.startswith(TUNED)
    }


def _own_entry(policy: str, evaluated: Experiment) -> Entry | None:
    return next((entry for entry in evaluated.entries if entry.policy == policy), None)


def require_grid(experiment: Experiment) -> None:
    """Refuse an experiment in which there is nothing to choose."""
    if not experiment.is_grid:
        raise InvalidSpec(
            f"{experiment.id} has no grid, so there is nothing to choose: give some parameter a "
            "list of values."
        )


@dataclass(frozen=True)
class Surface:
    """Mean gains over a grid of two parameters: the best over any others, and over seeds the mean.

    With a single parameter there is one row, without a name. `best` and `reported` are the row and
    the column of the highest gain and of the paper's choice, if the grid has it.
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
    """Return the gains of every policy of the experiment that has a grid."""
    rows = totals(grid.table).group_by("policy", maintain_order=True).agg(pl.col("gain").mean())
    gains: dict[str, float] = dict(rows.iter_rows())
    kinds = dict.fromkeys((it.policy, it.grid) for it in grid.experiment.entries if it.grid)
    return [
        _surface([it for it in grid.experiment.entries if (it.policy, it.grid) == kind], gains)
        for kind in kinds
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
