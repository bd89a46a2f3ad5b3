"""The GLR test and the bound of kl-UCB, against their definitions and numbers made by hand."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_ucbs
from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.shared import bernoulli, glr

repeatable = settings(derandomize=True, deadline=None, max_examples=50)
CAPACITY = 16
FALSE_ALARMS = 1e-4


def _statistics(
    step: int, counts: Ints, totals: Floats, spacings: Ints, sums: Floats, values: Floats
) -> Floats:
    streams = glr.GLRStreams(step, counts, totals, spacings, sums)
    out = np.empty(values.size)
    for k in range(values.size):
        glr.add_to_stream(streams, 0, values[k])
        out[k] = glr.glr_statistic(streams, 0)
    return out


def _first_alarm(
    step: int, counts: Ints, totals: Floats, spacings: Ints, sums: Floats, values: Floats
) -> int:
    streams = glr.GLRStreams(step, counts, totals, spacings, sums)
    for k in range(values.size):
        glr.add_to_stream(streams, 0, values[k])
        if glr.glr_statistic(streams, 0) > glr.glr_threshold(k + 1, 0.05):
            return k + 1
    return 0


def _bounds(means: Floats, levels: Floats) -> Floats:
    out = np.empty(means.size)
    for k in range(means.size):
        out[k] = bernoulli.kl_upper_bound(means[k], levels[k])
    return out


statistics, first_alarm, bounds = map(numba.njit, (_statistics, _first_alarm, _bounds))


def statistics_of(values: list[float], *, step: int = 1) -> list[float]:
    """Return the statistic after each value of a stream."""
    streams = glr.initial_streams(1, CAPACITY, step)
    return statistics(*streams, np.array(values)).tolist()  # type: ignore[no-any-return]


@repeatable
@given(st.lists(st.sampled_from([0.0, 0.3, 1.0]), max_size=100), st.sampled_from([1, 3]))
def test_the_statistic_like_the_twin_on_a_grid_of_splits(values: list[float], step: int) -> None:
    found = statistics_of(values, step=step)
    for n in range(1, len(values) + 1):
        spacing = naive_ucbs.glr_step(n, step, CAPACITY)
        assert found[n - 1] == pytest.approx(naive_ucbs.glr(values[:n], spacing), abs=1e-9)


def test_zeros_and_then_ones() -> None:
    # The best split explains everything, so the statistic is n times the entropy of the mean.
    found = statistics_of([0.0, 0.0, 0.0, 1.0])
    assert found[:3] == [0.0, 0.0, 0.0]
    assert found[3] == pytest.approx(3 * math.log(4 / 3) + math.log(4))


def test_half_of_the_splits_are_kept_when_there_is_no_room() -> None:
    streams = glr.initial_streams(1, CAPACITY)
    statistics(*streams, np.ones(CAPACITY))
    assert (streams.spacings[0], streams.sums[0, -1]) == (1, CAPACITY)
    statistics(*streams, np.ones(1))
    assert (streams.counts[0], streams.spacings[0]) == (CAPACITY + 1, 2)
    assert streams.sums[0, : CAPACITY // 2].tolist() == list(range(2, CAPACITY + 1, 2))


def test_the_rate_of_false_alarms_is_kept() -> None:
    # 5 % are allowed. Of 400 streams, more than 38 have an alarm with probability 1e-4 at most.
    rng = np.random.default_rng(0)
    alarms = 0
    for mean in np.repeat([0.1, 0.3, 0.5, 0.8], 100 if numba.config.DISABLE_JIT == 0 else 3):
        values = (rng.random(400) < mean).astype(float)
        alarms += first_alarm(*glr.initial_streams(1, 64, 5), values) > 0
    assert alarms <= 38


def test_a_change_is_detected_soon() -> None:
    values = np.concatenate([np.zeros(50), np.ones(50)])
    # With k ones the statistic is 50 log((50 + k) / 50) + k log((50 + k) / k), and the threshold
    # log(20 (50 + k)^1.5): 8.4 and 9.0 for k = 2, 11.7 and 9.0 for k = 3.
    assert first_alarm(*glr.initial_streams(1, 128), values) == 53


def test_kl_bounds() -> None:
    # For a mean of 0, kl(0, q) = -log(1 - q).
    found = bounds(np.array([0.0, 1.0, 0.5, 0.5]), np.array([0.5, 0.5, 0.0, math.inf]))
    assert found == pytest.approx([1 - math.exp(-0.5), 1.0, 0.5, 1.0])


@repeatable
@given(st.floats(0, 1), st.floats(0, 3))
def test_kl_bounds_like_the_twin(mean: float, level: float) -> None:
    found = bounds(np.array([mean]), np.array([level]))[0]
    assert found == pytest.approx(naive_ucbs.kl_upper_bound(mean, level), abs=1e-7)
