"""Worth of features: by hand, on synthetic cases with a known answer, and on noise."""

import io
import tomllib
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from thrifty.errors import InvalidParameter
from thrifty.examples import SYNTHETIC, example_csv, example_policy
from thrifty.frames.reader import Table
from thrifty.plans.break_even import BreakEven
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.nested import NestedGains, nested_gains
from thrifty.policies import LinUCB
from thrifty.policy import Policy
from thrifty.policy_file import from_prices, parse_policy_file
from thrifty.policy_file.model import PolicySection
from thrifty.problem import Problem
from thrifty.tables import Cases, read_cases
from thrifty.worth.backtest import (
    SURVEYOR_PARTS,
    Strategy,
    add_surveyor,
    block_mean,
    change_points,
    run_backtest,
    surveyor_parameters,
)
from thrifty.worth.evaluation import Evaluation, evaluate, evaluate_in_steps
from thrifty.worth.files import as_json
from thrifty.worth.halves import learn_halves, split_half
from thrifty.worth.money import MoneyFormat
from thrifty.worth.page import html_report
from thrifty.worth.selection import Estimate, recommend
from thrifty.worth.verdict import (
    findings,
    method_lines,
    plan_lines,
    strategy_lines,
    verdict_lines,
    warnings,
    worth_interval,
    worth_text,
)


def example_cases(name: str, rows: int, seed: int) -> Cases:
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


@pytest.fixture(scope="module")
def triage() -> Evaluation:
    return evaluate(example_cases("triage", 6000, 2))


@pytest.fixture(scope="module")
def informative() -> Evaluation:
    return evaluate(informative_cases(1, 400))


def test_the_worth_of_a_feature_by_hand() -> None:
    """A deterministic outcome: the feature is worth the share of cases that it turns right."""
    table = {"a": ["x", "y", "y", "y"] * 100, "outcome": ["no", "yes", "yes", "yes"] * 100}
    evaluation = evaluate(read_cases(table, from_prices({"a": 0.1}, target="outcome")))
    gains = {kind: estimate.mean for kind, estimate in evaluation.gain.items()}
    assert gains == pytest.approx(
        {"nothing": 0.75, "everything": 0.9, "fixed": 0.9, "plan": 0.9, "printed": 0.9}
    )
    (worth,) = evaluation.worths
    assert worth.value == pytest.approx(0.25)
    assert worth.price == pytest.approx(0.1)
    assert evaluation.recommended == "everything"
    assert evaluation.best_subset == ["a"]
    assert evaluation.spend["everything"] == pytest.approx(0.1)
    np.testing.assert_allclose(evaluation.tenths["fixed"], 0.9)
    first = verdict_lines(evaluation)[0]
    assert first.startswith("Buy everything (a) for 0.10 per case. It gains 0.90 per case (95% CI ")
    assert "that is 0.15 (0.11 to 0.19) more than buying nothing." in first


def nested(cases: Cases, **gains: float) -> NestedGains:
    """Return gains by case with these means and a standard error of about 1."""
    noise = np.resize([-1.0, 1.0], cases.n_cases) * np.sqrt(cases.n_cases)
    means = {"nothing": 0.0, "everything": 0.0, "printed": 0.0} | gains
    return NestedGains(
        {kind: mean + noise * (kind in {"plan", "fixed"}) for kind, mean in means.items()}, ()
    )


def test_the_rule_of_recommendation() -> None:
    """The noise of plan and fixed set is the same, so they are compared without error."""
    cases = example_cases("lending", 3000, 1)
    learnt = learn(cases.past_cases)
    assert recommend(learnt, nested(cases, fixed=1.9, plan=1.9)) == "nothing"
    assert recommend(learnt, nested(cases, fixed=2.1, plan=2.1)) == "fixed"
    assert recommend(learnt, nested(cases, fixed=2.1, plan=2.2)) == "plan"
    assert recommend(learnt, nested(cases, fixed=2.1, plan=2.0)) == "fixed"
    assert recommend(learnt, nested(cases, fixed=1.0, plan=2.1)) == "plan"


@pytest.mark.parametrize("seed", range(5))
def test_neither_noise_nor_a_copy_is_bought(seed: int) -> None:
    """Noise costs a thousandth of a right decision; without a rule it would often be bought."""
    past = informative_cases(seed).past_cases
    learnt = learn(past, seed=seed)
    assert [past.looks[k].name for k in learnt.fixed.used] == ["a"]
    assert recommend(learnt, nested_gains(past, seed=seed)) in {"fixed", "plan"}
    assert {past.looks[k].name for k in learnt.plan.used} <= {"a"}


