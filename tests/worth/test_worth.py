"""Worth of features: by hand, on synthetic cases with a known answer, and on noise."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from thrifty.examples import SYNTHETIC, example_csv, example_policy
from thrifty.policy_file import from_prices, parse_policy_file
from thrifty.tables import Cases, read_cases
from thrifty.tables.reader import Table
from thrifty.worth import sets
from thrifty.worth.backtest import Strategy, block_mean, change_points, run_backtest
from thrifty.worth.evaluation import Evaluation, evaluate
from thrifty.worth.files import as_json
from thrifty.worth.money import MoneyFormat
from thrifty.worth.page import html_report
from thrifty.worth.selection import (
    Estimate,
    Evaluator,
    FeatureWorth,
    choose_set,
    feature_worth,
    indices_of,
    search_sets,
    split_half_gain,
)
from thrifty.worth.sets import CrossValidation, evaluate_sets
from thrifty.worth.verdict import (
    findings,
    method_lines,
    strategy_lines,
    verdict_lines,
    warnings,
    worth_interval,
    worth_text,
)

SEEDS = range(20)


def example_cases(name: str, rows: int, seed: int) -> Cases:
    import io
    import tomllib

    frame = pl.read_csv(io.StringIO(example_csv(name, rows, seed)), infer_schema=False)
    return read_cases(Table(frame), parse_policy_file(tomllib.loads(example_policy(name))))


def informative_cases(seed: int, number: int = 3000) -> Cases:
    """Return cases in which only `a` is informative; `copy` is a copy of `a`, `noise` is noise."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, number)
    outcome = rng.random(number) < np.array([0.1, 0.3, 0.7, 0.9])[a]
    table = {
        "copy": a,
        "noise": rng.integers(0, 6, number),
        "a": a,
        "level": rng.normal(size=number),
        "outcome": np.where(outcome, "yes", "no"),
    }
    prices: dict[str, float | str] = {"copy": 0.011, "noise": 0.001, "a": 0.01, "level": 0.002}
    return read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))


def test_the_worth_of_a_feature_by_hand() -> None:
    """A deterministic outcome: the feature is worth the share of cases that it turns right."""
    table = {"a": ["x", "y", "y", "y"] * 100, "outcome": ["no", "yes", "yes", "yes"] * 100}
    cases = read_cases(table, from_prices({"a": 0.1}, target="outcome"))
    values = search_sets(cases, 1)
    assert dict(zip(map(indices_of, values.masks), values.rewards, strict=True)) == {
        (): 0.75,
        (0,): 1.0,
    }
    worth = feature_worth(values, Evaluator.stratified(cases, 1), 0)
    assert worth.estimate.mean == pytest.approx(0.25)
    assert worth.break_even == worth.estimate.mean


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_noise_nor_a_copy_is_bought(seed: int) -> None:
    """Noise costs a thousandth of a right decision; without the rule it would often be bought."""
    cases = informative_cases(seed)
    values = search_sets(cases, seed)
    evaluator = Evaluator.stratified(cases, seed)
    assert [cases.names[i] for i in choose_set(values, evaluator)] == ["a"]
    worths = {cases.names[i]: feature_worth(values, evaluator, i) for i in range(4)}
    assert worths["a"].estimate.mean == pytest.approx(0.011, abs=1e-12)  # what its copy costs
    assert worths["copy"].estimate.mean == pytest.approx(0.01, abs=1e-12)
    for name in ("noise", "level"):
        assert worths[name].estimate.mean < 0.01


def test_noise_alone_is_worth_nothing() -> None:
    """Of 20 tables of noise at most 2 may seem to tell something; 95 % intervals allow for 1."""
    found = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        table = {f"n{k}": rng.integers(0, 5, 2000) for k in range(5)}
        table["outcome"] = rng.integers(0, 2, 2000)
        prices: dict[str, float | str] = {f"n{k}": 0.0001 for k in range(5)}
        cases = read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))
        found += bool(choose_set(search_sets(cases, 1), Evaluator.stratified(cases, 1)))
    assert found <= 2


