"""The agent: names, money, steps, open cases in any order, refusals without effect, files."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken_policies import Means
from random_plans import plan_for
from thrifty.agent import Agent
from thrifty.archive import write_archive
from thrifty.case import Case
from thrifty.checks.memory import deep_size, snapshot
from thrifty.errors import (
    ForeignFile,
    InvalidField,
    InvalidParameter,
    InvalidSpec,
    OutOfTurn,
    RoundClosed,
    SaveError,
    ThriftyError,
    UnknownName,
    UnknownRound,
    UnsupportedVersion,
)
from thrifty.policies import POLICIES
from thrifty.policy import Policy
from thrifty.problem import Bundle, Feature, Group, PriceList, Problem, RewardRange
from thrifty.rounds import Observation, Purchase
from thrifty.specification import PolicySpec

PROBLEM = Problem(
    features=(Feature("health", ("poor", "good")), Feature("form", ("a", "b", "c"))),
    actions=("reject", "accept"),
)


class Everything(Means):
    """Buys both features, and keeps what it was told for the tests to see."""

    def __init__(self, problem: Problem, **settings: Any) -> None:
        super().__init__(problem, **settings)
        self.told: list[tuple[Observation, int, float, int | None]] = []

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(np.ones(self.problem.n_features, dtype=np.bool_), purpose=41)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        super()._update(observation, action, reward, outcome)
        self.told.append((observation, action, reward, outcome))


def everything() -> tuple[Agent, Everything]:
    policy = Everything(PROBLEM, seed=3)
    return Agent(PROBLEM, policy), policy


def acted(agent: Agent) -> Case:
    return agent.observe(agent.ask(), VALUES, COSTS)


def memory(agent: Agent) -> dict[str, Any]:
    return {**snapshot(agent), "rng": str(agent.policy.rng.bit_generator.state)}


VALUES = {"health": "good", "form": "c"}
COSTS = {"health": 0.1, "form": 0.2}


def test_a_case_goes_from_names_to_codes_and_back() -> None:
    agent, policy = everything()
    case = agent.ask(free={"form": "b"})
    assert (case.id, case.buy, case.action) == (1, ("health",), None)
    case = agent.observe(case, {"health": "good"}, {"health": 0.25})
    assert case.buy == ()
    agent.tell(case, 1)
    observation, told_action, reward, _ = policy.told[0]
    assert observation.codes.tolist() == [1, 1]
    np.testing.assert_array_equal(observation.costs, [0.25, np.nan])
    assert observation.free.tolist() == [False, True], "known for free, not bought for 0"
    assert observation.purpose == 41
    assert (PROBLEM.actions[told_action], reward) == (case.action, 1.0)


def test_a_case_that_needs_nothing_has_its_action_at_once() -> None:
    class Nothing(Everything):
        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase.nothing(self.problem)

    policy = Nothing(PROBLEM, seed=1)
    agent = Agent(PROBLEM, policy)
    case = agent.ask(free={"health": "poor"}, available=["accept"])
    assert (case.buy, case.action) == ((), "accept")
    agent.tell(case.id, 0.5)
    assert policy.told[0][0].codes.tolist() == [0, -1]


def test_what_could_not_be_had_is_left_out_or_none() -> None:
    agent, policy = everything()
    case = agent.observe(agent.ask(), {"health": None}, {"health": 0.5})
    agent.tell(case, 0.5)
    observation = policy.told[0][0]
    assert observation.codes.tolist() == [-1, -1]
    assert observation.costs.tolist() == [0.5, 0.0], "what was paid counts all the same"
    assert agent.explain(case)["steps"][0]["unavailable"] == ["health", "form"]


class InSteps(Means):
    """Buys health and, only where it is good, form."""

    stepwise = True

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase([True, known.codes[0] == 1], purpose=int(known.codes[0]) + 5)


def test_a_stepwise_policy_is_asked_again() -> None:
    agent = Agent(PROBLEM, InSteps(PROBLEM, seed=1))
    case = agent.observe(agent.ask(), {"health": "good"}, {"health": 0.1})
    assert (case.buy, case.action) == (("form",), None)
    case = agent.observe(case, {"form": "b"}, {"form": 0.2})
    assert case.buy == ()
    assert case.action in PROBLEM.actions
    steps = agent.explain(case)["steps"]
    assert [step["buy"] for step in steps] == [["health"], ["form"]]
    assert [step.purpose for step in agent._open[int(case.id)].steps] == [4, 6]
    short = agent.observe(agent.ask(), {"health": "poor"}, {"health": 0.1})
    assert short.action in PROBLEM.actions
    failed = agent.observe(agent.ask(), {}, {})
    assert failed.action in PROBLEM.actions, "what could not be had is not asked for again"


def test_a_stepwise_case_is_saved_between_its_steps(tmp_path: Path) -> None:
    agent = Agent(PROBLEM, InSteps(PROBLEM, seed=1))
    case = agent.observe(agent.ask(), {"health": "good"}, {"health": 0.1})
    agent.save(tmp_path / "a")
    again = Agent.load(tmp_path / "a", policy=InSteps)
    assert again.case(case.id) == case
    for one in (agent, again):
        one.tell(one.observe(case, {"form": "c"}, {"form": 0.25}), 0.5)
    assert agent.explain(case) == again.explain(case)
    assert memory(agent) == memory(again)


BLOOD = Problem(
    features=(
        Feature.number("TSH", edges=(0.3, 6.0), missing=True),
        Feature.number("T3", edges=(1.0,)),
        Feature("sex", ("f", "m")),
        Feature("score", ("low", "high")),
        Feature("history", ("clean", "arrears")),
    ),
    actions=("send home", "treat"),
    outcomes={"send home": {"well": 0, "ill": -2000}, "treat": {"well": -300, "ill": -100}},
    prices=PriceList(
        {"TSH": 20.0, "T3": 10.0},
        groups=[Group("blood", ("TSH", "T3"), setup=2.0)],
        bundles=[Bundle("report", ("score", "history"), price=6.0)],
    ),
)


def test_money_is_mapped_to_the_policys_scale_and_back() -> None:
    policy = Everything(BLOOD, seed=1)
    agent = Agent(BLOOD, policy)
    case = agent.ask(free={"sex": "f"})
    assert case.buy == ("TSH", "T3", "score", "history")
    assert case.expected_price == pytest.approx(20 + 2 + 10 + 6)
    values = {"TSH": 9.5, "T3": 0.5, "score": "low", "history": "clean"}
    case = agent.observe(case, values, {"report": 8.0})
    agent.tell(case, outcome="ill")
    observation, action, reward, outcome = policy.told[0]
    assert observation.codes.tolist() == [2, 0, 0, 0, 0]
    np.testing.assert_allclose(observation.costs, [22 / 2000, 10 / 2000, np.nan, 0.002, 0.002])
    paid = BLOOD.outcomes.table[action, 1]  # type: ignore[union-attr]
    assert reward == pytest.approx((paid + 2000) / 2000)
    assert outcome == 1
    assert agent.explain(case)["reward"] == paid
    assert agent.explain(case)["outcome"] == "ill"


def test_a_setup_fee_is_paid_once_a_case() -> None:
    class OneByOne(Means):
        stepwise = True

        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase([True, known.mask[0], False, False, False])

    agent = Agent(BLOOD, OneByOne(BLOOD, seed=1))
    case = agent.ask()
    assert (case.buy, case.expected_price) == (("TSH",), 22.0)
    case = agent.observe(case, {"TSH": 1.0})
    assert (case.buy, case.expected_price) == (("T3",), 10.0)
    case = agent.observe(case, {"T3": 1.0})
    paid = [step["costs"] for step in agent.explain(case)["steps"]]
    assert paid == [{"TSH": 22.0}, {"T3": 10.0}]


def test_the_outcome_follows_from_the_reward_where_only_one_pays_it() -> None:
    policy = Everything(BLOOD, seed=1)
    agent = Agent(BLOOD, policy)
    for action, rewards in (("send home", (0, -2000)), ("treat", (-300, -100))):
        for reward in rewards:
            agent.tell(agent.observe(agent.ask(), available=[action]), reward)
    assert [outcome for *_, outcome in policy.told] == [0, 1, 0, 1]


def test_a_budget_is_in_money() -> None:
    agent = Agent(BLOOD, "scout", seed=1, budget=40.0)
    assert agent.policy.parameters["budget"] == pytest.approx(40 / 2000)


def test_rewards_come_late_in_any_order_or_never() -> None:
    agent, policy = everything()
    cases = [acted(agent) for _ in range(4)]
    agent.tell(cases[2], 0.2)
    agent.abandon(cases[1].id)
    agent.tell(cases[0], 0.0)
    assert agent.open_cases == (4,)
    assert [reward for _, _, reward, _ in policy.told] == [0.2, 0.0]


def test_only_available_actions_are_taken() -> None:
    agent, _ = everything()
    for name in PROBLEM.actions * 5:
        case = agent.ask(free={"health": "good", "form": "a"}, available=[name])
        assert case.action == name


def test_an_explanation_is_plain_json_and_tells_the_story() -> None:
    agent, _ = everything()
    case = agent.ask(free={"form": "b"})
    assert agent.explain(case)["status"] == "open"
    case = agent.observe(case, {"health": "good"}, {"health": 0.25})
    values = agent.explain(case)["action_values"]
    agent.tell(case, 1)
    told = agent.explain(case)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    (other,) = {"reject", "accept"} - {case.action}
    step = {
        "buy": ["health"],
        "reasons": None,
        "propensity": {
            "probability": 1.0,
            "error": 0.0,
            "words": "Buying health was certain, given what was known.",
        },
        "values": {"health": "good"},
        "costs": {"health": 0.25},
        "unavailable": [],
    }
    acted = told.pop("action_propensity")
    assert 0 < acted["probability"] <= 1
    assert acted["words"].startswith(f"{case.action} had a probability of about ")
    assert told == {
        "case": 1,
        "status": "closed",
        "end": "rewarded",
        "free": {"form": "b"},
        "steps": [step],
        "action": case.action,
        "action_values": {"reject": 1.0, "accept": 1.0},
        "action_why": f"{case.action} and {other} have the same estimated reward, 1.00.",
        "action_reasons": None,
        "stop_propensity": None,
        "reward": 1.0,
        "outcome": None,
    }
    assert values == told["action_values"], "the values are those of the time of acting"


def test_values_that_are_not_finite_are_none() -> None:
    agent = Agent(PROBLEM, "ucb1", seed=0)
    values = agent.explain(agent.ask())["action_values"]
    assert values is None or all(v is None or math.isfinite(v) for v in values.values())


def test_closed_cases_are_forgotten_beyond_the_limit() -> None:
    agent = Agent(PROBLEM, Everything(PROBLEM, seed=0), keep=2)
    for _ in range(4):
        agent.tell(acted(agent), 1)
    assert agent.explain(3)["status"] == "closed"
    with pytest.raises(RoundClosed, match="only the last 2"):
        agent.explain(2)
    with pytest.raises(RoundClosed):
        agent.tell(1, 1)


def test_memory_is_bounded_apart_from_open_cases() -> None:
    agent = Agent(PROBLEM, Means(PROBLEM, seed=0), keep=50)
    sizes = []
    for t in range(600):
        agent.tell(agent.ask(free={"health": "good", "form": "a"}), t % 2)
        sizes.append(deep_size(agent) if t % 200 == 199 else 0)
    assert sizes[-1] < 1.05 * sizes[199]


BAD_CALLS: dict[str, tuple[Callable[[Agent], object], type[ThriftyError], str]] = {
    "free feature": (lambda a: a.ask(free={"age": "1"}), InvalidField, r"^free\.age.*'health'"),
    "free level": (lambda a: a.ask(free={"form": "z"}), InvalidField, "'a', 'b', 'c'"),
    "price list": (
        lambda a: a.ask(prices={"form": 0.1}),
        InvalidParameter,
        "does not use a price list",
    ),
    "unknown feature": (
        lambda a: a.observe(1, {**VALUES, "age": "1"}, COSTS),
        InvalidField,
        r"^values\.age.*'health', 'form'",
    ),
    "unknown level": (
        lambda a: a.observe(1, {**VALUES, "form": "z"}, COSTS),
        InvalidField,
        r"^values\.form.*'a', 'b', 'c'",
    ),
    "missing cost": (lambda a: a.observe(1, VALUES, {}), InvalidField, r"^costs\.health"),
    "value of a free feature": (
        lambda a: a.observe(2, VALUES, COSTS),
        InvalidField,
        r"^values\.form.*does not ask for this feature now",
    ),
    "cost of a free feature": (
        lambda a: a.observe(2, {"health": "good"}, COSTS),
        InvalidField,
        r"^costs\.form",
    ),
    "nan cost": (
        lambda a: a.observe(1, VALUES, {**COSTS, "form": math.nan}),
        InvalidField,
        "form.*nan",
    ),
    "infinite cost": (
        lambda a: a.observe(1, VALUES, {**COSTS, "form": math.inf}),
        InvalidField,
        "inf",
    ),
    "negative cost": (
        lambda a: a.observe(1, VALUES, {**COSTS, "form": -1}),
        InvalidField,
        "-1",
    ),
    "cost as text": (
        lambda a: a.observe(1, VALUES, {**COSTS, "form": "1"}),  # type: ignore[dict-item]
        InvalidField,
        "'1'",
    ),
    "unknown action": (
        lambda a: a.observe(1, VALUES, COSTS, available=["maybe"]),
        InvalidField,
        "'reject', 'accept'",
    ),
    "no action": (
        lambda a: a.observe(1, VALUES, COSTS, available=[]),
        InvalidField,
        "no action is available",
    ),
    "reward before action": (lambda a: a.tell(1, 1), OutOfTurn, "no action yet"),
    "second action": (lambda a: a.observe(3, VALUES, COSTS), OutOfTurn, "already"),
    "a list of values": (lambda a: a.observe(1, ["good"]), InvalidField, "not a mapping"),  # type: ignore[arg-type]
    "a list of free values": (lambda a: a.ask(free=["good"]), InvalidField, "not a mapping"),  # type: ignore[arg-type]
    "a number of actions": (lambda a: a.ask(available=3), InvalidField, "not a list"),  # type: ignore[arg-type]
    "an array as value": (
        lambda a: a.observe(1, {"form": np.array([1, 2])}, COSTS),
        InvalidField,
        r"^values\.form",
    ),
    "no reward": (lambda a: a.tell(3), InvalidField, "or the outcome"),
    "nan reward": (lambda a: a.tell(3, math.nan), InvalidField, "nan"),
    "large reward": (lambda a: a.tell(3, 1.5), InvalidField, r"in \[0, 1\]"),
    "outcome of none": (lambda a: a.tell(3, outcome="repaid"), InvalidField, "no outcomes"),
    "second reward": (lambda a: a.tell(4, 1), RoundClosed, "already rewarded"),
    "reward of an abandoned case": (lambda a: a.tell(5, 1), RoundClosed, "already abandoned"),
    "second end": (lambda a: a.abandon(5), RoundClosed, "already abandoned"),
    "unknown case": (lambda a: a.tell(99, 1), UnknownRound, "99"),
    "case zero": (lambda a: a.explain(0), UnknownRound, "0"),
    "case by name": (lambda a: a.explain([]), UnknownRound, r"\[\]"),  # type: ignore[arg-type]
    "case True": (lambda a: a.tell(True, 1), UnknownRound, "True"),
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


def test_a_bundle_is_paid_whole_however_much_of_it_is_new() -> None:
    policy = Everything(BLOOD, seed=1)
    agent = Agent(BLOOD, policy)
    case = agent.ask(free={"sex": "f", "TSH": 1.0, "T3": 1.0, "history": "clean"})
    assert (case.buy, case.expected_price) == (("score",), 6.0)
    agent.tell(agent.observe(case, {"score": "low"}), outcome="well")
    assert policy.told[0][0].total_cost == pytest.approx(6 / 2000)


def test_a_cost_is_reported_once() -> None:
    agent = Agent(BLOOD, Everything(BLOOD, seed=1))
    case = agent.ask()
    for costs in ({"report": 6, "score": 1}, {"score": 1, "report": 6}):
        with pytest.raises(InvalidField, match="reported twice"):
            agent.observe(case, {"score": "low", "history": "clean"}, costs)


def test_what_a_specification_demands_is_saved(tmp_path: Path) -> None:
    spec = PolicySpec("thyroid", "linucb", BLOOD, free=("sex",))
    agent = Agent.from_spec(spec)
    agent.save(tmp_path / "a")
    for one in (agent, Agent.load(tmp_path / "a")):
        with pytest.raises(InvalidField, match=r"^free\.sex"):
            one.ask()
        with pytest.raises(InvalidField, match="at most 20000"):
            one.observe(one.ask(free={"sex": "f"}), {"TSH": 1.0}, {"TSH": 1e6})


def test_prices_in_force_are_saved(tmp_path: Path) -> None:
    problem = Problem(PROBLEM.features, PROBLEM.actions, prices={"health": 0.5, "form": 0.5})
    agent = Agent(problem, "sim-oos", seed=1)
    agent.ask(prices={"health": 0.1, "form": 0.2})
    agent.save(tmp_path / "a")
    again = Agent.load(tmp_path / "a")
    assert again.policy.get_state()["prices"].tolist() == [0.1, 0.2]


def test_a_saved_agent_fits_its_specification_only(tmp_path: Path) -> None:
    spec = PolicySpec("thyroid", "linucb", BLOOD)
    Agent.from_spec(spec).save(tmp_path / "a")
    saved = (tmp_path / "a").read_bytes()
    assert Agent.from_spec(replace(spec, agent=saved)).problem == BLOOD
    edges = Feature.number(
        "TSH", edges=(0.3, 7.0), levels=BLOOD.features[0].levels[:3], missing=True
    )
    others = {
        "edges": Problem((edges, *BLOOD.features[1:]), BLOOD.actions, BLOOD.outcomes, BLOOD.prices),
        "range": Problem(
            BLOOD.features, BLOOD.actions, BLOOD.outcomes, BLOOD.prices, RewardRange(-5000, 0)
        ),
    }
    for problem in others.values():
        with pytest.raises(InvalidSpec, match="other features, levels, edges"):
            Agent.from_spec(replace(spec, problem=problem, agent=saved))


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    write_archive(tmp_path / "a", {"kind": "agent", "format": 99}, {})
    with pytest.raises(UnsupportedVersion, match="format 99"):
        Agent.load(tmp_path / "a")


BAD_MONEY: dict[str, tuple[Callable[[Agent], object], str]] = {
    "a reward that no outcome pays": (lambda a: a.tell(1, -17), r"^reward.*-17.*pays 0 \(well\)"),
    "an unknown outcome": (lambda a: a.tell(1, outcome="dead"), r"^outcome.*'well', 'ill'"),
    "both, and they disagree": (lambda a: a.tell(1, -2000, outcome="well"), "^reward.*pays"),
    "a reward beyond the range": (lambda a: a.tell(1, 1), "^reward"),
    "a bundle that is not asked for": (
        lambda a: a.observe(2, {"TSH": 1}, {"report": 1}),
        r"^costs\.report",
    ),
    "a number for a category": (lambda a: a.ask(free={"sex": 1}), r"^free\.sex.*levels are names"),
    "text for a number": (
        lambda a: a.ask(free={"TSH": "high"}),
        r"^free\.TSH.*use a number, or one of",
    ),
}


def test_text_that_is_a_number_counts_as_the_number() -> None:
    """`csv.DictReader` returns text for everything."""
    number, text = (Agent(BLOOD, "uniform", seed=1) for _ in range(2))
    asked = number.ask({"TSH": 2.5}), text.ask({"TSH": " 2.5"})
    assert text.explain(asked[1])["free"] == number.explain(asked[0])["free"]
    for wrong in ("2,5", "1_0", "nan", "inf", ""):
        with pytest.raises(InvalidField, match=r"^free\.TSH.*use a number"):
            text.ask({"TSH": wrong})


def test_the_repr_shows_amounts_in_money() -> None:
    agent = Agent(BLOOD, "scout", seed=1, budget=10)
    assert "budget=10.0, " in repr(agent)
    assert agent.policy.parameters["budget"] == pytest.approx(10 / BLOOD.rewards.span)


class Comparing(Everything):
    """Compares four sets, two of them with the first feature."""

    def reasons(
        self, purchase: Purchase, known: Observation | None = None
    ) -> Callable[[], dict[str, Any]]:
        del purchase, known
        sets: list[tuple[list[str], float]] = [
            (["health", "form"], 0.5),
            (["form"], 0.25),
            (["health"], 0.125),
            ([], 0.125),
        ]
        rows = [{"features": features, "weight": weight} for features, weight in sets]
        return lambda: {"kind": "exploit", "considered": rows}


def test_purchases_that_differ_in_free_features_alone_are_shown_once() -> None:
    agent = Agent(PROBLEM, Comparing(PROBLEM, seed=3))
    (step,) = agent.explain(agent.ask({"health": "good"}))["steps"]
    assert step["reasons"]["considered"] == [
        {"features": ["form"], "weight": 0.75},
        {"features": [], "weight": 0.25},
    ]
    assert "purpose" not in step, "a note of the policy to itself, which means nothing to a reader"


@pytest.mark.parametrize(("call", "message"), BAD_MONEY.values(), ids=BAD_MONEY)
def test_money_that_cannot_be_is_refused(call: Callable[[Agent], object], message: str) -> None:
    class First(Means):
        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase(np.arange(5) < 1)

    agent = Agent(BLOOD, First(BLOOD, seed=1))
    agent.observe(agent.ask(), {"TSH": 1.0}, available=["send home"])
    agent.ask()
    before = memory(agent)
    with pytest.raises(InvalidField, match=message):
        call(agent)
    assert memory(agent) == before


def test_what_an_agent_cannot_be_made_of_is_refused() -> None:
    policy = Means(PROBLEM)
    with pytest.raises(InvalidParameter, match="another problem"):
        Agent(Problem.anonymous((2,), 2), policy)
    with pytest.raises(InvalidParameter, match="already"):
        Agent(PROBLEM, policy, seed=3)
    with pytest.raises(InvalidParameter, match="keep"):
        Agent(PROBLEM, policy, keep=-1)
    with pytest.raises(InvalidParameter, match="neither a policy's name nor its class"):
        Agent(PROBLEM, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="its parameters are alpha"):
        Agent(PROBLEM, "ucb1", no_such_parameter=1)
    with pytest.raises(UnknownName, match="ucb1"):
        Agent(PROBLEM, "no-such-policy")


class Bargains(Means):
    reads_price_list = True
    prices = np.zeros(0)

    def read_price_list(self, prices: Any) -> None:
        self.prices = np.array(prices)


def test_a_policy_that_reads_the_price_list_gets_it() -> None:
    policy = Bargains(PROBLEM)
    agent = Agent(PROBLEM, policy)
    agent.ask(prices={"form": 0.2, "health": 0.1})
    assert policy.prices.tolist() == [0.1, 0.2]
    with pytest.raises(InvalidField, match="health"):
        agent.ask(prices={"form": 0.1})
    with pytest.raises(InvalidField, match="form"):
        agent.ask(prices={"health": 0.1, "form": math.nan})
    assert policy.prices.tolist() == [0.1, 0.2]
    assert agent.open_cases == (1,)


def test_declared_prices_are_read_on_the_policys_scale() -> None:
    priced = Problem(
        PROBLEM.features,
        PROBLEM.actions,
        prices={"health": 4.0, "form": 8.0},
        rewards=RewardRange(-100, 100),
    )
    policy = Bargains(priced)
    Agent(priced, policy)
    assert policy.prices.tolist() == [0.02, 0.04]


def live(agent: Agent, rng: np.random.Generator, steps: int) -> list[object]:
    """Ask, observe, tell and abandon at random; return all that came out."""
    out: list[object] = []
    for _ in range(steps):
        waiting = [i for i in agent.open_cases if agent.explain(i)["status"] == "acted"]
        asked = [i for i in agent.open_cases if i not in waiting]
        kind = rng.integers(4)
        if kind == 0 and waiting:
            agent.tell(int(rng.choice(waiting)), float(rng.random()))
        elif kind <= 1 and asked:
            case = agent.case(int(rng.choice(asked)))
            values = {name: _level(name, rng) for name in case.buy if rng.random() < 0.9}
            out.append(agent.observe(case, values, {name: float(rng.random()) for name in values}))
            out.append(agent.explain(case))
        elif kind == 2 and rng.random() < 0.1 and agent.open_cases:
            agent.abandon(int(rng.choice(agent.open_cases)))
        else:
            free = {"form": _level("form", rng)} if rng.random() < 0.3 else {}
            out.append(agent.ask(free=free))
    return out


def _level(name: str, rng: np.random.Generator) -> str:
    return str(rng.choice(PROBLEM.features[PROBLEM.feature_index(name)].levels))


KINDS: dict[str, Callable[..., Policy] | None] = {
    "registered": None,
    "plain": Means,
    "in steps": InSteps,
}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), before=st.integers(0, 80), kind=st.sampled_from(sorted(KINDS)))
def test_a_loaded_agent_continues_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, seed: int, before: int, kind: str
) -> None:
    path, make = tmp_path_factory.mktemp("agents") / "agent.npz", KINDS[kind]
    agent = Agent(PROBLEM, "ucb1" if make is None else make(PROBLEM, seed=seed), keep=7)
    live(agent, np.random.default_rng(seed), before)
    agent.save(path)
    loaded = Agent.load(path, policy=make)
    assert loaded.open_cases == agent.open_cases
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


def test_a_problem_in_money_is_saved(tmp_path: Path) -> None:
    Agent(BLOOD, "ucb1", seed=1).save(tmp_path / "a")
    assert Agent.load(tmp_path / "a").problem == BLOOD


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
    needed: dict[str, Any] = {"horizon": 500} if name.startswith("ncc-ucrl2") else {}
    needed |= {"plan": plan_for(PROBLEM)} if name == "plan" else {}
    agent = Agent(PROBLEM, name, seed=5, **needed)
    live(agent, np.random.default_rng(0), 120)
    agent.save(tmp_path / "agent")
    again = Agent.load(tmp_path / "agent")
    assert again.open_cases == agent.open_cases
    rngs = (np.random.default_rng(1), np.random.default_rng(1))
    assert live(again, rngs[1], 120) == live(agent, rngs[0], 120)
