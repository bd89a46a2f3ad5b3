"""The compiled loop, the plain loop and the slow twins play the same rounds."""

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import naive
import naive_attentive
import naive_dal
import naive_linears
import naive_scout
import naive_ucbs
from compiled_policies import COMPILED as COMPILED_POLICIES
from thrifty.environments import Replay, World, nursery
from thrifty.playing import play
from thrifty.policies import POLICIES
from thrifty.policy import Policy
from thrifty.problem import Bundle, Group, PriceList, Problem
from thrifty.rounds import Run
from thrifty.seeds import environment_seed, generator, policy_seed
from thrifty.simulation import simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
SEEDS = range(20) if COMPILED else range(4)
ROUNDS = 300 if COMPILED else 120
DRAWS = {
    "ada-iltcb": 1,
    "ada-iltcb-plus": 3,
    "adaptive-ts": 2,
    "bob-sw-linucb": 1,
    "cusum-ucb": 2,
    "dal-ncc-ucrl2": 1,
    "discounted-ts": 1,
    "epsilon-greedy": 2,
    "master": 1,
    "ncc-ucrl2": 1,
    "ncc-ucrl2-published": 1,
    "ncc-ucrl2-repaired": 1,
    "particle-learning": 2,
    "scout": 3,
    "sim-oos": 1,
    "tsrc": 2,
    "uniform": 1,
    "wtsrc": 2,
}

