"""Figure of the benchmark of priced tables: cost against the cost of an error, by table."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from thrifty.figures.style import DASHES, KEY_COLOURS, new_figure, print_quality

_COLUMNS = 3
_BOLD = 2.4


@print_quality()
def cost_by_error_cost(table: pl.DataFrame, left_out: tuple[str, ...] = ()) -> Figure:
    """Draw the cost as a percentage of the standard cost against k, one panel per table.

    The first method of the table is drawn bold. Methods in `left_out` are not drawn.
    """
    names = table["table"].unique(maintain_order=True).to_list()
    methods = [
        method
        for method in table["method"].unique(maintain_order=True).to_list()
        if method not in left_out
    ]
    n_rows = -(-(len(names) + 1) // _COLUMNS)
    figure = new_figure(9.6, 3.0 * n_rows)
    grid = figure.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
    for axes, name in zip(grid, names, strict=False):
        for k, method in enumerate(methods):
            rows = table.filter((pl.col("table") == name) & (pl.col("method") == method))
            means = rows.group_by("error_cost").agg(pl.col("percent").mean()).sort("error_cost")
            axes.plot(
                means["error_cost"].to_numpy(),
                means["percent"].to_numpy(),
                label=method,
                color=KEY_COLOURS[k % len(KEY_COLOURS)],
                linestyle=DASHES[k // len(KEY_COLOURS)],
                linewidth=_BOLD if k == 0 else 1.2,
                zorder=3 if k == 0 else 2,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=0)
        axes.set_title(name)
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    grid[len(names)].legend(*grid[0].get_legend_handles_labels(), loc="center left")
    figure.supxlabel("cost of an error, k")
    figure.supylabel("cost of a case, % of the standard cost")
    return figure