@pytest.mark.parametrize("name", SYNTHETIC)
def test_best_set_and_worths_match_the_known_answer(name: str) -> None:
    """The best set, and every break-even price within 10 %, for at least 18 of 20 seeds."""
    truth = SYNTHETIC[name]
    right = 0
    for seed in SEEDS:
        cases = example_cases(name, 40_000, seed)
        values, evaluator = search_sets(cases, 1), Evaluator.stratified(cases, 1)
        best = {cases.names[i] for i in choose_set(values, evaluator) if not cases.free[i]}
        assert best == truth.best_subset
        worths = [
            feature_worth(values, evaluator, i)
            for i in range(len(cases.features))
            if not cases.free[i]
        ]
        right += all(
            abs(worth.break_even - truth.break_even[cases.names[worth.feature]])
            <= 0.1 * truth.break_even[cases.names[worth.feature]]
            for worth in worths
        )
    assert right >= 18


@pytest.mark.parametrize("name", SYNTHETIC)
def test_exact_answers_of_synthetic_examples(name: str) -> None:
    """Checked against drawing a great many cases and acting by the exact chances."""
    truth = SYNTHETIC[name]
    assert truth.state_probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(truth.outcome_probabilities.sum(axis=-1), 1)
    assert (truth.outcome_probabilities >= 0).all()
    everything = truth.reward(truth.informative)
    table = np.array(list(truth.rewards.values()))
    mixed = np.einsum("p,psk->sk", truth.shares, truth.outcome_probabilities)
    by_hand = float(truth.state_probabilities @ (mixed @ table.T).max(axis=1))
    assert everything == pytest.approx(by_hand)
    assert truth.reward(()) <= everything
    best = max(
        (truth.gains[frozenset(names)], names)
        for size in range(len(truth.informative) + 1)
        for names in combinations(truth.informative, size)
    )
    assert frozenset(best[1]) == truth.best_subset


def test_an_interval_covers_the_truth() -> None:
    """The gain of the true set, out of fold, covers its exact gain in 35 of 40 files or more.

    Of 40 intervals of 95 % fewer than 35 cover with probability 0.014; learning on 4/5 of the
    cases makes gains a little too small, never too large.
    """
    truth = SYNTHETIC["triage"]
    covered = 0
    for seed in range(40):
        cases = example_cases("triage", 8000, seed)
        features = tuple(
            i for i, name in enumerate(cases.names) if cases.free[i] or name in truth.best_subset
        )
        gain = Estimate.from_values(Evaluator.stratified(cases, 1).gains(features))
        covered += gain.low <= truth.gains[truth.best_subset] <= gain.high
    assert covered >= 35


def test_split_half_gain_is_not_inflated_by_many_sets() -> None:
    """Eight columns of noise and few cases: the best of many sets looks good but is worth nothing.

    The split-half gain stays at what guessing earns, 0.5, on average over 20 files: 4 standard
    errors.
    """
    split_half, apparent = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        table = {f"n{k}": rng.integers(0, 3, 200) for k in range(8)}
        table["outcome"] = rng.integers(0, 2, 200)
        prices: dict[str, float | str] = {f"n{k}": 1e-6 for k in range(8)}
        cases = read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))
        values = search_sets(cases, seed)
        evaluator = Evaluator.stratified(cases, seed)
        apparent.append(values.gains(cases.mean_prices).max())
        split_half.append(split_half_gain(evaluator, seed).gain.mean)
    assert np.mean(apparent) > 0.55
    assert abs(np.mean(split_half) - 0.5) < 4 * 0.5 / math.sqrt(200 * 20) + 0.02