SMALL_WORLD = World.random(
    levels=(2, 3, 2),
    n_actions=3,
    rounds=ROUNDS,
    reward_changes=(ROUNDS // 3,),
    cost_changes=(ROUNDS // 2,),
    seed=5,
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "ada-iltcb": {"block": 12, "threshold": 0.05, "interval": 70, "memory": 24},
    "ada-iltcb-plus": {"block": 9, "threshold": 0.05, "psi": 0.2, "memory": 24},
    "adaptive-ts": {"window": 6, "every": 2, "memory": 8, "bootstraps": 20, "confidence": 0.8},
    "bob-sw-linucb": {"block": 30},
    "cusum-ucb": {"samples": 10, "epsilon": 0.05, "h": 1.3, "exploration": 0.1},
    "d-linucb": {"discount": 0.95},
    "d-ucb": {"changes": 3, "xi": 0.1},
    "dal-linucb": {"false_alarms": 0.9, "every": 2},
    "dal-ncc-ucrl2": {"false_alarms": 0.9, "every": 2, "cost_range": 0.05},
    "discounted-ts": {"gamma": 0.9},
    "dlinucb": {"noise": 0.1, "tau": 15, "delta": 0.3, "test_delta": 0.5, "models": 3},
    "dlinucb-ensemble": {"noise": 0.1, "tau": 15, "audit": 0.1, "tolerance": 0.02, "models": 3},
    "epsilon-greedy": {"epsilon": 0.2},
    "glr-klucb": {"delta": 0.9, "every": 2},
    "m-ucb": {"window": 16, "b": 2.1, "gamma": 0.2},
    "master": {"alpha": 0.2, "scale": 0.0003},
    "ncc-ucrl2": {"window": 40, "delta": 0.3, "cost_range": 0.05},
    "ncc-ucrl2-published": {"window": 40},
    "ncc-ucrl2-repaired": {"window": 40},
    "particle-learning": {"walk": 0.3},
    "ps-linucb": {"omega": 15},
    "sw-linucb": {"window": 20},
    "sw-ucb": {"tau": 20},
    "tsrc": {"max_features": 2},
    "wtsrc": {"window": 15, "encoding": "one-hot"},
}
REPAIRED = {
    "unseen": 0.7,
    "reward_scale": 0.05,
    "cost_scale": 0.02,
    "probability_scale": 0.0,
    "clip": True,
    "observed_range": True,
}


def with_free_values(seed: int) -> Replay:
    """Return rounds in which the second feature is free."""
    replay = SMALL_WORLD.draw(environment_seed(seed))
    return Replay(
        replay.contexts,
        replay.rewards,
        replay.costs,
        free=[False, True, False],
        problem=replay.problem,
        reward_changes=replay.reward_changes,
        cost_changes=replay.cost_changes,
    )


def with_fees(seed: int) -> Replay:
    """Return rounds in which two features share a setup fee and two are sold together."""
    replay = SMALL_WORLD.draw(environment_seed(seed))
    prices = PriceList(
        groups=[Group("blood", ("x1", "x2"), setup=0.125)], bundles=[Bundle("both", ("x2", "x3"))]
    )
    problem = Problem(replay.problem.features, replay.problem.actions, prices=prices)
    return Replay(replay.contexts, replay.rewards, replay.costs, problem=problem)


WORLDS: dict[str, World | Callable[[int], Replay]] = {
    "small": SMALL_WORLD,
    "nursery": nursery.shuffled,
    "free values": with_free_values,
    "fees": with_fees,
}


def assert_same(one: Run | naive.Played, other: Run | naive.Played) -> None:
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.costs, other.costs)


def world_of(name: str, seed: int) -> Replay:
    world = WORLDS[name]
    return world.draw(environment_seed(seed)) if isinstance(world, World) else world(seed)


def takes_horizon(name: str) -> bool:
    return "horizon" in inspect.signature(POLICIES[name]).parameters


def made(name: str, replay: Replay, seed: int, **parameters: Any) -> Policy:
    """Make the policy that `simulate` makes."""
    if takes_horizon(name):
        parameters["horizon"] = ROUNDS
    if name == "oracle":
        parameters["truth"] = replay.truth
    return POLICIES[name](replay.problem, seed=policy_seed(seed), **parameters)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", COMPILED_POLICIES)
def test_the_two_loops(name: str, world: str) -> None:
    parameters = PARAMETERS.get(name, {})
    seeds = list(SEEDS) if world == "small" else list(SEEDS)[:3]
    runs = simulate(name, WORLDS[world], seeds=seeds, rounds=ROUNDS, **parameters)
    for seed, run in zip(seeds, runs, strict=True):
        replay = world_of(world, seed)
        assert_same(run, play(made(name, replay, seed, **parameters), replay, rounds=ROUNDS))


def twin_of(name: str, replay: Replay, horizon: int, **parameters: Any) -> naive.Twin:
    levels, n_actions = replay.problem.levels.tolist(), replay.problem.n_actions
    published = {"sweep_first": True, "simplex": False, "whole_window": True, "last_tie": True}
    if name == "oracle":
        changes = {*replay.reward_changes, *replay.cost_changes}
        costs = np.where(replay.free, 0.0, replay.costs)
        return naive.Oracle(replay.contexts, replay.rewards, costs, levels, changes)
    if takes_horizon(name):
        parameters["horizon"] = horizon
    if name == "ncc-ucrl2-published":
        parameters = {"cost_range": 0.05, **published, **parameters}
    if name == "ncc-ucrl2-repaired":
        parameters = {**REPAIRED, **parameters}
    twins: dict[str, Callable[..., naive.Twin]] = {
        "bob-sw-linucb": naive_linears.BOBSWLinUCB,
        "d-linucb": naive_linears.DLinUCB,
        "dlinucb": naive_linears.DynamicLinUCB,
        "dlinucb-ensemble": naive_linears.DynamicEnsemble,
        "ada-iltcb": naive_attentive.AdaILTCB,
        "ada-iltcb-plus": naive_attentive.AdaILTCBPlus,
        "epsilon-greedy": naive.EpsilonGreedy,
        "linucb": naive.LinUCB,
        "ncc-ucrl2": naive.NCCUCRL2,
        "ncc-ucrl2-published": naive.NCCUCRL2,
        "ncc-ucrl2-repaired": naive.NCCUCRL2,
        "ps-linucb": naive.PSLinUCB,
        "scout": naive_scout.Scout,
        "sim-oos": naive.SimOOS,
        "sw-linucb": naive_linears.SWLinUCB,
        "sw-ucb": naive.SWUCB,
        "tsrc": naive_attentive.TSRC,
        "ucb1": naive.UCB1,
        "uniform": naive.Uniform,
        **naive_dal.TWINS,
        **naive_ucbs.TWINS,
        "wtsrc": naive_attentive.WTSRC,
    }
    return twins[name](levels, n_actions, **parameters)


def cut(replay: Replay, rounds: int) -> Replay:
    """Keep the first rounds only; the truth is then that of the short table."""
    return Replay(
        replay.contexts[:rounds],
        replay.rewards[:rounds],
        replay.costs[:rounds],
        replay.free,
        problem=replay.problem,
        reward_changes=[t for t in replay.reward_changes if t < rounds],
        cost_changes=[t for t in replay.cost_changes if t < rounds],
    )


def assert_like_the_twin(name: str, replay: Replay, seed: int, **parameters: Any) -> None:
    rounds = replay.horizon
    run = simulate(name, replay, seeds=[seed], **parameters)[0]
    draws = generator(policy_seed(seed)).random((rounds, DRAWS.get(name, 0)))
    twin = twin_of(name, replay, rounds, **parameters)
    tables = (replay.contexts, replay.rewards, replay.costs)
    assert_same(run, naive.run(twin, *tables, draws, replay.free.tolist()))


@pytest.mark.parametrize("seed", range(4) if COMPILED else range(2))
@pytest.mark.parametrize("name", COMPILED_POLICIES)
def test_the_twins_in_a_small_world(name: str, seed: int) -> None:
    replay = cut(world_of("small", seed), 120)
    assert_like_the_twin(name, replay, seed, **PARAMETERS.get(name, {}))


@pytest.mark.parametrize("seed", range(3) if COMPILED else range(1))
@pytest.mark.parametrize("name", COMPILED_POLICIES)
def test_the_twins_with_free_values(name: str, seed: int) -> None:
    replay = cut(with_free_values(seed), 120)
    assert_like_the_twin(name, replay, seed, **PARAMETERS.get(name, {}))


@pytest.mark.parametrize("name", COMPILED_POLICIES)
def test_the_twins_in_the_nursery(name: str) -> None:
    slow = name.startswith(("dal-ncc", "ncc", "sim"))
    rounds = (60 if slow else 250) if COMPILED else 45
    assert_like_the_twin(name, cut(nursery.shuffled(3), rounds), 3, **PARAMETERS.get(name, {}))


LINEAR = [
    "adaptive-ts",
    "particle-learning",
    *(name for name in COMPILED_POLICIES if "linucb" in name),
]


@pytest.mark.parametrize("name", LINEAR)
def test_the_linear_twins_with_indicators(name: str) -> None:
    replay = cut(world_of("small", 1), 120)
    assert_like_the_twin(name, replay, 1, encoding="one-hot", **PARAMETERS.get(name, {}))


def test_the_oracle_knows_the_tables_of_its_world() -> None:
    # In a World the plan comes from the true means, not from the means of what was drawn.
    replay = SMALL_WORLD.draw(seed=2)
    truth = SMALL_WORLD.truth
    run = simulate("oracle", SMALL_WORLD, seeds=[2])[0]
    for t in (0, ROUNDS // 3, ROUNDS // 2, ROUNDS - 1):
        masks = list(naive.subsets(3))
        gains = [truth.best_gain(mask, t) for mask in masks]
        assert tuple(run.observed[t].tolist()) == masks[int(np.argmax(gains))]
        mean = truth.mean_rewards(run.observed[t])[truth.reward_piece[t]]
        agree = (truth.states == replay.contexts[t])[:, run.observed[t]].all(axis=1)
        state = truth.partial_states(run.observed[t])[agree][0]
        assert run.actions[t] == np.argmax(mean[:, state])
