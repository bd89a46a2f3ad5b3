"""Logs of a service: an exported file and a store give the same cases, with what was logged."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from in_process import thrifty
from service.engines import EngineHarness, run_with_engine
from small_service import policy_text
from thrifty.errors import InvalidTable, UnknownName
from thrifty.evaluation.evaluating import evaluate_fixed
from thrifty.evaluation.reading import read_log, read_target
from thrifty.evaluation.targets import follow_plan
from thrifty.plans.files import write_plan
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.policies import registry
from thrifty.policy import Policy
from thrifty.policy_file import parse_spec
from thrifty.prices import PriceList
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase

N_CASES = 300


class RandomBuyer(Policy):
    """Buy each feature with probability 1/2, and take any action."""

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        pass

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(self.rng.random(self.problem.n_features) < 0.5)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        return int(self.rng.choice(np.flatnonzero(available)))

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        pass

    def _purchase_probabilities(
        self, known: Observation, mask: NDArray[np.bool_]
    ) -> list[tuple[Purchase, float]]:
        n = self.problem.n_features
        return [(Purchase(np.array(bits, dtype=np.bool_)), 0.5**n) for bits in np.ndindex(*[2] * n)]

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        chances: NDArray[np.float64] = available / available.sum()
        return chances


REWARDS = {"low": -500.0, "high": 100.0}
"""What approving earns, by income; declining earns 0."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let a service decide cases at random, and write a plan that looks at the income."""
    folder: Path = tmp_path_factory.mktemp("log")
    text = policy_text(policy="random-buyer")
    rng = np.random.default_rng(1)

    async def scenario(harness: EngineHarness) -> None:
        for k in range(N_CASES):
            income = str(rng.choice(["low", "high"]))
            event = await harness.open()
            while event.body.get("buy"):
                values = {"income": income, "history": "clean", "age": 40}
                bought = {name: values[name] for name in event.body["buy"]}
                paid = {name: {"income": 0.4, "history": 1.5, "age": 0.0}[name] for name in bought}
                event = await harness.observe(event.case, bought, costs=paid)
            if k % 10:  # every tenth reward is not known yet
                earned = REWARDS[income] if event.body["action"] == "approve" else 0.0
                await harness.reward(event.case, earned)

    with pytest.MonkeyPatch.context() as patch:
        buyers = {**registry.POLICIES, "random-buyer": RandomBuyer}
        patch.setattr("thrifty.policies.registry.POLICIES", buyers)
        run_with_engine(folder / "store.db", scenario, text=text)
    done = thrifty("export", folder / "store.db", "--out", folder / "log.parquet")
    assert done.returncode == 0, done.stderr
    write_plan(income_plan(), folder / "plan.json")
    return folder


def income_plan() -> PlanTree:
    """Buy the income; approve if it is high."""
    own = parse_spec(tomllib.loads(policy_text())).problem
    prices = PriceList({"income": 0.4, "history": 1.5, "age": 0.0})
    rewards = {"decline": {"good": 0, "bad": 0}, "approve": {"good": 120, "bad": -900}}
    problem = Problem(own.features, own.actions, rewards, prices, own.rewards)
    decline, approve = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))
    root = Split((0,), 0, np.array([True, False, True]), low=decline, high=approve)
    return PlanTree(problem, np.zeros(3, np.bool_), root)


def test_the_store_and_the_exported_log_have_the_same_cases(folder: Path) -> None:
    target = read_target(folder / "plan.json")
    stored, exported = (read_log(folder / name, target) for name in ("store.db", "log.parquet"))
    assert exported.n_cases == stored.n_cases == N_CASES * 9 // 10
    for name in ("codes", "settled", "actions", "rewards", "costs", "purchase_classes"):
        assert np.array_equal(getattr(stored, name), getattr(exported, name)), name
    assert "30 of 300 cases have no reward" in exported.notes[0]


def test_probabilities_and_costs_are_those_of_the_log(folder: Path) -> None:
    log = read_log(folder / "log.parquet", read_target(folder / "plan.json"))
    assert set(log.action_probabilities) == {0.5}
    assert log.purchase_probabilities is not None
    assert set(log.purchase_probabilities) == {1 / 8}
    assert log.spend == pytest.approx(log.bought @ [0.4, 1.5, 0.0])


def test_the_true_gain_is_in_the_interval(folder: Path) -> None:
    """Half of the incomes are high and earn 100; each is looked up for 0.4."""
    done = thrifty("evaluate", folder / "log.parquet", folder / "plan.json", "--against", "current")
    assert done.returncode == 0, done.stderr
    assert "minus current" in done.stdout
    assert "30 of 300 cases have no reward" in done.stdout
    log = read_log(folder / "log.parquet", read_target(folder / "plan.json"))
    followed = follow_plan(income_plan(), log)
    assert 0.3 < followed.shown.mean() < 0.7
    result = evaluate_fixed(log, followed)
    assert result.overlap.covered == pytest.approx(1, abs=4 * result.overlap.covered_error)
    best = result.estimates["doubly robust"]
    assert best.mean == pytest.approx(50 - 0.4, abs=4 * best.error)


def test_a_policy_of_the_log_is_replayed_with_rejection(folder: Path) -> None:
    (folder / "new.toml").write_text(policy_text(policy="ucb1"), encoding="utf-8")
    done = thrifty("evaluate", folder / "log.parquet", folder / "new.toml")
    assert done.returncode == 0, done.stderr
    assert "replay with rejection" in done.stdout
    assert "The target learns" in done.stdout
    done = thrifty("evaluate", folder / "log.parquet", folder / "new.toml", "--frozen")
    assert "doubly robust" in done.stdout


def test_a_policy_that_is_not_in_the_log_is_refused(folder: Path) -> None:
    target = read_target(folder / "plan.json")
    with pytest.raises(UnknownName, match="no policy 'other'"):
        read_log(folder / "log.parquet", target, of="other")


def test_a_log_without_probabilities_is_refused(folder: Path) -> None:
    frame = pl.read_parquet(folder / "log.parquet")
    bodies = frame["body"].str.replace_all('"propensity"', '"former"', literal=True)
    frame.with_columns(bodies).write_parquet(folder / "former.parquet")
    with pytest.raises(InvalidTable, match="no probability of its action"):
        read_log(folder / "former.parquet", read_target(folder / "plan.json"))
