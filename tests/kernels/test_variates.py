"""Random variates out of one uniform number, against their distributions.

The tests of Kolmogorov and Smirnov reject a correct program with probability FALSE_ALARMS each.
"""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import naive_scout
from thrifty.kernels.shared import variates

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

Floats = NDArray[np.float64]
FALSE_ALARMS = 1e-4
NUMBER = 4000


def _in_one_stream(draw: float, out: Floats) -> None:
    stream = variates.stream_of(draw)
    for k in range(out.size):
        out[k] = variates.uniform(stream)


def _uniforms(draws: Floats, skipped: int, out: Floats) -> None:
    for k in range(out.size):
        stream = variates.stream_of(draws[k])
        for _ in range(skipped + 1):
            out[k] = variates.uniform(stream)


def _normals(draws: Floats, out: Floats) -> None:
    for k in range(out.size):
        out[k] = variates.normal(variates.stream_of(draws[k]))


def _gammas(shape: float, draws: Floats, out: Floats) -> None:
    for k in range(out.size):
        out[k] = variates.gamma(shape, variates.stream_of(draws[k]))


def _betas(one: float, other: float, draws: Floats, out: Floats) -> None:
    for k in range(out.size):
        out[k] = variates.beta(one, other, variates.stream_of(draws[k]))


in_one_stream, uniforms, normals, gammas, betas = map(
    numba.njit, (_in_one_stream, _uniforms, _normals, _gammas, _betas)
)


def of_streams(fill: Any, *parameters: float, number: int = NUMBER, seed: int = 0) -> Floats:
    """Return one variate from each of so many streams."""
    out = np.empty(number)
    draws = np.random.default_rng(seed).random(number)
    fill(*parameters[:2], draws, out) if parameters else fill(draws, out)
    return out


def test_a_stream_is_made_of_32_bits_and_begins_at_0() -> None:
    out = np.empty(1)
    in_one_stream(0.0, out)
    # The hash of counter 1 under key 0, twice, by hand.
    word = naive_scout.Stream.mixed(naive_scout.Stream.mixed(1))
    assert out[0] == (word + 0.5) / variates.WORD
    assert naive_scout.Stream.mixed(0) == 0


@repeatable
@given(st.floats(0, 1, exclude_max=True))
def test_uniform_like_the_twin_and_never_0_or_1(draw: float) -> None:
    out = np.empty(20)
    in_one_stream(draw, out)
    twin = naive_scout.Stream(draw)
    assert out.tolist() == [twin.uniform() for _ in range(20)]
    assert ((out > 0) & (out < 1)).all()


@repeatable
@given(st.floats(0, 1, exclude_max=True), st.floats(0.01, 200), st.floats(0.01, 200))
def test_gamma_and_beta_like_the_twin(draw: float, one: float, other: float) -> None:
    out = np.empty(1)
    gammas(one, np.array([draw]), out)
    assert out[0] == pytest.approx(naive_scout.Stream(draw).gamma(one), rel=1e-9)
    betas(one, other, np.array([draw]), out)
    assert out[0] == pytest.approx(naive_scout.Stream(draw).beta(one, other), rel=1e-9, abs=1e-300)
    assert 0 <= out[0] <= 1


@repeatable
@given(st.floats(0, 1, exclude_max=True), st.floats(1, 200), st.floats(1, 200))
def test_beta_is_inside_its_ends_unless_a_shape_is_small(
    draw: float, one: float, other: float
) -> None:
    out = np.empty(1)
    betas(one, other, np.array([draw]), out)
    assert 0 < out[0] < 1


def test_beta_of_a_small_shape_may_be_rounded_to_its_end_but_is_a_number() -> None:
    out = of_streams(betas, 0.002, 1.998)
    assert (out == 0).any()
    assert ((out >= 0) & (out <= 1)).all()
    out = of_streams(betas, 1e-4, 1e-4)
    assert np.isin(0.5, out)  # both gamma variates were too small to be told from 0
    assert np.isfinite(out).all()


def assert_distributed(sample: Floats, distribution: Any) -> None:
    assert stats.kstest(sample, distribution.cdf).pvalue > FALSE_ALARMS


@pytest.mark.parametrize("draw", [0.0, 0.3, math.nextafter(1.0, 0.0)])
def test_the_numbers_of_one_stream_are_uniform(draw: float) -> None:
    out = np.empty(NUMBER)
    in_one_stream(draw, out)
    assert_distributed(out, stats.uniform())


@pytest.mark.parametrize("skipped", [0, 1, 5])
def test_the_same_number_of_many_streams_is_uniform(skipped: int) -> None:
    out = np.empty(NUMBER)
    uniforms(np.random.default_rng(1).random(NUMBER), skipped, out)
    assert_distributed(out, stats.uniform())


def test_neighbouring_streams_have_nothing_in_common() -> None:
    out = np.empty(NUMBER)
    uniforms(np.arange(NUMBER) / variates.WORD, 0, out)
    assert_distributed(out, stats.uniform())
    assert independent(out[:-1], out[1:]) > FALSE_ALARMS


def test_numbers_that_follow_each_other_are_independent() -> None:
    out = np.empty(4 * NUMBER)
    in_one_stream(0.7, out)
    assert independent(out[0::2], out[1::2]) > FALSE_ALARMS
    first, second = np.empty(NUMBER), np.empty(NUMBER)
    draws = np.random.default_rng(2).random(NUMBER)
    uniforms(draws, 0, first)
    uniforms(draws, 1, second)
    assert independent(first, second) > FALSE_ALARMS
    assert independent(draws, first) > FALSE_ALARMS


def independent(one: Floats, other: Floats) -> float:
    """Return the p-value of the chi-squared test on a grid of 8 x 8."""
    grid, _, _ = np.histogram2d(one, other, bins=8, range=[[0, 1], [0, 1]])
    return float(stats.chi2_contingency(grid).pvalue)


def test_normal() -> None:
    assert_distributed(of_streams(normals), stats.norm())


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.999, 1.0, 3.0, 150.0])
def test_gamma(shape: float) -> None:
    out = np.empty(NUMBER)
    gammas(shape, np.random.default_rng(3).random(NUMBER), out)
    assert_distributed(out, stats.gamma(shape))


@pytest.mark.parametrize(
    ("one", "other"), [(0.5, 0.5), (1.0, 1.0), (0.2, 1.8), (3.0, 1.5), (140.0, 12.0)]
)
def test_beta(one: float, other: float) -> None:
    assert_distributed(of_streams(betas, one, other), stats.beta(one, other))


def test_the_wrong_distribution_is_noticed() -> None:
    sample = of_streams(betas, 3.0, 1.5)
    assert stats.kstest(sample, stats.beta(3.0, 1.7).cdf).pvalue < FALSE_ALARMS
