"""Which policy "auto" chooses, and how it is saved."""

import io
import tomllib
from pathlib import Path

import polars as pl
import pytest

from history_learner import LENDING
from thrifty import Agent
from thrifty.environments import World, nursery
from thrifty.errors import InvalidParameter
from thrifty.examples import SYNTHETIC, example_csv, example_policy
from thrifty.frames.reader import Table
from thrifty.policies import POLICIES, Scout, Surveyor
from thrifty.policies.auto import auto, chosen_by_auto
from thrifty.policies.registry import require_parameters
from thrifty.policy_file import parse_policy_file
from thrifty.policy_file.model import PolicySection
from thrifty.problem import Feature, Problem
from thrifty.simulation import simulate
from thrifty.tables import read_cases

HOME = Feature("home", ("rent", "own"))
MANY = Feature("region", tuple(f"r{k}" for k in range(9)))


def lending(*features: Feature, prices: dict[str, float] | None = None) -> Problem:
    given = {feature.name: 1.0 for feature in features} if prices is None else prices
    return Problem(features, LENDING.actions, outcomes=LENDING.outcomes, prices=given or None)


def test_few_levels_are_for_scout_and_numbers_or_many_levels_for_surveyor() -> None:
    assert chosen_by_auto(lending(HOME)) is Scout
    assert chosen_by_auto(LENDING) is Surveyor
    assert chosen_by_auto(lending(MANY)) is Surveyor
    columns = [Feature(f"x{k}", ("a", "b")) for k in range(13)]
    assert chosen_by_auto(lending(*columns[:12])) is Scout  # 4,096 cells
    assert chosen_by_auto(lending(*columns)) is Surveyor  # 8,192 cells
    assert chosen_by_auto(lending(HOME), has_history=True) is Surveyor


def test_surveyor_needs_outcomes_and_prices() -> None:
    assert chosen_by_auto(Problem([MANY], LENDING.actions, prices={"region": 1.0})) is Scout
    assert chosen_by_auto(lending(MANY, prices={})) is Scout
    partly = lending(HOME, MANY, prices={"region": 1.0})
    assert chosen_by_auto(partly) is Surveyor  # what has no price counts as free
    assert chosen_by_auto(partly, free=["home"]) is Surveyor
    assert chosen_by_auto(partly, free=[]) is Scout
    with pytest.raises(InvalidParameter, match="'home' has no price"):
        chosen_by_auto(partly, free=[], has_history=True)
    with pytest.raises(InvalidParameter, match="no outcomes"):
        chosen_by_auto(Problem([HOME], ["a", "b"]), has_history=True)


def test_the_policy_gets_its_parameters() -> None:
    surveyor = auto(LENDING, horizon=500, max_steps=1, seed=1)
    assert isinstance(surveyor, Surveyor)
    assert dict(surveyor.parameters)["horizon"] == 500
    assert auto(lending(HOME), budget=0.5).parameters["budget"] == 0.5
    # The horizon is not needed by Scout, and amounts are in money.
    agent = Agent(lending(HOME), "auto", horizon=500, budget=50.0, seed=1)
    assert isinstance(agent.policy, Scout)
    assert agent.policy.parameters["budget"] == 0.5
    with pytest.raises(InvalidParameter, match="recallx"):
        Agent(lending(HOME), "auto", recallx=True)
    require_parameters(POLICIES["auto"], {"max_steps": 1, "budget": 1.0, "horizon": 5})


def test_a_saved_agent_is_what_it_became(tmp_path: Path) -> None:
    agent = Agent(lending(HOME), "auto", seed=1)
    agent.save(tmp_path / "agent.npz")
    assert isinstance(Agent.load(tmp_path / "agent.npz").policy, Scout)


def test_auto_is_the_default() -> None:
    assert isinstance(Agent(lending(HOME), seed=1).policy, Scout)
    assert isinstance(Agent(LENDING, seed=1).policy, Surveyor)
    assert isinstance(Agent(LENDING, policy="scout", seed=1).policy, Scout)
    assert PolicySection(name="mine").policy == "auto"
    with pytest.raises(InvalidParameter, match=r"Surveyor, which 'auto' .* 'recall'.*Name the pol"):
        Agent(LENDING, recall=False)


def test_nursery_is_for_scout() -> None:
    worlds = (nursery.published(), nursery.shuffled(0), nursery.stationary(0), nursery.tuning())
    for world in worlds:
        assert chosen_by_auto(world.problem) is Scout
    runs = [simulate(name, worlds[1], seeds=[3], workers=1) for name in ("auto", "scout")]
    assert (runs[0].gains == runs[1].gains).all()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_examples_of_tables_are_for_surveyor(name: str) -> None:
    frame = pl.read_csv(io.StringIO(example_csv(name, 500, 1)), infer_schema=False)
    cases = read_cases(Table(frame), parse_policy_file(tomllib.loads(example_policy(name))))
    problem, free = cases.past_cases.problem, cases.past_cases.free
    known = [column for column, is_free in zip(problem.feature_names, free, strict=True) if is_free]
    assert chosen_by_auto(problem, free=known) is Surveyor
    assert chosen_by_auto(problem, free=known, has_history=True) is Surveyor


def test_auto_is_simulated_as_what_it_chooses() -> None:
    world = World.random(levels=(2, 2), n_actions=2, rounds=30, seed=1)
    runs = [simulate(name, world, seeds=[0], workers=1) for name in ("auto", "scout")]
    assert (runs[0].gains == runs[1].gains).all()
