"""Figures that the paper lacks: what is drawn, not how it looks."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from figures.small_results import KINDS
from thrifty.experiments.growth import growths
from thrifty.experiments.tuning import surfaces
from thrifty.figures import beyond


def marks(axes: Axes) -> dict[str, tuple[float, float]]:
    lines: list[Line2D] = [it for it in axes.get_lines() if not str(it.get_label()).startswith("_")]
    return {
        str(it.get_label()): (
            float(np.asarray(it.get_xdata())[0]),
            float(np.asarray(it.get_ydata())[0]),
        )
        for it in lines
    }


def test_a_heat_map_of_two_parameters() -> None:
    (found,) = surfaces(KINDS["grid"])
    axes = beyond.surface(found).axes[0]
    assert np.asarray(axes.get_images()[0].get_array()).tolist() == [[2, 8], [5, -4]]
    assert marks(axes) == {"best": (1, 0), "the paper's": (1, 1)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["50", "100"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.1", "0.2"]
    axes = beyond.surface(replace(found, reported=None)).axes[0]
    assert marks(axes) == {"best": (1, 0)}


def test_a_line_of_one_parameter() -> None:
    (found,) = surfaces(KINDS["line"])
    (axes,) = beyond.surface(found).axes
    assert np.asarray(axes.get_lines()[0].get_ydata()).tolist() == [3, 5, 4]
    assert marks(axes) == {"best": (1, 5), "the paper's": (2, 4)}


def test_regret_below_the_bound() -> None:
    found = growths(KINDS["horizons"].table)
    figure = beyond.growth(found, {100: 70.0, 400: 140.0})
    (axes,) = figure.axes
    drawn = {str(it.get_label()): np.asarray(it.get_ydata()).tolist() for it in axes.get_lines()}
    assert drawn["bound of the theorem"] == [70, 140]
    assert np.round(drawn["NCC-UCRL2, text: slope 0.50"], 9).tolist() == [10, 20]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    (axes,) = beyond.growth(found, {}).axes
    assert "bound of the theorem" not in {it.get_label() for it in axes.get_lines()}


def test_events_by_hand() -> None:
    changes = {"rewards": [10], "prices": [5]}
    figure = beyond.events(KINDS["noting"].table, "Scout", changes)
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
    assert [it.get_text() for it in legend.get_texts()] == [
        "change of rewards",
        "change of prices",
    ]
    assert beyond.events(KINDS["noting"].table, "Scout", {"rewards": []}).legends == []
