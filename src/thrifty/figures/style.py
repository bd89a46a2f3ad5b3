"""Style of figures: one colour per policy everywhere, and settings for print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from zlib import crc32

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from thrifty.experiments.spec import Experiment

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "oracle": "#000000",
        "scout": "#332288",
        "surveyor": "#AA3377",
        "auto": "#6699CC",
        "ncc-ucrl2": "#D55E00",
        "ncc-ucrl2-published": "#D55E00",
        "ncc-ucrl2-repaired": "#D55E00",
        "sw-ucb": "#56B4E9",
        "ucb1": "#0072B2",
        "ps-linucb": "#009E73",
        "linucb": "#CC79A7",
        "plan": "#225555",
        "sim-oos": "#E69F00",
        "epsilon-greedy": "#882255",
        "uniform": "#999999",
        "d-linucb": "#4477AA",
        "sw-linucb": "#228833",
        "bob-sw-linucb": "#66CCEE",
        "dlinucb": "#EE6677",
        "dlinucb-ensemble": "#CCBB44",
        "d-ucb": "#77AADD",
        "discounted-ts": "#EEDD88",
        "cusum-ucb": "#BBCC33",
        "m-ucb": "#AAAA00",
        "glr-klucb": "#44BB99",
        "master": "#666666",
        "adaptive-ts": "#CC6677",
        "particle-learning": "#88CCEE",
        "dal-linucb": "#DDCC77",
        "dal-ncc-ucrl2": "#994455",
        "ada-iltcb": "#1B6B5A",
        "ada-iltcb-plus": "#2FA084",
        "seq-oos": "#B57A00",
        "tsrc": "#5B3A8C",
        "wtsrc": "#8C5BB5",
    }
)
"""Colour by registered name of the policy: the palette of Okabe and Ito, and others."""

SPARE = ("#117733", "#999933", "#AA4499", "#44AA99", "#661100")
"""Colours of other policies: P. Tol's muted palette."""

KEY_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)
"""Colours of actions and features, in their order."""

DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
"""Line styles of policies that share a colour, in their order."""

BOUND: Mapping[str, Any] = MappingProxyType(
    {"color": "#505050", "linestyle": (0, (1, 1)), "linewidth": 2.2}
)
"""Line style of a theorem's bound."""

CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rewards": {"color": "#505050", "linestyle": ":", "linewidth": 1.1},
        "prices": {"color": "#505050", "linestyle": (0, (5, 2)), "linewidth": 0.9},
    }
)
"""Line styles of changes, where rewards and prices are distinguished."""

HEAT_MAP = "cividis"
"""Colour map of heat maps; it can be read with every kind of colour vision."""

WINDOW_RANGE = (100, 1500)
"""Windows with the darkest and the brightest colour."""

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
    """Apply the settings for print, and restore the previous ones at the end; also a decorator."""
    settings: Any = dict(SETTINGS)  # matplotlib's type hints list every key as a literal
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, which pyplot does not keep open."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def policy_colour(policy: str) -> str:
    """Return the colour of a policy by its registered name.

    >>> policy_colour("ncc-ucrl2-repaired") == policy_colour("ncc-ucrl2")
    True
    >>> policy_colour("my own") == policy_colour("my own")
    True
    """
    return COLOURS.get(policy) or SPARE[crc32(policy.encode()) % len(SPARE)]


def label_colours(experiment: Experiment) -> dict[str, str]:
    """Return the colour of every policy of an experiment, by label.

    If the policies differ in their window only, longer windows are brighter.
    """
    windows = experiment.windows
    if windows:
        return {label: _window_colour(window) for label, window in windows.items()}
    return {entry.label: policy_colour(entry.policy) for entry in experiment.entries}


def _window_colour(window: int) -> str:
    low, high = WINDOW_RANGE
    place = np.log(max(window, 1) / low) / np.log(high / low)
    return to_hex(matplotlib.colormaps["viridis"](0.9 * float(np.clip(place, 0, 1))))


def line_styles(experiment: Experiment, labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour and line style by label; policies that share a colour get different dashes."""
    colours = label_colours(experiment)
    used: dict[str, int] = {}
    styles: dict[str, dict[str, Any]] = {}
    for label in labels:
        colour = colours[label]
        dash = DASHES[used.get(colour, 0) % len(DASHES)]
        styles[label] = {"color": colour, "linestyle": dash}
        used[colour] = used.get(colour, 0) + 1
    return styles
