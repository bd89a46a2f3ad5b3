"""Interactive figures for HTML pages: data for plotly.

Click a legend entry to hide or show a policy. Drag to zoom, and double-click to reset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from thrifty.environments import Replay
from thrifty.experiments.growth import regret_growths
from thrifty.experiments.measures import summaries, totals
from thrifty.experiments.results import Results
from thrifty.experiments.series import (
    Floats,
    accuracy_up_to,
    action_names,
    block_edges,
    event_kinds,
    event_rates,
    event_rounds,
    interval,
    measure_keys,
    policy_labels,
    purchase_rate,
    running_totals,
    shares_by_period,
)
from thrifty.experiments.tuning import Surface
from thrifty.figures.paper import ENVIRONMENT_BLOCKS, without_oracle
from thrifty.figures.style import (
    DASHES,
    KEY_COLOURS,
    label_colours,
    line_styles,
    policy_colour,
)
from thrifty.json_values import to_json_value

PlotlyFigure = dict[str, Any]
HEIGHT = 460

_DASHES = ("solid", "dash", "dot", "dashdot")
_GRID = {"gridcolor": "#e4e4e4", "zerolinecolor": "#b0b0b0", "automargin": True}


def cumulative_regret(results: Results, changes: Sequence[int]) -> PlotlyFigure:
    """Return the cumulative realised regret: means over seeds and their intervals."""
    times = block_edges(results.table).tolist()
    traces: list[dict[str, Any]] = []
    for label, style in line_styles(results.experiment, without_oracle(results)).items():
        values = running_totals(results.table, label, "realised_regret")
        traces += _with_interval(label, times, values.mean(axis=0), *interval(values), style)
    return _figure(traces, "round", "cumulative regret", shapes=_vertical_lines(changes))


def gain_and_cost(results: Results) -> PlotlyFigure:
    """Return each policy's reward as a bar of gain and cost."""
    rows = sorted(summaries(results), key=lambda row: row.gain)
    names = [row.policy for row in rows]
    colours = [label_colours(results.experiment)[name] for name in names]
    bar: dict[str, Any] = {"type": "bar", "orientation": "h", "y": names}
    gain = {"name": "gain", "x": [row.gain for row in rows], "marker": {"color": colours}}
    pattern = {"color": "#d9d9d9", "pattern": {"shape": "/", "fgcolor": "#707070"}}
    cost = {"name": "cost", "x": [row.cost for row in rows], "marker": pattern}
    sums = [f"{row.reward:,.0f} = {row.gain:,.0f} + {row.cost:,.0f}" for row in rows]
    text = {"text": sums, "textposition": "outside", "cliponaxis": False}
    traces = [bar | gain, bar | cost | text]
    figure = _figure(traces, "total reward = gain + cost", "", barmode="stack", showlegend=False)
    figure["layout"]["margin"]["r"] = 190
    return figure


def recommendations(
    results: Results, changes: Sequence[int], labels: Sequence[str]
) -> PlotlyFigure:
    """Return the share of each action in every stationary period."""
    table, colours = results.table, label_colours(results.experiment)
    edges = [0, *sorted(changes), int(block_edges(table)[-1])]
    periods = [f"{a:,}-{b - 1:,}" for a, b in pairwise(edges)]
    actions = action_names(table)
    groups = [period for period in periods for _ in actions]
    traces = []
    for label in labels:
        shares = shares_by_period(table, label, changes).mean(axis=0)
        trace = {"type": "bar", "name": label, "x": [groups, actions * len(periods)]}
        marker = {"color": colours[label]}
        traces.append({**trace, "y": to_json_value(shares.ravel()), "marker": marker})
    figure = _figure(traces, "period (rounds) and action", "share of the period's rounds")
    figure["layout"]["yaxis"]["tickformat"] = ".0%"
    return figure


def environment(replay: Replay, rounds: int) -> PlotlyFigure:
    """Return the mean reward of every action and the mean cost of every feature over time."""
    stop = min(rounds, replay.horizon)
    edges = np.linspace(0, stop, min(ENVIRONMENT_BLOCKS, stop) + 1).astype(np.int64)
    features = [feature.name for feature in replay.problem.features]
    traces = [
        *_means(replay.rewards[:stop], edges, replay.problem.actions, "y", "actions"),
        *_means(replay.costs[:stop], edges, features, "y2", "features"),
    ]
    figure = _figure(traces, "round", "mean reward of each action")
    layout = figure["layout"]
    layout["yaxis"]["domain"] = [0.54, 1]
    layout["yaxis2"] = {
        **_GRID,
        "domain": [0, 0.46],
        "title": {"text": "mean cost of each feature"},
    }
    layout["xaxis"]["anchor"] = "y2"
    layout["shapes"] = [
        *_vertical_lines(replay.reward_changes, "y domain", stop),
        *_vertical_lines(replay.cost_changes, "y2 domain", stop),
    ]
    layout["height"] = 620
    return figure


