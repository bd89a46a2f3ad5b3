"""Many seeds at once: paired, reproducible, whatever the number of workers."""

from typing import Any

import numpy as np
import pytest

from thrifty.checks import check_environment
from thrifty.environment import Environment
from thrifty.environments import Replay, World, nursery
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.policies import POLICIES
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, Run
from thrifty.seeds import Seed, environment_seed, generator
from thrifty.simulation import simulate

WORLD = World.random(levels=(2, 3), n_actions=2, rounds=80, reward_changes=(40,), seed=4)
NCC: dict[str, Any] = {"window": 30, "cost_range": 0.05, "sweep_first": True}


class EndlessCoins:
    """A world in plain Python: one coin is shown for a price, another one pays. It has no draw."""

    problem = Problem.anonymous(levels=(2,), n_actions=2)

    def __init__(self) -> None:
        self.reset(seed=0)

    def reset(self, *, seed: Seed = None) -> None:
        if seed is not None:
            self.coins = generator(seed).integers(0, 2, (50, 2))
        self.round = 0

    def known(self) -> Observation:
        return Observation.nothing(self.problem)

    def reveal(self, purchase: Purchase) -> Observation:
        shown = self.coins[self.round % 50, :1]
        return Observation(
            np.where(purchase.mask, shown, -1),
            np.where(purchase.mask, 0.25, np.nan),
            purchase.purpose,
        )

    def step(self, action: int) -> float:
        reward = float(self.coins[self.round % 50, 1] == action)
        self.round += 1
        return reward


class Coins(EndlessCoins):
    horizon = 50


def assert_same(one: Run, other: Run) -> None:
    for name in ("observed", "actions", "rewards", "costs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("environment", [WORLD, nursery.shuffled, Coins()])
def test_the_number_of_workers_does_not_matter(environment: Any) -> None:
    expected = simulate("ncc-ucrl2", environment, seeds=range(6), workers=1, rounds=50, **NCC)
    for workers in (2, 4, None):
        found = simulate(
            "ncc-ucrl2", environment, seeds=range(6), workers=workers, rounds=50, **NCC
        )
        assert_same(found, expected)


@pytest.mark.parametrize("environment", [WORLD, nursery.shuffled, Coins()])
@pytest.mark.parametrize("name", ["ncc-ucrl2-published", "uniform"])
def test_a_run_depends_on_its_own_seed_only(name: str, environment: Any) -> None:
    expected = simulate(name, environment, seeds=range(5), rounds=50)
    for seeds in ([4, 0, 2], [3], [1, 1]):
        for seed, run in zip(
            seeds, simulate(name, environment, seeds=seeds, rounds=50), strict=True
        ):
            assert_same(run, expected[seed])


def test_seeds_differ() -> None:
    runs = simulate("uniform", WORLD, seeds=range(20))
    assert len({run.actions.tobytes() for run in runs}) == 20
    assert len({run.rewards.tobytes() for run in runs}) == 20


def test_runs_of_two_policies_are_paired() -> None:
    # Both buy everything, so what they pay is what the world drew.
    paid = [simulate(name, WORLD, seeds=range(4)).costs for name in ("linucb", "ps-linucb")]
    drawn = [WORLD.draw(environment_seed(seed)).costs.sum(axis=1) for seed in range(4)]
    np.testing.assert_array_equal(paid[0], paid[1])
    np.testing.assert_allclose(paid[0], drawn, rtol=1e-12)


def test_a_plain_environment_is_paired_too_and_left_as_it_was() -> None:
    coins = Coins()
    coins.reveal(Purchase([True]))
    coins.step(0)
    before = coins.coins.copy()
    runs = simulate("linucb", coins, seeds=range(3))
    for seed, run in zip(range(3), runs, strict=True):
        world = Coins()
        world.reset(seed=environment_seed(seed))
        np.testing.assert_array_equal(run.rewards, world.coins[:, 1] == run.actions)
    assert coins.round == 1
    np.testing.assert_array_equal(coins.coins, before)


def test_a_function_makes_the_environment_of_each_seed() -> None:
    asked: list[int] = []

    def make(seed: int) -> Replay:
        asked.append(seed)
        return nursery.shuffled(seed)

    runs = simulate("linucb", make, seeds=[7, 3], rounds=20)
    assert sorted(asked) == [3, 7]
    for seed, run in zip((7, 3), runs, strict=True):
        np.testing.assert_allclose(
            run.costs, nursery.shuffled(seed).costs[:20].sum(axis=1), rtol=1e-12
        )


def test_a_table_is_the_same_for_every_seed() -> None:
    replay = WORLD.draw(seed=1)
    runs = simulate("ucb1", replay, seeds=range(3))
    for run in runs:
        assert_same(run, runs[0])


def test_a_policy_gets_the_number_of_rounds_as_its_horizon_unless_told_another() -> None:
    # log(T A Psi w / delta) grows with T: with less of a horizon the radii are smaller.
    world = World.random(levels=(2,), n_actions=2, rounds=300, prices=(0, 0), seed=2)
    chosen: dict[str, Any] = {"window": 300, "delta": 0.9, "cost_range": 0.0}
    by_default = simulate("ncc-ucrl2", world, seeds=range(8), **chosen)
    told_the_same = simulate("ncc-ucrl2", world, seeds=range(8), horizon=300, **chosen)
    told_another = simulate("ncc-ucrl2", world, seeds=range(8), horizon=10**9, **chosen)
    assert_same(by_default, told_the_same)
    assert (by_default.actions != told_another.actions).any()


def test_fewer_rounds_can_be_played() -> None:
    runs = simulate("ucb1", WORLD, seeds=[0, 1], rounds=10)
    assert runs.actions.shape == (2, 10)
    whole = simulate("ucb1", WORLD, seeds=[0, 1])
    np.testing.assert_array_equal(whole.actions[:, :10], runs.actions)


def test_an_environment_without_an_end_needs_a_number_of_rounds() -> None:
    assert simulate("ucb1", EndlessCoins(), seeds=[0], rounds=5).rounds == 5
    with pytest.raises(InvalidParameter, match=r"never ends.*rounds="):
        simulate("ucb1", EndlessCoins(), seeds=[0])


@pytest.mark.parametrize("workers", [1, 3])
def test_progress_is_told_of_every_seed_once(workers: int) -> None:
    done: list[int] = []
    simulate("uniform", WORLD, seeds=[5, 2, 9, 4], workers=workers, progress=done.append)
    assert sorted(done) == [2, 4, 5, 9]


def test_seeds_may_be_any_whole_numbers() -> None:
    seeds = [np.int64(3), 2**70]
    runs = simulate("uniform", WORLD, seeds=seeds)  # type: ignore[arg-type]
    assert runs.seeds == (3, 2**70)
    assert all(type(seed) is int for seed in runs.seeds)


@pytest.mark.parametrize("seeds", [[-1], [0.5], ["1"], [True], [None]])
def test_a_seed_that_is_none_is_refused(seeds: Any) -> None:
    with pytest.raises(InvalidParameter, match="seed"):
        simulate("uniform", WORLD, seeds=seeds)


def test_no_seeds_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="no seeds"):
        simulate("uniform", WORLD, seeds=[])


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_a_number_of_workers_that_is_none_is_refused(workers: Any) -> None:
    with pytest.raises(InvalidParameter, match="workers is"):
        simulate("uniform", WORLD, seeds=[0], workers=workers)


