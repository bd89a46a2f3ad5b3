"""Every environment of the benchmark, with every policy, for a few rounds."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from thrifty.environments.families import FAMILIES
from thrifty.experiments.environments import takes_rounds
from thrifty.experiments.single_runs import first_environment, single_runs
from thrifty.experiments.spec import Experiment, find_all

ROUNDS = 300


EXPERIMENTS = [*find_all("worlds"), *find_all("stationary")]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: str(experiment.id))
def test_every_policy_plays_every_environment(experiment: Experiment) -> None:
    short = replace(experiment, horizons=(ROUNDS,), seeds=(0,))
    found = {}
    for (label, _, _), run in single_runs(short).items():
        table = run.compute()
        (rounds,) = set(table["horizon"])
        assert rounds == ROUNDS
        totals = table.filter(table["key"] == "").group_by("measure").agg(pl.col("value").sum())
        found[label] = dict(totals.iter_rows())
    assert found["Oracle"]["realised_regret"] == 0
    for measures in found.values():
        assert measures["gain"] == pytest.approx(measures["reward"] - measures["cost"])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: str(experiment.id))
def test_a_family_knows_its_truth_and_nursery_has_hindsight(experiment: Experiment) -> None:
    replay = first_environment(experiment)
    assert replay.horizon == experiment.environment_params.get("rounds", 10_000)
    assert takes_rounds(experiment.environment) is (experiment.environment in FAMILIES)
    assert replay.truth.oracle_plan.gains.min() > 0.3


@pytest.mark.parametrize(
    "experiment", find_all("stationary"), ids=lambda experiment: str(experiment.id)
)
def test_nothing_changes_in_a_stationary_environment(experiment: Experiment) -> None:
    replay = first_environment(experiment)
    assert replay.reward_changes == replay.cost_changes == ()
    assert len(replay.truth.oracle_plan.gains) == 1
