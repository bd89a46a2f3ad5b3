"""HTML pages in one file: they work offline, need no other file, and escape all text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import plotly.io  # type: ignore[import-untyped]
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "plotlyServerURL": "",  # no button may send a report anywhere
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d"],
}

_CSS = """
body { font: 16px/1.55 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; color: #1a1a1a;
       padding: 0 1rem; background: #ffffff; }
h2 { margin-top: 3rem; border-bottom: 2px solid #dddddd; padding-bottom: .2rem; }
h3 { margin-top: 2rem; }
nav a { margin-right: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #dddddd;
         vertical-align: top; }
td { white-space: nowrap; }
th:first-child, td:first-child, .words td, .words th { text-align: left; white-space: normal; }
td:last-child { white-space: normal; }
figure { margin: 1.2rem 0 2.2rem; overflow-x: auto; }
figcaption, p.note { color: #505050; font-size: .92rem; }
code { background: #f3f3f3; padding: .1rem .3rem; }
"""


def page(title: str, body: Iterable[str], css: str = "") -> str:
    """Return a page; the parts of its body are HTML."""
    content = "\n".join(body)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}{css}</style>\n"
        f"<script>{get_plotlyjs()}</script>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{content}\n</body>\n</html>\n"
    )


def interactive(figure: dict[str, Any], name: str) -> str:
    """Return a plotly figure as HTML."""
    return str(
        plotly.io.to_html(
            figure,
            full_html=False,
            include_plotlyjs=False,
            div_id=name,
            config=_CONFIG,
        )
    )


def captioned(figure: dict[str, Any], name: str, caption: str) -> str:
    """Return a plotly figure with its caption as HTML."""
    figure_html = interactive(figure, name)
    return f"<figure>{figure_html}<figcaption>{escape(caption)}</figcaption></figure>"


def note(text: str) -> str:
    """Return a paragraph in small type."""
    return f'<p class="note">{escape(text)}</p>'


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """Return a table whose cells are text.

    >>> print(table(["a"], [["<b>"]]))
    <div class="wide"><table class="">
    <thead><tr><th>a</th></tr></thead>
    <tbody>
    <tr><td>&lt;b&gt;</td></tr>
    </tbody></table></div>
    """
    return table_of_cells(headings, ([cell(text) for text in row] for row in rows), kind)


def cell(text: str, kind: str = "") -> str:
    """Return a table cell with this text."""
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def table_of_cells(headings: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """Return a table whose cells are HTML."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table class="{kind}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