def test_many_features_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = example_cases("lending", 6000, 3)
    everything = evaluate_sets(CrossValidation.stratified(cases, 1))
    monkeypatch.setattr(sets, "MAX_EXHAUSTIVE", 3)
    found = evaluate_sets(CrossValidation.stratified(cases, 1))
    assert everything.n_skipped is not None
    assert found.n_skipped is None
    evaluator = Evaluator.stratified(cases, 1)
    assert choose_set(found, evaluator) == choose_set(everything, evaluator)


def test_search_finds_columns_that_are_informative_only_together() -> None:
    rng = np.random.default_rng(5)
    table = {f"x{k}": rng.integers(0, 2, 4000) for k in range(15)}
    table["outcome"] = table["x3"] ^ table["x11"]
    prices: dict[str, float | str] = {f"x{k}": 0.01 for k in range(15)}
    cases = read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))
    values = search_sets(cases, 1)
    assert values.n_skipped is None
    assert choose_set(values, Evaluator.stratified(cases, 1)) == (3, 11)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = example_cases("triage", 3000, 1)
    one = evaluate_sets(CrossValidation.stratified(cases, 1))
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    many = evaluate_sets(CrossValidation.stratified(cases, 1))
    assert np.array_equal(one.masks, many.masks)
    assert np.array_equal(one.rewards, many.rewards)


def test_the_mean_of_a_series_and_its_interval() -> None:
    rng = np.random.default_rng(1)
    found = block_mean(rng.normal(size=10_000))
    assert found.high - found.mean == pytest.approx(1.96 / 100, rel=0.4)
    assert found.low < 0 < found.high


def test_changes_of_prices_are_found() -> None:
    rng = np.random.default_rng(2)
    noisy = np.repeat([1.0, 1.5, 1.2], 400) + 0.1 * rng.normal(size=1200)
    found = change_points(noisy)
    assert len(found) == 2
    assert abs(found[0] - 400) < 5
    assert abs(found[1] - 800) < 5
    assert change_points(rng.normal(size=2000)) == []
    assert change_points(np.full(100, 3.0)) == []


def test_backtest_thins_a_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.worth.backtest.MAX_REPLAYED", 1000)
    cases = example_cases("triage", 2500, 1)
    backtest = run_backtest(cases, [(0,), (0, 1)], 1)
    assert (backtest.every, backtest.cases.n_cases) == (3, 834)
    assert backtest.agent.policy.rounds == 834
    scout, hindsight = backtest.result(Strategy.SCOUT), backtest.result(Strategy.HINDSIGHT)
    assert scout.runs == 3
    assert scout.purchase_rates is not None
    assert hindsight.gains.mean() >= backtest.result(Strategy.NOTHING).gains.mean()


def test_costs_and_rewards_of_strategies() -> None:
    cases = example_cases("lending", 2000, 1)
    backtest = run_backtest(cases, [(0,)], 1)
    everything, nothing = backtest.result(Strategy.EVERYTHING), backtest.result(Strategy.NOTHING)
    assert (nothing.costs == 0).all()
    np.testing.assert_allclose(everything.costs, cases.total_price(range(7)))
    assert set(np.unique(everything.rewards)) <= {-900.0, 0.0, 120.0}
    fixed = backtest.result(Strategy.FIXED)
    first = backtest.n_first
    np.testing.assert_allclose(fixed.costs[:first], everything.costs[:first])
    np.testing.assert_allclose(fixed.rewards[:first], everything.rewards[:first])


