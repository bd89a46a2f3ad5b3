"""What figures show, as arrays."""

import numpy as np
import polars as pl
import pytest

from figures.small_tables import table_of
from thrifty.errors import InvalidTable
from thrifty.experiments.measures import bootstrap_interval
from thrifty.figures.curves import accuracy_up_to, blocks, ends, interval, shares_by_period

TABLE = table_of("A", "B")


def test_blocks_are_seeds_by_time() -> None:
    assert blocks(TABLE, "B", "realised_regret").tolist() == [[2, 2], [2, 4]]
    shuffled = TABLE.sample(fraction=1.0, shuffle=True, seed=1)
    assert blocks(shuffled, "B", "realised_regret").tolist() == [[2, 2], [2, 4]]


def test_blocks_may_be_of_unequal_length() -> None:
    is_last = (pl.col("round") == 10) & (pl.col("measure") == "rounds_by_observations")
    halved = pl.when(is_last).then(pl.col("value") / 2).otherwise(pl.col("value"))
    assert ends(TABLE).tolist() == [0, 10, 20]
    assert ends(TABLE.with_columns(halved.alias("value"))).tolist() == [0, 10, 15]


@pytest.mark.parametrize("policy", ["A", "nobody"])
def test_a_table_with_holes_is_refused(policy: str) -> None:
    holes = TABLE.filter((pl.col("seed") == 0) | (pl.col("round") == 0))
    with pytest.raises(InvalidTable, match="thrifty run"):
        blocks(holes, policy, "gain")


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
    assert shares_by_period(TABLE, "A", [10]).tolist() == [[0.4, 0.6], [0, 1]]
    assert shares_by_period(TABLE, "A", []).tolist() == [[0.2, 0.8]]


def test_a_period_shorter_than_a_block_is_empty() -> None:
    assert np.isnan(shares_by_period(TABLE, "A", [10, 12])[1]).all()
