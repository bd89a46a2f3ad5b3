"""Interactive figures of the HTML report, as plotly dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.break_even import BreakEven
from thrifty.worth.backtest import Backtest, Strategy
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.money import MoneyFormat, display_name
from thrifty.worth.verdict import worth_estimate

PlotlyFigure = dict[str, Any]

# The same colours as in the figures of experiments.
COLOURS = {
    Strategy.PLAN: "#0072B2",
    Strategy.SCOUT: "#332288",
    Strategy.SURVEYOR: "#AA3377",
    Strategy.NCC: "#D55E00",
    Strategy.FIXED: "#117733",
    Strategy.EVERYTHING: "#CC79A7",
    Strategy.NOTHING: "#999999",
    Strategy.HINDSIGHT: "#000000",
}
_FEATURE_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#999999"),
)
_BOUGHT, _NOT_BOUGHT, _PRICE = "#117733", "#bbbbbb", "#D55E00"
_MAX_POINTS = 400
_MAX_LABEL = 28
_GRID = {"gridcolor": "#e4e4e4", "zerolinecolor": "#b0b0b0", "automargin": True}
_RESTARTS, _EVENTS, _PRICES = "Scout restarted", "Scout noticed", "prices changed"


def worth_figure(evaluation: Evaluation, money: MoneyFormat) -> PlotlyFigure:
    """Draw the worth and the price of each feature."""
    worths = list(reversed(evaluation.worths))
    names = _distinct(
        [_label(name) for name in evaluation.look_names([worth.look for worth in worths])]
    )
    bought: dict[str, BreakEven] = {}
    not_bought: dict[str, BreakEven] = {}
    for name, worth in zip(names, worths, strict=True):
        (bought if worth.look in evaluation.recommended_tree.used else not_bought)[name] = worth
    # Two traces, so that the legend explains both colours.
    bars = [
        _worth_bars(f"worth up to ({what})", shown, colour)
        for what, shown, colour in (
            ("buy", bought, _BOUGHT),
            ("do not buy", not_bought, _NOT_BOUGHT),
        )
        if shown
    ]
    prices = {
        "type": "scatter",
        "mode": "markers",
        "name": "price",
        "y": names,
        "x": [worth.price for worth in worths],
        "marker": {"symbol": "line-ns-open", "size": 22, "color": _PRICE, "line": {"width": 4}},
    }
    figure = _figure([*bars, prices], _axis_title("per case", money), "")
    figure["layout"]["height"] = 160 + 42 * len(names)
    figure["layout"]["barmode"] = "overlay"
    figure["layout"]["yaxis"] |= {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names,
    }
    return figure


def _worth_bars(title: str, worths: Mapping[str, BreakEven], colour: str) -> dict[str, Any]:
    # Bars start at 0: a feature cannot be worth less than nothing, only appear so by chance.
    estimates = [worth_estimate(worth) for worth in worths.values()]
    lengths = [estimate.mean for estimate in estimates]
    lows = [estimate.low for estimate in estimates]
    highs = [estimate.high for estimate in estimates]
    return {
        "type": "bar",
        "orientation": "h",
        "name": title,
        "y": list(worths),
        "x": lengths,
        "marker": {"color": colour},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - length for high, length in zip(highs, lengths, strict=True)],
            "arrayminus": [max(length - low, 0) for length, low in zip(lengths, lows, strict=True)],
            "color": "#505050",
        },
    }


def price_curve_figure(evaluation: Evaluation, money: MoneyFormat) -> PlotlyFigure:
    """Draw the gain of the plan, the fixed set and nothing at other prices."""
    points = evaluation.price_curve
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [point.factor for point in points],
            "y": [getattr(point, kind) for point in points],
            "line": {"color": COLOURS[strategy]},
        }
        for name, kind, strategy in (
            ("plan", "plan", Strategy.PLAN),
            ("best fixed set", "fixed", Strategy.FIXED),
            ("buy nothing", "nothing", Strategy.NOTHING),
        )
    ]
    figure = _figure(lines, "all prices multiplied by", _axis_title("gain per case", money))
    figure["layout"]["xaxis"]["type"] = "log"
    return figure


def backtest_figure(backtest: Backtest, money: MoneyFormat) -> PlotlyFigure:
    """Draw the cumulative gain of each strategy, with events below."""
    n_cases = backtest.cases.n_cases
    shown = np.unique(np.linspace(1, n_cases, min(_MAX_POINTS, n_cases)).astype(np.int64))
    # Differences are small compared with the totals, so lines are relative to buying nothing.
    nothing = np.cumsum(backtest.result(Strategy.NOTHING).gains)
    hidden = _far_below(backtest)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": result.strategy.value,
            "x": shown.tolist(),
            "y": (np.cumsum(result.gains) - nothing)[shown - 1].tolist(),
            "line": {"color": COLOURS[result.strategy]},
            "visible": "legendonly" if result.strategy in hidden else True,
            **_hover_times(backtest, shown),
        }
        for result in backtest.results
    ]
    traces += _event_traces(backtest, money)
    figure = _figure(traces, "case", _axis_title("gain compared with buying nothing", money))
    layout = figure["layout"]
    layout["yaxis"]["domain"] = [0.2, 1]
    layout["yaxis2"] = {
        **_GRID,
        "domain": [0, 0.14],
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [_PRICES, _EVENTS, _RESTARTS],
        "range": [-0.5, 2.5],
    }
    layout["xaxis"] |= {"anchor": "y2", "range": [0, n_cases]}
    layout["height"] = 580
    return figure


def price_figure(backtest: Backtest, money: MoneyFormat) -> PlotlyFigure:
    """Draw the prices that differ from case to case."""
    cases = backtest.cases
    edges = np.unique(np.linspace(0, cases.n_cases, min(101, cases.n_cases)).astype(np.int64))
    traces = []
    for k, (i, column) in enumerate(cases.varying_prices.items()):
        means = np.add.reduceat(column, edges[:-1]) / np.diff(edges)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _label(cases.names[i]),
                "x": (edges[:-1] + 1).tolist(),
                "y": means.tolist(),
                "line": {"shape": "hv", "color": _FEATURE_COLOURS[k % len(_FEATURE_COLOURS)]},
            }
        )
    figure = _figure(traces, "case", _axis_title("price", money))
    figure["layout"]["yaxis"]["rangemode"] = "tozero"
    figure["layout"]["showlegend"] = True
    return figure


def _label(name: str) -> str:
    """Return a short, escaped name; plotly interprets some HTML."""
    return escape(display_name(name, _MAX_LABEL), quote=False)


def _distinct(names: Sequence[str]) -> list[str]:
    """Make shortened names unique by numbering them; plotly would merge equal bars.

    >>> _distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _far_below(backtest: Backtest) -> set[Strategy]:
    """Return strategies with a loss so large that the other lines would look the same."""
    nothing = float(backtest.result(Strategy.NOTHING).gains.sum())
    ends = {result.strategy: float(result.gains.sum()) - nothing for result in backtest.results}
    references = (Strategy.FIXED, Strategy.EVERYTHING, Strategy.HINDSIGHT)
    limit = 2 * max(*(abs(ends[strategy]) for strategy in references), 1e-9)
    return {strategy for strategy, end in ends.items() if end < -limit}


