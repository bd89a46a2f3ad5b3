"""Radii against the policy's own, and bounds against hand-computed and measured regret."""

import math

import numpy as np
import pytest

from thrifty import NCCUCRL2, Observation, Problem, World, expected_regret, simulate
from thrifty.errors import InvalidParameter
from thrifty.theory import Setting, recommended_window, regret_bound

PROBLEM = Problem.anonymous((2, 3), n_actions=2)  # Psi_tot = 3 * 4
SETTING = Setting(PROBLEM, horizon=1000, window=50, delta=0.1)


def test_logarithms_by_hand() -> None:
    assert SETTING.reward_log == pytest.approx(math.log(1000 * 2 * 12 * 50 / 0.1))
    assert SETTING.cost_log == pytest.approx(math.log(1000 * 2 * 50 / 0.1))
    assert SETTING.probability_log == pytest.approx(math.log(2 * 1000 * 4 / 0.1))


def test_radii_by_hand() -> None:
    assert SETTING.reward_radius(0) == SETTING.reward_radius(1) == 1
    assert SETTING.reward_radius(100) == pytest.approx(math.sqrt(SETTING.reward_log / 100))
    assert SETTING.cost_radius(200) == pytest.approx(math.sqrt(2 * SETTING.cost_log / 200))
    assert SETTING.cost_radius(1, most=0.05) == 0.05
    wide = math.sqrt(2 * 12 * SETTING.probability_log / 1000)
    assert SETTING.probability_radius(1000) == pytest.approx(wide)
    assert SETTING.probability_radius(0) == 1
    assert SETTING.probability_radius(0, most=2) == 2


def test_many_features_do_not_overflow() -> None:
    many = Setting(Problem.anonymous((9,) * 1000, 2), horizon=10, window=5, delta=0.1)
    assert many.probability_radius(10**6) == 1


@pytest.mark.parametrize("pulls", [1, 20, 40])
def test_the_policy_uses_the_same_reward_radius(pulls: int) -> None:
    policy = NCCUCRL2(PROBLEM, horizon=1000, window=50, delta=0.1, seed=0)
    seen = Observation([0, 1], [0.1, 0.1])
    for k in range(pulls):
        policy.update(seen, 0, float(k % 2))
    values = policy.action_values(seen)
    assert values is not None
    mean = (pulls // 2) / pulls
    expected = [mean + SETTING.reward_radius(pulls), SETTING.reward_radius(0)]
    np.testing.assert_allclose(values, expected, atol=1e-11)


def test_the_bound_by_hand() -> None:
    bound = regret_bound(SETTING, changes=3)
    assert bound.changes == 3 * 50 * 3
    assert bound.probabilities == pytest.approx(
        4 * math.sqrt(2 * 12 * SETTING.probability_log * 4 * 1000)
    )
    assert bound.martingale == pytest.approx(4 * 3 * math.sqrt(1000 * math.log(10) / 2))
    assert bound.rewards == pytest.approx(4 * 24 * math.sqrt(SETTING.reward_log * 2 * 12 * 50))
    assert bound.costs == pytest.approx(4 * 24 * 2 * math.sqrt(2 * SETTING.cost_log * 50))
    terms = (bound.changes, bound.probabilities, bound.martingale, bound.rewards, bound.costs)
    assert bound.total == pytest.approx(sum(terms))


def test_measured_regret_lies_below_the_bound() -> None:
    rounds = 20_000
    world = World.random(levels=(2,), n_actions=2, rounds=rounds, seed=3)
    runs = simulate("ncc-ucrl2", world, seeds=range(5), window=rounds, delta=0.05)
    setting = Setting(world.problem, horizon=rounds, window=rounds, delta=0.05)
    bound = regret_bound(setting).total
    worst = max(
        expected_regret(run, world.draw(seed)).sum()
        for run, seed in zip(runs, runs.seeds, strict=True)
    )
    assert worst < bound < rounds * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"horizon": 0, "window": 1, "delta": 0.1},
        {"horizon": 1, "window": 0, "delta": 0.1},
        {"horizon": 1, "window": 1, "delta": 1.0},
    ],
)
def test_impossible_settings_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Setting(PROBLEM, **arguments)  # type: ignore[arg-type]


def test_impossible_changes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="changes"):
        regret_bound(SETTING, changes=-1)
    with pytest.raises(InvalidParameter, match="changes"):
        recommended_window(10, -1)