def test_permuted_labels_are_not_worth_buying() -> None:
    """Of 20 tables whose outcomes are shuffled, at most 1 may seem to be worth a purchase."""
    found = 0
    for seed in range(20):
        past = informative_cases(seed, 600).past_cases
        shuffled = np.random.default_rng(seed).permutation(past.outcomes)
        permuted = replace(past, outcomes=shuffled)
        found += recommend(learn(permuted), nested_gains(permuted)) != "nothing"
    assert found <= 1


def test_a_threshold_in_the_tail_is_found() -> None:
    """A marker of four levels tells the outcome, except above the age of 70, 5 % of the cases."""
    rng = np.random.default_rng(1)
    age, marker = rng.normal(45, 15, 12_000).round(), rng.integers(0, 4, 12_000)
    outcome = (marker >= 2) ^ (rng.random(12_000) < 0.06)
    outcome = np.where(age > 70, ~outcome, outcome)
    table = {"age": age, "marker": marker, "other": rng.integers(0, 5, 12_000)}
    table["outcome"] = np.where(outcome, "yes", "no")
    prices: dict[str, float | str] = {"age": 0.01, "marker": 0.02, "other": 0.01}
    cases = read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))
    learnt = learn(cases.past_cases)
    names = {cases.past_cases.looks[k].name for k in learnt.fixed.used}
    assert names == {"age", "marker"}


@pytest.mark.parametrize("name", SYNTHETIC)
def test_best_set_and_worths_match_the_known_answer(name: str) -> None:
    """The best set, and every break-even price within four standard errors and 10 %."""
    truth = SYNTHETIC[name]
    steps = evaluate_in_steps(example_cases(name, 40_000, 1))
    found = next(step for step in steps if step.missing == ("backtest",))
    assert set(found.best_subset) == truth.best_subset
    assert found.gain["fixed"].mean == pytest.approx(truth.gains[truth.best_subset], abs=4)
    # A plan stops early, so a look can be worth more or less to it than to a fixed set.
    for worth in found.worths:
        name = found.look_names([worth.look])[0]
        assert worth.is_shown == (truth.break_even[name] > 0)


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
    halves = learn_halves(cases.past_cases, 1)
    backtest = run_backtest(cases, learn(cases.past_cases), halves, 1)
    assert (backtest.every, backtest.cases.n_cases) == (3, 834)
    assert backtest.agent is None
    scout, hindsight = backtest.result(Strategy.SCOUT), backtest.result(Strategy.HINDSIGHT)
    assert scout.runs == 3
    assert scout.purchase_rates is not None
    for strategy in (Strategy.NOTHING, Strategy.EVERYTHING, Strategy.PLAN, Strategy.FIXED):
        assert hindsight.gains.mean() >= backtest.result(strategy).gains.mean()


def test_surveyor_learns_from_the_first_cases_before_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[tuple[int, int]] = []

    def surveyor(problem: Problem, *, history: PastCases | None, horizon: int, seed: int) -> Policy:
        given.append((0 if history is None else history.n_cases, horizon))
        return LinUCB(problem, seed=seed)  # quick, and it buys everything too

    monkeypatch.setattr("thrifty.worth.backtest.Surveyor", surveyor)
    cases, parts = example_cases("triage", 400, 1), []
    past = cases.past_cases
    others = run_backtest(cases, learn(past), learn_halves(past, 1), 1, lambda: parts.append(1))
    assert len(parts) == 3
    assert not others.has_surveyor
    for history, n in ((100, 100), (None, 80), (0, 0)):
        backtest = add_surveyor(others, 1, lambda: parts.append(1), history=history)
        result = backtest.result(Strategy.SURVEYOR)
        np.testing.assert_allclose(result.costs, past.cost(range(len(past.looks))))
        first = backtest.result(Strategy.EVERYTHING).rewards[:n]
        np.testing.assert_allclose(result.rewards[:n], first)
        assert set(np.unique(result.rewards)) <= set(past.rewards.ravel())
    assert given == [(100, 300), (80, 320), (0, 400)]
    assert len(parts) == 3 + 3 * SURVEYOR_PARTS
    assert strategy_lines(backtest)[3].startswith("Surveyor: learns models")


def test_the_backtest_can_be_left_out() -> None:
    cases = example_cases("triage", 300, 1)
    shares: list[float] = []
    evaluation = evaluate(cases, replay=False, on_progress=lambda _, share: shares.append(share))
    assert evaluation.backtest is None
    assert evaluation.missing == ()
    assert shares[-1] == pytest.approx(1.0)
    assert evaluation.served == "surveyor"


def test_a_history_has_to_leave_cases() -> None:
    cases = example_cases("triage", 300, 1)
    with pytest.raises(InvalidParameter, match="history is 290, but of the 300 cases"):
        evaluate(cases, history=290)


