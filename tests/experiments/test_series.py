"""Arrays computed from tables, by hand."""

import numpy as np
import polars as pl
import pytest

from figures.small_tables import rows, table_from, table_of, with_events
from thrifty.errors import InvalidTable
from thrifty.experiments.measures import bootstrap_interval
from thrifty.experiments.results import with_enums
from thrifty.experiments.series import (
    accuracy_up_to,
    action_distance,
    block_edges,
    block_sums,
    event_kinds,
    event_rates,
    event_rounds,
    interval,
    resampled_means,
    shares_by_period,
)

TABLE = table_of("A", "B")


def test_blocks_are_seeds_by_time() -> None:
    assert block_sums(TABLE, "B", "realised_regret").tolist() == [[2, 2], [2, 4]]
    shuffled = TABLE.sample(fraction=1.0, shuffle=True, seed=1)
    assert block_sums(shuffled, "B", "realised_regret").tolist() == [[2, 2], [2, 4]]


def test_blocks_may_be_of_unequal_length() -> None:
    is_last = (pl.col("round") == 10) & (pl.col("measure") == "rounds_by_observations")
    halved = pl.when(is_last).then(pl.col("value") / 2).otherwise(pl.col("value"))
    assert block_edges(TABLE).tolist() == [0, 10, 20]
    assert block_edges(TABLE.with_columns(halved.alias("value"))).tolist() == [0, 10, 15]


@pytest.mark.parametrize("policy", ["A", "nobody"])
def test_a_table_with_holes_is_refused(policy: str) -> None:
    holes = TABLE.filter((pl.col("seed") == 0) | (pl.col("round") == 0))
    with pytest.raises(InvalidTable, match="thrifty run"):
        block_sums(holes, policy, "gain")


def test_the_interval_is_the_one_of_the_tables() -> None:
    values = np.random.default_rng(3).normal(size=(7, 2))
    low, high = interval(values)
    for k in range(2):
        assert (low[k], high[k]) == pytest.approx(bootstrap_interval(values[:, k]))


def test_accuracy_by_hand() -> None:
    # A: no purchase in round 10 to 19, rewards 6 and 8; x in rounds 0 to 9, reward 8 in both.
    mean, low, high = accuracy_up_to(TABLE, "A")
    assert mean.tolist() == [14 / 20, 30 / 40, 30 / 40]
    assert low[0] == 0.6
    assert high[0] == 0.8


def test_accuracy_where_nothing_was_played_is_no_number() -> None:
    bought_always = TABLE.filter(pl.col("round") == 0)
    mean, low, high = accuracy_up_to(bought_always, "A")
    assert np.isnan([mean[0], low[0], high[0]]).all()
    assert mean[1] == 0.8


def test_shares_by_hand() -> None:
    both_seeds = [[[0.4, 0.6], [0, 1]]] * 2
    assert shares_by_period(TABLE, "A", [10]).tolist() == both_seeds
    assert shares_by_period(TABLE, "A", []).tolist() == [[[0.2, 0.8]]] * 2


def test_a_period_shorter_than_a_block_is_empty() -> None:
    assert np.isnan(shares_by_period(TABLE, "A", [10, 12])[:, 1]).all()


def choosing_left(**left: list[float]) -> pl.DataFrame:
    """Two seeds, the second of which never chooses left."""
    return table_from(
        [
            row
            for policy, often in left.items()
            for seed, counts in enumerate((often, [0.0, 0.0]))
            for row in rows(policy, seed, rewards=[0, 0], costs=[0, 0], regrets=[0, 0], left=counts)
        ]
    )


def test_distance_by_hand() -> None:
    # Shares of left 0.7 and 0.2 against 0.4 and 0.8: half of (0.3 + 0.3) is 0.3, and 0.6.
    table = choosing_left(a=[7, 2], b=[4, 8])
    assert action_distance(table, "a", "b", [10]).tolist() == pytest.approx([0.45, 0])
    assert action_distance(table, "b", "a", [10]).tolist() == pytest.approx([0.45, 0])
    # Without a change there is one period: 0.45 against 0.6.
    assert action_distance(table, "a", "b", []).tolist() == pytest.approx([0.15, 0])


def test_opposite_choices_are_as_far_apart_as_can_be() -> None:
    assert action_distance(choosing_left(a=[10, 0], b=[0, 10]), "a", "b", [10])[0] == 1


def test_resamples_pair_the_seeds_of_two_policies() -> None:
    values = np.array([3.0, 8.0, 1.0])
    gaps = resampled_means(values + 2) - resampled_means(values)
    assert gaps == pytest.approx(np.full(gaps.size, 2.0))


def test_a_quick_table_says_the_same() -> None:
    assert (
        block_sums(with_enums(TABLE), "B", "gain").tolist()
        == block_sums(TABLE, "B", "gain").tolist()
    )
    assert with_enums(TABLE)["policy"].dtype != pl.String


def test_events_by_seed_and_kind() -> None:
    noted = [(1, "row forgotten", 4), (0, "my own", 2), (1, "restart", 15), (1, "restart", 3)]
    for table in (with_events(TABLE, "B", noted), with_enums(with_events(TABLE, "B", noted))):
        assert event_kinds(table, "A") == []
        assert event_kinds(table, "B") == ["restart", "row forgotten", "my own"]
        rounds = event_rounds(table, "B", "restart")
        assert {seed: at.tolist() for seed, at in rounds.items()} == {0: [], 1: [3, 15]}
        assert event_rates(table, "B", "restart").tolist() == [0.5, 0.5]
        assert event_rates(table, "B", "my own").tolist() == [0.5, 0]


def test_two_events_of_one_round_are_two() -> None:
    twice = with_events(TABLE, "B", [(0, "restart", 11)]).with_columns(
        value=pl.when(pl.col("measure") == "events").then(2.0).otherwise("value")
    )
    assert event_rounds(twice, "B", "restart")[0].tolist() == [11, 11]
    assert event_rates(twice, "B", "restart").tolist() == [0, 1]
