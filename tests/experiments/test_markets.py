"""The benchmark of markets: scores, strategies, the command, resuming."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from thrifty.cli import app
from thrifty.commands import markets as command
from thrifty.environments.market import MarketDecisions
from thrifty.environments.markets import FAMILIES
from thrifty.errors import InvalidTable, UnknownName
from thrifty.experiments import market_strategies
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.market_strategies import (
    STRATEGIES,
    PolicyStrategy,
    strategies_named,
)
from thrifty.experiments.market_summary import summarise, summarise_families
from thrifty.experiments.markets import (
    CHOOSING_SEEDS,
    REPORTING_SEEDS,
    MarketCache,
    MarketTrial,
    all_trials,
    run_markets,
    score,
)
from thrifty.experiments.sources import source_files
from thrifty.plans.cases import PastCases
from thrifty.policies import UCB1, registry
from thrifty.problem import Problem
from thrifty.seeds import Seed

QUICK = ("nothing", "best plan", "ucb1")


def trials(families: tuple[str, ...] = ("lending", "nothing"), rounds: int = 400) -> Any:
    return all_trials(families, strategies_named(QUICK), (100, 101), rounds=rounds)


def by_label(label: str) -> market_strategies.MarketStrategy:
    return strategies_named([label])[0]


def test_seeds_for_choosing_are_never_reported() -> None:
    assert not set(CHOOSING_SEEDS) & set(REPORTING_SEEDS)


def test_the_ends_of_the_scale() -> None:
    market = FAMILIES["lending"](100, rounds=40_000)
    assert score(market, 3, by_label("nothing").decide(market, 3))["share"] == 0
    best = score(market, 3, by_label("best plan").decide(market, 3))
    assert best["share"] == pytest.approx(1, abs=0.05)
    assert best["late"] == pytest.approx(1, abs=0.1)


def test_a_score_by_hand() -> None:
    """Taking the best constant action and paying a tenth of the reach for it costs a tenth."""
    market = FAMILIES["shop-turning"](100, rounds=1000)
    reach = market.truth.stepwise - market.truth.constant
    costs = np.full(1000, reach / 10)
    found = score(market, 1, MarketDecisions(market.best_constants(), costs))
    assert found["share"] == pytest.approx(-0.1)
    assert found["spend"] == pytest.approx(reach / 10)


def test_with_nothing_to_gain_the_loss_is_a_share_of_the_headroom() -> None:
    market = FAMILIES["permuted"](100, rounds=1000)
    costs = np.full(1000, market.truth.headroom / 50)
    found = score(market, 1, MarketDecisions(market.best_constants(), costs))
    assert found["share"] == pytest.approx(-0.02)


def test_a_policy_pays_in_money_and_each_setup_fee_once() -> None:
    market = FAMILIES["fees"](100, rounds=200)
    decisions = PolicyStrategy("linucb", "linucb").decide(market, 4)  # it buys everything
    prices = market.problem.prices
    assert prices is not None
    fees = sum(group.setup for group in prices.groups)
    assert decisions.costs == pytest.approx(sum(prices.prices.values()) + fees)


@pytest.mark.parametrize("label", ["everything", "fixed plan", "told"])
def test_references_that_learn(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.experiments.market_references.LEARNING_CASES", 300)
    market = FAMILIES["shop-turning"](100, rounds=800)
    decisions = by_label(label).decide(market, 5)
    assert decisions.actions.shape == decisions.costs.shape == (800,)
    cases = market.stream(5)
    price = cases.cost(range(len(cases.looks)))[0]
    bought_all = np.isclose(decisions.costs, price)
    if label == "everything":
        assert bought_all.all()
    elif label == "fixed plan":
        assert bought_all[:200].all()
        assert not bought_all[200:].any()
    else:
        assert score(market, 5, decisions)["share"] > 0.5


def test_a_new_policy_with_a_history_plays_cold_and_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[PastCases | None] = []

    def learner(problem: Problem, *, history: PastCases | None = None, seed: Seed = None) -> UCB1:
        given.append(history)
        return UCB1(problem, seed=seed)

    policies = {**registry.POLICIES, "learner": learner}
    monkeypatch.setattr(registry, "POLICIES", policies)
    monkeypatch.setattr(market_strategies, "POLICIES", policies)
    cold, warm = strategies_named(["learner"])
    assert (cold.label, warm.label) == ("learner", "learner, warm")
    market = FAMILIES["router"](100, rounds=50)
    same = cold.decide(market, 8).actions == warm.decide(market, 8).actions
    assert same.all()
    assert given[0] is None
    assert given[1] is not None
    assert (given[1].codes == market.past_cases(2000, 8).codes).all()


def test_strategies_by_name() -> None:
    assert strategies_named([]) == STRATEGIES
    assert [s.label for s in strategies_named(["scout", "uniform"])] == ["scout", "uniform"]
    for unknown in ("oracle", "plan", "no-such-policy"):
        with pytest.raises(UnknownName, match=unknown):
            strategies_named([unknown])
    with pytest.raises(UnknownName, match="no family of markets 'bazaar'"):
        all_trials(["bazaar"])


def test_results_depend_on_the_code_of_their_own_policy_only() -> None:
    scout = {path.name for path in source_files(PolicyStrategy("scout", "scout").modules)}
    assert {"scout.py", "policy.py", "compiled.py"} <= scout
    assert not {"linucb.py", "ncc_ucrl2.py", "registry.py"} & scout


def test_an_interrupted_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, every = MarketCache(tmp_path), trials()
    done: list[int] = []
    table = run_markets(every, cache, executor=SerialExecutor(), progress=done.append)
    assert sum(done) == len(every) == len(table)
    first = every[0]
    assert table.row(0, named=True)["digest"] == first.key
    assert json.loads(table["settings"][0]) == first.strategy.settings
    assert table["numpy"].unique().to_list() == [np.__version__]
    damaged = cache.folder / f"{first.key}.json"
    damaged.unlink()
    computed: list[MarketTrial] = []
    compute = MarketTrial.compute

    def counted(trial: MarketTrial) -> Any:
        computed.append(trial)
        return compute(trial)

    monkeypatch.setattr(MarketTrial, "compute", counted)
    again = run_markets(every, cache, executor=SerialExecutor())
    assert computed == [first]
    assert again.drop("seconds").equals(table.drop("seconds"))
    fresh = MarketCache(tmp_path, fresh=True)
    assert first not in fresh
    damaged.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidTable, match="damaged"):
        cache.row(first)


def test_summaries(tmp_path: Path) -> None:
    table = run_markets(trials(), MarketCache(tmp_path), executor=SerialExecutor())
    summaries = {summary.strategy: summary for summary in summarise(table)}
    nothing = summaries["nothing"]
    assert nothing.seeds == 2
    assert nothing.share is not None
    assert nothing.share.mean == 0
    assert set(nothing.by_family) == {"lending", "nothing"}
    best = summaries["best plan"]
    own = table.filter(strategy="best plan", family="lending")["share"].to_numpy()
    assert best.share is not None
    assert best.share.mean == pytest.approx(own.mean())  # "nothing" has nothing to gain
    assert own.min() <= best.by_family["lending"].low <= best.by_family["lending"].high
    lending, empty = summarise_families(table)
    assert lending.truth.has_something_to_gain
    assert not empty.truth.has_something_to_gain


def test_only_families_with_nothing_to_gain(tmp_path: Path) -> None:
    table = run_markets(trials(("nothing",)), MarketCache(tmp_path), executor=SerialExecutor())
    assert all(summary.share is None for summary in summarise(table))
    command.show_market_summaries(summarise(table), summarise_families(table))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = all_trials

    def few_rounds(*arguments: Any) -> Any:
        return short(*arguments, rounds=300)

    monkeypatch.setattr(command, "all_trials", few_rounds)
    arguments = ["run", "markets/lending", "--seeds", "100:102", "--workers", "1"]
    arguments += ["--policy", "nothing", "--policy", "ucb1", "--out", str(tmp_path)]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "best stepwise plan (1)" in shown.output
    assert "ucb1" in shown.output
    printed = CliRunner().invoke(app, [*arguments, "--json"])
    content = json.loads(printed.stdout)
    assert [row["strategy"] for row in content["strategies"]] == ["nothing", "ucb1"]
    assert content["families"][0]["family"] == "lending"
    assert (tmp_path / "markets" / "markets.parquet").is_file()


def test_trials_can_be_sent_to_workers() -> None:
    trial = all_trials(["fees"], strategies_named(["best plan"]), [100], rounds=50)[0]
    sent = pickle.loads(pickle.dumps(trial))
    assert sent.key == trial.key
    assert sent.compute()["gain"] == trial.compute()["gain"]
