"""The figures of the paper, and three that it lacks: functions of the tidy table or of a world.

Each returns a figure that nothing else refers to. Lines are means over the seeds, shaded areas
the 95 % bootstrap intervals of these means, dotted vertical lines the change points.
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
from thrifty.errors import InvalidTable
from thrifty.experiments.curves import (
    Floats,
    accuracy_up_to,
    actions_of,
    blocks,
    bought_share,
    cumulated,
    ends,
    interval,
    keys_of,
    policies_of,
    shares_by_period,
)
from thrifty.experiments.measures import summaries, totals
from thrifty.figures.style import KEYS, WINDOW, colour_of, new_figure, print_quality, strokes

PERIODS_IN_A_ROW = 4
WORLD_BLOCKS = 100


@print_quality()
def cumulative_regret(table: pl.DataFrame, changes: Sequence[int]) -> Figure:
    """Draw every policy's realised regret as it adds up; the oracle's is 0 and left out."""
    labels = without_oracle(policies_of(table))
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    _draw_regret(axes, table, strokes(labels))
    _draw_changes(axes, changes)
    _legend_beside(figure, axes)
    return figure


@print_quality()
def gain_and_cost(table: pl.DataFrame) -> Figure:
    """Draw a bar for each policy's reward, which is its gain plus its cost, best gain on top."""
    rows = sorted(summaries(table), key=lambda row: row.gain)
    names, gains = [row.policy for row in rows], [row.gain for row in rows]
    figure = new_figure(7.2, 0.8 + 0.33 * len(rows))
    axes = figure.add_subplot()
    axes.barh(names, gains, color=[colour_of(name) for name in names], height=0.7)
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
    axes.set_xlabel("total reward = gain (colour) + cost (hatched), mean over seeds")
    return figure


