"""The table of all runs: complete, and enough to compute the ranking again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from experiments.small_experiments import EXPERIMENT
from thrifty._version import __version__
from thrifty.errors import InvalidParameter, InvalidSpec, InvalidTable
from thrifty.experiments.attributes import ATTRIBUTES, parse_attributes, worlds_by_group
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.export import RUNS, attributes_of, read_runs, scores_from_runs, write_runs
from thrifty.experiments.ranking import rank
from thrifty.experiments.results import Results
from thrifty.experiments.runner import RunCache, run_all
from thrifty.experiments.scores import scores_of
from thrifty.experiments.single_runs import first_environment, single_runs
from thrifty.experiments.spec import Entry, Experiment, find_all
from thrifty.regret import uniform_regret

FIRST = replace(EXPERIMENT, id="two/first", attributes={"changes": 1, "safe": False})
SECOND = replace(
    EXPERIMENT,
    id="two/second",
    environment_params={"levels": [2], "n_actions": 2, "rounds": 300},
    entries=(*EXPERIMENT.entries[1:], Entry("set", "linucb", features="best-fixed")),
    attributes={"changes": 0},
    regret="realised",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    cache = RunCache(tmp_path_factory.mktemp("out"))
    return run_all([FIRST, SECOND], cache, executor=SerialExecutor())


@pytest.fixture
def table(results: list[Results], tmp_path: Path) -> pl.DataFrame:
    path = write_runs(results, tmp_path / "two")
    assert path == tmp_path / "two" / RUNS
    return read_runs(path)


def test_every_run_is_in_the_table_once(table: pl.DataFrame) -> None:
    assert table.height == 4 * 3 + 4 * 3
    assert table.select("world", "policy", "seed").is_unique().all()
    assert table.drop(*ATTRIBUTES).null_count().sum_horizontal().item() == 0


def test_runs_are_described(table: pl.DataFrame) -> None:
    row = table.row(by_predicate=(pl.col("policy") == "ncc") & (pl.col("seed") == 2)
                    & (pl.col("world") == "first"), named=True)  # fmt: skip
    assert (row["name"], row["feature_set"], row["rounds"]) == ("ncc-ucrl2", "all", 450)
    assert json.loads(row["parameters"]) == {"window": 60, "cost_range": 0.05}
    assert (row["changes"], row["safe"], row["noise"]) == (1, 0, None)
    assert (row["thrifty"], row["numpy"]) == (__version__, np.__version__)
    assert row["digest"] == single_runs(FIRST)["ncc", None, 2].key
    assert row["gain"] == pytest.approx(row["reward"] - row["cost"])
    assert row["oracle_gain"] == pytest.approx(row["gain"] + row["realised_regret"])
    assert table.filter(pl.col("policy") == "set")["feature_set"].unique().to_list() == [
        "best-fixed"
    ]


def test_the_regret_that_counts_is_named(table: pl.DataFrame) -> None:
    for world, regret in (("first", "expected"), ("second", "realised")):
        rows = table.filter(pl.col("world") == world)
        assert rows["regret"].unique().to_list() == [regret]
        again = 1 - rows[f"{regret}_regret"] / rows["uniform_regret"]
        assert rows["score"].to_list() == again.to_list()


def test_the_table_gives_the_same_ranking(results: list[Results], table: pl.DataFrame) -> None:
    again = rank(scores_from_runs(table))
    assert again == rank(scores_of(results))
    assert [row.label for row in again if row.worlds == 2] != []


def test_attributes_are_read_back(table: pl.DataFrame) -> None:
    assert attributes_of(table) == {"first": {"changes": 1, "safe": 0}, "second": {"changes": 0}}


def test_other_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match="cannot be read"):
        read_runs(tmp_path / RUNS)
    pl.DataFrame({"world": ["a"]}).write_parquet(tmp_path / RUNS)
    with pytest.raises(InvalidTable, match="has no column 'policy'"):
        read_runs(tmp_path / RUNS)


def test_attributes_of_a_file() -> None:
    with pytest.raises(InvalidSpec, match="no key 'colour'"):
        parse_attributes({"colour": 1})
    with pytest.raises(InvalidParameter, match="safe"):
        parse_attributes({"safe": 1})


def test_groups_of_worlds() -> None:
    worlds = {"a": {"changes": 0.0, "safe": 1.0}, "b": {"changes": 5.0, "safe": 1.0}}
    assert worlds_by_group(worlds) == {
        ("changes", "none"): ["a"],
        ("changes", "5 or more"): ["b"],
    }


@pytest.mark.parametrize("experiment", find_all("worlds"), ids=lambda one: one.id)
def test_the_attributes_of_the_benchmark_are_true(experiment: Experiment) -> None:
    """Prices and noise are means over a few seeds, so they may differ by a factor of 1.6."""
    declared = experiment.attributes
    assert {*declared} == {*ATTRIBUTES}
    replay = first_environment(experiment)
    truth, to_win = replay.truth, uniform_regret(replay).mean()
    assert declared["features"] == replay.problem.n_features
    if not declared["gradual"]:
        assert declared["changes"] == len(replay.reward_changes)
    assert truth.costs.mean() / to_win == pytest.approx(declared["prices"], rel=0.6)
    assert replay.rewards.std(axis=0).mean() / to_win == pytest.approx(declared["noise"], rel=0.6)
    tables = truth.rewards
    comes_back = any(
        np.allclose(tables[i], tables[j])
        for i in range(len(tables))
        for j in range(i + 2, len(tables))
    )
    assert comes_back or not declared["recurring"]
    assert declared["safe"] == (experiment.environment in SAFE)


SAFE = ("safe-action", "safe-action-wandering", "winter", "rare-outcomes")
