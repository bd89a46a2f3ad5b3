"""The scale of rewards, by hand and beside a twin that keeps every reward."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.kernels.scout import reward_scale
from thrifty.kernels.scout.reward_scale import LOW, MIN_REWARDS, SPAN

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

note_reward = numba.njit(lambda scale, r: reward_scale.note_reward(scale, r))
scaled = numba.njit(lambda scale, r: reward_scale.scaled(scale, r))
declared = numba.njit(lambda scale, v: reward_scale.declared(scale, v))
is_top_declared = numba.njit(lambda scale: reward_scale.is_top_declared(scale))
convert = numba.njit(lambda sums, pulls, f, g: reward_scale.convert(sums, pulls, f, g))


def seen(*rewards: float) -> np.ndarray:
    scale = reward_scale.initial()
    for reward in rewards:
        note_reward(scale, reward)
    return scale


def test_the_declared_range_is_used_at_first() -> None:
    scale = seen(*[0.4, 0.5] * (MIN_REWARDS // 2 - 1), 0.4)
    assert scale[[LOW, SPAN]].tolist() == [0, 1]
    f, g = note_reward(scale, 0.5)
    assert scale[[LOW, SPAN]].tolist() == pytest.approx([0.4, 0.1])
    assert [f * r + g for r in (0.4, 0.45, 0.5)] == pytest.approx([0, 0.5, 1])


def test_a_reward_outside_extends_the_range() -> None:
    scale = seen(*[0.4, 0.5] * MIN_REWARDS)
    f, g = note_reward(scale, 0.3)
    assert scale[[LOW, SPAN]].tolist() == pytest.approx([0.3, 0.2])
    assert [f * r + g for r in (0, 1)] == pytest.approx([0.5, 1])
    assert note_reward(scale, 0.35) == (1.0, 0.0)


@pytest.mark.parametrize("rewards", [(0.0, 1.0), (0.1, 0.95), (0.5, 0.5), (0.5, 0.5 + 1e-9)])
def test_the_declared_range_stays_if_it_is_nearly_covered_or_rewards_are_all_alike(
    rewards: tuple[float, float],
) -> None:
    assert seen(*rewards * MIN_REWARDS)[[LOW, SPAN]].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rewards", "is_top"),
    [((0.4, 0.5), False), ((0.4, 1.0), True), ((0.1, 0.95), True), ((0.0, 0.6), False)],
)
def test_the_learnt_range_may_end_where_the_declared_one_does(
    rewards: tuple[float, float], is_top: bool
) -> None:
    assert is_top_declared(seen(*rewards))  # too few rewards for a range of their own
    assert bool(is_top_declared(seen(*rewards * MIN_REWARDS))) == is_top


@repeatable
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_sums_are_those_of_converted_rewards(rewards: list[float]) -> None:
    scale = reward_scale.initial()
    sums, pulls = np.zeros((1, 1)), np.zeros((1, 1))
    for reward in rewards:
        f, g = note_reward(scale, reward)
        convert(sums, pulls, f, g)
        assert declared(scale, scaled(scale, reward)) == pytest.approx(reward)
        sums += scaled(scale, reward)
        pulls += 1
    twin = sum(scaled(scale, reward) for reward in rewards)
    assert sums[0, 0] == pytest.approx(twin, abs=1e-6 * max(1.0, 1 / scale[SPAN]))
