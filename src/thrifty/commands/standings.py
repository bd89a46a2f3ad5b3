"""Many experiments in one table: a row for each, a column for each policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from thrifty.commands.show import new_table, show
from thrifty.errors import InvalidSpec
from thrifty.experiments.measures import Difference, Standing, difference, holm, standings
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Experiment

Row = Mapping[str, Standing]
"""The standings of an experiment, by policy."""


def require_comparable(experiments: Sequence[Experiment]) -> None:
    """Refuse experiments that have no single regret for each policy."""
    for it in experiments:
        if it.is_grid or len(it.horizons) > 1:
            raise InvalidSpec(
                f"{it.id} plays grids or several horizons, which have no place in one table of "
                "regrets: run it by its id."
            )


def plain_standings(results: Sequence[Results]) -> dict[str, Any]:
    """Return every number, by experiment."""
    found: dict[str, dict[str, Any]] = {
        it.experiment.id: {
            "title": it.experiment.title,
            "regret": it.experiment.regret,
            "policies": [asdict(row) for row in _standings(it)],
        }
        for it in results
    }
    for it, (pair, corrected) in with_holm(comparisons(results)).items():
        found[it]["comparison"] = {**asdict(pair), "p_holm": corrected}
    return found


def comparisons(results: Sequence[Results]) -> dict[str, Difference]:
    """Compare the policy of the lowest mean regret with the best other one, in every experiment.

    A difference is in total regret, by seed: negative where the leader is the better one. The other
    one is chosen on the same seeds, which can only make the leader look worse.
    """
    leader = leader_of(results)
    pairs = {}
    for it in results:
        others = {label: at for label, at in _rivals(it).items() if label != leader}
        if leader is not None and others:
            second = min(others, key=lambda label: others[label])
            measure = f"{it.experiment.regret}_regret"
            pairs[it.experiment.id] = difference(it.table, leader, second, measure=measure)
    return pairs


def leader_of(results: Sequence[Results]) -> str | None:
    """Return the policy of the lowest mean regret, of those that play every experiment."""
    found = [_rivals(it) for it in results]
    everywhere = set.intersection(*(set(row) for row in found))
    return min(everywhere, key=lambda it: (sum(row[it] for row in found), it), default=None)


def with_holm(pairs: Mapping[str, Difference]) -> dict[str, tuple[Difference, float]]:
    """Return each comparison with its p-value corrected for the number of comparisons."""
    corrected = holm([it.p_value for it in pairs.values()])
    return {name: (it, p) for (name, it), p in zip(pairs.items(), corrected, strict=True)}


def _rivals(results: Results) -> dict[str, float]:
    """Return the mean regrets of all policies but the oracle."""
    oracles = {it.label for it in results.experiment.entries if it.policy == "oracle"}
    return {it.policy: it.regret for it in _standings(results) if it.policy not in oracles}


def show_standings(results: Sequence[Results]) -> None:
    """Print mean regrets, those of the worst seeds, shares of the oracle's gain, and tests."""
    rows = {_name(it.experiment): {row.policy: row for row in _standings(it)} for it in results}
    policies = _policies(results)
    headings = [_heading(label) for label in policies]
    gains = np.array([[next(iter(row.values())).best_gain] for row in rows.values()])
    regrets = np.hstack([gains, _values(rows, policies, lambda it: it.regret)])
    alike = _as_long_as_most(results)
    shown = partial(_table, list(rows), alike=alike)
    worst, shares, reached = (
        _values(rows, policies, value)
        for value in (lambda it: it.worst, lambda it: 100 * it.share, lambda it: 100 * it.reached)
    )
    show("The oracle's gain, and mean regret", shown(["oracle", *headings], regrets))
    show("Regret of the worst seed", shown(headings, worst))
    show("Share of the oracle's gain, in %", shown(headings, shares))
    leader = leader_of(results)
    if leader is not None:
        lowest, where = min((100 * row[leader].share, name) for name, row in rows.items())
        typer.echo(f"{leader} has at least {lowest:.1f} % of the oracle's gain, in {where}.\n")
    show(
        "Share of the gap between the best action without a look and the oracle, in %",
        shown(headings, reached),
    )
    if not alike.all():
        others = [name for name, it in zip(rows, alike, strict=True) if not it]
        typer.echo(f"Means leave out what is longer or shorter than most: {', '.join(others)}.")
    _show_comparisons(comparisons(results))
    realised = [_name(it.experiment) for it in results if it.experiment.regret == "realised"]
    if realised:
        typer.echo(f"Regret is expected regret, equation (6); realised for {', '.join(realised)}.")


def _show_comparisons(pairs: Mapping[str, Difference]) -> None:
    """Print the leader's paired differences, with tests before and after Holm's correction."""
    if not pairs:
        return
    leader = next(iter(pairs.values())).policy
    table = new_table(["", "the best other policy"], ["difference", "95 %", "p", "p, Holm"])
    for name, (it, corrected) in with_holm(pairs).items():
        table.add_row(
            PurePosixPath(name).name,
            it.other,
            f"{it.mean:+.0f}",
            f"{it.low:+.0f} .. {it.high:+.0f}",
            f"{it.p_value:.4f}",
            f"{corrected:.4f}",
        )
    show(f"Regret of {leader} minus that of the best other policy, paired by seed", table)
    typer.echo(
        "p: sign-flip test of no difference. p, Holm: corrected for the number of worlds, so that"
        "\nall below 0.05 hold together with an error of at most 5 %."
    )


def _standings(results: Results) -> list[Standing]:
    return standings(results.table, regret=results.experiment.regret)


def _name(experiment: Experiment) -> str:
    return PurePosixPath(experiment.id).name


def _policies(results: Sequence[Results]) -> list[str]:
    """Return the labels of all policies but the oracle, in the order of the longest list."""
    lists = sorted((it.experiment.entries for it in results), key=len, reverse=True)
    entries = (entry for it in lists for entry in it)
    return list(dict.fromkeys(it.label for it in entries if it.policy != "oracle"))


def _values(
    rows: Mapping[str, Row], policies: Sequence[str], value: Callable[[Standing], float]
) -> NDArray[np.float64]:
    """Return a number for each experiment and policy; nan where the policy does not play."""
    found = [[value(row[it]) if it in row else np.nan for it in policies] for row in rows.values()]
    return np.array(found)


def _as_long_as_most(results: Sequence[Results]) -> NDArray[np.bool_]:
    """Return which experiments have as many rounds as most: a mean of others says nothing."""
    rounds = np.array([it.table["horizon"].max() for it in results])
    lengths, counts = np.unique(rounds, return_counts=True)
    same: NDArray[np.bool_] = rounds == lengths[counts.argmax()]
    return same


def _table(
    names: Sequence[str],
    headings: Sequence[str],
    values: NDArray[np.float64],
    *,
    alike: NDArray[np.bool_],
) -> Table:
    """Return the table of these numbers, with means of the columns that are complete."""
    table = new_table([""], headings)
    table.padding = 0
    for name, row in zip([*names, "mean"], [*values, values[alike].mean(axis=0)], strict=True):
        table.add_row(name, *("" if np.isnan(it) else f"{it:.0f}" for it in row))
    return table


def _heading(label: str) -> str:
    """Return a label on several short lines.

    >>> _heading("NCC-UCRL2, text").splitlines()
    ['NCC-', 'UCRL2,', 'text']
    """
    return re.sub(r"(?<=-)|(?<=,) ", "\n", label)
