"""Figures of the paper, and some that it does not have, for print.

Lines are means over the seeds, shaded areas are 95 % bootstrap intervals of these means, and dotted
vertical lines are changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from thrifty.environments import Replay
from thrifty.experiments.measures import summaries, totals
from thrifty.experiments.results import Results
from thrifty.experiments.series import (
    Floats,
    accuracy_up_to,
    action_names,
    block_edges,
    block_sums,
    interval,
    measure_keys,
    policy_labels,
    purchase_rate,
    running_totals,
    shares_by_period,
)
from thrifty.figures.style import (
    KEY_COLOURS,
    label_colours,
    line_styles,
    new_figure,
    print_quality,
)

PERIODS_PER_ROW = 4
ENVIRONMENT_BLOCKS = 100


@print_quality()
def cumulative_regret(results: Results, changes: Sequence[int]) -> Figure:
    """Draw the cumulative realised regret of every policy. The oracle's is 0 and left out."""
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    _draw_regret(axes, results.table, line_styles(results.experiment, without_oracle(results)))
    _draw_changes(axes, changes)
    _legend_beside(figure, axes)
    return figure


@print_quality()
def gain_and_cost(results: Results) -> Figure:
    """Draw each policy's reward as a bar of gain and cost, with the highest gain at the top."""
    rows = sorted(summaries(results), key=lambda row: row.gain)
    colours = label_colours(results.experiment)
    names, gains = [row.policy for row in rows], [row.gain for row in rows]
    figure = new_figure(7.2, 0.8 + 0.33 * len(rows))
    axes = figure.add_subplot()
    axes.barh(names, gains, color=[colours[name] for name in names], height=0.7)
    axes.barh(
        names, [row.cost for row in rows], left=gains, height=0.7, color="#D9D9D9",
        edgecolor="#707070", linewidth=0.5, hatch="/////",
    )  # fmt: skip
    for place, row in enumerate(rows):
        note = f" {row.reward:,.0f} = {row.gain:,.0f} + {row.cost:,.0f}"
        axes.text(max(row.reward, row.gain, 0), place, note, va="center", fontsize=8)
    axes.margins(x=0.32, y=0.02)
    axes.set_xlim(left=min(0.0, *gains))
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("total reward = gain (coloured) + cost (hatched), mean over seeds")
    return figure


