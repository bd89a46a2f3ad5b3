"""The figures once more for a page: data for plotly, functions of the same arrays.

A legend's entry switches its policy off and on again; a drag zooms, a double click goes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from thrifty.environments import Replay
from thrifty.experiments.curves import (
    Floats,
    accuracy_up_to,
    actions_of,
    bought_share,
    cumulated,
    ends,
    event_kinds,
    event_rates,
    event_rounds,
    interval,
    keys_of,
    policies_of,
    shares_by_period,
)
from thrifty.experiments.growth import Growth
from thrifty.experiments.measures import summaries, totals
from thrifty.experiments.tuning import Surface
from thrifty.figures.paper import WORLD_BLOCKS, without_oracle
from thrifty.figures.style import DASHES, KEYS, colour_of, strokes
from thrifty.json_values import to_json_value

PlotlyFigure = dict[str, Any]
HEIGHT = 460

_DASHES = ("solid", "dash", "dot", "dashdot")
_GRID = {"gridcolor": "#e4e4e4", "zerolinecolor": "#b0b0b0", "automargin": True}


def cumulative_regret(table: pl.DataFrame, changes: Sequence[int]) -> PlotlyFigure:
    """Return realised regret as it adds up: means over seeds and their intervals."""
    times = ends(table).tolist()
    traces: list[dict[str, Any]] = []
    for label, stroke in strokes(without_oracle(policies_of(table))).items():
        values = cumulated(table, label, "realised_regret")
        traces += _with_interval(label, times, values.mean(axis=0), *interval(values), stroke)
    return _figure(traces, "round", "cumulative regret", shapes=_vertical_lines(changes))


def gain_and_cost(table: pl.DataFrame) -> PlotlyFigure:
    """Return a bar for each policy's reward, which is its gain plus its cost."""
    rows = sorted(summaries(table), key=lambda row: row.gain)
    names = [row.policy for row in rows]
    colours = [colour_of(name) for name in names]
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
    table: pl.DataFrame, changes: Sequence[int], policies: Sequence[str]
) -> PlotlyFigure:
    """Return how often each action was chosen in every stationary period."""
    edges = [0, *sorted(changes), int(ends(table)[-1])]
    periods = [f"{a:,}-{b - 1:,}" for a, b in pairwise(edges)]
    actions = actions_of(table)
    groups = [period for period in periods for _ in actions]
    traces = []
    for policy in policies:
        shares = shares_by_period(table, policy, changes).mean(axis=0)
        trace = {"type": "bar", "name": policy, "x": [groups, actions * len(periods)]}
        marker = {"color": colour_of(policy)}
        traces.append({**trace, "y": to_json_value(shares.ravel()), "marker": marker})
    figure = _figure(traces, "period (rounds) and action", "share of the period's rounds")
    figure["layout"]["yaxis"]["tickformat"] = ".0%"
    return figure


def world(replay: Replay, rounds: int) -> PlotlyFigure:
    """Return the mean reward of every action and the mean cost of every feature over time."""
    stop = min(rounds, replay.horizon)
    edges = np.linspace(0, stop, min(WORLD_BLOCKS, stop) + 1).astype(np.int64)
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


def accuracy(table: pl.DataFrame, policies: Sequence[str]) -> PlotlyFigure:
    """Return the mean reward of the rounds in which up to 0, 1, ... features were bought."""
    traces: list[dict[str, Any]] = []
    for label, stroke in strokes(policies).items():
        mean, low, high = accuracy_up_to(table, label)
        traces += _with_interval(label, list(range(mean.size)), mean, low, high, stroke)
    return _figure(traces, "up to this number of features bought", "accuracy")


def seeds(table: pl.DataFrame, published: Mapping[str, Sequence[float]]) -> PlotlyFigure:
    """Return every seed's total gain, with the totals that others printed."""
    rows = totals(table)
    traces: list[dict[str, Any]] = []
    for label in policies_of(table):
        own = rows.filter(pl.col("policy") == label)
        trace = {"type": "box", "name": label, "x": own["gain"].to_list(), "y": [label] * len(own)}
        points = {"orientation": "h", "boxpoints": "all", "pointpos": 0, "boxmean": True}
        text = [f"seed {seed}" for seed in own["seed"]]
        marker = {"color": colour_of(label), "size": 4}
        traces.append({**trace, **points, "text": text, "marker": marker, "showlegend": False})
    printed = [(label, gain) for label, gains in published.items() for gain in gains]
    if printed:
        trace = {"type": "scatter", "mode": "markers", "name": "printed by the authors"}
        labels, gains = zip(*printed, strict=True)
        marker = {"symbol": "diamond-open", "color": "black", "size": 9}
        traces.append({**trace, "x": list(gains), "y": list(labels), "marker": marker})
    figure = _figure(traces, "total gain", "")
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    figure["layout"]["height"] = 140 + 38 * len(policies_of(table))
    return figure


def purchases(table: pl.DataFrame, policy: str, changes: Sequence[int]) -> PlotlyFigure:
    """Return in which share of the rounds the policy bought each feature, over time."""
    features = keys_of(table, "purchases")
    shares = np.stack([bought_share(table, policy, feature) for feature in features])
    times = ends(table)
    trace = {"type": "heatmap", "x": times.tolist(), "y": features, "z": shares.tolist()}
    scale = {"colorscale": [[0, "#ffffff"], [1, colour_of(policy)]], "zmin": 0, "zmax": 1}
    bar = {"colorbar": {"tickformat": ".0%", "title": {"text": "bought"}}}
    figure = _figure([{**trace, **scale, **bar}], "round", "", shapes=_vertical_lines(changes))
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    figure["layout"]["height"] = 150 + 40 * len(features)
    return figure


