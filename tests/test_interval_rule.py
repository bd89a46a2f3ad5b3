"""The interval rule, measured in a small world that is known exactly.

A round that observed O and drew its action from the values of B alone, B within O, is an unbiased
sample of r(a, psi_J) for every J from B to O. First Scout's tables are filled by rounds of a fixed
rule, so that each cell holds a binomial number about the truth, or, outside the interval, about
another number that is known as exactly. Then Scout plays by itself, and the rewards of all its
rounds, less the truth, are a martingale, or, outside the interval, are not.
"""

import math
from functools import cache
from itertools import product
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import naive
import naive_scout
from thrifty.environments import World
from thrifty.kernels.scout import steps, subsets
from thrifty.policies import Scout
from thrifty.problem import Problem
from thrifty.rounds import Observation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SETS: tuple[naive_scout.Set, ...] = ((), (0,), (1,), (0, 1))
MASKS = {(): 0b00, (0,): 0b10, (1,): 0b01, (0, 1): 0b11}
ROUNDS = 40_000
FALSE_ALARMS = 1e-6
"""The chance that a comparison fails a correct program with another seed; there are about fifty."""
CLEAR_MARGIN = 0.08

WORLD = World(
    Problem.anonymous((2, 2), 2),
    probabilities=[[0.4, 0.1], [0.2, 0.3]],
    rewards=[[[[0.9, 0.5], [0.3, 0.1]], [[0.4, 0.4], [0.4, 0.4]]]],  # action, x0, x1
    costs=[[0.02, 0.02]],
    rounds=ROUNDS,
)
CHANCES = {
    (): np.full((2, 2), 0.5),
    (0,): np.array([[0.8, 0.8], [0.3, 0.3]]),
    (0, 1): np.array([[0.9, 0.5], [0.3, 0.1]]),
}
"""With which chance action 0 is taken in each state, for every basis."""


def mean_reward(
    features: naive_scout.Set, values: naive.Codes, action: int, chances: Floats
) -> float:
    """Return the mean of the rewards that this action got where psi_J has these values."""
    table = np.array(WORLD.truth.rewards[0])[action]
    taken = chances if action == 0 else 1 - chances
    mass = total = 0.0
    for k, x in enumerate(product((0, 1), repeat=2)):
        if all(x[i] == value for i, value in zip(features, values, strict=True)):
            share = WORLD.truth.probabilities[k] * taken[x]
            mass, total = mass + share, total + share * table.ravel()[k]
    return float(total / mass)


def truth(features: naive_scout.Set, values: naive.Codes, action: int) -> float:
    """Return r(a, psi_J): all states that agree count by their probability alone."""
    return mean_reward(features, values, action, np.ones((2, 2)) / 2)


def cells() -> list[naive_scout.Cell]:
    return [
        (features, values, action)
        for features in SETS
        for values in product((0, 1), repeat=len(features))
        for action in (0, 1)
    ]


def _teach(tables: Any, contexts: Ints, actions: Ints, rewards: Floats, rest: Any) -> None:
    basis, observed = rest
    for t in range(actions.size):
        subsets.find_cells(tables, observed, contexts[t])
        subsets.learn(tables, basis, observed, actions[t], rewards[t, actions[t]])


teach = numba.njit(_teach)


@cache
def estimates(
    acts_by: naive_scout.Set, taught_from: naive_scout.Set
) -> dict[naive_scout.Cell, tuple[int, float]]:
    """Return every cell's number of rewards and their sum.

    All is observed, the action rests on the first set, and the sets from the second one up learn.
    """
    replay = WORLD.draw(seed=1)
    chance = CHANCES[acts_by][replay.contexts[:, 0], replay.contexts[:, 1]]
    actions = (np.random.default_rng(2).random(ROUNDS) >= chance).astype(np.int64)
    tables = subsets.initial(WORLD.problem.levels, 2, 2)
    interval = (np.int64(MASKS[taught_from]), np.int64(0b11))
    teach(tables, replay.contexts, actions, replay.rewards, interval)
    found = {}
    for features, values, action in cells():
        place = sum(value << k for k, value in enumerate(values))
        row = int(tables.offsets[SETS.index(features)]) + place
        number = int(tables.wide_pulls[row, action])
        found[features, values, action] = (number, float(tables.wide_sums[row, action]))
    return found


def could_be(number: int, total: float, mean: float) -> bool:
    """Whether so many of so many rewards can be 1 if they are with this chance."""
    low = binom.ppf(FALSE_ALARMS / 2, number, mean)
    high = binom.isf(FALSE_ALARMS / 2, number, mean)
    return bool(low <= total <= high)


