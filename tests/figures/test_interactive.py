"""Interactive figures: their numbers, checked by hand."""

from dataclasses import replace

import pytest

from figures.small_results import KINDS
from figures.small_tables import results_of, table_of
from thrifty.experiments.tuning import surfaces
from thrifty.figures import interactive
from thrifty.figures.style import policy_colour

RESULTS = results_of(table_of("Oracle", "UCB1"))


def test_regret_by_hand() -> None:
    figure = interactive.cumulative_regret(RESULTS, [10])
    ucb1 = figure["data"][-1]
    assert (ucb1["x"], ucb1["y"]) == ([0, 10, 20], [0, 2, 5])
    assert ucb1["line"] == {"color": policy_colour("ucb1"), "dash": "solid"}
    band = figure["data"][-2]
    assert (max(band["y"]), band["x"]) == (6, [0, 10, 20, 20, 10, 0])
    assert band["legendgroup"] == ucb1["legendgroup"]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [10]
    assert "Oracle" not in {trace["name"] for trace in figure["data"]}


def test_gain_and_cost_by_hand() -> None:
    gain, cost = interactive.gain_and_cost(RESULTS)["data"]
    assert gain["y"] == cost["y"] == ["UCB1", "Oracle"]
    assert (gain["x"], cost["x"]) == ([13, 14], [1, 1])
    assert cost["text"] == ["14 = 13 + 1", "15 = 14 + 1"]


def test_seeds_by_hand() -> None:
    printed_by_authors = results_of(RESULTS.table, {"UCB1": (11.0, 14.0)})
    oracle, ucb1, printed = interactive.seeds(printed_by_authors)["data"]
    assert oracle["x"] == [13, 15]
    assert ucb1["text"] == ["seed 0", "seed 1"]
    assert (printed["x"], printed["y"]) == ([11, 14], ["UCB1", "UCB1"])
    assert len(interactive.seeds(RESULTS)["data"]) == 2


def test_recommendations_by_hand() -> None:
    (trace,) = interactive.recommendations(RESULTS, [10], ["UCB1"])["data"]
    assert trace["x"] == [["0-9", "0-9", "10-19", "10-19"], ["left", "right"] * 2]
    assert trace["y"] == [0.4, 0.6, 0, 1]
    (trace,) = interactive.recommendations(RESULTS, [10, 12], ["UCB1"])["data"]
    assert trace["y"] == [0.4, 0.6, None, None, 0, 1]  # nothing was played in a short period


def test_accuracy_by_hand() -> None:
    _, line = interactive.accuracy(RESULTS, ["Oracle"])["data"]
    assert (line["x"], line["y"]) == ([0, 1, 2], [0.7, 0.75, 0.75])


def test_purchases_by_hand() -> None:
    (trace,) = interactive.purchases(RESULTS, "UCB1", [])["data"]
    assert (trace["y"], trace["z"]) == (["x", "y"], [[1, 0], [0, 0]])


def test_a_surface_by_hand() -> None:
    (found,) = surfaces(KINDS["grid"])
    heat, best, reported = interactive.tuning(found)["data"]
    assert (heat["x"], heat["y"], heat["z"]) == (["50", "100"], ["0.1", "0.2"], [[2, 8], [5, -4]])
    assert (best["name"], best["x"], best["y"]) == ("best", ["100"], ["0.1"])
    assert (reported["name"], reported["x"], reported["y"]) == ("paper", ["100"], ["0.2"])
    heat, best = interactive.tuning(replace(found, reported=None))["data"]
    assert best["name"] == "best"


def test_a_line_of_one_parameter_by_hand() -> None:
    (found,) = surfaces(KINDS["line"])
    line, best, reported = interactive.tuning(found)["data"]
    assert (line["x"], line["y"]) == (["0.1", "0.2", "0.3"], [3, 5, 4])
    assert (best["x"], best["y"]) == (["0.2"], [5])
    assert (reported["x"], reported["y"]) == (["0.3"], [4])


def test_growth_by_hand() -> None:
    results = KINDS["horizons"]
    traces = interactive.growth(results, {100: 70.0, 400: 140.0})["data"]
    bound, by_name = traces[0], {trace["name"]: trace for trace in traces}
    assert (bound["x"], bound["y"]) == ([100, 400], [70, 140])
    text = by_name["the text: slope 0.50"]
    assert text["y"] == pytest.approx([10, 20])
    assert "Uniform: slope 1.00" in by_name
    assert "bound of the theorem" not in {
        trace["name"] for trace in interactive.growth(results, {})["data"]
    }


def test_events_by_hand() -> None:
    figure = interactive.events(KINDS["recording"], "Scout", {"rewards": [10], "prices": [5, 15]})
    lines, marks = figure["data"][::2], figure["data"][1::2]
    assert [line["name"] for line in lines] == ["restart", "price alarm", "my own"]
    assert [line["y"] for line in lines] == [[0, 1.5], [0.5, 0], [0.5, 0]]
    assert [mark["x"] for mark in marks] == [[11, 17], [6], []]
    dashes = [(shape["x0"], shape["line"]["dash"]) for shape in figure["layout"]["shapes"]]
    assert dashes == [(10, "dot"), (5, "dash"), (15, "dash")]