def surface(found: Surface) -> PlotlyFigure:
    """Return mean gains over a grid of parameters, the best and the paper's marked."""
    columns = [f"{it:g}" for it in found.columns]
    if len(found.rows) == 1:
        return _line(found, columns)
    rows = [f"{it:g}" for it in found.rows]
    trace = {"type": "heatmap", "x": columns, "y": rows, "z": [list(row) for row in found.gains]}
    scale = {"colorscale": "Cividis", "colorbar": {"title": {"text": "mean gain"}}}
    places = [it for it in (found.best, found.reported) if it is not None]
    marks = _marks([(columns[column], rows[row]) for row, column in places])
    figure = _figure([{**trace, **scale}, *marks], found.column_name, found.row_name)
    figure["layout"]["yaxis"] |= {"type": "category", "autorange": "reversed"}
    figure["layout"]["height"] = 200 + 26 * len(rows)
    return _with_categories(figure)


def _line(found: Surface, columns: list[str]) -> PlotlyFigure:
    places = [column for _, column in filter(None, (found.best, found.reported))]
    marks = _marks([(columns[column], found.gains[0][column]) for column in places])
    trace = {"type": "scatter", "mode": "lines+markers", "x": columns, "y": list(found.gains[0])}
    line = {"line": {"color": colour_of(found.policy)}, "showlegend": False}
    figure = _figure([{**trace, **line}, *marks], found.column_name, "mean gain")
    figure["layout"]["height"] = 320
    return _with_categories(figure)


def _marks(places: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return the marks of the best and, if there is another place, of the paper's choice."""
    kinds = (("best", "square-open"), ("the paper's", "x-thin-open"))
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


def growth(found: Sequence[Growth], bounds: Mapping[int, float]) -> PlotlyFigure:
    """Return expected regret against the number of rounds, below the theorem's bound."""
    traces: list[dict[str, Any]] = []
    if bounds:
        line = {"color": "#505050", "dash": "dot", "width": 3}
        trace = {"type": "scatter", "mode": "lines", "name": "bound of the theorem", "line": line}
        traces.append({**trace, "x": list(bounds), "y": list(bounds.values())})
    lines = strokes(it.policy for it in found)
    for it in found:
        low, high = np.array(it.low), np.array(it.high)
        label = f"{it.policy}: slope {it.slope:.2f}"
        times = list(it.horizons)
        traces += _with_interval(label, times, np.array(it.regret), low, high, lines[it.policy])
    figure = _figure(traces, "rounds T, each horizon a run of its own", "expected regret")
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"type": "log", "exponentformat": "power", "dtick": 1}
    return figure


def events(table: pl.DataFrame, policy: str, changes: Mapping[str, Sequence[int]]) -> PlotlyFigure:
    """Return what a policy noticed: every event of the first seed, and how many in each block."""
    edges = ends(table)
    traces: list[dict[str, Any]] = []
    for k, kind in enumerate(event_kinds(table, policy)):
        seed, rounds = next(iter(event_rounds(table, policy, kind).items()))
        colour = KEYS[k % len(KEYS)]
        common = {"type": "scatter", "name": kind, "legendgroup": kind}
        marks = {"x": rounds.tolist(), "y": [kind] * rounds.size, "yaxis": "y2", "mode": "markers"}
        marker = {"symbol": "diamond-tall", "size": 9, "color": colour}
        rates = {"x": edges[:-1].tolist(), "y": to_json_value(event_rates(table, policy, kind))}
        line = {"color": colour, "shape": "hv"}
        text = f"{kind}, seed {seed}"
        traces += [
            {**common, **rates, "mode": "lines", "line": line},
            {**common, **marks, "marker": marker, "showlegend": False, "hovertext": text},
        ]
    figure = _figure(traces, "round", f"events of a seed in {edges[1]:,.0f} rounds")
    layout = figure["layout"]
    layout["yaxis"]["domain"] = [0, 0.6]
    layout["yaxis2"] = {**_GRID, "domain": [0.68, 1], "autorange": "reversed"}
    layout["xaxis"]["range"] = [0, float(edges[-1])]
    layout["shapes"] = [
        {**shape, "line": {**shape["line"], "dash": "dot" if of == "rewards" else "dash"}}
        for of, rounds in changes.items()
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
    stroke: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return a line and the shade of its interval, which a legend's click switches together."""
    common = {"legendgroup": label, "name": label, "type": "scatter", "mode": "lines"}
    known = np.isfinite(low) & np.isfinite(high)
    xs = np.asarray(x)[known].tolist()
    shade = {
        "x": xs + xs[::-1],
        "y": [*low[known].tolist(), *high[known][::-1].tolist()],
        "fill": "toself",
        "fillcolor": _transparent(stroke["color"]),
        "line": {"width": 0},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    dash = _DASHES[DASHES.index(stroke["linestyle"])]
    pen = {"color": stroke["color"], "dash": dash}
    line = {"x": list(x), "y": to_json_value(mean), "line": pen}
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
            "line": {"color": KEYS[k % len(KEYS)], "shape": "hv"},
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
    return [{**common, "x0": it, "x1": it} for it in changes if stop is None or it < stop]


def _transparent(colour: str) -> str:
    """Return a colour that lets what is behind it through.

    >>> _transparent("#0072B2")
    'rgba(0,114,178,0.18)'
    """
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
