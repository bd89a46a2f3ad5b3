"""A policy's state: named arrays that another one of its kind goes on from."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from compiled_policies import COMPILED
from thrifty.archive import read_archive, write_archive
from thrifty.environments import Replay, World
from thrifty.errors import DamagedFile
from thrifty.kernels.runtime.steps import STEPS
from thrifty.playing import play
from thrifty.policies import NCCUCRL2, POLICIES, Uniform
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem

WORLD = World.random(levels=(2, 3), n_actions=3, rounds=60, seed=1).draw(seed=1)
FEWER_ACTIONS = World.random(levels=(2, 3), n_actions=2, rounds=60, seed=1).draw(seed=1)
FEWER_FEATURES = World.random(levels=(2,), n_actions=3, rounds=60, seed=1).draw(seed=1)


def made(name: str, world: Replay) -> CompiledPolicy:
    more: dict[str, Any] = {}
    if name.startswith("ncc"):
        more = {"horizon": 60, "window": 20}
    if name == "oracle":
        more = {"truth": world.truth}
    policy = POLICIES[name](world.problem, seed=0, **more)
    assert isinstance(policy, CompiledPolicy)
    return policy


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


@pytest.mark.parametrize("name", COMPILED)
def test_a_restored_policy_goes_on_like_the_one_that_was_saved(name: str) -> None:
    first = made(name, WORLD)
    play(first, WORLD, rounds=40)
    second = made(name, WORLD)
    second.set_state(first.get_state())
    second.rng.bit_generator.state = first.rng.bit_generator.state
    runs = [play(policy, WORLD) for policy in (first, second)]
    np.testing.assert_array_equal(runs[0].observed, runs[1].observed)
    np.testing.assert_array_equal(runs[0].actions, runs[1].actions)
    assert_same(first.get_state(), second.get_state())


@pytest.mark.parametrize("name", sorted(set(COMPILED) - {"oracle"}))  # nobody saves an oracle
def test_a_state_from_a_file_needs_no_compilation_of_its_own(name: str, tmp_path: Path) -> None:
    """A file does not keep how records are aligned, and a kernel is compiled for each kind."""
    first, second = made(name, WORLD), made(name, WORLD)
    write_archive(tmp_path / "state", {}, first.get_state())
    second.set_state(read_archive(tmp_path / "state")[1])
    assert numba.typeof(second._state) == numba.typeof(first._state)


@pytest.mark.parametrize("name", COMPILED)
def test_a_state_is_a_copy_going_out_and_coming_in(name: str) -> None:
    policy, other = made(name, WORLD), made(name, WORLD)
    state = policy.get_state()
    other.set_state(state)
    before = policy.get_state()
    play(other, WORLD)
    assert_same(policy.get_state(), before)
    assert_same(state, before)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("change", ["missing", "extra", "dtype"])
def test_arrays_of_other_names_or_types_are_refused(name: str, change: str) -> None:
    policy = made(name, WORLD)
    state = policy.get_state()
    first = next(iter(state))
    if change == "missing":
        del state[first]
    elif change == "extra":
        state["more"] = np.zeros(1)
    else:
        state[first] = np.zeros(state[first].shape, np.complex128)
    before = policy.get_state()
    with pytest.raises(DamagedFile, match=type(policy).__name__):
        policy.set_state(state)
    assert_same(policy.get_state(), before)


@pytest.mark.parametrize("name", sorted(set(COMPILED) - {"oracle", "uniform"}))
def test_the_state_of_another_problem_is_refused(name: str) -> None:
    # Compiled code does not check bounds, so such a state would be read and written past its end.
    policy = made(name, WORLD)
    before = policy.get_state()
    theirs = made(name, FEWER_ACTIONS).get_state()
    with pytest.raises(DamagedFile, match=type(policy).__name__):
        policy.set_state(theirs)
    assert_same(policy.get_state(), before)


@pytest.mark.parametrize(
    "name",
    [
        *[name for name in COMPILED if "linucb" in name],
        "adaptive-ts",
        "dal-ncc-ucrl2",
        "ncc-ucrl2",
        "oracle",
        "particle-learning",
        "sim-oos",
    ],
)
def test_the_state_of_a_problem_of_other_features_is_refused(name: str) -> None:
    policy = made(name, WORLD)
    before = policy.get_state()
    with pytest.raises(DamagedFile, match=type(policy).__name__):
        policy.set_state(made(name, FEWER_FEATURES).get_state())
    assert_same(policy.get_state(), before)


def test_tables_that_have_grown_are_taken() -> None:
    many = World.random(levels=(9, 9, 9, 9), n_actions=2, rounds=1200, joint=True, seed=1).draw(
        seed=1
    )
    first, second = (NCCUCRL2(many.problem, horizon=1200, seed=k) for k in range(2))
    play(first, many)
    second.set_state(first.get_state())
    assert_same(second.get_state(), first.get_state())
    assert len(first.get_state()["tables.cells"]) > 1024


def test_whole_numbers_do_not_compile_anything_again() -> None:
    problem = Problem.anonymous((2,), 2)
    states = [
        NCCUCRL2(problem, horizon=10, cost_range=1)._state,
        NCCUCRL2(problem, horizon=np.int64(10), window=np.int64(5), cost_range=1.0)._state,  # type: ignore[arg-type]
    ]
    kinds = [[type(value) for value in state.bounds] for state in states]
    assert kinds[0] == kinds[1]


def test_every_kind_of_state_has_steps() -> None:
    assert {type(made(name, WORLD)._state) for name in COMPILED} == set(STEPS)


def test_a_state_that_never_grows_says_so() -> None:
    with pytest.raises(AssertionError, match="Uniform's state never needs to grow"):
        Uniform(WORLD.problem)._grow()
