"""worth.html: the answer on one page, to be read, explored and shown to others."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np

from thrifty._version import __version__
from thrifty.pages import captioned, cell, note, page, table_of_cells
from thrifty.worth.answer import Answer
from thrifty.worth.backtest import EVERYTHING, FIXED, HINDSIGHT, NCC, NOTHING, SCOUT, Stream
from thrifty.worth.selection import FeatureWorth
from thrifty.worth.verdict import Money, caveats, describe, how, printable, verdict

PlotlyFigure = dict[str, Any]

COLOURS = {
    SCOUT: "#332288",
    NCC: "#D55E00",
    FIXED: "#117733",
    EVERYTHING: "#CC79A7",
    NOTHING: "#999999",
    HINDSIGHT: "#000000",
}
"""Those of the policies' figures elsewhere."""
_FEATURES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_POINTS = 400
_GRID = {"gridcolor": "#e4e4e4", "zerolinecolor": "#b0b0b0", "automargin": True}
_LONGEST = 28
_CSS = """
#verdict { font-size: 1.25rem; line-height: 1.5; }
#verdict p:first-child { font-weight: 600; }
#caveats p { border-left: 4px solid #E69F00; padding-left: .8rem; }
bdi, p, code, li { overflow-wrap: anywhere; }
td:first-child { min-width: 7rem; }
td bdi { display: inline-block; min-width: 7rem; max-width: 22rem; }
td:has(bdi) { white-space: normal; text-align: left; }
td.said { white-space: normal; text-align: left; min-width: 13rem; overflow-wrap: anywhere; }
th:last-child { text-align: left; }
td.bought { color: #117733; font-weight: 600; }
@media (max-width: 500px) { body { margin: 1rem auto; } h1 { font-size: 1.5rem; }
  th, td { padding: .25rem .4rem; } #verdict { font-size: 1.1rem; } }
"""


def page_of(answer: Answer, name: str, command: str) -> str:
    """Return the page; whatever comes from the user's files is shown as text."""
    money = Money.of(answer.cases)
    words, warnings = verdict(answer), caveats(answer)
    spoken = [it for it in words if it not in warnings]
    body = [
        f'<div id="verdict">{_paragraphs(spoken)}</div>',
        f'<div id="caveats">{_paragraphs(warnings)}</div>',
        "<h2>What each feature is worth</h2>",
        captioned(
            _worth_figure(answer, money),
            "worth-of-features",
            "The price of each feature, and the price up to which it belongs to the best set, "
            "given that the others can be bought at their prices; with intervals that all hold "
            "together with a probability of 95 %.",
        ),
        _worth_table(answer, money),
        "<h2>Spend against reward</h2>",
        captioned(
            _frontier_figure(answer, money),
            "frontier",
            "The best set at each spend. Steps that may be noise are left out. The best set is "
            "where the reward is furthest above the spend.",
        ),
        _frontier_table(answer, money),
        "<h2>The stream replayed</h2>",
        captioned(
            _stream_figure(answer.stream, money),
            "stream",
            "Gain as it adds up, case by case, compared with buying nothing. Below: where Scout "
            "restarted and where prices changed. A line far below the others is not drawn before "
            "its name is clicked.",
        ),
        _stream_table(answer.stream, money),
        *_prices(answer.stream, money),
        "<h2>What was done to each column</h2>",
        _columns(answer, money),
        _list(answer.cases.said),
        "<h2>Actions and rewards</h2>",
        _rewards(answer, money),
        "<h2>How this was found</h2>",
        _list(how(answer)),
        f"<p><code>{escape(command)}</code></p>",
        note(
            f"thrifty {__version__}, Python {platform.python_version()}, "
            + ", ".join(f"{it} {version(it)}" for it in ("numpy", "numba", "polars", "plotly"))
        ),
    ]
    return page(f"What is worth its price: {printable(name)}", body, _CSS)


def _paragraphs(words: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(it)}</p>" for it in words)


