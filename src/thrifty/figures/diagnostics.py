"""Figures that the paper does not have: tuning, growth of regret, and events, for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, StrMethodFormatter

from thrifty.experiments.growth import regret_growths
from thrifty.experiments.results import Results
from thrifty.experiments.series import block_edges, event_kinds, event_rates, event_rounds
from thrifty.experiments.tuning import Surface
from thrifty.figures.style import (
    BOUND,
    CHANGES,
    HEAT_MAP,
    KEY_COLOURS,
    line_styles,
    new_figure,
    policy_colour,
    print_quality,
)


@print_quality()
def tuning(surface: Surface) -> Figure:
    """Draw mean gains over a grid of parameters, with marks on the best and the paper's choice."""
    return _line(surface) if len(surface.rows) == 1 else _heat_map(surface)


def _heat_map(surface: Surface) -> Figure:
    figure = new_figure(max(4.0, 1.6 + 0.42 * len(surface.columns)), 1.3 + 0.32 * len(surface.rows))
    axes = figure.add_subplot()
    image = axes.imshow(np.array(surface.gains), cmap=HEAT_MAP, aspect="auto")
    axes.set_yticks(range(len(surface.rows)), [f"{value:g}" for value in surface.rows])
    axes.set_ylabel(surface.row_name)
    axes.grid(visible=False)
    _finish(figure, axes, surface, heights=False)
    figure.colorbar(image, ax=axes, label="mean gain", format=StrMethodFormatter("{x:,.0f}"))
    return figure


def _line(surface: Surface) -> Figure:
    figure = new_figure(4.6, 2.8)
    axes = figure.add_subplot()
    axes.plot(surface.gains[0], marker="o", markersize=4, color=policy_colour(surface.policy))
    axes.margins(y=0.15)
    axes.set_ylabel("mean gain")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _finish(figure, axes, surface, heights=True)
    return figure


def _finish(figure: Figure, axes: Axes, surface: Surface, *, heights: bool) -> None:
    """Mark the best and the paper's parameters, and label the columns."""
    for place, mark, size, label in (
        (surface.best, "s", 13, "best"),
        (surface.reported, "x", 8, "paper"),
    ):
        if place is not None:
            row, column = place
            y = surface.gains[row][column] if heights else row
            axes.plot(
                column, y, mark, markersize=size, markerfacecolor="none", color="black", label=label
            )
    axes.set_xticks(
        range(len(surface.columns)), [f"{value:g}" for value in surface.columns], rotation=45
    )
    axes.set_xlabel(surface.column_name)
    axes.set_title(surface.policy)
    figure.legend(loc="outside lower center", ncols=2)


@print_quality()
def growth(results: Results, bounds: Mapping[int, float]) -> Figure:
    """Draw expected regret against the number of rounds, both on log scales, and the bounds."""
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    if bounds:
        axes.plot(list(bounds), list(bounds.values()), label="bound of the theorem", **BOUND)
    growths = regret_growths(results)
    styles = line_styles(results.experiment, [growth.policy for growth in growths])
    for growth in sorted(growths, key=lambda growth: -growth.regret[-1]):
        style = styles[growth.policy]
        label = f"{growth.policy}: slope {growth.slope:.2f}"
        axes.plot(growth.horizons, growth.regret, marker="o", markersize=3, label=label, **style)
        axes.fill_between(
            growth.horizons, growth.low, growth.high, color=style["color"], alpha=0.18, linewidth=0
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=12))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("number of rounds T (separate runs)")
    axes.set_ylabel("expected regret")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", handlelength=2.6)
    return figure


@print_quality()
def events(results: Results, label: str, changes: Mapping[str, Sequence[int]]) -> Figure:
    """Draw the events that a policy recorded, and the changes of rewards and of prices.

    The top panel has every event of the first seed. Below, there is a panel for each kind with the
    mean number of events per seed in each block of rounds.
    """
    table = results.table
    kinds, edges = event_kinds(table, label), block_edges(table)
    heights = [0.3 * len(kinds) + 0.2, *[0.6] * len(kinds)]
    height = 1.1 + 1.3 * sum(heights)
    figure = new_figure(7.2, height)
    figure.set_layout_engine("none")  # with this many axes its last digits are not reproducible
    places = {"left": 0.22, "right": 0.96, "bottom": 0.5 / height, "top": 1 - 0.6 / height}
    one, *every = figure.subplots(
        len(heights),
        1,
        sharex=True,
        height_ratios=heights,
        gridspec_kw={**places, "hspace": 0.35},
    )
    _draw_first_seed(one, table, label, kinds)
    for k, (axes, kind) in enumerate(zip(every, kinds, strict=True)):
        rates = event_rates(table, label, kind)
        axes.stairs(rates, edges, fill=True, color=KEY_COLOURS[k % len(KEY_COLOURS)])
        axes.set_ylabel(kind, rotation=0, ha="right", va="center")
        axes.yaxis.set_label_coords(-0.085, 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(3))
        axes.set_ylim(bottom=0)
    for axes in (one, *every):
        for kind, rounds in changes.items():
            for k, change in enumerate(rounds):
                name = "" if k else f"change of {kind}"
                axes.axvline(change, label=name, zorder=3, **CHANGES[kind])
    every[-1].set_xlim(0, edges[-1])
    every[-1].xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    every[-1].set_xlabel("round")
    every[0].set_title(f"all seeds: mean number of events in {edges[1]:,.0f} rounds", loc="left")
    handles, labels = every[0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="upper right", ncols=2)
    return figure


def _draw_first_seed(axes: Axes, table: pl.DataFrame, label: str, kinds: Sequence[str]) -> None:
    """Draw the events of the first seed, with a row for each kind."""
    rounds = {kind: event_rounds(table, label, kind) for kind in kinds}
    seed = min(rounds[kinds[0]])
    for k, kind in enumerate(kinds):
        axes.plot(
            rounds[kind][seed], np.full(rounds[kind][seed].size, k), "d", markersize=5,
            color=KEY_COLOURS[k % len(KEY_COLOURS)], alpha=0.8, zorder=4,
        )  # fmt: skip
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_ylim(len(kinds) - 0.4, -0.6)
    axes.grid(visible=False, axis="x")
    axes.set_title(f"seed {seed}: all events", loc="left")
