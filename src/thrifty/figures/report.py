"""The report of an experiment: one HTML file that needs no network and no other file."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import plotly.io  # type: ignore[import-untyped]
import polars as pl

from thrifty import __version__
from thrifty.experiments.measures import summaries, totals
from thrifty.experiments.spec import Experiment
from thrifty.figures.curves import cumulated, ends, interval, policies_of
from thrifty.figures.files import draft_of
from thrifty.figures.style import DASHES, colour_of, strokes

REPORT = "report.html"
PACKAGES = ("numpy", "numba", "polars", "plotly")

_DASHES = ("solid", "dash", "dot", "dashdot")
_CSS = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #ffffff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #dddddd; }
th:first-child, td:first-child, .words td { text-align: left; }
.words th { text-align: left; }
p.note { color: #505050; }
"""


def write_report(
    folder: Path, experiment: Experiment, table: pl.DataFrame, changes: Sequence[int] = ()
) -> Path:
    """Write folder/report.html."""
    path = folder / REPORT
    with draft_of(path) as draft:
        draft.write_text(report(experiment, table, changes), encoding="utf-8")
    return path


def report(experiment: Experiment, table: pl.DataFrame, changes: Sequence[int] = ()) -> str:
    """Return the report: gains and what was printed of them, regret, seeds, parameters."""
    sections = {
        "Total gains": _gains(experiment, table),
        "Cumulative regret": _interactive(regret_data(table, changes), "regret", library=True),
        "Gains by seed": _interactive(seeds_data(experiment, table), "seeds", library=False),
        "Parameters": _parameters(experiment),
        "Seeds": f"<p>{escape(_in_words(sorted(table['seed'].unique())))}</p>",
        "Versions": _versions(),
    }
    body = "\n".join(f"<h2>{title}</h2>\n{content}" for title, content in sections.items())
    title = escape(experiment.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_CSS}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n<p><code>{escape(experiment.id)}</code></p>\n"
        f"{body}\n</body>\n</html>\n"
    )


def regret_data(table: pl.DataFrame, changes: Sequence[int]) -> dict[str, Any]:
    """Return the interactive figure of realised regret: means over seeds and their intervals."""
    times = ends(table).tolist()
    traces: list[dict[str, Any]] = []
    for label, stroke in strokes(policies_of(table)).items():
        values = cumulated(table, label, "realised_regret")
        low, high = interval(values)
        common = {"legendgroup": label, "name": label, "type": "scatter", "mode": "lines"}
        traces.append(
            {
                **common,
                "x": times + times[::-1],
                "y": [*high.tolist(), *low[::-1].tolist()],
                "fill": "toself",
                "opacity": 0.2,
                "fillcolor": stroke["color"],
                "line": {"width": 0},
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
        dash = _DASHES[DASHES.index(stroke["linestyle"])]
        line = {"color": stroke["color"], "dash": dash}
        traces.append({**common, "x": times, "y": values.mean(axis=0).tolist(), "line": line})
    lines = [_vertical(change) for change in changes]
    return {"data": traces, "layout": _layout("round", "cumulative regret", shapes=lines)}


def seeds_data(experiment: Experiment, table: pl.DataFrame) -> dict[str, Any]:
    """Return the interactive figure of every seed's total gain, with the totals printed."""
    rows = totals(table)
    traces: list[dict[str, Any]] = []
    for label in policies_of(table):
        own = rows.filter(pl.col("policy") == label)
        traces.append(
            {
                "type": "box",
                "name": label,
                "x": own["gain"].to_list(),
                "y": [label] * len(own),
                "orientation": "h",
                "boxpoints": "all",
                "pointpos": 0,
                "text": [f"seed {seed}" for seed in own["seed"]],
                "marker": {"color": colour_of(label), "size": 4},
                "showlegend": False,
            }
        )
    printed = [(it.label, gain) for it in experiment.entries for gain in it.published]
    if printed:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "printed by the authors",
                "x": [gain for _, gain in printed],
                "y": [label for label, _ in printed],
                "marker": {"symbol": "diamond-open", "color": "black", "size": 9},
            }
        )
    layout = _layout("total gain", "", shapes=[])
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    layout["legend"] = {"orientation": "h", "y": 1.08}
    return {"data": traces, "layout": layout}


def _layout(x: str, y: str, *, shapes: list[dict[str, Any]]) -> dict[str, Any]:
    grid = {"gridcolor": "#e4e4e4", "zerolinecolor": "#b0b0b0"}
    return {
        "xaxis": {"title": {"text": x}, **grid},
        "yaxis": {"title": {"text": y}, **grid},
        "shapes": shapes,
        "height": 560,
        "margin": {"t": 30},
        "plot_bgcolor": "white",
        "paper_bgcolor": "white",
    }


def _vertical(change: int) -> dict[str, Any]:
    line = {"color": "#505050", "dash": "dot", "width": 1}
    return {
        "type": "line", "x0": change, "x1": change, "y0": 0, "y1": 1, "yref": "paper", "line": line,
    }  # fmt: skip


def _interactive(figure: dict[str, Any], name: str, *, library: bool) -> str:
    return str(
        plotly.io.to_html(
            figure,
            full_html=False,
            include_plotlyjs=library,
            div_id=name,
            config={"responsive": True, "displaylogo": False},
        )
    )


def _gains(experiment: Experiment, table: pl.DataFrame) -> str:
    printed = {entry.label: entry.published for entry in experiment.entries}
    rows = [
        [
            row.policy,
            f"{row.gain:,.1f}",
            f"{row.low:,.0f} to {row.high:,.0f}",
            f"{row.worst:,.0f}",
            f"{row.best:,.0f}",
            f"{row.reward:,.0f}",
            f"{row.cost:,.0f}",
            *_printed(printed.get(row.policy, ())),
        ]
        for row in summaries(table)
    ]
    headings = (
        "policy",
        "gain",
        "95 %",
        "worst",
        "best",
        "reward",
        "cost",
        "authors",
        "their runs",
    )
    return _table(headings, rows) + (
        '<p class="note">Gain is reward minus cost, the mean over seeds with its bootstrap'
        " interval, worst and best seed. Authors: the mean of the totals that they printed, and"
        " these.</p>"
    )


def _printed(gains: Sequence[float]) -> list[str]:
    if not gains:
        return ["", ""]
    return [f"{sum(gains) / len(gains):,.1f}", "; ".join(f"{gain:,.0f}" for gain in gains)]


def _parameters(experiment: Experiment) -> str:
    rounds = "to the end" if experiment.rounds is None else f"{experiment.rounds:,}"
    world = ["world", experiment.world, _listed(experiment.world_params), rounds]
    policies = [[it.label, it.policy, _listed(it.params), rounds] for it in experiment.entries]
    return _table(("", "name", "parameters", "rounds"), [world, *policies], kind="words")


def _versions() -> str:
    rows = [["thrifty", __version__], ["Python", platform.python_version()]]
    rows += [[name, version(name)] for name in PACKAGES]
    return _table(("package", "version that made this report"), rows, kind="words")


def _listed(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in params.items())


def _in_words(seeds: Sequence[int]) -> str:
    """Return seeds as a range if they are one.

    >>> _in_words([0, 1, 2]), _in_words([3, 7])
    ('0 to 2', '3, 7')
    """
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(it)}</th>" for it in headings)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(it)}</td>" for it in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table class="{kind}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