def _list(words: Iterable[str]) -> str:
    items = "\n".join(f"<li>{escape(it)}</li>" for it in words)
    return f"<ul>\n{items}\n</ul>" if items else ""


def _name(text: str) -> str:
    """Return a name from the user's file; it cannot turn the direction of what is around it."""
    return f"<td><bdi>{escape(text)}</bdi></td>"


def _worth_table(answer: Answer, money: Money) -> str:
    rows = [
        [
            _name(answer.cases.names[it.feature]),
            cell("buy", "bought") if it.feature in answer.best else cell("do not buy"),
            cell(money.bare(it.price)),
            cell(money.bare(it.break_even)),
            cell(money.interval(it.estimate)),
            cell(_after_name(answer, it, money), "said"),
        ]
        for it in answer.worths
    ]
    return table_of_cells(("feature", "", "price", "worth up to", "95 %", "in words"), rows)


def _after_name(answer: Answer, worth: FeatureWorth, money: Money) -> str:
    words = describe(answer, worth, money)
    return words.removeprefix(printable(answer.cases.names[worth.feature])).strip().capitalize()


def _frontier_table(answer: Answer, money: Money) -> str:
    rows = [
        [
            _name(", ".join(answer.named(it.features)) or "nothing"),
            cell(money.bare(it.spend)),
            cell(money.bare(it.reward.mean)),
            cell(money.interval(it.reward)),
            cell(
                money.bare(it.reward.mean - it.spend),
                "bought" if it.features == answer.best else "",
            ),
        ]
        for it in answer.steps
    ]
    return table_of_cells(("set", "spend a case", "reward a case", "95 %", "gain a case"), rows)


def _stream_table(stream: Stream, money: Money) -> str:
    number = stream.cases.number
    rows = []
    for it in stream.played:
        gain = it.per_case()
        rows.append(
            [
                cell(it.policy),
                cell(money.bare(gain.mean)),
                cell(money.interval(gain)),
                cell(money.bare(float(it.costs.mean()))),
                cell(money.bare(float(it.rewards.mean()))),
                cell(money.total(gain.mean * number)),
                cell(money.total(float(it.costs.sum()))),
                cell(money.total(float(it.rewards.sum()))),
            ]
        )
    headings = ("policy", "gain a case", "95 %", "spend", "reward")
    totals = ("total gain", "total spend", "total reward")
    words = (
        f"{it.policy} {it.what}" + (f" (mean of {it.runs} runs)" if it.runs > 1 else "") + "."
        for it in stream.played
    )
    what = (
        f"{number:,} cases, {stream.cases.order}."
        + (f" Every {stream.every}th case of the file is replayed." if stream.every > 1 else "")
        + " The intervals allow for neighbouring cases being alike."
    )
    return table_of_cells((*headings, *totals), rows) + note(what) + _list(words)


def _prices(stream: Stream, money: Money) -> list[str]:
    if not stream.cases.varying:
        return []
    rows = [
        [cell(f"{case + 1:,}"), _name(name), cell(money.bare(before)), cell(money.bare(after))]
        for case, name, before, after in stream.price_changes
    ]
    figure = captioned(
        _price_figure(stream, money),
        "prices",
        "Prices that vary, as means over neighbouring cases.",
    )
    return [
        figure,
        table_of_cells(("from case", "feature", "before", "after"), rows) if rows else "",
    ]


def _columns(answer: Answer, money: Money) -> str:
    rows = []
    for feature, price in zip(answer.cases.features, answer.cases.mean_prices, strict=True):
        for part in feature.parts:
            levels = ", ".join(printable(it, 40) for it in part.levels)
            paid = "free" if feature.free else money.bare(float(price))
            bundle = "" if len(feature.parts) == 1 else f" in {feature.name}"
            rows.append(
                [
                    _name(part.name),
                    _name(paid + bundle),
                    cell(part.said, "said"),
                    cell(printable(levels, 300), "said"),
                ]
            )
    return table_of_cells(("column", "price", "coding", "levels"), rows, "words")