def accuracy(results: Results, labels: Sequence[str]) -> PlotlyFigure:
    """Return the mean reward of the rounds in which at most 0, 1, ... features were bought."""
    traces: list[dict[str, Any]] = []
    for label, style in line_styles(results.experiment, labels).items():
        mean, low, high = accuracy_up_to(results.table, label)
        traces += _with_interval(label, list(range(mean.size)), mean, low, high, style)
    return _figure(traces, "maximum number of features bought", "accuracy (mean reward)")


def seeds(results: Results) -> PlotlyFigure:
    """Return the total gain of every seed, with the totals that the authors printed."""
    rows, colours = totals(results.table), label_colours(results.experiment)
    labels = policy_labels(results.table)
    traces: list[dict[str, Any]] = []
    for label in labels:
        own = rows.filter(pl.col("policy") == label)
        trace = {"type": "box", "name": label, "x": own["gain"].to_list(), "y": [label] * len(own)}
        points = {"orientation": "h", "boxpoints": "all", "pointpos": 0, "boxmean": True}
        text = [f"seed {seed}" for seed in own["seed"]]
        marker = {"color": colours[label], "size": 4}
        traces.append({**trace, **points, "text": text, "marker": marker, "showlegend": False})
    published = results.experiment.published_gains
    printed = [(label, gain) for label, gains in published.items() for gain in gains]
    if printed:
        trace = {"type": "scatter", "mode": "markers", "name": "printed by the authors"}
        places, gains = zip(*printed, strict=True)
        marker = {"symbol": "diamond-open", "color": "black", "size": 9}
        traces.append({**trace, "x": list(gains), "y": list(places), "marker": marker})
    figure = _figure(traces, "total gain", "")
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    figure["layout"]["height"] = 140 + 38 * len(labels)
    return figure


def purchases(results: Results, label: str, changes: Sequence[int]) -> PlotlyFigure:
    """Return the share of the rounds in which the policy bought each feature, over time."""
    table, colour = results.table, label_colours(results.experiment)[label]
    features = measure_keys(table, "purchases")
    shares = np.stack([purchase_rate(table, label, feature) for feature in features])
    times = block_edges(table)
    trace = {"type": "heatmap", "x": times.tolist(), "y": features, "z": shares.tolist()}
    scale = {"colorscale": [[0, "#ffffff"], [1, colour]], "zmin": 0, "zmax": 1}
    bar = {"colorbar": {"tickformat": ".0%", "title": {"text": "share of rounds"}}}
    figure = _figure([{**trace, **scale, **bar}], "round", "", shapes=_vertical_lines(changes))
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    figure["layout"]["height"] = 150 + 40 * len(features)
    return figure


def tuning(surface: Surface) -> PlotlyFigure:
    """Return mean gains over a grid of parameters, with marks on the best and the paper's."""
    columns = [f"{value:g}" for value in surface.columns]
    if len(surface.rows) == 1:
        return _line(surface, columns)
    rows = [f"{value:g}" for value in surface.rows]
    trace = {"type": "heatmap", "x": columns, "y": rows, "z": [list(row) for row in surface.gains]}
    scale = {"colorscale": "Cividis", "colorbar": {"title": {"text": "mean gain"}}}
    places = [place for place in (surface.best, surface.reported) if place is not None]
    marks = _marks([(columns[column], rows[row]) for row, column in places])
    figure = _figure([{**trace, **scale}, *marks], surface.column_name, surface.row_name)
    figure["layout"]["yaxis"] |= {"type": "category", "autorange": "reversed"}
    figure["layout"]["height"] = 200 + 26 * len(rows)
    return _with_categories(figure)


def _line(surface: Surface, columns: list[str]) -> PlotlyFigure:
    places = [column for _, column in filter(None, (surface.best, surface.reported))]
    marks = _marks([(columns[column], surface.gains[0][column]) for column in places])
    trace = {"type": "scatter", "mode": "lines+markers", "x": columns, "y": list(surface.gains[0])}
    line = {"line": {"color": policy_colour(surface.policy)}, "showlegend": False}
    figure = _figure([{**trace, **line}, *marks], surface.column_name, "mean gain")
    figure["layout"]["height"] = 320
    return _with_categories(figure)


def _marks(places: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return marks on the best parameters and, if there is a second place, on the paper's."""
    kinds = (("best", "square-open"), ("paper", "x-thin-open"))
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [x],
            "y": [y],
            "marker": {"symbol": symbol, "size": 15, "color": "black", "line": {"width": 2}},
        }
        for (name, symbol), (x, y) in zip(kinds, places, strict=False)
    ]


