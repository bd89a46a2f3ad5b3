"""Evidence that rewards have become worse than predicted."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import naive_scout
from thrifty.kernels.scout import change_detection, likelihood

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

add_evidence = numba.njit(
    lambda surprise, r, p, phi: change_detection.add_evidence(surprise.sums, r, p, phi)
)
add_evidence_in = numba.njit(
    lambda surprise, cell, r, p, phi: change_detection.add_evidence_in(surprise, cell, r, p, phi)
)
reset = numba.njit(lambda surprise: change_detection.reset(surprise))
reset_cells = numba.njit(
    lambda surprise, start, stop: change_detection.reset_cells(surprise, start, stop)
)

CHANCES = st.floats(likelihood.MIN_MEAN, likelihood.MAX_MEAN)
ROUNDS = st.lists(st.tuples(st.floats(0, 1), CHANCES, st.floats(0.05, 1)), max_size=40)


def failures_until(alarm: float, share: float, p: float) -> int:
    """Return how many rewards of 0 it takes until the sum of this share exceeds the alarm."""
    return math.floor(alarm / math.log((1 - share * p) / (1 - p))) + 1


def test_a_reward_of_0_and_one_of_1() -> None:
    surprise, p = change_detection.initial(2), 0.5
    assert not add_evidence(surprise, 0.0, p, 1.0)
    worse = [math.log((1 - share * p) / (1 - p)) for share in change_detection.WORSE]
    assert surprise.sums.tolist() == pytest.approx(worse)
    assert not add_evidence(surprise, 1.0, p, 1.0)
    better = [
        max(0, up + math.log(share))
        for up, share in zip(worse, change_detection.WORSE, strict=True)
    ]
    assert surprise.sums.tolist() == pytest.approx(better)
    assert surprise.cells.tolist() == [0, 0]


@pytest.mark.parametrize("p", [0.3, 0.8])
def test_rewards_of_0_alone_give_an_alarm_after_a_known_number(p: float) -> None:
    surprise = change_detection.initial(1)
    needed = min(
        failures_until(change_detection.ALARM, share, p) for share in change_detection.WORSE
    )
    assert [bool(add_evidence(surprise, 0.0, p, 1.0)) for _ in range(needed)].index(
        True
    ) == needed - 1


def test_one_cell_has_an_alarm_of_its_own_and_starts_afresh() -> None:
    surprise, p = change_detection.initial(3), 0.7
    needed = failures_until(change_detection.ALARM, change_detection.WORSE_IN_CELL, p)
    found = [bool(add_evidence_in(surprise, 1, 0.0, p, 1.0)) for _ in range(2 * needed)]
    assert [k + 1 for k, alarm in enumerate(found) if alarm] == [needed, 2 * needed]
    assert surprise.cells.tolist() == [0, 0, 0]
    assert (surprise.sums == 0).all()


def test_evidence_counts_more_if_rewards_vary_less() -> None:
    one, other = change_detection.initial(1), change_detection.initial(1)
    add_evidence(one, 0.0, 0.4, 1.0)
    add_evidence(other, 0.0, 0.4, 0.25)
    assert (other.sums / one.sums).tolist() == pytest.approx([4.0] * len(change_detection.WORSE))


def test_calming_down_clears_all_sums() -> None:
    surprise = change_detection.initial(2)
    add_evidence(surprise, 0.0, 0.5, 1.0)
    add_evidence_in(surprise, 1, 0.0, 0.5, 1.0)
    reset(surprise)
    assert not surprise.sums.any()
    assert not surprise.cells.any()


def test_calming_down_in_some_cells_leaves_the_others() -> None:
    surprise = change_detection.initial(4)
    add_evidence(surprise, 0.0, 0.5, 1.0)
    surprise.cells[:] = [1.0, 2.0, 3.0, 4.0]
    reset_cells(surprise, 1, 3)
    assert surprise.cells.tolist() == [1, 0, 0, 4]
    assert surprise.sums.all()


@repeatable
@given(ROUNDS)
def test_like_the_twin(rounds: list[tuple[float, float, float]]) -> None:
    surprise = change_detection.initial(2)
    twin, in_cell = (
        naive_scout.Alarm(change_detection.WORSE),
        naive_scout.Alarm([change_detection.WORSE_IN_CELL]),
    )
    for reward, p, phi in rounds:
        assert bool(add_evidence(surprise, reward, p, phi)) == twin.add(reward, p, phi)
        assert surprise.sums.tolist() == pytest.approx(twin.sums, abs=1e-9)
        alarm = in_cell.add(reward, p, phi)
        assert bool(add_evidence_in(surprise, 1, reward, p, phi)) == alarm
        if alarm:
            in_cell.sums = [0.0]
        assert surprise.cells.tolist() == pytest.approx([0, in_cell.sums[0]], abs=1e-9)


@repeatable
@given(ROUNDS)
def test_sums_are_never_negative(rounds: list[tuple[float, float, float]]) -> None:
    surprise = change_detection.initial(1)
    for round_ in rounds:
        add_evidence(surprise, *round_)
        add_evidence_in(surprise, 0, *round_)
        assert (surprise.sums >= 0).all()
        assert (surprise.cells >= 0).all()


def alarmed(rewards: list[float], p: float) -> bool:
    surprise = change_detection.initial(1)
    return any(add_evidence(surprise, reward, p, 1.0) for reward in rewards)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_false_alarms_are_as_rare_as_they_must_be(p: float) -> None:
    # exp of the sum from any round on is a martingale of mean 1, so that it ever exceeds exp(ALARM)
    # with probability exp(-ALARM) at the most (Ville); a CUSUM has as many beginnings as rounds.
    rng, runs, rounds = np.random.default_rng(0), 300, 100
    bound = len(change_detection.WORSE) * rounds * math.exp(-change_detection.ALARM)
    rewards = (rng.random((runs, rounds)) < p).astype(float).tolist()
    assert sum(alarmed(run, p) for run in rewards) <= binom.ppf(1 - 1e-4, runs, bound)


def test_a_fall_to_less_than_half_is_noticed() -> None:
    # From 0.8 to 0.3 the first sum gains 0.36 a round in the mean with a deviation of 0.9: after
    # 100 rounds it is 3 deviations above ALARM, and there are two more sums.
    rewards = (np.random.default_rng(1).random((100, 100)) < 0.3).astype(float).tolist()
    assert sum(alarmed(run, 0.8) for run in rewards) >= 95
