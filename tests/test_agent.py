"""The agent: names, open rounds in any order, refusals without effect, and files."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken_policies import Means
from thrifty.agent import Agent, Round
from thrifty.checks.memory import deep_size, snapshot
from thrifty.errors import (
    ForeignFile,
    InvalidAction,
    InvalidObservation,
    InvalidParameter,
    InvalidReward,
    OutOfTurn,
    RoundClosed,
    SaveError,
    ThriftyError,
    UnknownName,
    UnknownRound,
)
from thrifty.policies import POLICIES
from thrifty.policy import Policy
from thrifty.problem import Feature, Problem
from thrifty.rounds import Observation, Purchase
from thrifty.saving import write_archive

PROBLEM = Problem(
    features=(Feature("health", ("poor", "good")), Feature("form", ("a", "b", "c"))),
    actions=("reject", "accept"),
)


class Everything(Means):
    """Buys both features, and keeps what it was told for the tests to see."""

    def __init__(self, problem: Problem, **settings: Any) -> None:
        super().__init__(problem, **settings)
        self.told: list[tuple[Observation, int, float]] = []

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(np.ones(self.problem.n_features, dtype=np.bool_), purpose=41)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        super()._update(observation, action, reward, outcome)
        self.told.append((observation, action, reward))


def everything() -> tuple[Agent, Everything]:
    policy = Everything(PROBLEM, seed=3)
    return Agent(PROBLEM, policy), policy


def acted(agent: Agent) -> Round:
    ticket = agent.ask()
    ticket.act({"health": "good", "form": "c"}, {"health": 0.1, "form": 0.2})
    return ticket


def memory(agent: Agent) -> dict[str, Any]:
    return {**snapshot(agent), "rng": str(agent.policy.rng.bit_generator.state)}


def test_a_round_goes_from_names_to_codes_and_back() -> None:
    agent, policy = everything()
    ticket = agent.ask(free={"form": "b"})
    assert (ticket.id, ticket.features) == (1, ("health",))
    action = ticket.act({"health": "good"}, {"health": 0.25})
    agent.tell(ticket.id, 1)
    observation, told_action, reward = policy.told[0]
    assert observation.codes.tolist() == [1, 1]
    assert observation.costs.tolist() == [0.25, 0.0]
    assert observation.purpose == 41
    assert (PROBLEM.actions[told_action], reward) == (action, 1.0)


def test_a_free_feature_is_seen_even_if_it_was_not_asked_for() -> None:
    class Nothing(Everything):
        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase.nothing(self.problem)

    policy = Nothing(PROBLEM, seed=1)
    agent = Agent(PROBLEM, policy)
    ticket = agent.ask(free={"health": "poor"})
    assert ticket.features == ()
    ticket.act({}, {})
    agent.tell(ticket.id, 0.5)
    assert policy.told[0][0].codes.tolist() == [0, -1]


def test_rewards_come_late_in_any_order_or_never() -> None:
    agent, policy = everything()
    tickets = [acted(agent) for _ in range(4)]
    agent.tell(tickets[2].id, 0.2)
    agent.abandon(tickets[1].id)
    agent.tell(tickets[0].id, 0.0)
    assert agent.open_rounds == (4,)
    assert [reward for _, _, reward in policy.told] == [0.2, 0.0]


def test_only_available_actions_are_taken() -> None:
    agent, _ = everything()
    for name in PROBLEM.actions * 5:
        ticket = agent.ask(free={"health": "good", "form": "a"})
        assert ticket.act({}, {}, available=[name]) == name


def test_an_explanation_is_plain_json_and_tells_the_story() -> None:
    agent, _ = everything()
    ticket = agent.ask(free={"form": "b"})
    assert agent.explain(ticket.id)["status"] == "asked"
    assert agent.explain(ticket.id)["to_buy"] == ["health"]
    action = ticket.act({"health": "good"}, {"health": 0.25})
    values = agent.explain(ticket.id)["action_values"]
    agent.tell(ticket.id, 1)
    told = agent.explain(ticket.id)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told == {
        "id": 1,
        "status": "told",
        "purpose": 41,
        "reasons": None,
        "to_buy": ["health"],
        "bought": {"health": {"level": "good", "cost": 0.25}},
        "free": {"form": "b"},
        "action": action,
        "action_values": {"reject": 1.0, "accept": 1.0},
        "reward": 1.0,
    }
    assert values == told["action_values"], "the values are those of the time of acting"


def test_values_that_are_not_finite_are_none() -> None:
    agent = Agent(PROBLEM, "ucb1", seed=0)
    ticket = agent.ask(free={"health": "good", "form": "a"})
    ticket.act({}, {})
    values = agent.explain(ticket.id)["action_values"]
    assert values is None or all(v is None or math.isfinite(v) for v in values.values())


def test_closed_rounds_are_forgotten_beyond_the_history() -> None:
    agent = Agent(PROBLEM, Everything(PROBLEM, seed=0), history=2)
    for _ in range(4):
        agent.tell(acted(agent).id, 1)
    assert agent.explain(3)["status"] == "told"
    with pytest.raises(RoundClosed, match="only the last 2"):
        agent.explain(2)
    with pytest.raises(RoundClosed):
        agent.tell(1, 1)


def test_memory_is_bounded_apart_from_open_rounds() -> None:
    agent = Agent(PROBLEM, Means(PROBLEM, seed=0), history=50)
    sizes = []
    for t in range(600):
        ticket = agent.ask(free={"health": "good", "form": "a"})
        ticket.act({}, {})
        agent.tell(ticket.id, t % 2)
        sizes.append(deep_size(agent) if t % 200 == 199 else 0)
    assert sizes[-1] < 1.05 * sizes[199]


COSTS = {"health": 0.1, "form": 0.2}
VALUES = {"health": "good", "form": "c"}

BAD_CALLS: dict[str, tuple[Callable[[Agent], object], type[ThriftyError], str]] = {
    "free feature": (lambda a: a.ask(free={"age": "1"}), UnknownName, "'health', 'form'"),
    "free level": (lambda a: a.ask(free={"form": "z"}), UnknownName, "'a', 'b', 'c'"),
    "price list": (lambda a: a.ask(prices={"form": 0.1}), InvalidParameter, "no price list"),
    "unknown feature": (
        lambda a: a.round(1).act({**VALUES, "age": "1"}, COSTS),
        UnknownName,
        "'health', 'form'",
    ),
    "unknown level": (
        lambda a: a.round(1).act({**VALUES, "form": "z"}, COSTS),
        UnknownName,
        "'a', 'b', 'c'",
    ),
    "missing value": (lambda a: a.round(1).act({"form": "a"}, COSTS), InvalidObservation, "health"),
    "missing cost": (lambda a: a.round(1).act(VALUES, {}), InvalidObservation, "health.*form"),
    "value of a free feature": (
        lambda a: a.round(2).act(VALUES, COSTS),
        InvalidObservation,
        "form",
    ),
    "nan cost": (
        lambda a: a.round(1).act(VALUES, {**COSTS, "form": math.nan}),
        InvalidObservation,
        "form.*nan",
    ),
    "infinite cost": (
        lambda a: a.round(1).act(VALUES, {**COSTS, "form": math.inf}),
        InvalidObservation,
        "inf",
    ),
    "negative cost": (
        lambda a: a.round(1).act(VALUES, {**COSTS, "form": -1}),
        InvalidObservation,
        "-1",
    ),
    "cost as text": (
        lambda a: a.round(1).act(VALUES, {**COSTS, "form": "1"}),  # type: ignore[dict-item]
        InvalidObservation,
        "'1'",
    ),
    "unknown action": (
        lambda a: a.round(1).act(VALUES, COSTS, ["maybe"]),
        UnknownName,
        "'reject', 'accept'",
    ),
    "no action": (lambda a: a.round(1).act(VALUES, COSTS, []), InvalidAction, "at least one"),
    "reward before action": (lambda a: a.tell(1, 1), OutOfTurn, "act first"),
    "second action": (lambda a: a.round(3).act(VALUES, COSTS), OutOfTurn, "already"),
    "nan reward": (lambda a: a.tell(3, math.nan), InvalidReward, "nan"),
    "large reward": (lambda a: a.tell(3, 1.5), InvalidReward, "rescale"),
    "second reward": (lambda a: a.tell(4, 1), RoundClosed, "told before"),
    "reward of an abandoned round": (lambda a: a.tell(5, 1), RoundClosed, "abandoned before"),
    "second end": (lambda a: a.abandon(5), RoundClosed, "abandoned before"),
    "unknown round": (lambda a: a.tell(99, 1), UnknownRound, "99"),
    "round zero": (lambda a: a.explain(0), UnknownRound, "0"),
    "round by name": (lambda a: a.explain([]), UnknownRound, r"\[\]"),  # type: ignore[arg-type]
    "round True": (lambda a: a.tell(True, 1), UnknownRound, "True"),
}


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refused_call_says_why_and_changes_nothing(
    call: Callable[[Agent], object], error: type[ThriftyError], message: str
) -> None:
    agent, _ = everything()
    agent.ask()
    agent.ask(free={"form": "a"})
    for _ in range(3):
        acted(agent)
    agent.tell(4, 0.5)
    agent.abandon(5)
    before = memory(agent)
    with pytest.raises(error, match=message):
        call(agent)
    assert memory(agent) == before


def test_what_an_agent_cannot_be_made_of_is_refused() -> None:
    policy = Means(PROBLEM)
    with pytest.raises(InvalidParameter, match="another problem"):
        Agent(Problem.anonymous((2,), 2), policy)
    with pytest.raises(InvalidParameter, match="already"):
        Agent(PROBLEM, policy, seed=3)
    with pytest.raises(InvalidParameter, match="history"):
        Agent(PROBLEM, policy, history=-1)
    with pytest.raises(InvalidParameter, match="neither a policy's name nor its class"):
        Agent(PROBLEM, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="its parameters are alpha"):
        Agent(PROBLEM, "ucb1", no_such_parameter=1)
    with pytest.raises(UnknownName, match="ucb1"):
        Agent(PROBLEM, "no-such-policy")


def test_a_policy_that_reads_the_price_list_gets_it() -> None:
    class Bargains(Means):
        reads_price_list = True
        prices = np.zeros(0)

        def read_price_list(self, prices: Any) -> None:
            self.prices = np.array(prices)

    policy = Bargains(PROBLEM)
    agent = Agent(PROBLEM, policy)
    agent.ask(prices={"form": 0.2, "health": 0.1})
    assert policy.prices.tolist() == [0.1, 0.2]
    with pytest.raises(InvalidObservation, match="health"):
        agent.ask(prices={"form": 0.1})
    with pytest.raises(InvalidObservation, match="form"):
        agent.ask(prices={"health": 0.1, "form": math.nan})
    assert policy.prices.tolist() == [0.1, 0.2]
    assert agent.open_rounds == (1,)


def live(agent: Agent, rng: np.random.Generator, steps: int) -> list[object]:
    """Ask, act, tell and abandon at random; return all that came out."""
    out: list[object] = []
    for _ in range(steps):
        waiting = [i for i in agent.open_rounds if agent.explain(i)["status"] == "acted"]
        asked = [i for i in agent.open_rounds if i not in waiting]
        kind = rng.integers(4)
        if kind == 0 and waiting:
            agent.tell(int(rng.choice(waiting)), float(rng.random()))
        elif kind <= 1 and asked:
            ticket = agent.round(int(rng.choice(asked)))
            values = {name: _level(name, rng) for name in ticket.features}
            out.append(ticket.act(values, {name: float(rng.random()) for name in values}))
            out.append(agent.explain(ticket.id))
        elif kind == 2 and rng.random() < 0.1 and agent.open_rounds:
            agent.abandon(int(rng.choice(agent.open_rounds)))
        else:
            free = {"form": _level("form", rng)} if rng.random() < 0.3 else {}
            out.append(agent.ask(free=free).features)
    return out


def _level(name: str, rng: np.random.Generator) -> str:
    return str(rng.choice(PROBLEM.features[PROBLEM.feature_index(name)].levels))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), before=st.integers(0, 80), registered=st.booleans())
def test_a_loaded_agent_continues_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, seed: int, before: int, registered: bool
) -> None:
    path = tmp_path_factory.mktemp("agents") / "agent.npz"
    agent = Agent(PROBLEM, "ucb1" if registered else Means(PROBLEM, seed=seed), history=7)
    live(agent, np.random.default_rng(seed), before)
    agent.save(path)
    loaded = Agent.load(path, policy=None if registered else Means)
    assert loaded.open_rounds == agent.open_rounds
    assert loaded.policy.rounds == agent.policy.rounds
    assert repr(loaded) == repr(agent)
    assert live(loaded, np.random.default_rng(1), 80) == live(agent, np.random.default_rng(1), 80)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64DXSM", "Philox", "SFC64"])
def test_every_kind_of_generator_is_saved(tmp_path: Path, kind: str) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(5))
    agent = Agent(PROBLEM, Means(PROBLEM, seed=rng))
    agent.save(tmp_path / "a")
    loaded = Agent.load(tmp_path / "a", policy=Means)
    assert loaded.policy.rng.random(5).tolist() == agent.policy.rng.random(5).tolist()


def test_parameters_are_saved(tmp_path: Path) -> None:
    Agent(PROBLEM, "ucb1", seed=1, alpha=np.float64(0.75)).save(tmp_path / "a")
    assert Agent.load(tmp_path / "a").policy.parameters["alpha"] == 0.75


def test_a_class_that_is_not_registered_has_to_be_given(tmp_path: Path) -> None:
    Agent(PROBLEM, Means(PROBLEM)).save(tmp_path / "a")
    with pytest.raises(SaveError, match=r"Means.*policy="):
        Agent.load(tmp_path / "a")

    class Other(Means):
        def set_state(self, state: Any) -> None:
            self.sums = state["elsewhere"]

    with pytest.raises(SaveError, match="Means was saved"):
        Agent.load(tmp_path / "a", policy=Other)


def test_a_policy_without_a_state_to_save_is_refused(tmp_path: Path) -> None:
    class Unsaved(Means):
        def get_state(self) -> Any:
            return Policy.get_state(self)

    with pytest.raises(SaveError, match="get_state"):
        Agent(PROBLEM, Unsaved(PROBLEM)).save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_another_archive_is_not_an_agent(tmp_path: Path) -> None:
    write_archive(tmp_path / "a", {"kind": "results"}, {})
    with pytest.raises(ForeignFile, match="results"):
        Agent.load(tmp_path / "a")


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"oracle"}))
def test_every_policy_continues_from_its_file(name: str, tmp_path: Path) -> None:
    horizon = {"horizon": 500} if name.startswith("ncc-ucrl2") else {}
    agent = Agent(PROBLEM, name, seed=5, **horizon)
    live(agent, np.random.default_rng(0), 120)
    agent.save(tmp_path / "agent")
    again = Agent.load(tmp_path / "agent")
    assert again.open_rounds == agent.open_rounds
    rngs = (np.random.default_rng(1), np.random.default_rng(1))
    assert live(again, rngs[1], 120) == live(agent, rngs[0], 120)
