"""Tuning over many worlds: declared grids, one choice per policy, on reserved seeds only."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from experiments.small_experiments import EXPERIMENT
from thrifty.errors import InvalidSpec
from thrifty.experiments.aggregates import BootstrapEstimate
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.grid_tuning import (
    GridChoice,
    catalogue_lines,
    choose,
    grid_of,
    tuning_experiments,
)
from thrifty.experiments.makers import maker_of
from thrifty.experiments.results import Results
from thrifty.experiments.runner import RunCache, run_all
from thrifty.experiments.spec import Entry, find_all
from thrifty.parameters import check_parameter
from thrifty.policies import POLICIES
from thrifty.policies.registry import parameter_names

GREEDY = Entry("greedy", "epsilon-greedy")
WORLDS = [
    replace(
        EXPERIMENT,
        id=f"made-up/{name}",
        environment_params={"levels": [2], "n_actions": 2, "rounds": 400, "tables": k},
        entries=(Entry("scout", "scout"), GREEDY),
        choosing_seeds=tuple(range(1000, 1010)),
    )
    for k, name in enumerate(("first", "second"))
]


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "plan"])
def test_declared_grids_are_allowed_and_small(name: str) -> None:
    make: Any = maker_of(name)
    owner = getattr(make, "__self__", make)
    size = 1
    for parameter, values in grid_of(Entry(name, name)).items():
        assert parameter in parameter_names(make)
        assert len({*values}) == len(values) > 1
        for value in values:
            check_parameter(parameter, value, owner.allowed[parameter], owner=name)
        size *= len(values)
    assert size <= 12


def test_every_combination_plays_the_first_reserved_seeds() -> None:
    grids = tuning_experiments(WORLDS)
    assert [grid.id for grid in grids] == ["tuning/made-up/first", "tuning/made-up/second"]
    assert grids[0].seeds == (1000, 1001, 1002, 1003, 1004)
    assert [entry.params for entry in grids[0].entries] == [
        {"epsilon": value} for value in grid_of(GREEDY)["epsilon"]
    ]
    assert tuning_experiments(WORLDS, (1007,))[0].seeds == (1007,)


def test_reported_seeds_are_refused() -> None:
    with pytest.raises(InvalidSpec, match="does not reserve all of the seeds 0 to 0"):
        tuning_experiments(WORLDS, (0,))


def test_policies_without_a_grid_are_not_tuned() -> None:
    with pytest.raises(InvalidSpec, match="none of these policies declares a grid"):
        tuning_experiments([replace(WORLDS[0], entries=(Entry("scout", "scout"),))])


def test_the_best_combination_over_all_worlds_is_chosen(tmp_path: Path) -> None:
    """A tenth of random actions costs more than a hundredth where two actions differ clearly."""
    grids = tuning_experiments(WORLDS)
    results = run_all(grids, RunCache(tmp_path), executor=SerialExecutor())
    [choice] = choose(WORLDS, results)
    means = {}
    for entry in grids[0].entries:
        scores = [
            1 - part["expected_regret"] / part["uniform_regret"]
            for part in _totals(results, entry.label)
        ]
        means[entry.params["epsilon"]] = _middle(scores)
    assert choice.chosen == {"epsilon": max(means, key=lambda value: means[value])}
    assert choice.score.value == pytest.approx(max(means.values()))
    assert choice.own_score == pytest.approx(means[0.03])  # the default
    assert choice.runner_up == pytest.approx(sorted(means.values())[-2])
    assert (choice.candidates, choice.worlds) == (4, 2)
    [written] = tomllib.loads(catalogue_lines([choice], "mine"))["mine"]
    assert written == {"label": "greedy", "policy": "epsilon-greedy", **choice.chosen}


def test_the_lines_are_complete(tmp_path: Path) -> None:
    entry = Entry("set", "linucb", {"alpha": 0.5}, features="best-fixed")
    worlds = [replace(world, entries=(entry,)) for world in WORLDS]
    results = run_all(
        tuning_experiments(worlds, (1000,)), RunCache(tmp_path), executor=SerialExecutor()
    )
    [choice] = choose(worlds, results)
    [written] = tomllib.loads(catalogue_lines([choice], "mine"))["mine"]
    assert written.pop("features") == "best-fixed"
    assert {*written} == {"label", "policy", "alpha", "encoding"}
    assert choice.own_score is not None  # alpha of the entry, and the default encoding


def test_a_parameter_that_is_none_is_left_out() -> None:
    score = BootstrapEstimate(0.5, 0.4, 0.6)
    entry = Entry("blocks", "bob-sw-linucb", {"alpha": 0.5})
    choice = GridChoice(entry, {"alpha": 1.0, "block": None}, score, None, None, 9, 2)
    [written] = tomllib.loads(catalogue_lines([choice], "mine"))["mine"]
    assert written == {"label": "blocks", "policy": "bob-sw-linucb", "alpha": 1.0}


def test_the_benchmark_reserves_seeds_for_tuning() -> None:
    assert len(tuning_experiments(find_all("worlds"))) == len(find_all("worlds"))


def _totals(results: list[Results], label: str) -> list[dict[str, float]]:
    """Return the sums of the measures of every run of a policy."""
    found = []
    for result in results:
        rows = result.table.filter(pl.col("policy") == label)
        for _, run in rows.group_by("seed"):
            sums = run.group_by("measure").agg(pl.col("value").sum())
            found.append(dict(sums.iter_rows()))
    return found


def _middle(scores: list[float]) -> float:
    ordered = sorted(scores)
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)