def _with_categories(figure: PlotlyFigure) -> PlotlyFigure:
    figure["layout"]["xaxis"]["type"] = "category"
    figure["layout"]["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return figure


def growth(results: Results, bounds: Mapping[int, float]) -> PlotlyFigure:
    """Return expected regret against the number of rounds, and the bounds."""
    traces: list[dict[str, Any]] = []
    if bounds:
        line = {"color": "#505050", "dash": "dot", "width": 3}
        trace = {"type": "scatter", "mode": "lines", "name": "bound of the theorem", "line": line}
        traces.append({**trace, "x": list(bounds), "y": list(bounds.values())})
    growths = regret_growths(results)
    styles = line_styles(results.experiment, [growth.policy for growth in growths])
    for growth in growths:
        mean, low, high = (np.array(values) for values in (growth.regret, growth.low, growth.high))
        label = f"{growth.policy}: slope {growth.slope:.2f}"
        style = styles[growth.policy]
        traces += _with_interval(label, list(growth.horizons), mean, low, high, style)
    figure = _figure(traces, "number of rounds T (separate runs)", "expected regret")
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"type": "log", "exponentformat": "power", "dtick": 1}
    return figure


def events(results: Results, label: str, changes: Mapping[str, Sequence[int]]) -> PlotlyFigure:
    """Return the events of the first seed, and the mean number of events in each block."""
    table, edges = results.table, block_edges(results.table)
    traces: list[dict[str, Any]] = []
    for k, kind in enumerate(event_kinds(table, label)):
        seed, rounds = next(iter(event_rounds(table, label, kind).items()))
        colour = KEY_COLOURS[k % len(KEY_COLOURS)]
        common = {"type": "scatter", "name": kind, "legendgroup": kind}
        marks = {"x": rounds.tolist(), "y": [kind] * rounds.size, "yaxis": "y2", "mode": "markers"}
        marker = {"symbol": "diamond-tall", "size": 9, "color": colour}
        rates = {"x": edges[:-1].tolist(), "y": to_json_value(event_rates(table, label, kind))}
        line = {"color": colour, "shape": "hv"}
        text = f"{kind}, seed {seed}"
        traces += [
            {**common, **rates, "mode": "lines", "line": line},
            {**common, **marks, "marker": marker, "showlegend": False, "hovertext": text},
        ]
    figure = _figure(traces, "round", f"mean number of events in {edges[1]:,.0f} rounds")
    layout = figure["layout"]
    layout["yaxis"]["domain"] = [0, 0.6]
    layout["yaxis2"] = {**_GRID, "domain": [0.68, 1], "autorange": "reversed"}
    layout["xaxis"]["range"] = [0, float(edges[-1])]
    layout["shapes"] = [
        {**shape, "line": {**shape["line"], "dash": "dot" if kind == "rewards" else "dash"}}
        for kind, rounds in changes.items()
        for shape in _vertical_lines(rounds)
    ]
    layout["height"] = 560
    return figure


def _with_interval(
    label: str,
    x: list[Any],
    mean: Floats,
    low: Floats,
    high: Floats,
    style: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return a line and its shaded interval, which one legend entry hides and shows."""
    common = {"legendgroup": label, "name": label, "type": "scatter", "mode": "lines"}
    known = np.isfinite(low) & np.isfinite(high)
    xs = np.asarray(x)[known].tolist()
    shade = {
        "x": xs + xs[::-1],
        "y": [*low[known].tolist(), *high[known][::-1].tolist()],
        "fill": "toself",
        "fillcolor": _transparent(style["color"]),
        "line": {"width": 0},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    dash = _DASHES[DASHES.index(style["linestyle"])]
    line = {"x": list(x), "y": to_json_value(mean), "line": {"color": style["color"], "dash": dash}}
    return [{**common, **shade}, {**common, **line}]


def _means(
    values: Floats, edges: Any, names: Sequence[str], axis: str, group: str
) -> list[dict[str, Any]]:
    means = np.add.reduceat(values, edges[:-1]) / np.diff(edges)[:, None]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": edges[:-1].tolist(),
            "y": means[:, k].tolist(),
            "yaxis": axis,
            "legendgroup": group,
            "legendgrouptitle": {"text": group},
            "line": {"color": KEY_COLOURS[k % len(KEY_COLOURS)], "shape": "hv"},
        }
        for k, name in enumerate(names)
    ]


def _figure(traces: list[dict[str, Any]], x: str, y: str, **layout: Any) -> PlotlyFigure:
    common = {
        "xaxis": {"title": {"text": x}, **_GRID},
        "yaxis": {"title": {"text": y}, **_GRID},
        "height": HEIGHT,
        "margin": {"t": 30, "r": 20},
        "plot_bgcolor": "white",
        "paper_bgcolor": "white",
    }
    return {"data": traces, "layout": {**common, **layout}}


def _vertical_lines(
    changes: Sequence[int], yref: str = "paper", stop: int | None = None
) -> list[dict[str, Any]]:
    line = {"color": "#505050", "dash": "dot", "width": 1}
    common = {"type": "line", "y0": 0, "y1": 1, "yref": yref, "line": line}
    return [
        {**common, "x0": change, "x1": change}
        for change in changes
        if stop is None or change < stop
    ]


def _transparent(colour: str) -> str:
    """Return a transparent version of a colour.

    >>> _transparent("#0072B2")
    'rgba(0,114,178,0.18)'
    """
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