@pytest.mark.parametrize("basis", CHANCES)
def test_from_the_basis_up_every_table_is_unbiased(basis: naive_scout.Set) -> None:
    compared = 0
    for cell, (number, total) in estimates(basis, basis).items():
        assert (number > 0) == (set(basis) <= set(cell[0]))
        if number:
            assert could_be(number, total, truth(*cell)), cell
            compared += 1
    assert compared == sum(
        2 ** (len(features) + 1) for features in SETS if set(basis) <= set(features)
    )


def test_below_the_basis_tables_are_biased_by_as_much_as_can_be_computed() -> None:
    biased = estimates((0,), ())
    for cell, (number, total) in biased.items():
        assert could_be(number, total, mean_reward(*cell, CHANCES[0,])), cell
    for cell in (((), (), 0), ((1,), (0,), 0)):
        number, total = biased[cell]
        assert total / number > truth(*cell) + CLEAR_MARGIN
        assert not could_be(number, total, truth(*cell))


def test_the_numbers_by_hand() -> None:
    # Nothing observed: 0.4 0.9 + 0.1 0.5 + 0.2 0.3 + 0.3 0.1 = 0.5. Acting by x0 takes action 0 in
    # 0.8 and 0.3 of the rounds: (0.8 0.41 + 0.3 0.09)/(0.8 0.5 + 0.3 0.5) = 0.355/0.55.
    assert truth((), (), 0) == pytest.approx(0.5)
    assert mean_reward((), (), 0, CHANCES[0,]) == pytest.approx(0.355 / 0.55)
    assert mean_reward((0,), (0,), 0, CHANCES[0,]) == pytest.approx(truth((0,), (0,), 0)) == 0.82
    # A set beside the basis is no better off: x1 = 0 goes with x0 = 0, where action 0 is taken.
    assert truth((1,), (0,), 0) == pytest.approx((0.36 + 0.06) / 0.6)
    assert mean_reward((1,), (0,), 0, CHANCES[0,]) == pytest.approx(0.306 / 0.38)
    assert truth((0, 1), (0, 1), 0) == 0.5


@cache
def residuals() -> dict[tuple[str, naive_scout.Set, str], tuple[int, float, float]]:
    """Let Scout play; return sums of rewards less the truth, by kind of round, set and side.

    Each with the number of rewards and the sum of their variances. The side is where the set is:
    inside the interval from B to O, or outside of it.
    """
    rounds = 15_000
    replay = WORLD.draw(seed=3)
    policy = Scout(WORLD.problem, seed=4)
    names = {steps.EXPLOIT: "exploit", steps.EXPLORE: "explore", steps.PROBE: "probe"}
    found: dict[tuple[str, naive_scout.Set, str], tuple[int, float, float]] = {}
    for t in range(rounds):
        purchase = policy.choose_features()
        state = tuple(replay.contexts[t].tolist())
        codes = np.where(purchase.mask, state, -1)
        seen = Observation(
            codes, np.where(purchase.mask, replay.costs[t], np.nan), purchase.purpose
        )
        action = policy.choose_action(seen)
        reward = float(replay.rewards[t, action])
        observed = naive_scout.seen_in(codes.tolist())
        kind = names[purchase.purpose % steps.KINDS]
        in_use = SETS[purchase.purpose // steps.KINDS]
        basis = {"explore": (), "probe": in_use, "exploit": observed}[kind]
        for features in SETS:
            if set(features) <= set(observed):
                side = "inside" if naive_scout.between(basis, features, observed) else "outside"
                mean = truth(features, tuple(state[i] for i in features), action)
                number, total, variance = found.get((kind, features, side), (0, 0.0, 0.0))
                variance += mean * (1 - mean)
                found[kind, features, side] = (number + 1, total + reward - mean, variance)
        policy.update(seen, action, reward)
    return found


def largest_sum(variance: float) -> float:
    """Return what a martingale of steps of 1 at the most hardly exceeds, by Freedman."""
    log = math.log(2 / FALSE_ALARMS)
    return log / 3 + math.sqrt(log**2 / 9 + 2 * variance * log)


def test_what_scout_learns_by_the_rule_is_a_martingale_about_the_truth() -> None:
    inside = {key: features for key, features in residuals().items() if key[2] == "inside"}
    assert {kind for kind, _, _ in inside} == {"exploit", "explore", "probe"}
    assert {features for kind, features, _ in inside if kind == "explore"} == set(SETS)
    for key, (_, total, variance) in inside.items():
        assert abs(total) < largest_sum(variance), key


def test_what_scout_does_not_learn_would_have_misled_it() -> None:
    number, total, variance = residuals()["exploit", (), "outside"]
    assert number > 5000
    assert total / number > CLEAR_MARGIN
    assert total > 3 * largest_sum(variance)