@print_quality()
def recommendations(table: pl.DataFrame, changes: Sequence[int], policies: Sequence[str]) -> Figure:
    """Draw how often each action was chosen in every stationary period."""
    shares = [shares_by_period(table, policy, changes).mean(axis=0) for policy in policies]
    edges = [0, *sorted(changes), int(ends(table)[-1])]
    periods = len(edges) - 1
    columns = min(periods, PERIODS_IN_A_ROW)
    rows = -(-periods // columns)
    figure = new_figure(max(3.6, 1.9 * columns), 0.7 + 1.8 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for period, axes in enumerate(grid[:periods]):
        _draw_groups(axes, [share[period] for share in shares], actions_of(table), policies)
        axes.set_title(f"rounds {edges[period]:,} to {edges[period + 1] - 1:,}", fontsize=8)
    for period, axes in enumerate(grid[periods:], start=periods):
        axes.set_visible(False)
        grid[period - columns].tick_params(labelbottom=True)
    figure.supylabel("share of the period's rounds", fontsize=9)
    handles = [Patch(color=colour_of(policy), label=policy) for policy in policies]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(policies))
    return figure


@print_quality()
def world(replay: Replay, rounds: int | None = None) -> Figure:
    """Draw the mean reward of every action and the mean cost of every feature over time.

    Bold lines are means over the periods between change points, faint ones over hundredths of
    all rounds.
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
def windows(table: pl.DataFrame, changes: Sequence[int] = ()) -> Figure:
    """Draw the regret of policies called "w = NUMBER": as it adds up, and in total by window."""
    sizes = {label: window_of(label) for label in policies_of(table)}
    ordered = sorted(sizes, key=lambda label: sizes[label])
    figure = new_figure(7.2, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_regret(left, table, strokes(ordered))
    _draw_changes(left, changes)
    _draw_totals_by_window(right, table, {label: sizes[label] for label in ordered})
    lines = {line.get_label(): line for line in left.get_lines()}
    handles = [lines[label] for label in ordered]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(7, len(ordered)))
    return figure


@print_quality()
def accuracy(table: pl.DataFrame, policies: Sequence[str]) -> Figure:
    """Draw the mean reward of the rounds in which up to 0, 1, ... features were bought."""
    figure = new_figure(5.4, 3.6)
    axes = figure.add_subplot()
    for label, stroke in strokes(policies).items():
        mean, low, high = accuracy_up_to(table, label)
        numbers = np.arange(mean.size)
        axes.plot(numbers, mean, marker="o", markersize=4, label=label, **stroke)
        axes.fill_between(numbers, low, high, color=stroke["color"], alpha=0.15, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("up to this number of features bought")
    axes.set_ylabel("accuracy (mean reward of these rounds)")
    axes.legend(handlelength=3.2)
    return figure


@print_quality()
def seeds(table: pl.DataFrame, published: Mapping[str, Sequence[float]]) -> Figure:
    """Draw every seed's total gain, their means, and below them the totals that others printed."""
    rows = totals(table)
    labels = policies_of(table)[::-1]
    figure = new_figure(7.2, 1.2 + 0.42 * len(labels))
    axes = figure.add_subplot()
    for place, label in enumerate(labels):
        gains = rows.filter(pl.col("policy") == label)["gain"].to_numpy()
        axes.scatter(
            gains, place + 0.12 + _spread(gains.size), s=9, alpha=0.55, linewidth=0,
            color=colour_of(label),
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
def purchases(table: pl.DataFrame, policy: str, changes: Sequence[int] = ()) -> Figure:
    """Draw in which share of the rounds the policy bought each feature, over time."""
    features = keys_of(table, "purchases")
    times = ends(table)
    figure = new_figure(7.2, 0.9 + 0.85 * len(features))
    panels = figure.subplots(len(features), 1, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, feature in zip(panels, features, strict=True):
        share = bought_share(table, policy, feature)
        axes.stairs(share, times, fill=True, color=colour_of(policy), alpha=0.75)
        axes.set_ylabel(feature, rotation=0, ha="right", va="center")
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        _draw_changes(axes, changes)
        axes.set_xlabel("")
    panels[-1].set_xlim(0, times[-1])
    panels[-1].set_xlabel("round")
    figure.suptitle(f"{policy}: share of rounds in which it buys each feature", fontsize=10)
    return figure


def without_oracle(labels: Sequence[str]) -> list[str]:
    """Return the labels of policies that have something to lose against the oracle.

    >>> without_oracle(["Oracle", "UCB1"])
    ['UCB1']
    """
    return [label for label in labels if not label.lower().startswith("oracle")]


def window_of(label: str) -> int:
    """Return the window that a label names.

    >>> window_of("w = 250")
    250
    """
    match = WINDOW.match(label)
    if match is None:
        raise InvalidTable(
            f"policy {label!r} is no window, so it has no place on an axis of windows: draw tables "
            'whose policies are called "w = 100" and so on.'
        )
    return int(match[1])


def _draw_regret(axes: Axes, table: pl.DataFrame, lines: Mapping[str, Mapping[str, Any]]) -> None:
    times = ends(table)
    curves = {label: cumulated(table, label, "realised_regret") for label in lines}
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
    axes: Axes, shares: Sequence[Floats], names: Sequence[str], policies: Sequence[str]
) -> None:
    width = 0.8 / len(policies)
    for k, (share, policy) in enumerate(zip(shares, policies, strict=True)):
        places = np.arange(len(names)) + (k - (len(policies) - 1) / 2) * width
        axes.bar(places, share, width, color=colour_of(policy))
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
    edges = np.linspace(0, len(values), min(WORLD_BLOCKS, len(values)) + 1).astype(np.int64)
    faint = np.add.reduceat(values, edges[:-1]) / np.diff(edges)[:, None]
    for k, name in enumerate(names):
        colour = KEYS[k % len(KEYS)]
        axes.stairs(faint[:, k], edges, color=colour, alpha=0.3, linewidth=0.8, baseline=None)
        axes.plot(means[:, k], color=colour, linewidth=2, label=name, drawstyle="steps-post")
    axes.set_xlim(0, len(values))
    axes.set_ylim(bottom=0)


def _draw_totals_by_window(axes: Axes, table: pl.DataFrame, sizes: Mapping[str, int]) -> None:
    sums = {label: blocks(table, label, "realised_regret").sum(axis=1) for label in sizes}
    means = [total.mean() for total in sums.values()]
    axes.plot(list(sizes.values()), means, color="#909090", linewidth=1, zorder=1)
    for (label, size), mean in zip(sizes.items(), means, strict=True):
        low, high = interval(sums[label][:, None])
        axes.vlines(size, low, high, color=colour_of(label), linewidth=1.6)
        axes.plot([size], [mean], "o", markersize=5, color=colour_of(label))
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
    """Return offsets that keep dots apart, the same for the same number of dots."""
    offsets: Floats = (np.arange(number, dtype=np.float64) * 0.618034 % 1 - 0.5) * 0.34
    return offsets
