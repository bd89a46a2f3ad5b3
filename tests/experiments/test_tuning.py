"""Grids and choices by hand; tuning data is never evaluation data."""

from pathlib import Path

import polars as pl
import pytest

from thrifty.errors import InvalidSpec
from thrifty.experiments.spec import Entry, Experiment, find
from thrifty.experiments.tuning import choices, evaluation

GRID = """
title = "Grid"
seeds = "0:2"
[world]
name = "nursery/tuning"
[[policies]]
policy = "sw-ucb"
alpha = [0.1, 0.2]
tau = [10, 20, 30]
"""


def test_lists_of_values_are_grids(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    experiment = find(str(tmp_path / "grid.toml"))
    assert len(experiment.entries) == 6
    assert experiment.entries[1].label == "sw-ucb alpha=0.1 tau=20"
    assert experiment.entries[1].params == {"alpha": 0.1, "tau": 20}


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.replace("[10, 20, 30]", "[]"))
    with pytest.raises(InvalidSpec, match="without values"):
        find(str(tmp_path / "grid.toml"))


def test_the_papers_grid() -> None:
    entries = find("nursery/tuning").entries
    assert sum(entry.policy == "ncc-ucrl2-published" for entry in entries) == 11 * 17
    assert len(find("nursery/tuning").seeds) == 3


def test_the_highest_mean_gain_is_chosen() -> None:
    labels = {"a": (1.0, 5.0), "b": (4.0, 4.0), "c": (4.0, 4.0)}
    experiment = Experiment(
        id="grid",
        title="Grid",
        world="nursery/tuning",
        entries=tuple(Entry(label, "ucb1", {"alpha": k}) for k, label in enumerate(labels)),
        seeds=(0, 1),
    )
    table = pl.DataFrame(
        [
            {"policy": label, "seed": seed, "measure": "gain", "key": "", "round": 0, "value": x}
            for label, gains in labels.items()
            for seed, x in enumerate(gains)
        ]
    )
    (chosen,) = choices(experiment, table)
    assert (chosen.params, chosen.gain, chosen.runner_up) == ({"alpha": 1}, 4.0, 4.0)
    assert chosen.candidates == 3


def test_the_choice_is_compared_with_the_experiments_own_parameters() -> None:
    published = find("nursery/published")
    chosen = choices(
        Experiment("g", "G", "nursery/tuning", (Entry("x", "ucb1", {"alpha": 0.2}),), (0,)),
        pl.DataFrame(
            {
                "policy": ["x"],
                "seed": [0],
                "measure": ["gain"],
                "key": [""],
                "round": [0],
                "value": [1.0],
            }
        ),
    )
    entries = evaluation(chosen, published).entries
    assert [(entry.label, entry.params["alpha"]) for entry in entries] == [
        ("UCB1", 0.6),
        ("tuned ucb1", 0.2),
    ]
