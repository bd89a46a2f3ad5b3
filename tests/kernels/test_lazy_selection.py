"""Lazy selection of the observation set against going through all subsets, every round."""

import os
from collections.abc import Callable
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import naive
from thrifty.environments import Replay
from thrifty.kernels.ncc import partial_states
from thrifty.policies import NCCUCRL2, SimOOS
from thrifty.problem import Problem
from thrifty.rounds import Observation

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
HISTORIES = 10 if COMPILED else 4
OPTIONS = ("sweep_first", "simplex", "unseen_mass", "whole_window", "last_tie")
REPAIRS: dict[str, tuple[Any, ...]] = {
    "unseen": (None, 0.5, 0.7),
    "reward_scale": (0.0, 0.05, 1.0),
    "cost_scale": (0.02, 1.0),
    "probability_scale": (0.0, 0.5, 1.0),
    "clip": (False, True),
    "observed_range": (False, True),
}
LEVELS = [(3,), (2, 3), (1, 2, 2), (2, 2, 1, 3), (2, 1, 2, 2, 1), (2, 1, 2, 1, 2, 1)]
REWARDS = ("binary", "eighths", "floats")
COSTS = ("zero", "equal", "sixteenths", "floats")


def numbers_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    made: dict[str, Callable[[], NDArray[Any]]] = {
        "binary": lambda: rng.integers(0, 2, shape),
        "eighths": lambda: rng.integers(0, 9, shape) / 8,
        "tenths": lambda: rng.integers(0, 11, shape) / 10,
        "zero": lambda: np.zeros(shape),
        "equal": lambda: np.full(shape, 0.0625),
        "sixteenths": lambda: rng.integers(0, 5, shape) / 16,
        "floats": lambda: rng.random(shape),
    }
    return made[kind]().astype(np.float64)


class Pair:
    """A policy and its twin, taken through the same rounds."""

    def __init__(self, policy: Any, twin: naive.Lookers, seed: int) -> None:
        self.policy, self.twin = policy, twin
        self.draws = np.random.default_rng(seed)
        self.problem: Problem = policy.problem
        self.bought: list[tuple[bool, ...]] = []

    def choose_alike(self) -> tuple[tuple[bool, ...], int]:
        mask, purpose = self.twin.choose_features()
        found = self.policy.choose_features()
        assert (tuple(found.mask.tolist()), found.purpose) == (mask, purpose)
        self.bought.append(mask)
        return mask, purpose

    def act_alike(self, seen: Observation, available: NDArray[np.bool_]) -> int:
        action = self.twin.choose_action(
            tuple(seen.codes.tolist()),
            self.draws.random(1).tolist(),
            seen.purpose,
            np.flatnonzero(available).tolist(),
        )
        assert self.policy.choose_action(seen, available=available) == action
        return action

    def learn(self, seen: Observation, action: int, reward: float) -> None:
        self.policy.update(seen, action, reward)
        self.twin.update(
            tuple(seen.codes.tolist()), seen.costs.tolist(), action, reward, seen.purpose
        )

    def follow(
        self, rng: np.random.Generator, rounds: int, rewards: str, costs: str, *, forced: bool
    ) -> None:
        """Choose alike in every round; if `forced`, play something else than what was chosen."""
        n, levels = self.problem.n_features, self.problem.levels
        for _ in range(rounds):
            mask, purpose = self.choose_alike()
            if forced:
                mask = tuple((rng.random(n) < rng.random()).tolist())
                purpose = int(rng.random() < 0.2)
            prices = numbers_of(costs, (n,), rng)
            seen = Observation(
                np.where(mask, rng.integers(0, levels), -1),
                np.where(mask, prices, np.nan),
                purpose,
            )
            available = rng.random(self.problem.n_actions) < 0.7
            available[rng.integers(self.problem.n_actions)] = True
            action = self.act_alike(seen, available)
            if forced:
                action = int(rng.integers(self.problem.n_actions))
            self.learn(seen, action, float(numbers_of(rewards, (1,), rng)[0]))


