"""Measures by hand, and statistical tests with known error rates."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from figures.small_tables import (
    plus,
    results_of,
    table_from,
    table_of,
    table_of_gains,
    table_of_regrets,
)
from thrifty.errors import InvalidTable
from thrifty.experiments.measures import (
    bootstrap_interval,
    difference,
    holm,
    longest,
    regret_summaries,
    sign_flip_test,
    summaries,
    totals,
)
from thrifty.experiments.spec import Entry


def test_totals_add_up_the_blocks() -> None:
    rows = totals(table_of_gains({"b": [1.0, 2.0], "a": [3.0, 4.0]}))
    assert rows["policy"].to_list() == ["b", "b", "a", "a"]
    assert rows["gain"].to_list() == [1.0, 2.0, 3.0, 4.0]


def test_summaries_by_hand() -> None:
    table = table_of_gains({"b": [1.0, 5.0], "a": [3.0, 4.0], "Oracle": [9.0, 9.0]})
    b, a, oracle = summaries(results_of(table))
    assert (b.policy, b.gain, b.worst, b.best, b.wins) == ("b", 3.0, 1.0, 5.0, 0.5)
    assert (a.gain, a.reward, a.cost, a.wins, a.seeds) == (3.5, 3.5, 0.0, 0.5, 2)
    assert oracle.low == oracle.high == 9.0


@pytest.mark.parametrize("label", ["Oracle", "oracle", "knows everything"])
def test_the_oracle_is_known_by_its_policy_and_wins_from_nobody(label: str) -> None:
    results = results_of(table_of_gains({"ucb1": [1.0, 2.0], label: [9.0, 9.0]}))
    entries = (Entry("ucb1", "ucb1"), Entry(label, "oracle"))
    ucb1, _ = summaries(replace(results, experiment=replace(results.experiment, entries=entries)))
    assert ucb1.wins == 1.0


def test_a_policy_labelled_oracle_is_none_if_its_policy_is_another() -> None:
    results = results_of(table_of_gains({"ucb1": [1.0, 2.0], "Oracle": [9.0, 9.0]}))
    entries = (Entry("ucb1", "ucb1"), Entry("Oracle", "uniform"))
    ucb1, _ = summaries(replace(results, experiment=replace(results.experiment, entries=entries)))
    assert ucb1.wins == 0.0


def test_regret_summaries_by_hand() -> None:
    # Of "other": gains 12 and 14, regrets 4 and 6, so that the oracle gains 16 and 20.
    oracle, other = regret_summaries(results_of(table_of("Oracle", "other")))
    assert (oracle.regret, oracle.worst, oracle.low, oracle.high) == (3.0, 4.0, 2.0, 4.0)
    assert (other.policy, other.seeds, other.gain) == ("other", 2, 13.0)
    assert (other.regret, other.worst) == (5.0, 6.0)
    assert (other.best_gain, other.share) == (18.0, 13 / 18)
    # Looking is worth 5 in each of two blocks.
    assert (oracle.reached, other.reached) == (0.7, 0.5)


def test_regret_summaries_by_realised_regret() -> None:
    table = plus(table_of("a"), "a", 10.0, ["realised_regret"])
    expected = results_of(table)
    realised = replace(expected, experiment=replace(expected.experiment, regret="realised"))
    assert [row.regret for row in regret_summaries(expected)] == [3.0]
    assert [row.regret for row in regret_summaries(realised)] == [13.0]


def test_no_share_of_nothing() -> None:
    (row,) = regret_summaries(results_of(table_of_gains({"a": [0.0, 0.0]})))
    assert np.isnan(row.share)
    assert np.isnan(row.reached)


def test_only_the_longest_runs_are_summed_up() -> None:
    table = table_of_regrets({"a": {100: [1.0, 2.0], 50: [30.0, 40.0]}})
    assert longest(table)["horizon"].unique().to_list() == [100]
    (row,) = summaries(results_of(table))
    assert (row.expected_regret, row.seeds) == (1.5, 2)
    assert totals(table)["horizon"].to_list() == [50, 100, 50, 100]


def test_the_order_of_the_rows_is_no_matter() -> None:
    table = table_of_gains({"b": [1.0, 5.0], "a": [3.0, 4.0]})
    backwards = table_from(table.rows()[::-1])
    assert sorted(summaries(results_of(backwards)), key=lambda row: row.policy) == sorted(
        summaries(results_of(table)), key=lambda row: row.policy
    )


def test_differences_are_paired() -> None:
    pair = difference(table_of_gains({"b": [1.0, 50.0, 7.0], "a": [3.0, 52.0, 9.0]}), "a", "b")
    assert (pair.mean, pair.low, pair.high, pair.seeds) == (2.0, 2.0, 2.0, 3)


def test_differences_of_another_measure() -> None:
    table = table_of_regrets({"b": {50: [1.0, 5.0]}, "a": {50: [3.0, 4.0]}})
    assert difference(table, "a", "b", measure="expected_regret").mean == 0.5
    assert difference(table, "a", "b").mean == 0.0


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
    # Sorted: 0.01 x 4, 0.02 x 3, 0.04 x 2, 0.03 is not below what came before, and at most 1.
    assert holm([0.5, 0.01, 0.04, 0.02]) == [0.5, 0.04, 0.08, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_keeps_the_level_of_the_family() -> None:
    # 1,000 families of 5 true hypotheses at 5 %: more than 78 with a rejection have p < 1e-4.
    families = np.random.default_rng(3).random((1000, 5))
    assert sum(min(holm(family.tolist())) <= 0.05 for family in families) <= 78


def test_the_test_keeps_its_level() -> None:
    # 400 tests of true hypotheses at 5 %: more than 38 rejections have probability below 1e-4.
    rng = np.random.default_rng(1)
    rejections = sum(sign_flip_test(rng.normal(size=15)) < 0.05 for _ in range(400))
    assert rejections <= 38
    assert sign_flip_test(rng.normal(loc=2, size=15)) < 0.01


@pytest.mark.parametrize("values", [[0.1] * 3 + [-0.1] * 3, [0.1, 0.2, -0.3], [1.1, 2.2, -3.3]])
def test_a_sum_of_nothing_is_as_likely_as_can_be(values: list[float]) -> None:
    # Rounding must not tell apart what is equal: every flip is at least as far from 0 as 0.
    assert sign_flip_test(np.array(values)) == 1.0


def test_policies_without_a_common_seed_are_not_compared() -> None:
    table = table_of_gains({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    disjoint = table.filter((pl.col("policy") == "a") == (pl.col("seed") == 0))
    with pytest.raises(InvalidTable, match="'a' and 'b' have no seed in common"):
        difference(disjoint, "a", "b")


def test_a_missing_difference_is_no_evidence() -> None:
    assert np.isnan(sign_flip_test(np.array([np.nan, 1.0])))


def test_the_interval_covers_the_mean() -> None:
    # Nominal 95 %, for 40 normal values about 94 %: fewer than 170 of 200 has probability < 1e-4.
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        low, high = bootstrap_interval(rng.normal(loc=3, size=40))
        covered += low <= 3 <= high
    assert 170 <= covered < 200


def test_results_do_not_depend_on_global_state() -> None:
    values = np.arange(7.0)
    assert bootstrap_interval(values) == bootstrap_interval(values.copy())
    assert sign_flip_test(values) == pytest.approx(sign_flip_test(values.copy()), abs=0)
