"""Grids, tuned parameters and surfaces by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.made_up_paper import grid_of
from experiments.small_experiments import written
from figures.small_tables import table_of_gains
from thrifty.errors import InvalidSpec
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment, find
from thrifty.experiments.tuning import (
    best_parameters,
    gains_from_tuning,
    require_grid,
    surfaces,
    tuned_experiment,
)

GRID = """
title = "Grid"
seeds = "0:2"
[environment]
name = "nursery/tuning"
[[policies]]
policy = "sw-ucb"
alpha = [0.1, 0.2]
tau = [10, 20, 30]
"""
ONE = grid_of("ucb1", {"alpha": (0.1, 0.2, 0.3)}, (3, 5, 4))
TWO = grid_of("sw-ucb", {"alpha": (0.1, 0.2), "tau": (10, 20, 30)}, (1, 2, 3, 4, 9, 6))


def test_lists_of_values_are_grids(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, GRID))
    assert len(experiment.entries) == 6
    assert experiment.entries[1].label == "sw-ucb alpha=0.1 tau=20"
    assert experiment.entries[1].params == {"alpha": 0.1, "tau": 20}
    assert experiment.entries[1].grid == ("alpha", "tau")


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpec, match="empty list"):
        find(written(tmp_path, GRID.replace("[10, 20, 30]", "[]")))


def test_without_a_grid_there_is_nothing_to_choose() -> None:
    require_grid(find("nursery/tuning"))
    with pytest.raises(InvalidSpec, match="nursery/published has no grid"):
        require_grid(find("nursery/published"))


def test_the_papers_grids() -> None:
    changing, stationary = find("nursery/tuning"), find("nursery/tuning-stationary")
    policies = [entry.policy for entry in changing.entries]
    assert policies.count("ncc-ucrl2-published") == 11 * 17
    assert len(changing.seeds) == len(stationary.seeds) == 3
    assert stationary.environment_params == {"changes": False}
    assert not {entry.policy for entry in stationary.entries} & set(policies)


def test_what_the_paper_reports_is_in_its_grids() -> None:
    for name in ("nursery/tuning", "nursery/tuning-stationary"):
        entries = find(name).entries
        for policy in {entry.policy for entry in entries}:
            own = [entry for entry in entries if entry.policy == policy]
            assert own[0].reported in [entry.params for entry in own]


def test_the_highest_mean_gain_is_chosen() -> None:
    gains = {"a": (1.0, 5.0), "b": (4.0, 4.0), "c": (4.0, 4.0)}
    entries = tuple(
        Entry(label, "ucb1", {"alpha": k}, reported={"alpha": 2}, grid=("alpha",))
        for k, label in enumerate(gains)
    )
    experiment = Experiment("grid", "Grid", "nursery/tuning", entries, (0, 1))
    (chosen,) = best_parameters([Results(experiment, table_of_gains(gains))])
    assert (chosen.params, chosen.gain, chosen.runner_up) == ({"alpha": 1}, 4.0, 4.0)
    assert (chosen.candidates, chosen.grid, chosen.reported) == (3, ("alpha",), {"alpha": 2})


def test_choices_of_several_grids_come_in_order() -> None:
    first, second = best_parameters([TWO, ONE])
    assert (first.policy, first.params) == ("sw-ucb", {"alpha": 0.2, "tau": 20})
    assert (first.gain, first.runner_up, first.candidates) == (9, 6, 6)
    assert (second.policy, second.params) == ("ucb1", {"alpha": 0.2})


def test_a_choice_among_one_has_no_runner_up() -> None:
    (only,) = best_parameters([grid_of("ucb1", {"alpha": (0.1,)}, (3,))])
    assert (only.runner_up, only.candidates) == (None, 1)


def test_the_choice_is_compared_with_the_experiments_own_parameters() -> None:
    published = find("nursery/published")
    evaluated = tuned_experiment(best_parameters([ONE]), published)
    assert [(entry.label, entry.params["alpha"]) for entry in evaluated.entries] == [
        ("UCB1", 0.6),
        ("tuned ucb1", 0.2),
    ]
    assert (evaluated.id, evaluated.environment) == (
        "nursery/published-tuned",
        published.environment,
    )
    assert evaluated.seeds == published.seeds


def test_gains_from_tuning_by_hand() -> None:
    chosen = best_parameters([ONE, TWO])
    entries = (Entry("mine", "ucb1", {"alpha": 0.6}), Entry("other", "uniform"))
    evaluated = tuned_experiment(chosen, Experiment("e", "E", "random", entries, (0, 1, 2)))
    gains = {"mine": (10.0, 20.0, 30.0), "tuned ucb1": (12.0, 22.0, 32.0), "tuned sw-ucb": (1.0,)}
    found = gains_from_tuning(Results(evaluated, table_of_gains(gains)))
    assert list(found) == ["ucb1"]  # the experiment has no sw-ucb of its own
    change = found["ucb1"]
    assert (change.policy, change.other, change.mean, change.seeds) == ("tuned ucb1", "mine", 2, 3)
    assert (change.low, change.high) == (2, 2)


def test_the_surface_of_one_parameter() -> None:
    (found,) = surfaces(ONE)
    assert (found.policy, found.row_name, found.column_name) == ("ucb1", "", "alpha")
    assert (found.rows, found.columns) == ((None,), (0.1, 0.2, 0.3))
    assert found.gains == ((3, 5, 4),)
    assert (found.best, found.reported) == ((0, 1), (0, 2))


def test_the_surface_of_two_parameters() -> None:
    (found,) = surfaces(TWO)
    assert (found.row_name, found.column_name) == ("alpha", "tau")
    assert (found.rows, found.columns) == ((0.1, 0.2), (10, 20, 30))
    assert found.gains == ((1, 2, 3), (4, 9, 6))
    assert (found.best, found.reported) == ((1, 1), (1, 2))


def test_the_surface_of_three_parameters_has_the_best_of_the_third() -> None:
    grid = {"alpha": (0.1, 0.2), "omega": (50, 100), "delta": (0.3, 0.4)}
    (found,) = surfaces(grid_of("ps-linucb", grid, (1, 2, 8, 3, 5, 5, -4, -6)))
    assert (found.row_name, found.column_name) == ("alpha", "omega")
    assert found.gains == ((2, 8), (5, -4))
    assert (found.best, found.reported) == ((0, 1), (1, 1))


def test_a_surface_without_the_papers_choice() -> None:
    elsewhere = tuple(replace(entry, reported={"alpha": 7}) for entry in ONE.experiment.entries)
    (found,) = surfaces(replace(ONE, experiment=replace(ONE.experiment, entries=elsewhere)))
    assert found.reported is None
    unreported = tuple(replace(entry, reported={}) for entry in ONE.experiment.entries)
    (found,) = surfaces(replace(ONE, experiment=replace(ONE.experiment, entries=unreported)))
    assert found.reported is None


def test_policies_without_a_grid_have_no_surface() -> None:
    fixed = replace(ONE.experiment, entries=(*ONE.experiment.entries, Entry("fixed", "uniform")))
    gains = {entry.label: (1.0,) for entry in fixed.entries}
    found = surfaces(Results(fixed, table_of_gains(gains)))
    assert [surface.policy for surface in found] == ["ucb1"]


def test_a_policy_with_a_grid_may_have_other_entries_too() -> None:
    fixed = Entry("fixed", "sw-ucb", {"alpha": 0.7})
    entries = (*TWO.experiment.entries, fixed)
    gains = {entry.label: (1.0,) for entry in entries}
    experiment = replace(TWO.experiment, entries=entries)
    (found,) = surfaces(Results(experiment, table_of_gains(gains)))
    assert (found.rows, found.columns) == ((0.1, 0.2), (10, 20, 30))
