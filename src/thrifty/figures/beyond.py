"""Figures that the paper lacks: tuning, regret against the theorems' bounds, and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, StrMethodFormatter

from thrifty.experiments.curves import ends, event_kinds, event_rates, event_rounds
from thrifty.experiments.growth import Growth
from thrifty.experiments.tuning import Surface
from thrifty.figures.style import (
    BOUND,
    CHANGES,
    KEYS,
    SURFACE,
    colour_of,
    new_figure,
    print_quality,
    strokes,
)


@print_quality()
def surface(found: Surface) -> Figure:
    """Draw mean gains over a grid of parameters; the best is framed, the reported is crossed."""
    return _line(found) if len(found.rows) == 1 else _heat_map(found)


def _heat_map(found: Surface) -> Figure:
    figure = new_figure(max(4.0, 1.6 + 0.42 * len(found.columns)), 1.3 + 0.32 * len(found.rows))
    axes = figure.add_subplot()
    image = axes.imshow(np.array(found.gains), cmap=SURFACE, aspect="auto")
    axes.set_yticks(range(len(found.rows)), [f"{it:g}" for it in found.rows])
    axes.set_ylabel(found.row_name)
    axes.grid(visible=False)
    _finish(figure, axes, found, heights=False)
    figure.colorbar(image, ax=axes, label="mean gain", format=StrMethodFormatter("{x:,.0f}"))
    return figure


def _line(found: Surface) -> Figure:
    figure = new_figure(4.6, 2.8)
    axes = figure.add_subplot()
    axes.plot(found.gains[0], marker="o", markersize=4, color=colour_of(found.policy))
    axes.margins(y=0.15)
    axes.set_ylabel("mean gain")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _finish(figure, axes, found, heights=True)
    return figure


def _finish(figure: Figure, axes: Axes, found: Surface, *, heights: bool) -> None:
    """Mark the best and the reported place, and name the columns."""
    for place, mark, size, label in (
        (found.best, "s", 13, "best"),
        (found.reported, "x", 8, "the paper's"),
    ):
        if place is not None:
            row, column = place
            y = found.gains[row][column] if heights else row
            axes.plot(
                column, y, mark, markersize=size, markerfacecolor="none", color="black", label=label
            )
    axes.set_xticks(range(len(found.columns)), [f"{it:g}" for it in found.columns], rotation=45)
    axes.set_xlabel(found.column_name)
    axes.set_title(found.policy)
    figure.legend(loc="outside lower center", ncols=2)


@print_quality()
def growth(found: Sequence[Growth], bounds: Mapping[int, float]) -> Figure:
    """Draw expected regret against the number of rounds, both logarithmic, below the bound."""
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    if bounds:
        axes.plot(list(bounds), list(bounds.values()), label="bound of the theorem", **BOUND)
    lines = strokes(it.policy for it in found)
    for it in sorted(found, key=lambda it: -it.regret[-1]):
        stroke = lines[it.policy]
        label = f"{it.policy}: slope {it.slope:.2f}"
        axes.plot(it.horizons, it.regret, marker="o", markersize=3, label=label, **stroke)
        axes.fill_between(
            it.horizons, it.low, it.high, color=stroke["color"], alpha=0.18, linewidth=0
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=12))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("rounds T, each horizon a run of its own")
    axes.set_ylabel("expected regret")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", handlelength=2.6)
    return figure


@print_quality()
def events(table: pl.DataFrame, policy: str, changes: Mapping[str, Sequence[int]]) -> Figure:
    """Draw what a policy noticed, against the changes of rewards and of prices.

    On top every event of the first seed; below, for each kind, how many a seed has in each block
    of rounds, on average.
    """
    kinds, edges = event_kinds(table, policy), ends(table)
    heights = [0.3 * len(kinds) + 0.2, *[0.6] * len(kinds)]
    height = 1.1 + 1.3 * sum(heights)
    figure = new_figure(7.2, height)
    figure.set_layout_engine("none")  # with so many axes its last digits depend on chance
    places = {"left": 0.22, "right": 0.96, "bottom": 0.5 / height, "top": 1 - 0.6 / height}
    one, *every = figure.subplots(
        len(heights),
        1,
        sharex=True,
        height_ratios=heights,
        gridspec_kw={**places, "hspace": 0.35},
    )
    _draw_lanes(one, table, policy, kinds)
    for k, (axes, kind) in enumerate(zip(every, kinds, strict=True)):
        rates = event_rates(table, policy, kind)
        axes.stairs(rates, edges, fill=True, color=KEYS[k % len(KEYS)])
        axes.set_ylabel(kind, rotation=0, ha="right", va="center")
        axes.yaxis.set_label_coords(-0.085, 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(3))
        axes.set_ylim(bottom=0)
    for axes in (one, *every):
        for of, rounds in changes.items():
            for k, change in enumerate(rounds):
                axes.axvline(change, label="" if k else f"change of {of}", zorder=3, **CHANGES[of])
    every[-1].set_xlim(0, edges[-1])
    every[-1].xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    every[-1].set_xlabel("round")
    every[0].set_title(f"all seeds: events of a seed in {edges[1]:,.0f} rounds", loc="left")
    handles, labels = every[0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="upper right", ncols=2)
    return figure


def _draw_lanes(axes: Axes, table: pl.DataFrame, policy: str, kinds: Sequence[str]) -> None:
    """Draw the events of the first seed, a lane for each kind."""
    rounds = {kind: event_rounds(table, policy, kind) for kind in kinds}
    seed = min(rounds[kinds[0]])
    for k, kind in enumerate(kinds):
        axes.plot(
            rounds[kind][seed], np.full(rounds[kind][seed].size, k), "d", markersize=5,
            color=KEYS[k % len(KEYS)], alpha=0.8, zorder=4,
        )  # fmt: skip
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_ylim(len(kinds) - 0.4, -0.6)
    axes.grid(visible=False, axis="x")
    axes.set_title(f"seed {seed}: every event", loc="left")