def test_costs_and_rewards_of_strategies(triage: Evaluation) -> None:
    backtest = triage.backtest
    assert backtest is not None
    everything, nothing = backtest.result(Strategy.EVERYTHING), backtest.result(Strategy.NOTHING)
    past = triage.cases.past_cases
    assert (nothing.costs == 0).all()
    np.testing.assert_allclose(everything.costs, past.cost(range(len(past.looks))))
    assert set(np.unique(everything.rewards)) <= set(triage.cases.rewards.table.ravel())
    first = backtest.n_first
    assert first == 1200
    for strategy in (Strategy.PLAN, Strategy.FIXED):
        result = backtest.result(strategy)
        np.testing.assert_allclose(result.costs[:first], everything.costs[:first])
        np.testing.assert_allclose(result.rewards[:first], everything.rewards[:first])
    fixed = backtest.result(Strategy.FIXED)
    np.testing.assert_allclose(fixed.costs[first:], past.cost(backtest.fixed_set)[first:])


def test_verdict_lines(triage: Evaluation) -> None:
    assert triage.recommended == "plan"
    lines = verdict_lines(triage)
    over = triage.gain_over("plan", "nothing")
    assert lines[0].startswith("Follow the plan: ")
    assert f"It gains {triage.gain['plan'].mean:.2f} EUR per case (95% CI -" in lines[0]
    interval = f"({over.low:.2f} to {over.high:.2f})"
    assert f"that is {over.mean:.2f} {interval} more than buying nothing" in lines[0]
    assert "more than buying everything" in lines[0]
    for name in ("Surveyor", "Scout"):
        assert any(line.startswith(f"Learning policy ({name}), over 6,000 cases") for line in lines)
    assert "Plans are learnt from 6,000 cases; " in "\n".join(lines)
    assert triage.has_drifted
    assert any(line.startswith("Outcomes changed over time: ") for line in lines)
    assert any("by tenth of the cases, in order" in line for line in lines)
    assert triage.different_tenths
    assert plan_lines(triage)
    content = as_json(triage)
    assert content["recommended"] == "plan"
    assert content["best_subset"] == triage.best_subset
    assert content["plan_gain_per_case"]["mean"] == pytest.approx(triage.gain["plan"].mean)
    assert [change["case"] for change in content["replay"]["price_changes"]] == [4200]
    assert len(content["replay"]["hindsight"]) == 10


def test_parts_come_one_after_the_other() -> None:
    seen = [step.missing for step in evaluate_in_steps(informative_cases(1, 100))]
    parts = ("halves of the cases", "price curve", "worth of features", "backtest")
    assert list(dict.fromkeys(seen)) == [
        *(parts[k:] for k in range(4)),
        ("backtest of Surveyor",),
        (),
    ]
    first = next(evaluate_in_steps(informative_cases(1, 100)))
    assert any(line.startswith("Interrupted: not finished are halves") for line in warnings(first))
    assert as_json(first)["replay"] is None
    assert 'id="verdict"' in html_report(first, "cases.csv", "")


def test_high_prices_buy_nothing() -> None:
    table = {"a": ["x", "y"] * 50, "outcome": ["no", "yes"] * 50}
    evaluation = evaluate(read_cases(table, from_prices({"a": 9.0}, target="outcome")))
    assert (evaluation.recommended, evaluation.best_subset) == ("nothing", [])
    first = verdict_lines(evaluation)[0]
    assert first.startswith("Buy nothing: no feature measurably pays for itself. It gains ")
    assert "more than buying everything" in first
    assert evaluation.cases.order.shuffle_seed == 1
    assert as_json(evaluation)["later_half"] is None


def test_split_half_gains_are_honest() -> None:
    """Eight columns of noise and few cases: what one half chooses is worth nothing in the other."""
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = {f"n{k}": rng.integers(0, 3, 200) for k in range(8)}
        table["outcome"] = rng.integers(0, 2, 200)
        prices: dict[str, float | str] = {f"n{k}": 1e-6 for k in range(8)}
        cases = read_cases(pl.DataFrame(table), from_prices(prices, target="outcome"))
        halves = learn_halves(cases.past_cases, seed)
        gains.append(split_half(halves, cases.past_cases).gain.mean)
    assert abs(np.mean(gains) - 0.5) < 4 * 0.5 / np.sqrt(200 * 10) + 0.02


def with_gains(evaluation: Evaluation, **more: float) -> Evaluation:
    """Return the evaluation as if strategies gained this much more than Surveyor."""
    backtest = evaluation.backtest
    assert backtest is not None
    base = backtest.result(Strategy.SURVEYOR).gains
    noise = 0.01 * np.resize([-1.0, 1.0, 2.0, -2.0], base.size)
    results = tuple(
        replace(result, rewards=base + more[result.strategy.name] + noise, costs=np.zeros(400))
        if result.strategy.name in more
        else result
        for result in backtest.results
    )
    return replace(evaluation, backtest=replace(backtest, results=results))


