"""Figures of tuning, growth and events: what is drawn, not how it looks."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from figures.small_results import KINDS
from thrifty.experiments.tuning import surfaces
from thrifty.figures import diagnostics


def marks(axes: Axes) -> dict[str, tuple[float, float]]:
    lines: list[Line2D] = list(axes.get_lines())
    return {
        str(line.get_label()): (
            float(np.asarray(line.get_xdata())[0]),
            float(np.asarray(line.get_ydata())[0]),
        )
        for line in lines
        if not str(line.get_label()).startswith("_")  # matplotlib's default labels
    }


def test_a_heat_map_of_two_parameters() -> None:
    (found,) = surfaces(KINDS["grid"])
    axes = diagnostics.tuning(found).axes[0]
    assert np.asarray(axes.get_images()[0].get_array()).tolist() == [[2, 8], [5, -4]]
    assert marks(axes) == {"best": (1, 0), "paper": (1, 1)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["50", "100"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.1", "0.2"]
    axes = diagnostics.tuning(replace(found, reported=None)).axes[0]
    assert marks(axes) == {"best": (1, 0)}


def test_a_line_of_one_parameter() -> None:
    (found,) = surfaces(KINDS["line"])
    (axes,) = diagnostics.tuning(found).axes
    assert np.asarray(axes.get_lines()[0].get_ydata()).tolist() == [3, 5, 4]
    assert marks(axes) == {"best": (1, 5), "paper": (2, 4)}


def test_regret_below_the_bound() -> None:
    figure = diagnostics.growth(KINDS["horizons"], {100: 70.0, 400: 140.0})
    (axes,) = figure.axes
    drawn = {
        str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()
    }
    assert drawn["bound of the theorem"] == [70, 140]
    assert np.round(drawn["the text: slope 0.50"], 9).tolist() == [10, 20]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    (axes,) = diagnostics.growth(KINDS["horizons"], {}).axes
    assert "bound of the theorem" not in {line.get_label() for line in axes.get_lines()}


def test_events_by_hand() -> None:
    changes = {"rewards": [10], "prices": [5]}
    figure = diagnostics.events(KINDS["recording"], "Scout", changes)
    one, *every = figure.axes
    assert [text.get_text() for text in one.get_yticklabels()] == [
        "restart",
        "price alarm",
        "my own",
    ]
    lanes = [np.asarray(line.get_xdata()).tolist() for line in one.get_lines()[:3]]
    assert lanes == [[11, 17], [6], []]  # of the first seed
    rates = [np.asarray(axes.patches[0].get_data().values).tolist() for axes in every]  # type: ignore[attr-defined]
    assert rates == [[0, 1.5], [0.5, 0], [0.5, 0]]  # of two seeds, in two blocks
    for axes in figure.axes:
        assert [np.asarray(line.get_xdata())[0] for line in axes.get_lines()[-2:]] == [10, 5]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "change of rewards",
        "change of prices",
    ]
    assert diagnostics.events(KINDS["recording"], "Scout", {"rewards": []}).legends == []