def test_verdict_lines() -> None:
    evaluation = evaluate(example_cases("triage", 6000, 2))
    lines = verdict_lines(evaluation)
    bought = "Buy oxygen, blood and ecg for 49.10 EUR per case. Compared with buying nothing, "
    difference, gain = evaluation.gain_over_nothing.mean, evaluation.gain.mean
    assert lines[0].startswith(f"{bought}this saves {difference:.2f} EUR per case (95% CI ")
    assert f". Expected reward minus prices: {gain:.2f} EUR per case (95% CI -" in lines[0]
    assert difference > 0 > gain
    assert lines[1].startswith("xray: too expensive (worth up to ")
    assert lines[1].endswith(", costs 80.00).")
    assert "parking_lot: no measurable value in these cases (costs 2.00)." in lines
    # The fixed set is that of the first fifth, in winter: it is not the best one.
    (learning,) = [line for line in lines if line.startswith("Learning policy (Scout)")]
    assert "than the fixed set chosen on the first 1,200 cases" in learning
    assert evaluation.backtest.fixed_set != evaluation.best_set
    assert evaluation.has_drifted
    assert any(line.startswith("Outcomes changed over time: ") for line in lines)
    assert (
        "The best set changed too. In hindsight it was {oxygen, blood, xray} in cases 1 to 3,000, "
        "then {oxygen, blood, ecg} in cases 3,001 to 6,000."
    ) in lines
    assert not any("sets of features were skipped" in line for line in lines)
    assert as_json(evaluation)["search"]["all_sets"]
    content = as_json(evaluation)
    assert content["best_columns"] == ["oxygen", "blood", "rhythm", "trace"]
    assert [change["case"] for change in content["replay"]["price_changes"]] == [4200]


@pytest.mark.parametrize(
    ("max_paired", "expected"),
    [(6, "started from all pairs"), (4, "pairs with the 12 best single features")],
)
def test_the_start_of_a_search_is_explained(
    monkeypatch: pytest.MonkeyPatch, max_paired: int, expected: str
) -> None:
    for module in ("sets", "verdict"):
        monkeypatch.setattr(f"thrifty.worth.{module}.MAX_EXHAUSTIVE", 4)
        monkeypatch.setattr(f"thrifty.worth.{module}.MAX_PAIRED", max_paired)
    lines = method_lines(evaluate(example_cases("lending", 600, 1)))  # six features have a price
    assert expected in lines[0]


def test_few_cases_give_an_uncertain_choice_and_high_prices_buy_nothing() -> None:
    evaluation = evaluate(informative_cases(1, 60))
    assert not evaluation.has_drifted  # the cases are shuffled
    assert as_json(evaluation)["later_half"] is None
    if evaluation.is_uncertain:
        assert any("The choice is uncertain" in line for line in verdict_lines(evaluation))
    dear = replace(informative_cases(1), list_prices=np.full(4, 9.0))
    first = verdict_lines(evaluate(dear))[0]
    assert first.startswith("Buy nothing: no feature measurably pays for itself.")