@print_quality()
def recommendations(results: Results, changes: Sequence[int], labels: Sequence[str]) -> Figure:
    """Draw the share of each action in every stationary period."""
    table = results.table
    colours = {label: label_colours(results.experiment)[label] for label in labels}
    shares = [shares_by_period(table, label, changes).mean(axis=0) for label in labels]
    edges = [0, *sorted(changes), int(block_edges(table)[-1])]
    periods = len(edges) - 1
    columns = min(periods, PERIODS_PER_ROW)
    rows = -(-periods // columns)
    figure = new_figure(max(3.6, 1.9 * columns), 0.7 + 1.8 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for period, axes in enumerate(grid[:periods]):
        _draw_groups(axes, [share[period] for share in shares], action_names(table), colours)
        axes.set_title(f"rounds {edges[period]:,} to {edges[period + 1] - 1:,}", fontsize=8)
    for period, axes in enumerate(grid[periods:], start=periods):
        axes.set_visible(False)
        grid[period - columns].tick_params(labelbottom=True)
    figure.supylabel("share of the period's rounds", fontsize=9)
    handles = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(labels))
    return figure


@print_quality()
def environment(replay: Replay, rounds: int | None = None) -> Figure:
    """Draw the mean reward of every action and the mean cost of every feature over time.

    Bold lines are means over the periods between changes, faint lines means over a hundredth of
    the rounds.
    """
    stop = replay.horizon if rounds is None else min(rounds, replay.horizon)
    figure = new_figure(7.2, 5.2)
    upper, lower = figure.subplots(2, 1, sharex=True)
    features = [feature.name for feature in replay.problem.features]
    rewards = _period_means(replay.rewards, replay.reward_changes)
    costs = _period_means(replay.costs, replay.cost_changes)
    _draw_means(upper, replay.rewards[:stop], rewards[:stop], replay.problem.actions)
    _draw_means(lower, replay.costs[:stop], costs[:stop], features)
    _draw_changes(upper, [change for change in replay.reward_changes if change < stop])
    _draw_changes(lower, [change for change in replay.cost_changes if change < stop])
    upper.set_ylabel("mean reward of each action")
    lower.set_ylabel("mean cost of each feature")
    upper.set_xlabel("")
    for axes in (upper, lower):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@print_quality()
def windows(results: Results, changes: Sequence[int] = ()) -> Figure:
    """Draw the regret for several windows: cumulative, and in total by window."""
    sizes = dict(sorted(results.experiment.windows.items(), key=lambda item: item[1]))
    figure = new_figure(7.2, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_regret(left, results.table, line_styles(results.experiment, list(sizes)))
    _draw_changes(left, changes)
    _draw_totals_by_window(right, results, sizes)
    lines = {line.get_label(): line for line in left.get_lines()}
    handles = [lines[label] for label in sizes]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(7, len(sizes)))
    return figure


@print_quality()
def accuracy(results: Results, labels: Sequence[str]) -> Figure:
    """Draw the mean reward of the rounds in which at most 0, 1, ... features were bought."""
    figure = new_figure(5.4, 3.6)
    axes = figure.add_subplot()
    for label, style in line_styles(results.experiment, labels).items():
        mean, low, high = accuracy_up_to(results.table, label)
        numbers = np.arange(mean.size)
        axes.plot(numbers, mean, marker="o", markersize=4, label=label, **style)
        axes.fill_between(numbers, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("maximum number of features bought")
    axes.set_ylabel("accuracy (mean reward of these rounds)")
    axes.legend(handlelength=3.2)
    return figure


@print_quality()
def seeds(results: Results) -> Figure:
    """Draw the total gain of every seed, the means, and the totals that the authors printed."""
    rows = totals(results.table)
    labels = policy_labels(results.table)[::-1]
    colours = label_colours(results.experiment)
    published = results.experiment.published_gains
    figure = new_figure(7.2, 1.2 + 0.42 * len(labels))
    axes = figure.add_subplot()
    for place, label in enumerate(labels):
        gains = rows.filter(pl.col("policy") == label)["gain"].to_numpy()
        axes.scatter(
            gains, place + 0.12 + _spread(gains.size), s=9, alpha=0.55, linewidth=0,
            color=colours[label],
        )  # fmt: skip
        axes.plot([gains.mean()] * 2, [place - 0.08, place + 0.34], color="black", linewidth=1.2)
    _draw_published(axes, labels, published)
    axes.plot([], [], color="black", linewidth=1.2, label="mean over seeds")
    axes.scatter([], [], s=9, color="#707070", label="one seed")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("total gain")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


@print_quality()
def purchases(results: Results, label: str, changes: Sequence[int] = ()) -> Figure:
    """Draw the share of the rounds in which the policy bought each feature, over time."""
    table = results.table
    colour = label_colours(results.experiment)[label]
    features = measure_keys(table, "purchases")
    times = block_edges(table)
    figure = new_figure(7.2, 0.9 + 0.85 * len(features))
    panels = figure.subplots(len(features), 1, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, feature in zip(panels, features, strict=True):
        share = purchase_rate(table, label, feature)
        axes.stairs(share, times, fill=True, color=colour, alpha=0.75)
        axes.set_ylabel(feature, rotation=0, ha="right", va="center")
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        _draw_changes(axes, changes)
        axes.set_xlabel("")
    panels[-1].set_xlim(0, times[-1])
    panels[-1].set_xlabel("round")
    figure.suptitle(f"{label}: share of rounds in which it buys each feature", fontsize=10)
    return figure


def without_oracle(results: Results) -> list[str]:
    """Return the labels of all policies but the oracle, in the order of the table."""
    oracles = results.experiment.oracle_labels
    return [label for label in policy_labels(results.table) if label not in oracles]


def _draw_regret(axes: Axes, table: pl.DataFrame, lines: Mapping[str, Mapping[str, Any]]) -> None:
    times = block_edges(table)
    curves = {label: running_totals(table, label, "realised_regret") for label in lines}
    for label in sorted(curves, key=lambda name: -curves[name][:, -1].mean()):
        low, high = interval(curves[label])
        axes.plot(times, curves[label].mean(axis=0), label=label, **lines[label])
        axes.fill_between(times, low, high, color=lines[label]["color"], alpha=0.18, linewidth=0)
    axes.set_xlim(0, times[-1])
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_ylabel("cumulative regret")


def _draw_changes(axes: Axes, changes: Sequence[int]) -> None:
    for change in changes:
        axes.axvline(change, color="#505050", linestyle=":", linewidth=0.9, zorder=0.9)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("round")


def _legend_beside(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", handlelength=2.6)


def _draw_groups(
    axes: Axes, shares: Sequence[Floats], names: Sequence[str], colours: Mapping[str, str]
) -> None:
    width = 0.8 / len(colours)
    for k, (share, colour) in enumerate(zip(shares, colours.values(), strict=True)):
        places = np.arange(len(names)) + (k - (len(colours) - 1) / 2) * width
        axes.bar(places, share, width, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False, axis="x")


def _period_means(values: Floats, changes: Sequence[int]) -> Floats:
    means = np.empty_like(values)
    edges = [0, *changes, len(values)]
    for start, stop in pairwise(edges):
        means[start:stop] = values[start:stop].mean(axis=0)
    return means


def _draw_means(axes: Axes, values: Floats, means: Floats, names: Sequence[str]) -> None:
    edges = np.linspace(0, len(values), min(ENVIRONMENT_BLOCKS, len(values)) + 1).astype(np.int64)
    faint = np.add.reduceat(values, edges[:-1]) / np.diff(edges)[:, None]
    for k, name in enumerate(names):
        colour = KEY_COLOURS[k % len(KEY_COLOURS)]
        axes.stairs(faint[:, k], edges, color=colour, alpha=0.3, linewidth=0.8, baseline=None)
        axes.plot(means[:, k], color=colour, linewidth=2, label=name, drawstyle="steps-post")
    axes.set_xlim(0, len(values))
    axes.set_ylim(bottom=0)


def _draw_totals_by_window(axes: Axes, results: Results, sizes: Mapping[str, int]) -> None:
    colours = label_colours(results.experiment)
    sums = {
        label: block_sums(results.table, label, "realised_regret").sum(axis=1) for label in sizes
    }
    means = [total.mean() for total in sums.values()]
    axes.plot(list(sizes.values()), means, color="#909090", linewidth=1, zorder=1)
    for (label, size), mean in zip(sizes.items(), means, strict=True):
        low, high = interval(sums[label][:, None])
        axes.vlines(size, low, high, color=colours[label], linewidth=1.6)
        axes.plot([size], [mean], "o", markersize=5, color=colours[label])
    axes.set_xlabel("window w")
    axes.set_ylabel("total regret")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_published(
    axes: Axes, labels: Sequence[str], published: Mapping[str, Sequence[float]]
) -> None:
    marks = [
        (gain, place - 0.2)
        for place, label in enumerate(labels)
        for gain in published.get(label, ())
    ]
    if marks:
        gains, places = zip(*marks, strict=True)
        axes.scatter(
            gains, places, marker="D", s=16, facecolor="white", edgecolor="black", linewidth=0.9,
            label="printed by the authors",
        )  # fmt: skip


def _spread(number: int) -> Floats:
    """Return vertical offsets that separate dots, the same for equal numbers of dots."""
    offsets: Floats = (np.arange(number, dtype=np.float64) * 0.618034 % 1 - 0.5) * 0.34
    return offsets
