"""Every world of the benchmark, played for a moment by every policy."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from thrifty.experiments.cells import cells_of, world_of
from thrifty.experiments.spec import Experiment, find_all
from thrifty.experiments.worlds import takes_rounds

ROUNDS = 300


WORLDS = [*find_all("worlds"), *find_all("stationary")]


@pytest.mark.parametrize("experiment", WORLDS, ids=lambda it: str(it.id))
def test_every_policy_plays_every_world(experiment: Experiment) -> None:
    short = replace(experiment, horizons=(ROUNDS,), seeds=(0,))
    found = {}
    for (label, _, _), cell in cells_of(short).items():
        table = cell.compute()
        (rounds,) = set(table["horizon"])
        assert rounds == ROUNDS
        totals = table.filter(table["key"] == "").group_by("measure").agg(pl.col("value").sum())
        found[label] = dict(totals.iter_rows())
    assert found["Oracle"]["realised_regret"] == 0
    for it in found.values():
        assert it["gain"] == pytest.approx(it["reward"] - it["cost"])


@pytest.mark.parametrize("experiment", WORLDS, ids=lambda it: str(it.id))
def test_a_family_knows_its_truth_and_nursery_has_hindsight(experiment: Experiment) -> None:
    replay = world_of(experiment)
    assert replay.horizon == experiment.world_params.get("rounds", 10_000)
    assert takes_rounds(experiment.world) is not experiment.world.startswith("nursery")
    assert replay.truth.oracle_plan.gains.min() > 0.3


@pytest.mark.parametrize("experiment", find_all("stationary"), ids=lambda it: str(it.id))
def test_nothing_changes_in_a_stationary_world(experiment: Experiment) -> None:
    replay = world_of(experiment)
    assert replay.reward_changes == replay.cost_changes == ()
    assert len(replay.truth.oracle_plan.gains) == 1