def with_difference(evaluation: Evaluation, over_best: Estimate, over_nothing: float) -> list[str]:
    """Return the warnings if Scout gains this much more than the best set, and than nothing."""
    nothing = evaluation.backtest.result(Strategy.NOTHING)
    noise = np.tile([-1.0, 1.0], nothing.rewards.size // 2 + 1)[: nothing.rewards.size]
    noise *= np.arange(nothing.rewards.size) / nothing.rewards.size
    scout = replace(
        evaluation.backtest.result(Strategy.SCOUT),
        rewards=nothing.gains + over_nothing + noise,
        costs=np.zeros(nothing.rewards.size),
    )
    results = (scout, *evaluation.backtest.results[1:])
    return warnings(
        replace(
            evaluation,
            scout_over_best=over_best,
            backtest=replace(evaluation.backtest, results=results),
        )
    )


def test_the_learning_policy_is_discouraged_only_if_it_is_significantly_worse() -> None:
    evaluation = evaluate(informative_cases(1, 400))
    noisy = with_difference(evaluation, Estimate(-1.0, -3.0, 1.0), -1e-6)
    assert not any("learning policy" in line for line in noisy)
    worse = with_difference(evaluation, Estimate(-2.0, -3.0, -1.0), -1e-6)
    assert (
        "The learning policy gained 2.0000 per case less in the backtest than the recommendation. "
        "policy.toml serves this learning policy, so do not use it for live decisions yet: buy a "
        "in every case instead."
    ) in worse
    much_worse = with_difference(evaluation, Estimate(-2.0, -3.0, -1.0), -1.0)
    assert any("than the recommendation, and less than buying nothing." in k for k in much_worse)


def test_skipped_sets_are_counted() -> None:
    rng = np.random.default_rng(1)
    table = {f"n{k}": rng.integers(0, 8, 200) for k in range(3)}
    table["outcome"] = rng.integers(0, 2, 200)
    prices: dict[str, float | str] = {f"n{k}": 0.1 for k in range(3)}
    evaluation = evaluate(read_cases(pl.DataFrame(table), from_prices(prices, target="outcome")))
    # 40 cells of 5 cases at most: sets of two features with 64 combinations do not fit.
    assert (evaluation.n_sets, evaluation.n_skipped_sets, evaluation.all_sets) == (4, 4, False)
    assert any(line.startswith("4 of 8 sets of features were sk") for line in warnings(evaluation))
    search = as_json(evaluation)["search"]
    assert (search["sets"], search["skipped"], search["all_sets"]) == (4, 4, False)


def test_every_feature_that_is_not_bought_is_named_and_strategies_are_explained() -> None:
    rng = np.random.default_rng(1)
    table = {f"n{k}": rng.integers(0, 2, 400) for k in range(6)}
    table["outcome"] = rng.integers(0, 2, 400)
    prices: dict[str, float | str] = {f"n{k}": 0.5 for k in range(6)}
    evaluation = evaluate(read_cases(pl.DataFrame(table), from_prices(prices, target="outcome")))
    lines = findings(evaluation)
    assert all(any(f"n{k}" in line for line in lines) for k in range(6))
    assert any(line.startswith("Also not worth the price: n") for line in lines)
    fixed = next(line for line in strategy_lines(evaluation.backtest) if "Fixed" in line)
    assert fixed == (
        "Fixed set: buys everything in the first 80 cases, then what was best in them, nothing."
    )


def test_a_worth_that_is_not_measurable_has_no_number() -> None:
    money = MoneyFormat("EUR", 2)
    nothing = FeatureWorth(0, 1.0, Estimate(0.0, 0.0, 0.0), (0,), ())
    assert (worth_text(nothing, money), worth_interval(nothing, money)) == ("not measurable", "-")
    noise = replace(nothing, estimate=Estimate(0.5, -0.1, 1.1))
    assert worth_text(noise, money) == "not measurable"
    assert worth_interval(noise, money) == "-0.10 to 1.10"
    good = replace(nothing, estimate=Estimate(0.5, 0.1, 0.9))
    assert (worth_text(good, money), worth_interval(good, money)) == ("0.50", "0.10 to 0.90")


def test_the_page_begins_with_the_task_and_the_warnings_about_the_input() -> None:
    cases = example_cases("lending", 600, 1)
    page = html_report(evaluate(cases), "cases.csv", "")
    body = page[page.index("<h1>") :]
    task = (
        "Target: outcome. Rewards in EUR by action: approve: -900.00 if default, 120.00 if repaid; "
        "decline: 0.00."
    )
    assert body.index(task) < body.index('id="verdict"')
    guess = html_report(evaluate(informative_cases(1, 400)), "cases.csv", "")
    body = guess[guess.index("<h1>") :]
    assert "worth up to (buy)" in body
    assert "worth up to (do not buy)" in body
    assert body.index("No rewards are given, so a correct prediction") < body.index('id="verdict"')


def test_amounts_have_enough_decimals_for_the_smallest_price() -> None:
    cases = informative_cases(1)
    money = MoneyFormat.for_cases(cases)
    assert money.money(0.0114) == "0.0114"
    assert MoneyFormat("EUR", 2).total(-1234.5) == "-1,234 EUR"
    assert MoneyFormat("EUR", 2).total(999.9999) == "1,000 EUR"
    assert MoneyFormat("€", 2).money(3) == "3.00 €"
