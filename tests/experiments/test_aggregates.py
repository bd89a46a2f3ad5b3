"""Aggregates against numbers computed by hand, and the coverage of their intervals."""

import numpy as np
import pytest
from scipy import stats

from thrifty.experiments.aggregates import (
    draws,
    estimate,
    estimate_improvement,
    interquartile_mean,
    mean_score,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)

SCORES = np.array([[0.0, 0.2, 0.4, 0.6], [0.8, 1.0, 1.2, -5.0]])
"""Two worlds, four seeds. In order: -5, 0, .2, .4, .6, .8, 1, 1.2."""


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert float(interquartile_mean(SCORES)) == pytest.approx((0.2 + 0.4 + 0.6 + 0.8) / 4)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 9])
def test_an_incomplete_quarter_is_not_left_out(n: int) -> None:
    runs = np.random.default_rng(n).normal(size=(1, n))
    assert float(interquartile_mean(runs)) == pytest.approx(stats.trim_mean(runs.ravel(), 0.25))


def test_the_mean() -> None:
    assert float(mean_score(SCORES)) == pytest.approx((0.3 - 0.5) / 2)


def test_scores_above_the_oracle_do_not_make_up_for_others() -> None:
    """Distances from 1: 1, .8, .6, .4, .2, 0, 0, 6."""
    assert float(optimality_gap(SCORES)) == pytest.approx(9 / 8)


def test_a_profile_is_the_share_of_runs_above_the_threshold() -> None:
    shares = performance_profile(SCORES, np.array([-9.0, 0.0, 0.5, 1.2]))
    assert shares.tolist() == [1.0, 6 / 8, 4 / 8, 0.0]
    both = performance_profile(np.stack([SCORES, SCORES - 10]), np.array([0.0]))
    assert both.tolist() == [[6 / 8], [0.0]]


def test_the_area_above_a_profile_is_the_optimality_gap() -> None:
    inside = np.clip(SCORES, 0, 1)
    thresholds = np.linspace(0, 1, 100_001)
    area = performance_profile(inside, thresholds).mean()
    assert 1 - area == pytest.approx(float(optimality_gap(inside)), abs=1e-4)


def test_the_probability_of_improvement_counts_pairs_in_each_world() -> None:
    """First world: 3 of 4 pairs are higher. Second world: one is higher, one equal, two lower."""
    mine, others = np.array([[1.0, 3.0], [1.0, 2.0]]), np.array([[0.0, 2.0], [2.0, 1.5]])
    assert probability_of_improvement(mine, others) == pytest.approx((3 / 4 + 1.5 / 4) / 2)
    assert probability_of_improvement(others, mine) == pytest.approx(1 - (3 / 4 + 1.5 / 4) / 2)
    assert probability_of_improvement(mine, mine) == 0.5


def test_the_probability_of_improvement_is_that_of_the_rank_test() -> None:
    rng = np.random.default_rng(5)
    mine = rng.integers(5, size=(3, 12)).astype(np.float64)
    others = rng.integers(6, size=(3, 9)).astype(np.float64)
    by_world = [
        stats.mannwhitneyu(x, y).statistic / (x.size * y.size)
        for x, y in zip(mine, others, strict=True)
    ]
    assert probability_of_improvement(mine, others) == pytest.approx(np.mean(by_world))


def test_aggregates_and_intervals_are_those_of_rliable() -> None:
    """Numbers of rliable 1.2.0 for these scores; its intervals are from 20,000 resamples.

    The ends of intervals from 20,000 other resamples differ from them by 0.002 at most.
    """
    rng = np.random.default_rng(3)
    mine, others = rng.normal(0.5, 0.4, size=(6, 9)), rng.normal(0.4, 0.5, size=(6, 9))
    mine[0, 0] = others[0, 3] = 1.5
    assert probability_of_improvement(mine, others) == pytest.approx(0.5709876543209876)
    shares = performance_profile(mine, np.array([-0.5, 0.0, 0.5, 1.0]))
    assert shares == pytest.approx([52 / 54, 50 / 54, 26 / 54, 5 / 54])
    drawn = draws(6, 9, resamples=20_000)
    for statistic, value, low, high in (
        (interquartile_mean, 0.5073791567278775, 0.41618679, 0.60054836),
        (optimality_gap, 0.5201637203628546, 0.4321913, 0.60861855),
        (mean_score, 0.5128696616221426, 0.40851342, 0.62402317),
    ):
        found = estimate(mine, statistic, drawn)
        assert found.value == pytest.approx(value)
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.005)


def test_resamples_draw_seeds_within_each_world() -> None:
    drawn = draws(2, 4, resamples=500)
    low, high = np.array([[0.0] * 4, [100.0] * 4]), np.zeros((2, 4))
    assert estimate(low, mean_score, drawn).low == 50  # worlds never mix
    assert estimate(high, mean_score, drawn).high == 0
    assert np.unique(drawn).tolist() == [0, 1, 2, 3]
    assert (draws(2, 4, 500) == drawn).all()


def test_the_interval_of_an_improvement_is_that_of_resampled_runs() -> None:
    rng = np.random.default_rng(1)
    mine, others = rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    drawn = draws(3, 6, resamples=200)
    slow = [
        probability_of_improvement(
            np.take_along_axis(mine, one, axis=1), np.take_along_axis(others, one, axis=1)
        )
        for one in drawn
    ]
    found = estimate_improvement(mine, others, drawn)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])))


def test_intervals_contain_the_truth_about_as_often_as_they_say() -> None:
    """With 15 seeds of normal scores in 4 worlds, 95 % intervals of the mean cover 93 to 95 %.

    Of 400 intervals at 93 %, fewer than 354 contain the mean with a probability of 0.0005.
    """
    rng = np.random.default_rng(0)
    worlds = np.array([[0.0], [0.3], [0.6], [3.0]])
    drawn = draws(4, 15, resamples=400)
    found = [estimate(worlds + rng.normal(size=(4, 15)), mean_score, drawn) for _ in range(400)]
    assert sum(one.low <= worlds.mean() <= one.high for one in found) >= 354