def _hover_times(backtest: Backtest, shown: NDArray[np.int64]) -> dict[str, Any]:
    times = backtest.cases.times
    if times is None:
        return {}
    text = [_label(times[k - 1]) for k in shown.tolist()]
    return {"text": text, "hovertemplate": "case %{x} (%{text})<br>%{y}"}


def _event_traces(backtest: Backtest, money: MoneyFormat) -> list[dict[str, Any]]:
    restarts = [event for event in backtest.events if event.kind == "restart"]
    others = [event for event in backtest.events if event.kind != "restart"]
    changes = backtest.price_changes
    return [
        _event_trace(
            _RESTARTS,
            [event.round for event in restarts],
            ["forgot everything learnt about rewards" for _ in restarts],
            COLOURS[Strategy.SCOUT],
        ),
        _event_trace(
            _EVENTS,
            [event.round for event in others],
            [
                f"{event.kind}: {_label(event.feature)}" if event.feature else event.kind
                for event in others
            ],
            "#888888",
        ),
        _event_trace(
            _PRICES,
            [change.case + 1 for change in changes],
            [
                f"{_label(change.feature)}: {money.amount(change.before)} to "
                f"{money.amount(change.after)}"
                for change in changes
            ],
            _PRICE,
        ),
    ]


def _event_trace(
    row: str, cases: Sequence[int], texts: Sequence[str], colour: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": row,
        "x": cases,
        "y": [row] * len(cases),
        "yaxis": "y2",
        "text": texts,
        "hovertemplate": "case %{x}: %{text}<extra></extra>",
        "marker": {"symbol": "line-ns-open", "size": 14, "color": colour, "line": {"width": 2}},
        "showlegend": False,
    }


def _axis_title(text: str, money: MoneyFormat) -> str:
    return f"{text}, {_label(money.currency)}" if money.currency else text


def _figure(traces: list[dict[str, Any]], x_title: str, y_title: str) -> PlotlyFigure:
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": x_title}, **_GRID},
            "yaxis": {"title": {"text": y_title}, **_GRID},
            "height": 460,
            "margin": {"t": 30, "r": 20, "l": 40},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "plot_bgcolor": "white",
            "paper_bgcolor": "white",
        },
    }
