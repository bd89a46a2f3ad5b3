"""Outcomes that an action hid are drawn, and rewards are estimated without confirming a model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from surveyor_cases import LENDING, SCREENING, drawn_cases
from thrifty.plans.cases import PastCases
from thrifty.problem import Feature, Problem
from thrifty.surveyor.completion import (
    calibrated,
    complete_cases,
    confirmed_share,
    fit_model,
)
from thrifty.surveyor.labels import OutcomeTable

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def hidden_by_score(cases: PastCases, share: float) -> Bools:
    """Return the possible outcomes if a share of the cases with a high score was declined."""
    rng = np.random.default_rng(5)
    possible = np.eye(2, dtype=np.bool_)[cases.outcomes]
    possible[(cases.codes[:, 1] == 1) & (rng.random(cases.n_cases) < share)] = True
    return possible


def approved(chances: Floats) -> Floats:
    """Return the probabilities of approving and of declining."""
    return np.stack([chances, 1 - chances], axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_drawn_outcomes_have_the_frequencies_of_hidden_ones(seed: int) -> None:
    cases = drawn_cases(LENDING, 6_000, seed, chances=(0.05, 0.6))
    possible = hidden_by_score(cases, 0.9)
    known = ~possible.all(axis=1)
    chances = approved(np.where(cases.codes[:, 1] == 1, 0.1, 1.0))
    rng = np.random.default_rng(50 + seed)
    outcomes = complete_cases(cases, possible, chances, OutcomeTable.of(LENDING), rng).outcomes
    np.testing.assert_array_equal(outcomes[known], cases.outcomes[known])
    # About 300 known cases tell the frequency of 3,000: a standard error of 0.028 among them.
    high = cases.codes[:, 1] == 1
    assert outcomes[high].mean() == pytest.approx(cases.outcomes[high].mean(), abs=0.1)
    assert outcomes.mean() == pytest.approx(cases.outcomes.mean(), abs=0.05)
    assert cases.outcomes[known].mean() < cases.outcomes.mean() - 0.15  # what is known is biased


def test_nothing_is_drawn_if_everything_is_known() -> None:
    cases = drawn_cases(SCREENING, 50, seed=1)
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    known = np.eye(2, dtype=np.bool_)[cases.outcomes]
    found = complete_cases(cases, known, np.ones((50, 2)), OutcomeTable.of(SCREENING), rng)
    np.testing.assert_array_equal(found.outcomes, cases.outcomes)
    assert found.estimates is None
    assert rng.bit_generator.state == before


def three_outcomes(n: int) -> tuple[PastCases, Bools]:
    """Return cases of which some outcomes are known and others are one of two."""
    rng = np.random.default_rng(3)
    problem = Problem(
        [Feature("x", ("0", "1"))],
        ["a", "b"],
        outcomes={"a": {"u": 0, "v": 1, "w": 2}, "b": {"u": 0, "v": 0, "w": 3}},
        prices={"x": 0.1},
    )
    codes = rng.integers(0, 2, (n, 1)).astype(np.int16)
    # Where x is 0, u is three times as frequent as v; where x is 1, all outcomes are w.
    outcomes = np.where(codes[:, 0] == 1, 2, (rng.random(n) < 0.25).astype(np.int64))
    possible = np.eye(3, dtype=np.bool_)[outcomes]
    possible[(rng.random(n) < 0.5) & (outcomes < 2)] = [True, True, False]
    return PastCases(problem, codes, outcomes, np.array([False])), possible


def test_drawn_outcomes_are_possible_ones() -> None:
    cases, possible = three_outcomes(2_000)
    rng = np.random.default_rng(1)
    outcomes = complete_cases(
        cases, possible, np.ones((2_000, len(cases.rewards))), OutcomeTable.of(cases.problem), rng
    ).outcomes
    assert possible[np.arange(2_000), outcomes].all()
    drawn = outcomes[possible.sum(axis=1) == 2]
    assert (drawn == 1).mean() == pytest.approx(0.25, abs=0.06)


def test_a_model_learns_from_cases_that_are_partly_known() -> None:
    cases, possible = three_outcomes(2_000)
    model = fit_model(cases, possible, np.random.default_rng(1))
    low, high = model.probabilities(np.array([[0], [1]], np.int16))
    np.testing.assert_allclose(low, [0.75, 0.25, 0], atol=0.05)
    np.testing.assert_allclose(high, [0, 0, 1], atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_estimated_rewards_have_the_mean_of_the_true_ones(seed: int) -> None:
    """Although only a tenth of the risky cases is known, and the model may be wrong."""
    cases = drawn_cases(LENDING, 6_000, seed, chances=(0.05, 0.6))
    possible = hidden_by_score(cases, 0.9)
    chances = approved(np.where(cases.codes[:, 1] == 1, 0.1, 1.0))
    rng = np.random.default_rng(50 + seed)
    completed = complete_cases(cases, possible, chances, OutcomeTable.of(LENDING), rng)
    found = completed.action_rewards[:, 0]
    truth = cases.action_rewards[:, 0]
    # Rewards range over 50; about 300 known cases stand for 3,000.
    assert found.mean() == pytest.approx(truth.mean(), abs=4 * 25 / np.sqrt(300) / 2)
    high = cases.codes[:, 1] == 1
    assert found[high].mean() == pytest.approx(truth[high].mean(), abs=4 * 25 / np.sqrt(300))


def test_estimated_rewards_follow_the_outcomes_and_not_a_wrong_model() -> None:
    """By chance, outcomes may seem to depend on a value. Estimates must not believe that."""
    errors = []
    for seed in range(40):
        cases = drawn_cases(LENDING, 120, seed, chances=(0.2, 0.2))
        rng = np.random.default_rng(900 + seed)
        codes = cases.codes[:, 1]
        means = [cases.outcomes[codes == level].mean() for level in (0, 1)]
        worse = codes == int(np.argmax(means))
        chances = np.where(worse, 0.25, 1.0)
        possible = np.eye(2, dtype=np.bool_)[cases.outcomes]
        possible[rng.random(120) >= chances] = True
        table = OutcomeTable.of(LENDING)
        found = complete_cases(cases, possible, approved(chances), table, rng)
        errors.append(float((found.action_rewards - cases.action_rewards)[:, 0].mean()))
    # The mean over 40 tables; a t test at 4 standard errors is wrong once in 4,000 times.
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(40)


ROUTER = Problem(
    [Feature("noise", ("low", "high"))],
    ["small", "large"],
    outcomes={
        "small": {"easy": 10, "hard": 1, "odd": 0},
        "large": {"easy": 8, "hard": 8, "odd": -2},
    },
    prices={"noise": 1},
)
"""The large model answers easy and hard requests alike, so its reward does not tell them apart."""


def test_a_reward_may_tell_that_of_one_action_and_hide_that_of_another() -> None:
    determines = OutcomeTable.of(ROUTER).determines
    assert determines[0].all()  # the small one tells the outcome
    # After the large one has answered, its own reward is known, but that of the small one is not.
    assert determines[1].tolist() == [[False, True], [False, True], [True, True]]


def test_estimates_of_an_action_follow_the_cases_in_which_its_reward_was_known() -> None:
    """Nine in ten requests with a high value go to the large model, which hides what they are."""
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(700 + seed)
        codes = rng.integers(0, 2, (200, 1)).astype(np.int16)
        outcomes = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
        cases = PastCases(ROUTER, codes, outcomes, np.array([False]))
        small = np.where(codes[:, 0] == 1, 0.1, 1.0)
        possible = np.eye(3, dtype=np.bool_)[outcomes]
        possible[(rng.random(200) >= small) & (outcomes < 2)] = [True, True, False]
        found = complete_cases(cases, possible, approved(small), OutcomeTable.of(ROUTER), rng)
        errors.append(float((found.action_rewards - cases.action_rewards)[:, 0].mean()))
    # The mean over 40 tables; a t test at 4 standard errors is wrong once in 4,000 times.
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(40)


def test_confirmed_share_by_hand() -> None:
    half, surely = np.array([0.5, 0.5]), np.tile([0.9, 0.1], (10, 1))
    known = np.zeros((10, 2), np.bool_)
    known[:7, 0] = known[7:, 1] = True
    # Seven in ten are right: f + share * 0.4 = 0.7 has the largest likelihood.
    assert confirmed_share(surely, half, known, doubt=0.0) == pytest.approx(0.5, abs=1e-6)
    # With weights the first seven count as much as nine in ten.
    weights = np.where(known[:, 0], 27 / 7, 1.0)
    assert confirmed_share(surely, half, known, weights, doubt=0.0) == pytest.approx(1.0, abs=1e-6)
    assert confirmed_share(surely, half, ~known, doubt=0.0) == 0.0
    # Scores are 4/7 in seven cases and -4/3 in three: the information is 160/21.
    assert confirmed_share(surely, half, known) == pytest.approx(0.5 - np.sqrt(21 / 160), abs=1e-6)


def test_outcomes_that_stay_possible_confirm_only_their_sum() -> None:
    frequencies = np.array([0.5, 0.25, 0.25])
    expected = np.tile([0.5, 0.45, 0.05], (100, 1))
    possible = np.zeros((100, 3), np.bool_)
    possible[:50, 0] = possible[50:, 1:] = True
    # The models differ from the frequencies only between outcomes that stayed possible.
    assert confirmed_share(expected, frequencies, possible, doubt=0.0) == 0.0
    exact = possible.copy()
    exact[95:, 2], exact[50:95, 2], exact[95:, 1] = True, False, False
    assert confirmed_share(expected, frequencies, exact, doubt=0.0) == pytest.approx(1.0)


def test_models_that_nothing_confirms_are_drawn_to_the_frequencies() -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.integers(0, 2, 500)
    expected = rng.dirichlet([1, 1], 500)
    drawn = calibrated(expected, np.eye(2, dtype=np.bool_)[outcomes], np.ones(500))
    assert np.ptp(drawn[:, 0]) < 0.25
    assert drawn[:, 0].mean() == pytest.approx((outcomes == 0).mean(), abs=0.02)
