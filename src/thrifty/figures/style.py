"""How figures look: one colour per policy everywhere, and settings fit for print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from zlib import crc32

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "oracle": "#000000",
        "scout": "#332288",
        "ncc-ucrl2": "#D55E00",
        "sw-ucb": "#56B4E9",
        "ucb1": "#0072B2",
        "ps-linucb": "#009E73",
        "linucb": "#CC79A7",
        "sim-oos": "#E69F00",
        "epsilon-greedy": "#882255",
        "uniform": "#999999",
    }
)
"""By the beginning of a policy's label; the palette of Okabe and Ito, and three that go with it."""

SPARE = ("#117733", "#999933", "#AA4499", "#44AA99", "#661100")
"""For policies of other names: P. Tol's muted palette."""

KEYS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""For actions and features, in their order."""

DASHES = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
"""For policies that share a colour, in their order."""

BOUND: Mapping[str, Any] = MappingProxyType(
    {"color": "#505050", "linestyle": (0, (1, 1)), "linewidth": 2.2}
)
"""The line of a theorem's bound."""

CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rewards": {"color": "#505050", "linestyle": ":", "linewidth": 1.1},
        "prices": {"color": "#505050", "linestyle": (0, (5, 2)), "linewidth": 0.9},
    }
)
"""The lines of changes, where those of rewards and of prices are told apart."""

SURFACE = "cividis"
"""The colours of heat maps, which every kind of colour vision can order."""

WINDOW = re.compile(r"^w = (\d+)$")
WINDOWS = (100, 1500)
"""Labels of windows, and those that get the darkest and the brightest colour."""

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E4E4E4",
        "grid.linewidth": 0.6,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "savefig.dpi": 300,
        "pdf.fonttype": 42,
        "svg.hashsalt": "thrifty",
    }
)


@contextmanager
def print_quality() -> Iterator[None]:
    """Set what print needs, and afterwards everything as it was; also a decorator."""
    settings: Any = dict(SETTINGS)  # its own hints want every key spelt out as a literal
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, which no global list knows."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def colour_of(label: str) -> str:
    """Return the colour of a policy: by the beginning of its label, else by its whole label.

    Windows, "w = NUMBER", are the brighter the longer they are.

    >>> colour_of("NCC-UCRL2, text") == colour_of("ncc-ucrl2")
    True
    >>> colour_of("my own") == colour_of("my own")
    True
    """
    for prefix, colour in COLOURS.items():
        if label.lower().startswith(prefix):
            return colour
    window = WINDOW.match(label)
    if window:
        return _colour_of_window(int(window[1]))
    return SPARE[crc32(label.encode()) % len(SPARE)]


def _colour_of_window(window: int) -> str:
    place = np.log(max(window, 1) / WINDOWS[0]) / np.log(WINDOWS[1] / WINDOWS[0])
    return to_hex(matplotlib.colormaps["viridis"](0.9 * float(np.clip(place, 0, 1))))


def strokes(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour and line style by label; those that share a colour are dashed differently.

    >>> [stroke["linestyle"] for stroke in strokes(["UCB1", "UCB1, again"]).values()]
    ['solid', (0, (5, 1.5))]
    """
    used: dict[str, int] = {}
    result: dict[str, dict[str, Any]] = {}
    for label in labels:
        colour = colour_of(label)
        dash = DASHES[used.get(colour, 0) % len(DASHES)]
        result[label] = {"color": colour, "linestyle": dash}
        used[colour] = used.get(colour, 0) + 1
    return result