def _rewards(answer: Answer, money: Money) -> str:
    rewards = answer.cases.rewards
    rows = [
        [_name(action), *(cell(money.bare(it)) for it in row)]
        for action, row in zip(rewards.actions, rewards.table.tolist(), strict=True)
    ]
    words = (
        "The reward of each action by outcome, as given."
        if rewards.given
        else "An action for each outcome; being right is rewarded with 1."
    )
    headings = ("action", *(printable(it) for it in rewards.outcomes))
    return table_of_cells(headings, rows) + note(words)


def _label(name: str) -> str:
    """Return a name for plotly, which reads some HTML: short, and with its brackets escaped."""
    return escape(printable(name, _LONGEST), quote=False)


def _worth_figure(answer: Answer, money: Money) -> PlotlyFigure:
    worths = list(reversed(answer.worths))
    names = _distinct([_label(answer.cases.names[it.feature]) for it in worths])
    middle = [max(it.estimate.mean, 0) for it in worths]
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": "worth up to",
        "y": names,
        "x": middle,
        "marker": {
            "color": ["#117733" if it.feature in answer.best else "#bbbbbb" for it in worths]
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [it.estimate.high - m for it, m in zip(worths, middle, strict=True)],
            "arrayminus": [
                max(m - max(it.estimate.low, 0), 0) for it, m in zip(worths, middle, strict=True)
            ],
            "color": "#505050",
        },
    }
    prices = {
        "type": "scatter",
        "mode": "markers",
        "name": "price",
        "y": names,
        "x": [it.price for it in worths],
        "marker": {"symbol": "line-ns-open", "size": 22, "color": "#D55E00", "line": {"width": 4}},
    }
    figure = _figure([bars, prices], _amount("a case", money), "")
    figure["layout"]["height"] = 160 + 42 * len(names)
    figure["layout"]["yaxis"] |= {"type": "category"}
    return figure


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names, numbered if they look alike once they are cut: each has a bar of its own.

    >>> _distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _frontier_figure(answer: Answer, money: Money) -> PlotlyFigure:
    steps = answer.steps
    text = [
        escape(printable(", ".join(answer.named(it.features)) or "nothing", 80), quote=False)
        for it in steps
    ]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "best set at each spend",
        "x": [it.spend for it in steps],
        "y": [it.reward.mean for it in steps],
        "error_y": {
            "type": "data",
            "array": [it.reward.high - it.reward.mean for it in steps],
            "color": "#888888",
        },
        "text": text,
        "hovertemplate": "%{text}<br>spend %{x}<br>reward %{y}<extra></extra>",
        "line": {"color": "#0072B2", "shape": "linear"},
    }
    best = next(it for it in steps if it.features == answer.best)
    mark = {
        "type": "scatter",
        "mode": "markers",
        "name": "to be bought",
        "x": [best.spend],
        "y": [best.reward.mean],
        "marker": {"symbol": "star", "size": 16, "color": "#117733"},
        "hoverinfo": "skip",
    }
    reach = max(it.spend for it in steps)
    even = {
        "type": "scatter",
        "mode": "lines",
        "name": "equally good as that",
        "x": [0, reach],
        "y": [best.reward.mean - best.spend, best.reward.mean - best.spend + reach],
        "line": {"color": "#117733", "dash": "dot", "width": 1},
        "hoverinfo": "skip",
    }
    return _figure(
        [even, line, mark], _amount("spend a case", money), _amount("reward a case", money)
    )


