"""Figures of the paper: what is drawn, not how it looks."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from figures.small_results import windows
from figures.small_tables import results_of, table_of
from thrifty.environments import Replay
from thrifty.figures import paper
from thrifty.figures.style import policy_colour

RESULTS = results_of(table_of("Oracle", "UCB1", "NCC-UCRL2"))


def lines(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def ys(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


def change_points(axes: Axes) -> list[float]:
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    return [float(np.asarray(line.get_xdata())[0]) for line in dotted]


def bars(axes: Axes) -> list[BarContainer]:
    return [item for item in axes.containers if isinstance(item, BarContainer)]


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_regret_is_the_running_mean_over_seeds() -> None:
    figure = paper.cumulative_regret(RESULTS, [7, 15])
    (axes,) = figure.axes
    drawn = lines(axes)
    assert ys(drawn["UCB1"]) == [0, 2, 5]  # seeds 0, 2, 4 and 0, 2, 6
    assert ys(drawn["NCC-UCRL2"]) == [0, 3, 7]
    assert np.asarray(drawn["UCB1"].get_xdata()).tolist() == [0, 10, 20]
    assert "Oracle" not in drawn
    assert drawn["UCB1"].get_color() == policy_colour("ucb1")
    assert change_points(axes) == [7, 15]
    assert legend_of(figure) == ["NCC-UCRL2", "UCB1"]  # as the lines end, from above


def test_regret_is_shaded_by_the_interval() -> None:
    (axes,) = paper.cumulative_regret(results_of(table_of("UCB1")), []).axes
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices
    assert np.asarray(heights)[:, 1].max() == 4  # totals of 2 and 4: resampled means reach both
    at_the_end = np.asarray(heights)[np.asarray(heights)[:, 0] == 20, 1]
    assert at_the_end.min() == 2


def test_bars_are_gain_plus_cost() -> None:
    (axes,) = paper.gain_and_cost(RESULTS).axes
    gains, costs = bars(axes)
    # Rewards 15, 14 and 13 on average, each with cost 1; the best comes last, which is on top.
    assert [bar.get_width() for bar in gains.patches] == [12, 13, 14]
    assert [bar.get_width() for bar in costs.patches] == [1, 1, 1]
    assert [bar.get_x() for bar in costs.patches] == [12, 13, 14]
    assert [text.get_text().strip() for text in axes.texts] == [
        "13 = 12 + 1",
        "14 = 13 + 1",
        "15 = 14 + 1",
    ]


def test_recommendations_have_a_panel_for_each_period() -> None:
    figure = paper.recommendations(RESULTS, [10], ["Oracle", "UCB1"])
    first, second = figure.axes
    assert [bar.get_height() for bar in bars(first)[0].patches] == [0.4, 0.6]
    assert [bar.get_height() for bar in bars(second)[1].patches] == [0, 1]
    assert [axes.get_title() for axes in figure.axes] == ["rounds 0 to 9", "rounds 10 to 19"]
    assert legend_of(figure) == ["Oracle", "UCB1"]


def test_recommendations_leave_no_empty_panel() -> None:
    figure = paper.recommendations(RESULTS, [4, 8, 10, 12], ["Oracle"])
    assert [axes.get_visible() for axes in figure.axes] == [True] * 5 + [False] * 3


def test_the_environment_shows_means_of_periods() -> None:
    replay = Replay(
        contexts=[[0]] * 4,
        rewards=[[1, 0], [0, 0], [0, 1], [0, 1]],
        costs=[[0.1], [0.3], [0.3], [0.5]],
        reward_changes=[2],
        cost_changes=[1],
    )
    upper, lower = paper.environment(replay).axes
    assert ys(lines(upper)[replay.problem.actions[0]]) == [0.5, 0.5, 0, 0]
    assert ys(lines(upper)[replay.problem.actions[1]]) == [0, 0, 1, 1]
    (feature,) = replay.problem.features
    assert ys(lines(lower)[feature.name]) == pytest.approx([0.1, 1.1 / 3, 1.1 / 3, 1.1 / 3])
    assert (change_points(upper), change_points(lower)) == ([2], [1])
    shorter, _ = paper.environment(replay, rounds=2).axes
    assert ys(lines(shorter)[replay.problem.actions[0]]) == [0.5, 0.5]
    assert change_points(shorter) == []


def test_windows_are_ordered_by_length() -> None:
    results = windows()
    backwards = replace(results.experiment, entries=results.experiment.entries[::-1])
    figure = paper.windows(replace(results, experiment=backwards), [5])
    left, right = figure.axes
    assert legend_of(figure) == ["short", "long"]
    assert ys(lines(left)["short"]) == [0, 1, 3]
    assert change_points(left) == [5]
    by_window = right.get_lines()[0]
    assert np.asarray(by_window.get_xdata()).tolist() == [10, 20]
    assert ys(by_window) == [3, 5]


def test_accuracy_by_number_of_observations() -> None:
    (axes,) = paper.accuracy(RESULTS, ["Oracle", "UCB1"]).axes
    drawn = lines(axes)
    assert ys(drawn["Oracle"]) == [0.7, 0.75, 0.75]
    assert ys(drawn["UCB1"]) == [0.7, 0.7, 0.7]
    assert len(axes.collections) == 2


def test_seeds_and_what_was_printed() -> None:
    figure = paper.seeds(results_of(RESULTS.table, {"UCB1": (11.0, 12.0)}))
    (axes,) = figure.axes
    dots = [np.asarray(points.get_offsets()) for points in axes.collections]
    lowest_row = dots[0]  # NCC-UCRL2, the last of the table
    assert lowest_row[:, 0].tolist() == [11, 13]
    marks = next(m for m in axes.collections if m.get_label() == "printed by the authors")
    assert np.asarray(marks.get_offsets())[:, 0].tolist() == [11, 12]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["NCC-UCRL2", "UCB1", "Oracle"]


def test_seeds_without_printed_totals() -> None:
    assert "printed by the authors" not in legend_of(paper.seeds(RESULTS))


def test_purchases_have_a_panel_for_each_feature() -> None:
    figure = paper.purchases(RESULTS, "UCB1", [10])
    values = []
    for axes in figure.axes:
        (steps,) = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
        values.append(np.asarray(steps.get_data()[0]).tolist())
        assert change_points(axes) == [10]
    assert values == [[1, 0], [0, 0]]
    assert [axes.get_ylabel() for axes in figure.axes] == ["x", "y"]


def test_drawing_does_not_change_the_table() -> None:
    before = RESULTS.table.clone()
    paper.cumulative_regret(RESULTS, [])
    paper.gain_and_cost(RESULTS)
    assert isinstance(RESULTS.table, pl.DataFrame)
    assert RESULTS.table.equals(before)
