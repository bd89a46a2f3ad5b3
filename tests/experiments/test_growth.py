"""Growth of regret: slopes by hand, and the theorems' bounds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from figures.small_tables import results_of, table_of_regrets
from thrifty.experiments.growth import log_log_slope, regret_growths, theorem_bounds
from thrifty.experiments.results import Results
from thrifty.experiments.runner import run
from thrifty.experiments.spec import Entry, Experiment
from thrifty.problem import Problem
from thrifty.theory import Setting, recommended_window, regret_bound

EXPERIMENT = Experiment(
    id="growth",
    title="Growth",
    environment="random",
    entries=(
        Entry("anything", "uniform"),
        Entry("text", "ncc-ucrl2", {"window": "recommended", "delta": 0.05}),
        Entry("text again", "ncc-ucrl2", {"window": 5, "delta": 0.5}),
    ),
    seeds=(0, 1),
    environment_params={"levels": [2], "n_actions": 2, "tables": 3},
    horizons=(2_000, 200_000),
)
EMPTY = table_of_regrets({})


def test_the_slope_of_a_square_root() -> None:
    by_horizon = {t: (3 * t**0.5, 3 * t**0.5) for t in (100, 400, 1000, 5000)}
    (growth,) = regret_growths(results_of(table_of_regrets({"root": by_horizon})))
    assert growth.horizons == (100, 400, 1000, 5000)
    assert growth.regret[:2] == pytest.approx((30, 60))
    assert (growth.slope, growth.slope_low, growth.slope_high) == pytest.approx((0.5, 0.5, 0.5))


def test_seeds_of_other_constants_have_the_same_slope() -> None:
    by_horizon = {t: [c * t ** (2 / 3) for c in (1, 2, 5)] for t in (10, 100, 1000)}
    (growth,) = regret_growths(results_of(table_of_regrets({"two thirds": by_horizon})))
    assert (growth.slope, growth.slope_low, growth.slope_high) == pytest.approx(
        (2 / 3, 2 / 3, 2 / 3)
    )
    assert growth.low[0] < growth.regret[0] < growth.high[0]
    assert growth.regret[0] == pytest.approx(8 / 3 * 10 ** (2 / 3))


def test_the_interval_comes_from_the_seeds() -> None:
    by_horizon = {100: (10.0, 10.0, 10.0), 10_000: (100.0, 1000.0, 100.0)}
    (growth,) = regret_growths(results_of(table_of_regrets({"mixed": by_horizon})))
    # Resamples of three seeds reach both ends: 100 / 10 is slope 1/2, 1000 / 10 is slope 1.
    assert growth.slope_low == pytest.approx(0.5)
    assert growth.slope_low < growth.slope < growth.slope_high <= 1
    assert growth.slope == pytest.approx(np.log10(400 / 10) / 2)


@pytest.mark.parametrize("regret", [0.0, -1.0])
def test_regret_that_is_not_positive_has_no_slope(regret: float) -> None:
    (growth,) = regret_growths(
        results_of(table_of_regrets({"lucky": {100: (regret, regret), 200: (1.0, 1.0)}}))
    )
    assert np.isnan([growth.slope, growth.slope_low, growth.slope_high]).all()
    assert growth.regret == (regret, 1)


def test_policies_in_order_and_without_the_oracle() -> None:
    same = {10: (1.0,), 20: (2.0,)}
    table = table_of_regrets({"z": same, "Oracle": same, "a": same, "oracle": same})
    assert [growth.policy for growth in regret_growths(results_of(table))] == ["z", "a"]


def test_horizons_in_any_order() -> None:
    (growth,) = regret_growths(results_of(table_of_regrets({"a": {400: (20.0,), 100: (10.0,)}})))
    assert (growth.horizons, growth.regret) == ((100, 400), (10, 20))


def test_the_slope_of_a_bound() -> None:
    assert log_log_slope({10: 5.0, 100: 50.0, 1000: 500.0}) == pytest.approx(1)


def test_bounds_are_the_theorems() -> None:
    problem = Problem.anonymous((2,), 2)
    by_hand = {
        t: regret_bound(Setting(problem, horizon=t, window=t, delta=0.05)).total
        for t in (2_000, 200_000)
    }
    assert theorem_bounds(Results(EXPERIMENT, EMPTY)) == pytest.approx(by_hand)


def test_bounds_count_the_changes_of_rewards_and_costs_once() -> None:
    changes = {"reward_changes": [0.25, 0.5], "cost_changes": [0.5, 0.75]}
    changing = replace(
        EXPERIMENT,
        environment_params={**EXPERIMENT.environment_params, **changes},
        horizons=(1000,),
    )
    window = recommended_window(1000, 3)
    setting = Setting(Problem.anonymous((2,), 2), horizon=1000, window=window, delta=0.05)
    by_hand = {1000: regret_bound(setting, changes=3).total}
    assert theorem_bounds(Results(changing, EMPTY)) == pytest.approx(by_hand)


def test_other_policies_have_no_bound() -> None:
    other = replace(EXPERIMENT, entries=EXPERIMENT.entries[:1])
    assert theorem_bounds(Results(other, EMPTY)) == {}
    to_the_end = replace(EXPERIMENT, entries=EXPERIMENT.entries[2:], horizons=())
    assert theorem_bounds(Results(to_the_end, EMPTY)) == {}


def test_bounds_of_parameters_that_are_not_given() -> None:
    by_default = replace(EXPERIMENT, entries=(Entry("text", "ncc-ucrl2"),))
    assert set(theorem_bounds(Results(by_default, EMPTY))) == set(EXPERIMENT.horizons)


def test_measured_regret_stays_below_the_bound(tmp_path: Path) -> None:
    results = run(replace(EXPERIMENT, entries=EXPERIMENT.entries[:2]), tmp_path, workers=1)
    uniform, text = regret_growths(results)
    bounds = theorem_bounds(results)
    assert all(high < bounds[t] for t, high in zip(text.horizons, text.high, strict=True))
    assert bounds[200_000] < 200_000 * (1 + 1)  # what can be lost at all, T (1 + D)
    assert text.slope_high < 0.9 < uniform.slope_low
    assert uniform.slope == pytest.approx(1, abs=0.05)