def _stream_figure(stream: Stream, money: Money) -> PlotlyFigure:
    number = stream.cases.number
    places = np.unique(np.linspace(1, number, min(_POINTS, number)).astype(np.int64))
    nothing = np.cumsum(stream.of(NOTHING).gains)
    far = _far_below(stream)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": it.policy,
            "x": places.tolist(),
            "y": (np.cumsum(it.gains) - nothing)[places - 1].tolist(),
            "line": {"color": COLOURS[it.policy]},
            "visible": "legendonly" if it.policy in far else True,
            **_times(stream, places),
        }
        for it in stream.played
    ]
    traces += _marks(stream, money)
    figure = _figure(traces, "case", _amount("gain more than buying nothing", money))
    layout = figure["layout"]
    layout["yaxis"]["domain"] = [0.2, 1]
    rows = ["prices changed", "Scout noticed", "Scout restarted"]
    layout["yaxis2"] = {
        **_GRID,
        "domain": [0, 0.14],
        "type": "category",
        "categoryorder": "array",
        "categoryarray": rows,
        "range": [-0.5, 2.5],
    }
    layout["xaxis"] |= {"anchor": "y2", "range": [0, number]}
    layout["height"] = 580
    return figure


def _far_below(stream: Stream) -> set[str]:
    """Return the policies whose lines would squeeze all others."""
    nothing = float(stream.of(NOTHING).gains.sum())
    ends = {it.policy: float(it.gains.sum()) - nothing for it in stream.played}
    reach = 2 * max(*(abs(ends[it]) for it in (FIXED, EVERYTHING, HINDSIGHT)), 1e-9)
    return {policy for policy, end in ends.items() if end < -reach}


def _times(stream: Stream, places: Any) -> dict[str, Any]:
    times = stream.cases.times
    if times is None:
        return {}
    shown = [_label(times[k - 1]) for k in places.tolist()]
    return {"text": shown, "hovertemplate": "case %{x} (%{text})<br>%{y}"}


def _marks(stream: Stream, money: Money) -> list[dict[str, Any]]:
    restarts = [it for it in stream.events if it.kind == "restart"]
    others = [it for it in stream.events if it.kind != "restart"]
    rows = [
        (
            "Scout restarted",
            [it.round for it in restarts],
            ["everything learnt about rewards was forgotten" for _ in restarts],
            "#332288",
        ),
        (
            "Scout noticed",
            [it.round for it in others],
            [it.kind + (f": {_label(it.feature)}" if it.feature else "") for it in others],
            "#888888",
        ),
        (
            "prices changed",
            [case + 1 for case, *_ in stream.price_changes],
            [
                f"{_label(name)}: {money.bare(before)} to {money.bare(after)}"
                for _, name, before, after in stream.price_changes
            ],
            "#D55E00",
        ),
    ]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": row,
            "x": cases,
            "y": [row] * len(cases),
            "yaxis": "y2",
            "text": words,
            "hovertemplate": "case %{x}: %{text}<extra></extra>",
            "marker": {"symbol": "line-ns-open", "size": 14, "color": colour, "line": {"width": 2}},
            "showlegend": False,
        }
        for row, cases, words, colour in rows
    ]


def _price_figure(stream: Stream, money: Money) -> PlotlyFigure:
    cases = stream.cases
    edges = np.unique(np.linspace(0, cases.number, min(101, cases.number)).astype(np.int64))
    traces = []
    for k, (i, column) in enumerate(cases.varying.items()):
        means = np.add.reduceat(column, edges[:-1]) / np.diff(edges)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _label(cases.features[i].name),
                "x": (edges[:-1] + 1).tolist(),
                "y": means.tolist(),
                "line": {"shape": "hv", "color": _FEATURES[k % len(_FEATURES)]},
            }
        )
    figure = _figure(traces, "case", _amount("price", money))
    figure["layout"]["yaxis"]["rangemode"] = "tozero"
    figure["layout"]["showlegend"] = True
    return figure


def _amount(what: str, money: Money) -> str:
    return f"{what}, {_label(money.currency)}" if money.currency else what


def _figure(traces: list[dict[str, Any]], x: str, y: str) -> PlotlyFigure:
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": x}, **_GRID},
            "yaxis": {"title": {"text": y}, **_GRID},
            "height": 460,
            "margin": {"t": 30, "r": 20, "l": 40},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "plot_bgcolor": "white",
            "paper_bgcolor": "white",
        },
    }
