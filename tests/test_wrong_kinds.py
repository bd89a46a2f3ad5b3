"""Input of the wrong kind, through every door: an error of our tree, never one of Python's own."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thrifty import (
    NCCUCRL2,
    SWUCB,
    UCB1,
    Agent,
    Feature,
    Observation,
    Oracle,
    Policy,
    Problem,
    Purchase,
    Replay,
    SimOOS,
    World,
    expected_regret,
    play,
    simulate,
)
from thrifty.environments import nursery
from thrifty.errors import InvalidObservation, InvalidTable, ThriftyError

PROBLEM = Problem.anonymous((2, 2), 2)
WORLD = World.random(levels=(2, 2), n_actions=2, rounds=20, seed=0)
HUGE = 10**400


class Undeclared(UCB1):
    def __init__(self, problem: Problem) -> None:
        Policy.__init__(self, problem, beta=1.0)


class Lists(UCB1):
    def _choose_features(self, known: Any) -> Any:
        return [True, False]


def changing(seed: int) -> Replay:
    rounds = 20 if seed else 200
    return World.random(levels=(2, 2), n_actions=2, rounds=rounds, seed=seed).draw(seed)


def growing(seed: int) -> Replay:
    levels = (2, 2, 2) if seed else (2, 2)
    return World.random(levels=levels, n_actions=2, rounds=20, seed=seed).draw(seed)


CALLS: dict[str, Callable[[Any], object]] = {
    "seeds=5": lambda _: simulate("ucb1", WORLD, seeds=5),  # type: ignore[arg-type]
    "a list as name": lambda _: simulate(["ucb1"], WORLD, seeds=[0]),  # type: ignore[arg-type]
    "a policy as its maker": lambda _: simulate(UCB1(PROBLEM), WORLD, seeds=[0]),  # type: ignore[arg-type]
    "a function without a seed": lambda _: simulate("ucb1", nursery.published, seeds=[0]),  # type: ignore[arg-type]
    "a class of worlds": lambda _: simulate("ucb1", World, seeds=[0]),  # type: ignore[arg-type]
    "a parameter of another policy": lambda _: Agent(PROBLEM, "sw-ucb", window=3),
    "the oracle as agent": lambda _: Agent(PROBLEM, "oracle"),
    "regret of no run": lambda _: expected_regret(WORLD, WORLD),  # type: ignore[arg-type]
    "regret in no world": lambda _: expected_regret(simulate("ucb1", WORLD, seeds=[0]), 3),  # type: ignore[arg-type]
    "no environment": lambda _: simulate("ucb1", None, seeds=[0]),  # type: ignore[arg-type]
    "a function that makes none": lambda _: simulate("ucb1", lambda _: 3, seeds=[0]),  # type: ignore[arg-type,return-value]
    "worlds of two lengths": lambda _: simulate("linucb", changing, seeds=[0, 1]),
    "worlds of two problems": lambda _: simulate("linucb", growing, seeds=[0, 1]),
    "a name as problem": lambda _: UCB1("x"),  # type: ignore[arg-type]
    "a name as policy": lambda _: play("ucb1", WORLD),  # type: ignore[arg-type]
    "a name as environment": lambda _: play(UCB1(PROBLEM), "x"),  # type: ignore[arg-type]
    "another problem": lambda _: play(UCB1(Problem.anonymous((2,), 2)), WORLD),
    "another truth": lambda _: Oracle(Problem.anonymous((2, 2), 5), truth=WORLD.truth),
    "huge alpha": lambda _: UCB1(PROBLEM, alpha=HUGE),
    "huge delta": lambda _: NCCUCRL2(PROBLEM, horizon=5, delta=HUGE),
    "huge tau": lambda _: SWUCB(PROBLEM, tau=10**30),
    "huge window": lambda _: NCCUCRL2(PROBLEM, horizon=10**30, window=10**30),
    "huge reward": lambda _: UCB1(PROBLEM).update(Observation([0, 0], [0, 0]), 0, HUGE),
    "huge cost": lambda _: Observation([0], [HUGE]),
    "huge price": lambda _: SimOOS(PROBLEM).read_price_list([HUGE, 1]),
    "words as prices": lambda _: SimOOS(PROBLEM).read_price_list(["a", "b"]),
    "words as costs": lambda _: Observation([0], ["a"]),
    "a ragged mask": lambda _: Purchase([[True], [True, False]]),
    "a ragged set of actions": lambda _: UCB1(PROBLEM).choose_action(
        Observation([0, 0], [0, 0]), available=[[True], [True, False]]
    ),
    "a word as observation": lambda _: UCB1(PROBLEM).update("x", 0, 0.5),  # type: ignore[arg-type]
    "a word as purpose": lambda _: Purchase([True], purpose="x"),  # type: ignore[arg-type]
    "half a purpose": lambda _: Observation([0], [0.1], purpose=1.5),  # type: ignore[arg-type]
    "a long purpose": lambda _: Observation([0], [0.1], purpose=2**70),
    "a string of levels": lambda _: Feature("a", "xyz"),  # type: ignore[arg-type]
    "a string of actions": lambda _: Problem((Feature("a", ("x",)),), "ab"),
    "names as features": lambda _: Problem(("a", "b"), ("x",)),  # type: ignore[arg-type]
    "a number of levels": lambda _: Feature("a", 3),  # type: ignore[arg-type]
    "an undeclared parameter": lambda _: Undeclared(PROBLEM),
    "a list as purchase": lambda _: Lists(PROBLEM).choose_features(),
    "a folder as file": lambda folder: Agent(PROBLEM, "ucb1").save(folder),
    "no file name": lambda _: Agent(PROBLEM, "ucb1").save(""),
    "a file that cannot be": lambda folder: Agent.load(f"{folder}/a\0b"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_is_one_of_ours(name: str, tmp_path: Path) -> None:
    with pytest.raises(ThriftyError):
        CALLS[name](tmp_path)


def test_unsigned_codes_do_not_wrap() -> None:
    with pytest.raises(InvalidObservation, match="9223372036854775808"):
        Observation(np.array([2**63, 0], dtype=np.uint64), [0.1, 0.1])


def test_many_levels_are_checked_quickly() -> None:
    names = tuple(str(k) for k in range(200_000))
    assert Feature("zip", names).levels == names


def test_a_policy_can_be_copied() -> None:
    policy = NCCUCRL2(PROBLEM, horizon=100, seed=1)
    twin = deepcopy(policy)
    assert (play(policy, WORLD).actions == play(twin, WORLD).actions).all()


def test_a_number_is_the_same_seed_everywhere() -> None:
    world = World.random(levels=(2, 3), n_actions=3, rounds=50, seed=0)
    problem = world.problem
    alone = play(NCCUCRL2(problem, horizon=50, seed=3), world.draw(3))
    among_others = simulate("ncc-ucrl2", world, seeds=[1, 3])[1]
    assert (alone.actions == among_others.actions).all()
    assert (alone.observed == among_others.observed).all()


def test_regret_wants_the_table_that_was_played() -> None:
    runs = simulate("uniform", WORLD, seeds=[0, 1])
    for run, seed in zip(runs, runs.seeds, strict=True):
        assert expected_regret(run, WORLD.draw(seed)).shape == (20,)
    of_all = expected_regret(runs, WORLD)
    assert (of_all[1] == expected_regret(runs[1], WORLD.draw(1))).all()
    assert (of_all == expected_regret(runs, WORLD.draw)).all()
    with pytest.raises(InvalidTable, match="the environment that simulate played"):
        expected_regret(runs, WORLD.draw(0))


def test_ones_own_policy_is_simulated_and_acts() -> None:
    class Mine(UCB1):
        """A policy that is not in the registry."""

    mine = simulate(Mine, WORLD, seeds=[0, 1], alpha=0.2)
    assert (mine.actions == simulate("ucb1", WORLD, seeds=[0, 1], alpha=0.2).actions).all()
    assert Agent(PROBLEM, Mine, seed=1, alpha=0.2).policy.parameters == {"alpha": 0.2}
