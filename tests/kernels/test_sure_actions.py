"""Which actions are sure, by hand and beside the twin."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.scout import sure_actions
from thrifty.kernels.scout.sure_actions import PRIOR_VARIANCE, SURE

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

note_reward = numba.njit(lambda variety, a, r: sure_actions.note_reward(variety, a, r))
variance_of = numba.njit(lambda variety, a: sure_actions.variance_of(variety, a))
is_sure = numba.njit(lambda variety, a: sure_actions.is_sure(variety, a))
share_of_sure = numba.njit(lambda variety, habits: sure_actions.share_of_sure(variety, habits))
convert = numba.njit(lambda variety, f, g: sure_actions.convert(variety, f, g))


def noted(*rewards: list[float]) -> np.ndarray:
    variety = sure_actions.initial(len(rewards))
    for a, of_action in enumerate(rewards):
        for reward in of_action:
            note_reward(variety, a, reward)
    return variety


def test_the_variance_has_one_imagined_reward() -> None:
    variety = noted([], [0.0, 1.0])
    assert variance_of(variety, 0) == PRIOR_VARIANCE
    assert variance_of(variety, 1) == pytest.approx((2 * 0.25 + PRIOR_VARIANCE) / 3)


def test_declining_is_sure_beside_a_gamble() -> None:
    variety = noted([0.6] * 10, [0.0, 1.0] * 5)
    assert [bool(is_sure(variety, a)) for a in range(2)] == [True, False]
    assert share_of_sure(variety, np.array([0.7, 0.3])) == 0.7


def test_nothing_is_sure_before_anything_was_seen() -> None:
    assert not is_sure(noted([], []), 0)


def test_actions_that_vary_alike_are_not_sure() -> None:
    """Variances of p (1 - p): .09 is more than .3 of .25, and .05 is less."""
    assert 0.05 < SURE * 0.25 < 0.09
    gamble = [0.0, 1.0] * 250
    assert not is_sure(noted(gamble, [0.0] * 50 + [1.0] * 450), 1)
    assert is_sure(noted(gamble, [0.0] * 27 + [1.0] * 473), 1)


@repeatable
@given(st.lists(st.floats(0, 1), max_size=40), st.floats(0.1, 10), st.floats(-5, 5))
def test_like_the_twin_also_on_another_scale(rewards: list[float], f: float, g: float) -> None:
    variety, twin = noted(rewards), naive_scout.BlindRewards()
    for reward in rewards:
        twin.add(reward)
    assert variance_of(variety, 0) == pytest.approx(twin.variance)
    convert(variety, f, g)
    twin.convert(f, g)
    assert variance_of(variety, 0) == pytest.approx(twin.variance)
    alone = np.var(rewards) if rewards else 0.0
    assert variety["variance"][0] == pytest.approx(f * f * alone, abs=1e-9)