def test_surveyor_is_served_with_a_warning_if_it_was_worse(informative: Evaluation) -> None:
    better = with_gains(informative, PLAN=-2.0, FIXED=-2.0, SCOUT=-2.0)
    equal = with_gains(informative, PLAN=0.0, FIXED=0.0, SCOUT=0.0)
    for evaluation in (better, equal):
        assert evaluation.served == "surveyor"
        assert not any("policy.toml serves" in line for line in warnings(evaluation))
    for kind, words in (("PLAN", "the plan"), ("FIXED", "the fixed set")):
        worse = with_gains(informative, **{"PLAN": 0.0, "FIXED": 0.0, "SCOUT": 0.0, kind: 2.0})
        assert worse.served == "surveyor"
        (line,) = (line for line in warnings(worse) if "policy.toml serves" in line)
        start = f"Surveyor gained 2.0000 per case less in the backtest than {words} that"
        assert line.startswith(start)
        assert 'set `policy = "plan"` in [policy]' in line
    worse = with_gains(informative, PLAN=0.0, FIXED=0.0, SCOUT=2.0)
    (line,) = (line for line in warnings(worse) if "policy.toml serves" in line)
    assert line.startswith("Scout gained 2.0000 per case more in the backtest than Surveyor.")


def test_what_policy_toml_serves(informative: Evaluation) -> None:
    def with_policy(**keys: Any) -> Evaluation:
        file = informative.cases.policy_file.replace(policy=PolicySection(name="mine", **keys))
        return replace(informative, cases=replace(informative.cases, policy_file=file))

    assert with_policy().served == "surveyor"
    assert with_policy(policy="surveyor", horizon=50).served == "surveyor"
    assert with_policy(policy="plan").served == informative.recommended
    for name in ("scout", "linucb"):
        kept = with_policy(policy=name)
        assert (kept.served, kept.keeps_policy) == (name, True)
        # A policy that has not been trained is not served.
        assert replace(kept, backtest=None).served == "surveyor"


def test_the_policy_file_gives_surveyor_its_parameters() -> None:
    cases = informative_cases(1, 100)
    own: dict[str, Any] = {"name": "mine", "horizon": 33, "max_loss": 0.5}
    assert surveyor_parameters(PolicySection(**own)) == {"horizon": 33, "max_loss": 0.5}
    compared: dict[str, Any] = {"name": "mine", "policy": "surveyor", "baseline": "plan.json"}
    with pytest.raises(InvalidParameter, match="makes plans itself: remove baseline"):
        surveyor_parameters(PolicySection(**compared))
    own = {"name": "mine", "recall": False}
    scouts = cases.policy_file.replace(policy=PolicySection(**own))
    with pytest.raises(InvalidParameter, match="Surveyor, which 'auto' has chosen, has no param"):
        next(evaluate_in_steps(replace(cases, policy_file=scouts)))


def test_every_feature_that_is_not_bought_is_named_and_strategies_are_explained() -> None:
    rng = np.random.default_rng(1)
    table = {f"n{k}": rng.integers(0, 2, 400) for k in range(6)}
    table["outcome"] = rng.integers(0, 2, 400)
    prices: dict[str, float | str] = {f"n{k}": 0.5 for k in range(6)}
    evaluation = evaluate(read_cases(pl.DataFrame(table), from_prices(prices, target="outcome")))
    lines = findings(evaluation)
    assert all(any(f"n{k}" in line for line in lines) for k in range(6))
    assert any(line.startswith("Also not bought: n") for line in lines)
    assert evaluation.backtest is not None
    fixed = next(line for line in strategy_lines(evaluation.backtest) if "Fixed" in line)
    assert fixed == (
        "Fixed set: buys everything in the first 80 cases, then carries out the best set in them, "
        "which is nothing."
    )
    assert any("sets of features were compared" in line for line in method_lines(evaluation))


def test_a_worth_that_is_not_shown_has_no_number() -> None:
    money = MoneyFormat("EUR", 2)
    nothing = BreakEven(0, 1.0, 0.0, 0.0)
    assert (worth_text(nothing, money), worth_interval(nothing, money)) == ("not shown", "-")
    noise = BreakEven(0, 1.0, 0.5, 0.3)
    assert worth_text(noise, money) == "not shown"
    assert worth_interval(noise, money) == "0.00 to 1.09"
    good = BreakEven(0, 1.0, 0.5, 0.2)
    assert (worth_text(good, money), worth_interval(good, money)) == ("0.50", "0.11 to 0.89")


def test_an_interval_of_a_mean() -> None:
    found = Estimate.from_values(np.resize([-1.0, 1.0], 400))
    assert found.mean == 0
    assert found.high == pytest.approx(1.96 / 20, rel=0.01)
    assert Estimate(1, 0.5, 1.5).is_significant
    assert not Estimate(1, -0.5, 2.5).is_significant


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
