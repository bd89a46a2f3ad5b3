"""Scores and the ranking, on numbers that a reader can check by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from experiments.small_experiments import EXPERIMENT
from thrifty.experiments.ranking import rank, world_ranks
from thrifty.experiments.results import Results
from thrifty.experiments.runner import run
from thrifty.experiments.scores import Scores, run_scores, scores_of
from thrifty.experiments.spec import Entry

NAN = np.nan


def scores(
    values: list[list[list[float]]], shares: list[list[list[float]]] | None = None
) -> Scores:
    array = np.array(values)
    return Scores(
        tuple("abcdef"[: len(array)]),
        tuple(f"w{k}" for k in range(array.shape[1])),
        array,
        None if shares is None else np.array(shares),
    )


def test_policies_are_ranked_by_the_interquartile_mean() -> None:
    found = rank(scores([[[0.1, 0.2], [0.3, 0.4]], [[0.9, 0.8], [0.7, 0.6]]]))
    assert [row.label for row in found] == ["b", "a"]
    first, second = found
    assert first.interquartile_mean.value == pytest.approx(0.75)
    assert first.optimality_gap.value == pytest.approx(0.25)
    assert (first.first_beats_it, first.median_rank, first.share) == (None, 1.0, None)
    assert second.first_beats_it is not None
    assert second.first_beats_it.value == 1.0
    assert (second.worlds, second.seeds, second.median_rank) == (2, 2, 2.0)


def test_policies_that_do_not_play_every_world_come_last() -> None:
    partly = [[0.9, 0.9], [NAN, NAN]]
    found = rank(scores([partly, [[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.6], [0.2, 0.2]]]))
    assert [(row.label, row.worlds) for row in found] == [("b", 2), ("c", 2), ("a", 1)]
    assert found[2].first_beats_it is not None
    assert found[2].first_beats_it.value == 0.0  # in the world that both play


def test_seeds_that_not_all_policies_have() -> None:
    few, many = [[0.5, 0.7, NAN]], [[0.6, 0.6, 0.0]]
    found = rank(scores([few, many]))
    assert [(row.label, row.seeds) for row in found] == [("a", 2), ("b", 3)]
    assert found[1].first_beats_it is not None
    assert found[1].first_beats_it.value == 0.5  # 0.5 < 0.6 < 0.7, and not the third seed


def test_ranks_in_each_world() -> None:
    found = world_ranks(scores([[[0.5], [NAN]], [[0.5], [0.1]], [[0.9], [0.2]]]))
    assert np.isnan(found[0, 1])
    assert found[:, 0].tolist() == [2.5, 2.5, 1.0]
    assert found[1:, 1].tolist() == [2.0, 1.0]


def test_shares_are_means_over_worlds() -> None:
    values = [[[0.5, 0.5], [0.5, 0.5]]]
    (row,) = rank(scores(values, shares=[[[0.8, 0.6], [0.2, 0.4]]]))
    assert row.share == pytest.approx(0.5)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    spec = replace(EXPERIMENT, entries=(*EXPERIMENT.entries, Entry("uniform", "uniform")))
    return run(spec, tmp_path_factory.mktemp("out"), workers=1)


def test_the_oracle_scores_one_and_the_uniform_choice_zero(results: Results) -> None:
    """By the true means; over 4 seeds of 450 rounds the luck of states and actions averages out."""
    means = dict(run_scores([results]).group_by("policy").agg(pl.col("score").mean()).iter_rows())
    assert means["oracle"] == pytest.approx(1, abs=0.05)
    assert means["uniform"] == pytest.approx(0, abs=0.1)
    assert means["uniform"] < means["ucb1"] < means["oracle"]


def test_a_score_is_one_minus_the_share_of_the_uniform_regret(results: Results) -> None:
    rows = run_scores([results]).filter(pl.col("policy") == "ucb1")
    expected = 1 - rows["expected_regret"] / rows["uniform_regret"]
    assert rows["score"].to_list() == expected.to_list()
    realised = replace(results, experiment=replace(results.experiment, regret="realised"))
    rows = run_scores([realised]).filter(pl.col("policy") == "ucb1")
    assert (
        rows["score"].to_list() == (1 - rows["realised_regret"] / rows["uniform_regret"]).to_list()
    )


def test_oracles_are_not_ranked(results: Results) -> None:
    found = scores_of([results])
    assert found.labels == ("ncc", "ucb1", "uniform")
    assert found.worlds == ("small",)
    assert found.values.shape == (3, 1, 4)
    assert found.shares is not None
    assert 0 < np.nanmin(found.shares) < np.nanmax(found.shares) <= 1.1


def test_a_world_with_nothing_to_win_has_no_scores(tmp_path: Path) -> None:
    text = {"levels": [2], "n_actions": 1, "rounds": 50}
    spec = replace(EXPERIMENT, environment_params=text, entries=(Entry("ucb1", "ucb1"),))
    nothing = run(spec, tmp_path, workers=1)
    assert run_scores([nothing])["score"].null_count() == 4
    assert rank(scores_of([nothing])) == []
