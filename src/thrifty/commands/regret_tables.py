"""Tables of regret for a folder of experiments: a row for each, a column for each policy."""

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

from thrifty.commands.output import new_table, show
from thrifty.experiments.comparison import (
    LeaderComparison,
    compare_leader,
    find_leader,
    has_usual_length,
)
from thrifty.experiments.measures import RegretSummary, regret_summaries
from thrifty.experiments.results import Results

MAX_COLUMNS = 14
"""Number of policies that fit into the width of a page."""
Rows = Mapping[str, Mapping[str, RegretSummary]]
"""Summaries by experiment, then by policy."""


def regrets_as_dict(results: Sequence[Results]) -> dict[str, Any]:
    """Return all numbers of the tables, by experiment."""
    found: dict[str, dict[str, Any]] = {
        result.experiment.id: {
            "title": result.experiment.title,
            "regret": result.experiment.regret,
            "policies": [asdict(row) for row in regret_summaries(result)],
        }
        for result in results
    }
    for name, comparison in compare_leader(results).items():
        found[name]["comparison"] = {
            **asdict(comparison.difference),
            "p_holm": comparison.p_holm,
        }
    return found


def show_regrets(results: Sequence[Results]) -> None:
    """Print mean regrets, worst seeds, shares of the oracle's gain, and tests."""
    rows = {
        _short_name(result.experiment.id): {row.policy: row for row in regret_summaries(result)}
        for result in results
    }
    policies = _policies(results)
    headings = [_break_heading(label) for label in policies]
    usual = has_usual_length(results)
    table = partial(_table, list(rows), usual=usual)
    gains = np.array([[next(iter(row.values())).best_gain] for row in rows.values()])
    regrets, worst, shares, reached = (
        _values(rows, policies, value)
        for value in (
            lambda row: row.regret,
            lambda row: row.worst,
            lambda row: 100 * row.share,
            lambda row: 100 * row.reached,
        )
    )
    _show_in_parts(
        "Gain of the oracle, and mean regret of each policy",
        table,
        ["oracle", *headings],
        np.hstack([gains, regrets]),
    )
    _show_in_parts("Regret of the worst seed", table, headings, worst)
    _show_in_parts("Share of the oracle's gain, in %", table, headings, shares)
    _show_lowest_share(rows, find_leader(results))
    _show_in_parts(
        "Share of the gap between the best action without features and the oracle, in %",
        table,
        headings,
        reached,
    )
    if not usual.all():
        others = [name for name, is_usual in zip(rows, usual, strict=True) if not is_usual]
        typer.echo(f"Not in the means, because of their number of rounds: {', '.join(others)}.")
    _show_comparisons(compare_leader(results))
    realised = [
        _short_name(result.experiment.id)
        for result in results
        if result.experiment.regret == "realised"
    ]
    if realised:
        typer.echo(
            "Regret is expected regret, equation (6), except for these, where it is realised: "
            f"{', '.join(realised)}."
        )


def _show_in_parts(
    title: str,
    table: Callable[[Sequence[str], NDArray[np.float64]], Table],
    headings: Sequence[str],
    values: NDArray[np.float64],
) -> None:
    """Print a table of many policies as several ones, so that each fits a page."""
    for start in range(0, len(headings), MAX_COLUMNS):
        part = slice(start, start + MAX_COLUMNS)
        show(f"{title}, continued" if start else title, table(headings[part], values[:, part]))


def _show_lowest_share(rows: Rows, leader: str | None) -> None:
    if leader is not None:
        lowest, where = min((100 * row[leader].share, name) for name, row in rows.items())
        typer.echo(f"Lowest share of {leader}: {lowest:.1f} % of the oracle's gain, in {where}.\n")


def _show_comparisons(comparisons: Mapping[str, LeaderComparison]) -> None:
    """Print the leader's paired differences, with p-values before and after the correction."""
    if not comparisons:
        return
    leader = next(iter(comparisons.values())).difference.policy
    table = new_table(["", "best other policy"], ["difference", "95 %", "p", "p, Holm"])
    for name, comparison in comparisons.items():
        pair = comparison.difference
        table.add_row(
            _short_name(name),
            pair.other,
            f"{pair.mean:+.0f}",
            f"{pair.low:+.0f} .. {pair.high:+.0f}",
            f"{pair.p_value:.4f}",
            f"{comparison.p_holm:.4f}",
        )
    show(f"Regret of {leader} minus that of the best other policy, paired by seed", table)
    typer.echo(
        "p: sign-flip test of no difference. p, Holm: corrected for the number of experiments, so"
        "\nthat with a probability of 95 % all differences with p, Holm below 0.05 are real."
    )


def _short_name(experiment_id: str) -> str:
    return PurePosixPath(experiment_id).name


def _policies(results: Sequence[Results]) -> list[str]:
    """Return the labels of all policies but the oracle, in the order of the longest list."""
    lists = sorted((result.experiment.entries for result in results), key=len, reverse=True)
    entries = (entry for entries in lists for entry in entries)
    return list(dict.fromkeys(entry.label for entry in entries if not entry.is_oracle))


def _values(
    rows: Rows, policies: Sequence[str], value: Callable[[RegretSummary], float]
) -> NDArray[np.float64]:
    """Return a number for each experiment and policy; NaN where the experiment lacks the policy."""
    found = [
        [value(row[label]) if label in row else np.nan for label in policies]
        for row in rows.values()
    ]
    return np.array(found)


def _table(
    names: Sequence[str],
    headings: Sequence[str],
    values: NDArray[np.float64],
    *,
    usual: NDArray[np.bool_],
) -> Table:
    """Return the table of these numbers, with means of the complete columns."""
    table = new_table([""], headings)
    table.padding = 0
    for name, row in zip([*names, "mean"], [*values, values[usual].mean(axis=0)], strict=True):
        table.add_row(name, *("" if np.isnan(number) else f"{number:.0f}" for number in row))
    return table


def _break_heading(label: str) -> str:
    """Return a label on several short lines.

    >>> _break_heading("NCC-UCRL2, text").splitlines()
    ['NCC-', 'UCRL2,', 'text']
    """
    return re.sub(r"(?<=-)|(?<=,) ", "\n", label)
