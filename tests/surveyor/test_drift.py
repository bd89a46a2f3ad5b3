"""Alarms: rare while models are right, soon after the world has changed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.surveyor.drift import ChangeDetector

REWARDS = np.array([[50.0, -20.0], [-60.0, 0.0]])
"""Of treating and waiting, if a patient is ill or well."""


def changes_found(
    *, sharpness: float, n: int, seed: int, turn: int | None = None, confirmed: float = 1.0
) -> list[tuple[int, int]]:
    """Return the cases with an alarm, and where the change is believed to have begun.

    A model says how likely each patient is to be ill; it is right, until outcomes turn round. If it
    is too sure of itself, only a share of its log odds is `confirmed`.
    """
    rng = np.random.default_rng(seed)
    signals = sharpness * rng.normal(size=n)
    chances, truth = (1 / (1 + np.exp(1 - share * signals)) for share in (1.0, confirmed))
    truth = np.where(np.arange(n) < (n if turn is None else turn), truth, 1 - truth)
    outcomes = (rng.random(n) >= truth).astype(np.int64)
    frequencies = np.array([chances.mean(), 1 - chances.mean()])
    detector, found = ChangeDetector(), []
    for t in range(n):
        expected = np.array([chances[t], 1 - chances[t]])
        rewards = REWARDS[int((REWARDS @ expected).argmax())]
        possible = np.arange(2) == outcomes[t]
        detector.add(t, expected, frequencies, rewards, possible, float(rewards[outcomes[t]]))
        change = detector.alarm(t, 1000)
        if change is not None:
            found.append((t, change))
    return found


def test_fewer_than_one_false_alarm_in_50_000_cases() -> None:
    """Four models of different sharpness, each right in 20,000 cases."""
    found = [
        changes_found(sharpness=sharpness, n=20_000, seed=seed)
        for seed, sharpness in enumerate((0.5, 1.0, 2.0, 4.0))
    ]
    assert sum(map(len, found)) <= 80_000 / 50_000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sharpness", [1.0, 2.0])
def test_an_alarm_soon_after_outcomes_turn_round(sharpness: float, seed: int) -> None:
    now, _ = changes_found(sharpness=sharpness, n=2_100, seed=seed, turn=2_000)[0]
    assert 2_000 < now < 2_100


def test_the_change_point_is_near_the_truth() -> None:
    found = [changes_found(sharpness=2.0, n=2_100, seed=k, turn=2_000)[0][1] for k in range(9)]
    assert abs(np.median(found) - 2_000) <= 10
    assert max(abs(change - 2_000) for change in found) <= 100


def test_a_model_that_is_a_little_too_sure_does_not_look_like_a_change() -> None:
    found = [changes_found(sharpness=1.0, n=5_000, seed=k, confirmed=0.9) for k in range(3)]
    assert found == [[], [], []]


def test_an_outcome_that_stays_hidden_says_nothing() -> None:
    detector = ChangeDetector()
    half = np.array([0.5, 0.5])
    detector.add(0, half, half, np.zeros(2), np.array([True, True]), 0.0)
    assert detector == ChangeDetector()


def surprised(detector: ChangeDetector, n: int, start: int = 0) -> None:
    """Take in cases whose outcome was hardly thought possible."""
    expected, usual = np.array([0.99, 0.01]), np.array([0.5, 0.5])
    for t in range(start, start + n):
        detector.add(t, expected, usual, np.array([1.0, 0.0]), np.array([False, True]), 0.0)


def test_one_step_by_hand() -> None:
    detector = ChangeDetector()
    half = np.array([0.5, 0.5])
    detector.add(0, np.array([0.8, 0.2]), half, np.array([1.0, 0.0]), half < [0, 1], 0.0)
    # Outcomes: 0.3 of the model and 0.7 of the frequencies, 0.5, over the model's 0.2.
    assert detector.outcomes == pytest.approx(np.log(0.3 + 0.7 * 0.5 / 0.2))
    # Rewards: odds of 1 to 4 become 3 to 4, so that 3/7 is expected instead of 1/5.
    assert detector.rewards == pytest.approx(np.log((3 / 7) / 0.2))


@pytest.mark.parametrize(("n_complete", "last"), [(300, 20), (299, 300)])
def test_no_alarm_just_after_the_start(n_complete: int, last: int) -> None:
    early, late = ChangeDetector(), ChangeDetector()
    surprised(early, 10, start=last - 10)
    assert early.alarm(last - 1, n_complete) is None
    assert (early.outcomes, early.start) == (0.0, 0)
    surprised(late, 10, start=last - 9)
    assert late.alarm(last, n_complete) is not None
    assert late.start == last + 1


def test_a_detector_is_saved_exactly() -> None:
    detector = ChangeDetector()
    surprised(detector, 3)
    assert ChangeDetector(**json.loads(json.dumps(detector.to_dict()))) == detector