def ncc_pair(levels: tuple[int, ...], n_actions: int, seed: int, **settings: Any) -> Pair:
    problem = Problem.anonymous(levels, n_actions)
    policy = NCCUCRL2(problem, seed=np.random.default_rng(seed), **settings)
    return Pair(policy, naive.NCCUCRL2(levels, n_actions, **settings), seed)


def sim_oos_pair(levels: tuple[int, ...], n_actions: int, seed: int, **settings: Any) -> Pair:
    problem = Problem.anonymous(levels, n_actions)
    policy = SimOOS(problem, seed=np.random.default_rng(seed), **settings)
    return Pair(policy, naive.SimOOS(levels, n_actions, **settings), seed)


def random_settings(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: bool(rng.random() < 0.5) for name in OPTIONS}
    window = int(rng.choice([1, 2, 5, rounds // 2, rounds, 3 * rounds]))
    cost_range = float(rng.choice([0.0, 0.0625, 0.25, 1.0]))
    delta = float(rng.choice([0.01, 0.5, 0.99]))
    return chosen | {
        "horizon": rounds,
        "window": window,
        "cost_range": cost_range,
        "delta": delta,
    }


# Numbers to check by hand.


def test_at_first_everything_is_bought_if_costs_may_be_negative_and_nothing_if_not() -> None:
    for cost_range, mask in ((0.5, (True, True)), (0.0, (False, False))):
        pair = ncc_pair((2, 2), 2, 0, horizon=10, window=5, delta=0.5, cost_range=cost_range)
        assert pair.choose_alike() == (mask, 0)


def test_if_everything_ties_the_first_set_is_bought() -> None:
    pair = ncc_pair((2, 2), 2, 0, horizon=10, window=5, delta=0.5, cost_range=0.0)
    assert pair.choose_alike() == ((False, False), 0)
    # The empty set now holds a pair worth 0 + 1 and one worth 1: it ties with all others still.
    pair.learn(Observation([-1, -1], [np.nan, np.nan]), 0, 0.0)
    assert pair.choose_alike() == ((False, False), 0)


def test_a_reward_makes_its_set_the_best() -> None:
    pair = ncc_pair((2, 2), 2, 0, horizon=10, window=5, delta=0.5, cost_range=0.0)
    # {feature 2} has seen one state, which is worth 1/2 + 1: V = 1.5 - 0.
    pair.learn(Observation([-1, 1], [np.nan, 0.0]), 0, 0.5)
    assert pair.choose_alike() == ((False, True), 0)
    assert pair.twin.worth == {
        (False, False): 1.0,
        (False, True): 1.5,
        (True, False): 1.0,
        (True, True): 1.0,
    }


def test_what_leaves_the_window_counts_no_more() -> None:
    pair = ncc_pair((2, 2), 2, 0, horizon=10, window=3, delta=0.5, cost_range=0.0)
    pair.learn(Observation([-1, 1], [np.nan, 0.0]), 0, 0.5)
    for _ in range(2):  # a window of 3 holds t - 2 and t - 1
        assert pair.choose_alike() == ((False, True), 0)
        pair.learn(Observation([-1, -1], [np.nan, np.nan]), 0, 0.0)
    assert pair.choose_alike() == ((False, False), 0)


def test_of_64_features_the_last_one_comes_first() -> None:
    # {feature 1} is the mask 2^63, a negative number in 64 bits; {feature 64} is the mask 1.
    policy = NCCUCRL2(
        Problem.anonymous((1,) * 64, 2), horizon=10, window=9, delta=0.5, cost_range=0.0
    )
    for i in (0, 63, 1):
        bought = np.arange(64) == i
        policy.update(Observation(np.where(bought, 0, -1), np.where(bought, 0.0, np.nan)), 0, 0.5)
    assert np.flatnonzero(policy.choose_features().mask).tolist() == [63]


def test_of_64_features_the_first_set_of_which_nothing_is_known_is_found() -> None:
    # log(T A Psi_tot w / delta) is 54, and after 99 rewards of 0 the empty set, then {feature 64},
    # are worth less than 1, which everything else is worth.
    policy = NCCUCRL2(
        Problem.anonymous((1,) * 64, 1), horizon=200, window=200, delta=0.5, cost_range=0.0
    )
    for expected, bought in (([], [63]), ([63], [62])):
        for _ in range(99):
            mask = np.isin(np.arange(64), expected)
            seen = Observation(np.where(mask, 0, -1), np.where(mask, 0.0, np.nan))
            policy.update(seen, 0, 0.0)
        assert np.flatnonzero(policy.choose_features().mask).tolist() == bought


def test_what_was_never_tried_is_worth_less_than_what_pays() -> None:
    repaired = {"unseen": 0.75, "reward_scale": 0.0, "probability_scale": 0.0, "clip": True}
    pair = ncc_pair((2, 2), 2, 0, horizon=10, window=9, delta=0.5, cost_range=0.0, **repaired)
    # {feature 2} has seen one state, which is worth 0 and 0.75, whatever is tried next: a tie.
    pair.learn(Observation([-1, 1], [np.nan, 0.0]), 0, 0.0)
    assert pair.choose_alike() == ((False, False), 0)
    # Another state pays 1. Half of the rounds had it: V = (1 + 0.75) / 2.
    pair.learn(Observation([-1, 0], [np.nan, 0.0]), 0, 1.0)
    assert pair.choose_alike() == ((False, True), 0)
    assert pair.twin.worth == {
        (False, False): 0.75,
        (False, True): 0.875,
        (True, False): 0.75,
        (True, True): 0.75,
    }


def test_clipped_rewards_are_at_most_1_and_others_at_most_their_mean_plus_1() -> None:
    for clip, values in ((False, [1.5, 1.0]), (True, [1.0, 1.0])):
        pair = ncc_pair((2,), 2, 0, horizon=10, window=9, delta=0.5, clip=clip)
        pair.learn(Observation([1], [0.25]), 0, 0.5)
        assert pair.policy.action_values(Observation([1], [0.25])).tolist() == values
        assert pair.twin.values((1,)) == values


def test_the_radius_of_costs_is_in_units_of_the_costs_paid() -> None:
    pair = ncc_pair((2, 2), 2, 0, horizon=10, window=9, delta=0.5, observed_range=True)
    assert pair.choose_alike() == ((False, False), 0)  # no range is known yet
    pair.learn(Observation([1, 1], [0.25, 0.5]), 0, 0.5)
    # Prices of 0.25 - 0.25 and of 0.5 - 0.25, and {1, 2} is worth 1.5, so that it is the best.
    assert pair.choose_alike() == ((True, True), 0)
    assert isinstance(pair.twin, naive.NCCUCRL2)
    assert pair.twin.prices() == [0.0, 0.25]
    assert pair.twin.worth[True, True] == 1.25


# Random histories.


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("levels", LEVELS)
def test_random_histories(levels: tuple[int, ...], forced: bool) -> None:
    rng = np.random.default_rng([len(levels), forced])
    for k in range(HISTORIES):
        rounds = 40 if len(levels) > 4 else 60
        pair = ncc_pair(levels, int(rng.integers(1, 4)), k, **random_settings(rng, rounds))
        rewards, costs = str(rng.choice(REWARDS)), str(rng.choice(COSTS))
        pair.follow(rng, rounds, rewards, costs, forced=forced)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("levels", LEVELS)
def test_random_histories_of_repairs(levels: tuple[int, ...], forced: bool) -> None:
    rng = np.random.default_rng([len(levels), forced, 2])
    for k in range(HISTORIES):
        rounds = 40 if len(levels) > 4 else 60
        repairs = {name: values[rng.integers(len(values))] for name, values in REPAIRS.items()}
        chosen = random_settings(rng, rounds) | repairs
        pair = ncc_pair(levels, int(rng.integers(1, 4)), k, **chosen)
        rewards, costs = str(rng.choice(REWARDS)), str(rng.choice(COSTS))
        pair.follow(rng, rounds, rewards, costs, forced=forced)


@pytest.mark.skipif(not COMPILED, reason="a thousand sets a round take too long twice")
@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("levels", [(3,) * 7, (2,) * 8, (1, 2) * 5])
def test_as_many_features_as_can_be_enumerated(levels: tuple[int, ...], forced: bool) -> None:
    rng = np.random.default_rng([len(levels), forced])
    for k, cost_range in enumerate((0.0, 0.0625)):
        settings = {"horizon": 1000, "window": 8, "delta": 0.5, "cost_range": cost_range}
        pair = ncc_pair(levels, 3, k, **settings)
        pair.follow(rng, 5, "eighths", "sixteenths", forced=forced)


@pytest.mark.parametrize("options", list(product([False, True], repeat=len(OPTIONS))))
def test_every_combination_of_options(options: tuple[bool, ...]) -> None:
    rng = np.random.default_rng(7)
    chosen = dict(zip(OPTIONS, options, strict=True))
    for k, (rewards, costs) in enumerate((("binary", "equal"), ("eighths", "sixteenths"))):
        pair = ncc_pair((2, 3), 2, k, horizon=40, window=30, delta=0.9, cost_range=0.0625, **chosen)
        pair.follow(rng, 40, rewards, costs, forced=bool(k))


@pytest.mark.parametrize("levels", [(2, 2), (2, 2, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("forced", [True, False])
def test_free_features_and_no_optimism_about_costs(levels: tuple[int, ...], forced: bool) -> None:
    rng = np.random.default_rng(3)
    for k, window in enumerate((1, 4, 100)):
        pair = ncc_pair(levels, 2, k, horizon=40, window=window, delta=0.5, cost_range=0.0)
        pair.follow(rng, 40, "binary", "zero", forced=forced)


def test_the_general_solver_chooses_the_same() -> None:
    rng = np.random.default_rng(4)
    for k, (simplex, unseen_mass) in enumerate(product([False, True], repeat=2)):
        chosen = {"simplex": simplex, "unseen_mass": unseen_mass, "cost_range": 0.0625}
        pair = ncc_pair((2, 2), 2, k, horizon=15, window=10, delta=0.5, **chosen)
        pair.twin.by_lp = True
        pair.follow(rng, 15, "eighths", "sixteenths", forced=True)


def test_long_histories_bring_every_radius_below_its_bound() -> None:
    rng = np.random.default_rng(5)
    rounds = 400 if COMPILED else 120
    pair = ncc_pair((2,), 2, 0, horizon=rounds, window=2 * rounds, delta=0.99)
    pair.follow(rng, rounds, "binary", "floats", forced=True)
    twin = pair.twin
    assert isinstance(twin, naive.NCCUCRL2)
    assert twin.cost_radius(rounds // 2) < 1
    assert twin.reward_radius(rounds // 4) < 1
    assert twin.probability_radius(rounds // 2) < 1 or not COMPILED


def test_actions_tie_whatever_the_order_of_their_rewards() -> None:
    rng = np.random.default_rng(6)
    for k in range(4):
        pair = ncc_pair((1,), 3, k, horizon=200, window=8, delta=0.5, cost_range=0.0)
        pair.follow(rng, 200, "tenths", "zero", forced=True)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("levels", LEVELS)
def test_sim_oos_on_random_histories(levels: tuple[int, ...], forced: bool) -> None:
    rng = np.random.default_rng([len(levels), forced, 1])
    for k in range(HISTORIES // 2):
        rounds = 2 ** len(levels) + 40
        delta, simplex = float(rng.choice([0.01, 0.8])), bool(rng.random() < 0.5)
        pair = sim_oos_pair(levels, int(rng.integers(1, 4)), k, delta=delta, simplex=simplex)
        if k % 2:
            prices = numbers_of("sixteenths", (len(levels),), rng)
            pair.policy.read_price_list(prices)
            pair.twin.read_prices(prices.tolist())
        rewards, costs = str(rng.choice(REWARDS)), str(rng.choice(COSTS))
        pair.follow(rng, rounds, rewards, costs, forced=forced)


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 40),
    st.sampled_from([0.0, 0.0625, 1.0]),
    st.tuples(*[st.booleans()] * len(OPTIONS)),
    st.sampled_from(REWARDS),
    st.sampled_from(COSTS),
    st.integers(0, 2**32),
)
@settings(derandomize=True, deadline=None, max_examples=60 if COMPILED else 15)
def test_whatever_the_problem_and_the_options(
    levels: list[int],
    n_actions: int,
    window: int,
    cost_range: float,
    options: tuple[bool, ...],
    rewards: str,
    costs: str,
    seed: int,
) -> None:
    chosen: dict[str, Any] = dict(zip(OPTIONS, options, strict=True))
    chosen |= {"horizon": 25, "window": window, "delta": 0.5, "cost_range": cost_range}
    pair = ncc_pair(tuple(levels), n_actions, seed, **chosen)
    pair.follow(np.random.default_rng(seed), 25, rewards, costs, forced=True)


# Growing tables.


def with_little_room(policy: Any) -> Any:
    """Give a policy tables that must grow at once and again and again."""
    tables = partial_states.initial(
        policy.problem.levels, policy.problem.n_actions, sets=2, cells=4
    )
    changed: dict[str, Any] = {"tables": tables}
    if isinstance(policy, SimOOS):
        changed["planned_pulls"] = np.zeros_like(tables.pulls)
        changed["planned_sums"] = np.zeros_like(tables.sums)
    policy._state = policy._state._replace(**changed)
    return policy


@pytest.mark.parametrize("name", ["NCCUCRL2", "SimOOS"])
@pytest.mark.parametrize("forced", [True, False])
def test_growth_changes_nothing(name: str, forced: bool) -> None:
    rng = np.random.default_rng(8)
    rounds = 100 if COMPILED else 60
    chosen = {"horizon": rounds, "window": 20, "delta": 0.5, "cost_range": 0.0625}
    for k in range(3):
        levels = (3, 2, 3)
        pair = (
            ncc_pair(levels, 2, k, **chosen) if name == "NCCUCRL2" else sim_oos_pair(levels, 2, k)
        )
        with_little_room(pair.policy)
        pair.follow(rng, rounds, "eighths", "sixteenths", forced=forced)
        assert pair.policy.get_state()["tables.sets"].size > 2


def test_growth_in_the_compiled_loop_changes_nothing() -> None:
    rng = np.random.default_rng(9)
    rounds, problem = 200, Problem.anonymous((3, 2, 3), 2)
    world = Replay(
        rng.integers(0, problem.levels, (rounds, 3)),
        numbers_of("binary", (rounds, 2), rng),
        numbers_of("sixteenths", (rounds, 3), rng),
        problem=problem,
    )
    played = []
    for shrink in (False, True):
        policy = NCCUCRL2.published(problem, horizon=rounds, window=20, seed=1)
        if shrink:
            with_little_room(policy)
        out = (
            np.zeros((rounds, 3), np.bool_),
            np.zeros(rounds, np.int64),
            np.zeros(rounds),
            np.zeros(rounds),
        )
        policy.run_compiled(world, out)
        played.append(out)
    for one, other in zip(*played, strict=True):
        np.testing.assert_array_equal(one, other)