@pytest.mark.parametrize(
    ("rounds", "culprit"), [(0, "rounds is 0"), (81, "rounds is 81"), (1.0, "1.0")]
)
def test_a_number_of_rounds_that_cannot_be_played_is_refused(rounds: Any, culprit: str) -> None:
    with pytest.raises(InvalidParameter, match=culprit):
        simulate("uniform", WORLD, seeds=[0], rounds=rounds)


@pytest.mark.parametrize("name", POLICIES)
def test_an_unknown_parameter_is_refused_by_name(name: str) -> None:
    for parameter in ("windows", "problem", "seed", "make", "world"):
        given: dict[str, Any] = {parameter: 3}
        with pytest.raises(InvalidParameter, match=f"'{parameter}'"):
            simulate(name, WORLD, seeds=[0], **given)


def test_a_parameter_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 2"):
        simulate("ncc-ucrl2", WORLD, seeds=[0], delta=2)


def test_an_unknown_policy_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"'nccucrl2'.*ncc-ucrl2"):
        simulate("nccucrl2", WORLD, seeds=[0])


def test_the_oracle_needs_a_world_that_tells_the_truth() -> None:
    with pytest.raises(InvalidParameter, match="truth"):
        simulate("oracle", Coins(), seeds=[0])


@pytest.mark.parametrize(
    "environment",
    [
        nursery.published(),
        nursery.shuffled(1),
        nursery.stationary(1),
        nursery.tuning(),
        WORLD,
    ],
    ids=["published", "shuffled", "stationary", "tuning", "world"],
)
def test_our_environments_keep_the_promises_of_their_interface(environment: Environment) -> None:
    check_environment(environment)


def test_one_worker_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.simulation.ThreadPoolExecutor", None)
    assert len(simulate("uniform", WORLD, seeds=[1, 2], workers=1).seeds) == 2
    assert len(simulate("uniform", WORLD, seeds=[1], workers=4).seeds) == 1
