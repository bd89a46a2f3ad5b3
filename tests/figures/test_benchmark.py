"""Figures of a benchmark: what is drawn, for numbers that a reader can check by hand."""

from pathlib import Path

import numpy as np
import pytest

from thrifty.experiments.ranking import rank
from thrifty.experiments.scores import Scores
from thrifty.figures.benchmark import (
    by_difficulty,
    difficulty_columns,
    group_scores,
    profiles,
    ranking,
)
from thrifty.figures.files import save

NAN = np.nan
SCORES = Scores(
    ("a", "b", "c"),
    ("easy", "hard"),
    np.array([[[0.9, 0.7], [0.5, 0.3]], [[0.2, 0.2], [-2.0, -2.0]], [[0.4, 0.6], [NAN, NAN]]]),
)
ATTRIBUTES = {"easy": {"changes": 0.0}, "hard": {"changes": 20.0}}
LABELS = ["a", "b", "c"]


def test_columns_are_groups_or_else_worlds() -> None:
    assert difficulty_columns(SCORES, ATTRIBUTES) == {
        ("", "all worlds"): ("easy", "hard"),
        ("changes", "none"): ["easy"],
        ("changes", "5 or more"): ["hard"],
    }
    assert [name for _, name in difficulty_columns(SCORES, {})] == ["all worlds", "easy", "hard"]


def test_cells_are_interquartile_means() -> None:
    cells = group_scores(SCORES, LABELS, difficulty_columns(SCORES, ATTRIBUTES))
    assert cells[0].tolist() == pytest.approx([0.6, 0.8, 0.4])
    assert cells[1].tolist() == pytest.approx([-0.9, 0.2, -2.0])
    assert np.isnan(cells[2]).tolist() == [True, False, True]


def test_cells_show_their_numbers() -> None:
    figure = by_difficulty(SCORES, LABELS, ATTRIBUTES)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:3] == ["0.60", "0.80", "0.40"]
    assert "-2.00" in texts
    assert "changes" in texts
    assert len(texts) == 7 + 2


def test_a_profile_is_drawn_for_every_policy() -> None:
    figure = profiles(SCORES, LABELS)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert {*LABELS} <= {*lines}
    drawn = [line for line in figure.axes[0].get_lines() if np.size(line.get_xdata())]
    assert len(drawn) == 3


def test_the_ranking_shows_estimates_and_their_intervals(tmp_path: Path) -> None:
    rows = rank(SCORES)
    figure = ranking(rows)
    left, _, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b", "c"]
    marks = [np.ravel(line.get_xdata())[0] for line in left.get_lines()]
    assert marks == [row.interquartile_mean.value for row in rows]
    assert len(right.get_lines()) == 2 + 1  # two policies are compared with the first, and 0.5
    assert save(figure, tmp_path / "ranking.png").is_file()
