"""Figures that the paper lacks: the tuning, and regret against the theorems' bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from thrifty.experiments.growth import Growth
from thrifty.experiments.tuning import Surface
from thrifty.figures.style import BOUND, SURFACE, colour_of, new_figure, print_quality, strokes


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
