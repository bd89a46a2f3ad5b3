"""Which figures an experiment has, and that each can be drawn in every way."""

import json
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import plotly.io  # type: ignore[import-untyped]
import pytest

from figures.small_results import KINDS, plain
from figures.small_tables import results_of, table_of, table_of_regrets
from thrifty.experiments.results import Results
from thrifty.figures.figure_list import figure_specs
from thrifty.figures.files import write_figures
from thrifty.figures.formats import FORMATS

STARTS = {"pdf": b"%PDF", "png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml"}
NAMES = {
    "plain": {
        "environment",
        "gain-and-cost",
        "cumulative-regret",
        "recommendations",
        "seeds",
        "accuracy",
        "purchases-oracle",
        "purchases-ncc-ucrl2-text",
        "purchases-ucb1",
    },
    "recording": {
        "environment",
        "gain-and-cost",
        "cumulative-regret",
        "recommendations",
        "seeds",
        "accuracy",
        "purchases-scout",
        "purchases-ucb1",
        "events-scout",
    },
    "windows": {"windows", "gain-and-cost", "seeds"},
    "grid": {"tuning-ps-linucb"},
    "line": {"tuning-ucb1"},
    "horizons": {"growth"},
}


def names(results: Results) -> list[str]:
    return [spec.name for spec in figure_specs(results)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_figures(kind: str) -> None:
    found = names(KINDS[kind])
    assert len(set(found)) == len(found)
    assert set(found) == NAMES[kind]
    assert all(spec.caption.strip() for spec in figure_specs(KINDS[kind]))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_valid_and_the_same_every_time(tmp_path: Path, kind: str, format_: str) -> None:
    first, second = (
        write_figures(tmp_path / folder, KINDS[kind], [format_]) for folder in ("a", "b")
    )
    assert {path.stem for path in first} == NAMES[kind]
    for one, other in zip(first, second, strict=True):
        content = one.read_bytes()
        assert content.startswith(STARTS[format_])
        assert (b"<svg" in content) == (format_ == "svg")
        assert content == other.read_bytes()
    assert sorted((tmp_path / "a" / "figures").iterdir()) == sorted(first)  # no drafts are left


def numbers_of(value: Any) -> list[float]:
    """Return every number in nested lists and dictionaries."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_of(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_of(item)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [float(value)] if is_number else []


@pytest.mark.parametrize("kind", KINDS)
def test_pages_have_the_same_figures(kind: str) -> None:
    for spec in figure_specs(KINDS[kind]):
        figure = spec.interactive()
        text = json.dumps(figure, allow_nan=False)  # numbers, or null
        assert plotly.io.from_json(text).to_dict()["data"]
        plotly.io.from_json(text, skip_invalid=False)
        plotly.io.to_html(figure, validate=True, include_plotlyjs=False)
        assert all(isfinite(number) for number in numbers_of(figure))


def test_regret_that_is_not_positive_can_be_drawn(tmp_path: Path) -> None:
    regrets: dict[str, dict[int, tuple[float, ...]]]
    regrets = {"lucky": {100: (-1.0, -2.0), 400: (0.0, -1.0)}, "not": {100: (1.0,), 400: (2.0,)}}
    results = results_of(table_of_regrets(regrets))
    experiment = replace(results.experiment, horizons=(100, 400))
    results = Results(experiment, results.table)
    (path,) = write_figures(tmp_path, results, ["svg"])
    assert path.stat().st_size > 0
    (spec,) = figure_specs(results)
    json.dumps(spec.interactive(), allow_nan=False)


def test_too_many_periods_are_not_drawn_one_by_one() -> None:
    assert "recommendations" in names(plain("UCB1", reward_changes=(5, 10)))
    assert "recommendations" not in names(plain("UCB1", reward_changes=list(range(1, 14))))


def test_changes_after_the_last_round_are_not_drawn() -> None:
    results = plain("UCB1", rounds=50, reward_changes=[10, 30])
    regret = next(spec for spec in figure_specs(results) if spec.name == "cumulative-regret")
    assert [shape["x0"] for shape in regret.interactive()["layout"]["shapes"]] == [10]


def test_policies_that_buy_all_or_nothing_have_no_purchases() -> None:
    table = table_of("UCB1", "NCC-UCRL2")
    none = table.with_columns(value=table["value"] * (table["measure"] != "purchases"))
    results = Results(plain("UCB1", "NCC-UCRL2").experiment, none)
    assert not [name for name in names(results) if name.startswith(("purchases", "accuracy"))]


@pytest.mark.parametrize("labels", [("UCB1, a", "UCB1 (a)"), ("é", "ö")])
def test_labels_that_look_alike_have_files_of_their_own(labels: tuple[str, str]) -> None:
    found = names(plain(*labels))
    assert len(set(found)) == len(found)
