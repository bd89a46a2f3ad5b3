"""Figures of a benchmark over many worlds: the ranking, profiles, and scores by difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from thrifty.experiments.aggregates import (
    BootstrapEstimate,
    Floats,
    interquartile_mean,
    performance_profile,
)
from thrifty.experiments.attributes import ATTRIBUTES, worlds_by_group
from thrifty.experiments.ranking import Ranked
from thrifty.experiments.scores import Scores
from thrifty.figures.style import DASHES, HEAT_MAP, KEY_COLOURS, new_figure, print_quality

OVERALL = "all worlds"
LOWEST = -0.5
"""Score that has the darkest colour and the left end of profiles; lower ones look the same."""
NAMED_LINES = 10
"""Number of policies, the first ones, that profiles name."""
Columns = Mapping[tuple[str, str], Sequence[str]]
"""Names of worlds by heading and name of the column."""


@print_quality()
def ranking(rows: Sequence[Ranked]) -> Figure:
    """Draw scores, optimality gaps and probabilities of improvement with their intervals."""
    figure = new_figure(9.6, 1.2 + 0.26 * len(rows))
    left, middle, right = figure.subplots(1, 3, sharey=True)
    _draw_estimates(left, [row.interquartile_mean for row in rows], "interquartile mean of scores")
    _draw_estimates(middle, [row.optimality_gap for row in rows], "optimality gap")
    beaten = [row.first_beats_it for row in rows]
    _draw_estimates(right, beaten, "probability that the first beats it")
    right.axvline(0.5, color="#505050", linestyle=":", linewidth=0.9)
    right.set_xlim(-0.02, 1.02)
    left.set_yticks(range(len(rows)), [row.label for row in rows])
    left.set_ylim(len(rows) - 0.5, -0.5)
    return figure


@print_quality()
def profiles(scores: Scores, labels: Sequence[str], *, n_named: int = NAMED_LINES) -> Figure:
    """Draw the share of the runs above every score. The first policies are named."""
    thresholds = np.linspace(LOWEST, 1, 301)
    figure = new_figure(8.4, 4.4)
    axes = figure.add_subplot()
    for k, label in reversed([*enumerate(labels)]):
        style = _line_style(k, n_named)
        axes.plot(thresholds, performance_profile(scores.of(label), thresholds), **style)
        if k < n_named:
            axes.plot([], [], label=label, **style)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside right center")
    axes.set_xlim(LOWEST, 1)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("score")
    axes.set_ylabel("runs with a higher score")
    return figure


@print_quality()
def by_difficulty(
    scores: Scores, labels: Sequence[str], attributes: Mapping[str, Mapping[str, float]]
) -> Figure:
    """Draw the interquartile mean of every policy in groups of worlds.

    Without attributes every world is a column.
    """
    columns = difficulty_columns(scores, attributes)
    values = group_scores(scores, labels, columns)
    figure = new_figure(2.6 + 0.52 * len(columns), 2.2 + 0.24 * len(labels))
    axes = figure.add_subplot()
    shown = np.ma.masked_invalid(np.clip(values, LOWEST, 1))
    axes.imshow(shown, cmap=HEAT_MAP, vmin=LOWEST, vmax=1, aspect="auto")
    for place in np.argwhere(~np.isnan(values)):
        value = round(float(values[tuple(place)]), 2) + 0.0  # never -0.00
        colour = "black" if value > (1 + LOWEST) / 2 else "white"
        axes.text(
            place[1], place[0], f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour
        )
    _name_columns(axes, columns)
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(visible=False)
    return figure


def difficulty_columns(scores: Scores, attributes: Mapping[str, Mapping[str, float]]) -> Columns:
    """Return the worlds of each column: all, then those of each group of each attribute."""
    known = {world: attributes[world] for world in scores.worlds if world in attributes}
    groups = {
        (ATTRIBUTES[name].title, group): worlds
        for (name, group), worlds in worlds_by_group(known).items()
    }
    by_world = {("", world): [world] for world in scores.worlds}
    return {("", OVERALL): scores.worlds} | (groups or by_world)


def group_scores(scores: Scores, labels: Sequence[str], columns: Columns) -> Floats:
    """Return the interquartile mean of each policy in each column.

    It is NaN where a policy does not play all worlds of the column.
    """
    values = np.full((len(labels), len(columns)), np.nan)
    for c, worlds in enumerate(columns.values()):
        part = scores.in_worlds(worlds)
        for r, label in enumerate(labels):
            if label in part.labels and part.played[part.labels.index(label)].all():
                values[r, c] = interquartile_mean(part.of(label))
    return values


def _name_columns(axes: Axes, columns: Columns) -> None:
    names = [f"{name}\n({len(worlds)})" for (_, name), worlds in columns.items()]
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
    headings = [heading for heading, _ in columns]
    for heading in dict.fromkeys(headings):
        inside = [k for k, other in enumerate(headings) if other == heading]
        axes.text(float(np.mean(inside)), -0.7, heading, ha="center", va="bottom", fontsize=8)
        axes.axvline(inside[0] - 0.5, color="white", linewidth=2.5)


def _draw_estimates(axes: Axes, estimates: Sequence[BootstrapEstimate | None], title: str) -> None:
    for place, estimate in enumerate(estimates):
        if estimate is not None:
            axes.hlines(
                place, estimate.low, estimate.high, color=KEY_COLOURS[0], linewidth=5, alpha=0.4
            )
            axes.plot(estimate.value, place, "|", color="black", markersize=7)
    axes.set_xlabel(title)


def _line_style(k: int, n_named: int) -> dict[str, Any]:
    if k >= n_named:
        return {"color": "#D0D0D0", "linewidth": 0.8}
    return {"color": KEY_COLOURS[k % len(KEY_COLOURS)], "linestyle": DASHES[k // len(KEY_COLOURS)]}
