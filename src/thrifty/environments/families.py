"""Families of worlds: every seed is another world of the same kind, and its truth is exact.

Unless a family says otherwise, a world has 10,000 rounds, four changes of rewards and two of
prices at fixed shares of them, mean prices of U(.03, .08) with hardly any noise, rewards of 0 or 1,
and independent features, each with a distribution of levels drawn once. In a table of mean rewards
every state has one action that pays U(.7, 1) while the others pay U(0, .4), and each action is the
best one in as many states as any other (or one more), so there is always something to find out.

Most families take `changes`, so many changes of rewards at even distances; with 0 nothing ever
changes, prices neither.

>>> FAMILIES["xor-of-two"](0, rounds=500)
World(500 rounds, 8 features, 2 actions)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.schedule import Schedule
from thrifty.environments.streams import streams
from thrifty.environments.world import N_STREAMS, World
from thrifty.parameters import Whole, check_parameter
from thrifty.problem import Problem

Floats = NDArray[np.float64]
Rng = np.random.Generator

ROUNDS = 10_000
PRICES = (0.03, 0.08)
MODEST = (0.01, 0.04)
CHEAP = (0.005, 0.03)
REWARD_CHANGES = (0.15, 0.35, 0.6, 0.8)
COST_CHANGES = (0.4, 0.7)
MOST_CHANGES = 50
LEVELS = (3, 2, 4)
"""How many levels the features of random tables have, in turn."""


def random_tables(
    seed: int,
    *,
    n_features: int = 5,
    n_actions: int = 3,
    changes: int | None = None,
    rounds: int = ROUNDS,
) -> World:
    """Three features decide, by a table; after every change both are drawn anew.

    >>> random_tables(0, n_features=8, rounds=500).problem.levels.tolist()
    [3, 2, 4, 3, 2, 4, 3, 2]
    """
    check_parameter("n_features", n_features, Whole(1, 10), owner="random_tables")
    check_parameter("n_actions", n_actions, Whole(1), owner="random_tables")
    rng = _tables_stream(seed)
    levels = _levels(n_features)
    rewards = _random_rewards(rng, n_actions, levels, _periods(changes))
    return _world(seed, rng, _independent(rng, levels), rewards, changes=changes, rounds=rounds)


def one_relevant(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """One feature of five decides, always the same one.

    >>> one_relevant(0, rounds=500).truth.relevant.sum()
    np.int64(1)
    """
    rng = _tables_stream(seed)
    return _few_relevant(
        seed, rng, n_features=5, n_relevant=1, n_levels=3, changes=changes, rounds=rounds
    )


def all_relevant(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Four features of two levels decide together; prices are U(.02, .05).

    >>> all_relevant(0, rounds=500).truth.rewards.shape
    (5, 2, 16)
    """
    rng = _tables_stream(seed)
    levels = (2, 2, 2, 2)
    rewards = _stacked(lambda: _contrasted(rng, 2, levels), changes)
    joint = _independent(rng, levels)
    return _world(seed, rng, joint, rewards, changes=changes, rounds=rounds, prices=(0.02, 0.05))


def additive(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Each of five features adds its share: one action gains by its level, the others lose.

    The shares are .15, .14, .12, .06 and .03, in an order drawn once, about a mean of .5; prices
    are U(.01, .04).

    >>> table = additive(0, rounds=500).truth.rewards
    >>> bool(table.min() >= 0), bool(table.max() <= 1)
    (True, True)
    """
    rng = _tables_stream(seed)
    levels, n_actions = (3,) * 5, 3
    shares = rng.permutation([0.15, 0.14, 0.12, 0.06, 0.03])

    def table() -> Floats:
        means = np.full((n_actions, *levels), 0.5)
        for i, share in enumerate(shares):
            best = _one_hot(_best_actions(rng, n_actions, levels[i]), n_actions)
            means += _over((best * 2 - 1) * share, [i], levels)
        return means.clip(0, 1)  # the shares add up to .5 but for rounding

    joint = _independent(rng, levels)
    return _world(
        seed, rng, joint, _stacked(table, changes), changes=changes, rounds=rounds, prices=MODEST
    )


def xor_of_two(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Of eight binary features two decide, and only together; after every change two drawn anew.

    One action pays .85 where the two differ and .15 where they agree, the other one the reverse.
    All features are fair coins, so that any one of them tells nothing. Of 28 pairs the same one may
    be drawn again, and then even the same table.

    >>> plan = xor_of_two(0, rounds=500).truth.oracle_plan
    >>> plan.masks.sum(axis=1).tolist()
    [2, 2, 2, 2, 2, 2, 2]
    """
    rng = _tables_stream(seed)
    levels = (2,) * 8

    def table() -> Floats:
        return _xor(rng, sorted(rng.choice(8, size=2, replace=False).tolist()), levels)

    joint = np.full(levels, 0.5**8)
    return _world(seed, rng, joint, _stacked(table, changes), changes=changes, rounds=rounds)


def nothing_worth_buying(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Rewards depend on the action alone, with means of U(.1, .9); five features say nothing.

    >>> nothing_worth_buying(0, rounds=500).truth.oracle_plan.masks.any()
    np.False_
    """
    rng = _tables_stream(seed)
    rewards = _stacked(lambda: rng.uniform(0.1, 0.9, size=3), changes)
    nothing = _irrelevant(rng, (3,) * 5, [])
    return _world(
        seed, rng, np.ones(()), rewards, changes=changes, rounds=rounds, irrelevant=nothing
    )


def flipping_prices(seed: int, *, rounds: int = ROUNDS) -> World:
    """Two of five features always agree and decide; one is cheap (.02), one dear (.12), in turn.

    They change places at four rounds, and rewards change twice.

    >>> masks = flipping_prices(0, rounds=500).truth.oracle_plan.masks
    >>> len(np.unique(masks, axis=0))
    2
    """
    rng = _tables_stream(seed)
    twins = sorted(rng.choice(5, size=2, replace=False).tolist())
    changes = (0.2, 0.4, 0.6, 0.8)
    costs = rng.uniform(*PRICES, size=(len(changes) + 1, 5))
    costs[:, twins] = [(0.02, 0.12) if k % 2 else (0.12, 0.02) for k in range(len(costs))]
    alone = _stacked(lambda: _contrasted(rng, 3, (3,)), 2)
    return _world(
        seed,
        rng,
        np.diag(_distribution(rng, 3)),
        np.repeat(alone[..., None], 3, axis=-1),
        rounds=rounds,
        costs=costs,
        reward_changes=(0.3, 0.7),
        cost_changes=changes,
        irrelevant=_irrelevant(rng, (3,) * 5, twins),
    )


def dear_noisy_prices(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Random tables of five features; mean prices are U(0, .3) with standard deviation .1.

    >>> bool(dear_noisy_prices(0, rounds=500).truth.costs.max() > 0.2)
    True
    """
    rng = _tables_stream(seed)
    levels = _levels(5)
    rewards = _random_rewards(rng, 3, levels, _periods(changes))
    joint = _independent(rng, levels)
    return _world(
        seed, rng, joint, rewards, changes=changes, rounds=rounds, prices=(0.0, 0.3), cost_sd=0.1
    )


def gradual_drift(seed: int, *, rounds: int = ROUNDS) -> World:
    """Random tables of five features; four times rewards drift, a fifth of the rounds each.

    >>> len(gradual_drift(0, rounds=500).truth.rewards)
    45
    """
    rng = _tables_stream(seed)
    levels, changes = _levels(5), (0.05, 0.3, 0.55, 0.8)
    return _world(
        seed,
        rng,
        _independent(rng, levels),
        _random_rewards(rng, 3, levels, len(changes) + 1),
        rounds=rounds,
        reward_changes=changes,
        ramp=rounds // 5,
    )


def stationary(seed: int, *, rounds: int = ROUNDS) -> World:
    """Three features of five decide, by a table that never changes; nor do prices.

    >>> stationary(0, rounds=500).draw(0).reward_changes
    ()
    """
    rng = _tables_stream(seed)
    levels = _levels(5)
    return _world(
        seed,
        rng,
        _independent(rng, levels),
        _random_rewards(rng, 3, levels, 1),
        rounds=rounds,
        reward_changes=(),
        cost_changes=(),
    )


def recurring_regimes(seed: int, *, rounds: int = ROUNDS) -> World:
    """Three random tables of five features take turns, each three times.

    >>> tables = recurring_regimes(0, rounds=500).truth.rewards
    >>> len(tables), bool((tables[0] == tables[3]).all()), bool((tables[0] == tables[1]).all())
    (9, True, False)
    """
    rng = _tables_stream(seed)
    levels, periods = _levels(5), 9
    return _world(
        seed,
        rng,
        _independent(rng, levels),
        _random_rewards(rng, 3, levels, 3)[np.arange(periods) % 3],
        rounds=rounds,
        reward_changes=[k / periods for k in range(1, periods)],
    )


def graded_rewards(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Random tables of five features; rewards lie anywhere in [0, 1], with beta noise.

    >>> len(np.unique(graded_rewards(0, rounds=500).draw(0).rewards)) > 1000
    True
    """
    rng = _tables_stream(seed)
    levels = _levels(5)
    rewards = _random_rewards(rng, 3, levels, _periods(changes))
    joint = _independent(rng, levels)
    return _world(seed, rng, joint, rewards, changes=changes, rounds=rounds, reward_noise="beta")


def correlated_features(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Five features are blurred views of one hidden class, which decides.

    Each has a level for each of the three classes, shows it with probability .5 to .9 and
    otherwise any. So the features are dependent, one can stand in for another, and each more tells
    a little more. Prices are U(.01, .04).

    >>> world = correlated_features(0, rounds=500)
    >>> world.truth.states.shape
    (243, 5)
    """
    rng = _tables_stream(seed)
    classes, n_features = 3, 5
    joint = _distribution(rng, classes)  # of the class, then of the class and one feature more each
    for sharpness in rng.uniform(0.5, 0.9, size=n_features):
        shown = np.eye(classes)[rng.permutation(classes)] * sharpness + (1 - sharpness) / classes
        view = shown.reshape(classes, *(1,) * (joint.ndim - 1), classes)
        joint = joint[..., None] * view
    states = joint.sum(axis=0)
    hidden = _stacked(lambda: _contrasted(rng, 3, (classes,)), changes)
    rewards = np.einsum("kac,c...->ka...", hidden, joint / states)
    return _world(
        seed, rng, states, rewards.clip(0, 1), changes=changes, rounds=rounds, prices=MODEST
    )


def rare_states(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Two of five features decide; each is at one level in 90 % of the rounds.

    The other two levels have 7 and 3 %; prices are U(.005, .02).

    >>> rare_states(0, rounds=500).truth.probabilities.max().round(2)
    np.float64(0.81)
    """
    rng = _tables_stream(seed)
    uneven = [rng.permutation([0.9, 0.07, 0.03]) for _ in range(2)]
    return _few_relevant(
        seed,
        rng,
        n_features=5,
        n_relevant=2,
        n_levels=3,
        changes=changes,
        rounds=rounds,
        joint=np.multiply.outer(*uneven),
        prices=(0.005, 0.02),
    )


def many_features(
    seed: int,
    *,
    n_features: int = 30,
    n_relevant: int = 3,
    n_levels: int = 3,
    changes: int | None = None,
    rounds: int = ROUNDS,
) -> World:
    """Three of very many features decide, always the same ones; prices are U(.005, .03).

    >>> world = many_features(0, rounds=500)
    >>> world.problem.n_features, len(world.truth.states)
    (30, 27)
    """
    check_parameter("n_relevant", n_relevant, Whole(0, n_features), owner="many_features")
    return _few_relevant(
        seed,
        _tables_stream(seed),
        n_features=n_features,
        n_relevant=n_relevant,
        n_levels=n_levels,
        changes=changes,
        rounds=rounds,
        prices=CHEAP,
    )


def xor_among_many(
    seed: int, *, n_features: int = 30, changes: int = 3, rounds: int = ROUNDS
) -> World:
    """Of very many fair coins two decide, and only together; after every change two drawn anew.

    It is `xor_of_two` with more features and cheaper prices, U(.005, .03).

    >>> world = xor_among_many(0, rounds=500)
    >>> world.problem.n_features, world.truth.oracle_plan.masks.sum(axis=1).tolist()
    (30, [2, 2, 2, 2, 2, 2])
    """
    check_parameter("n_features", n_features, Whole(2), owner="xor_among_many")
    check_parameter("changes", changes, Whole(0, 7), owner="xor_among_many")
    rng = _tables_stream(seed)
    pairs = [rng.choice(n_features, size=2, replace=False) for _ in range(changes + 1)]
    places = np.unique(pairs).tolist()
    levels = (2,) * len(places)
    rewards = [_xor(rng, sorted(map(places.index, pair.tolist())), levels) for pair in pairs]
    return _world(
        seed,
        rng,
        np.full(levels, 0.5 ** len(levels)),
        np.stack(rewards),
        changes=changes,
        rounds=rounds,
        prices=CHEAP,
        irrelevant={i: np.full(2, 0.5) for i in range(n_features) if i not in places},
    )


FAMILIES: Mapping[str, Callable[..., World]] = MappingProxyType(
    {
        make.__name__.replace("_", "-"): make
        for make in (
            random_tables,
            one_relevant,
            all_relevant,
            additive,
            xor_of_two,
            nothing_worth_buying,
            flipping_prices,
            dear_noisy_prices,
            gradual_drift,
            stationary,
            recurring_regimes,
            graded_rewards,
            correlated_features,
            rare_states,
            many_features,
            xor_among_many,
        )
    }
)
"""What makes a world from a seed, by the name that experiments give it."""


def _tables_stream(seed: int) -> Rng:
    return streams(seed, N_STREAMS + 1)[-1]  # the first ones belong to World.draw


def _few_relevant(
    seed: int,
    rng: Rng,
    *,
    n_features: int,
    n_relevant: int,
    n_levels: int,
    changes: int | None,
    rounds: int,
    joint: Floats | None = None,
    prices: tuple[float, float] = PRICES,
) -> World:
    """Make a world in which the same few features always decide, in places drawn once."""
    places = rng.choice(n_features, size=n_relevant, replace=False).tolist()
    levels = (n_levels,) * n_relevant
    return _world(
        seed,
        rng,
        _independent(rng, levels) if joint is None else joint,
        _stacked(lambda: _contrasted(rng, 3, levels), changes),
        changes=changes,
        rounds=rounds,
        prices=prices,
        irrelevant=_irrelevant(rng, (n_levels,) * n_features, places),
    )


def _world(
    seed: int,
    rng: Rng,
    joint: Floats,
    rewards: Floats,
    *,
    rounds: int,
    prices: tuple[float, float] = PRICES,
    costs: Floats | None = None,
    changes: int | None = None,
    reward_changes: Sequence[float] = REWARD_CHANGES,
    cost_changes: Sequence[float] = COST_CHANGES,
    ramp: int = 0,
    irrelevant: Mapping[int, Floats] = MappingProxyType({}),
    **more: Any,
) -> World:
    """Make the world of these tables; `costs` are drawn from `prices` unless they are given.

    `changes` of rewards are at even distances; by default they are at `reward_changes`.
    """
    if changes is not None:
        reward_changes = [k / (changes + 1) for k in range(1, changes + 1)]
        cost_changes = cost_changes if changes else ()
    check_parameter("rounds", rounds, Whole(100), owner="a family")
    relevant = iter(joint.shape)
    n_features = joint.ndim + len(irrelevant)
    levels = [len(irrelevant[i]) if i in irrelevant else next(relevant) for i in range(n_features)]
    if costs is None:
        costs = rng.uniform(*prices, size=(len(cost_changes) + 1, n_features))
    return World(
        Problem.anonymous(levels, rewards.shape[1]),
        probabilities=joint,
        rewards=rewards,
        costs=costs,
        rounds=rounds,
        reward_schedule=Schedule(_at(reward_changes, rounds), ramp=ramp),
        cost_schedule=Schedule(_at(cost_changes, rounds)),
        irrelevant=irrelevant,
        seed=seed,
        **more,
    )


def _at(shares: Sequence[float], rounds: int) -> list[int]:
    return [round(share * rounds) for share in shares]


def _levels(n_features: int) -> tuple[int, ...]:
    return tuple(LEVELS[i % len(LEVELS)] for i in range(n_features))


def _distribution(rng: Rng, n_levels: int) -> Floats:
    return rng.dirichlet(np.full(n_levels, 3.0))


def _independent(rng: Rng, levels: Sequence[int]) -> Floats:
    joint = np.ones(())
    for n in levels:
        joint = np.multiply.outer(joint, _distribution(rng, n))
    return joint


def _irrelevant(rng: Rng, levels: Sequence[int], relevant: Sequence[int]) -> dict[int, Floats]:
    return {i: _distribution(rng, n) for i, n in enumerate(levels) if i not in relevant}


def _periods(changes: int | None) -> int:
    """Return how many tables of rewards so many changes take."""
    if changes is None:
        return len(REWARD_CHANGES) + 1
    check_parameter("changes", changes, Whole(0, MOST_CHANGES), owner="a family")
    return changes + 1


def _stacked(table: Callable[[], Floats], changes: int | None) -> Floats:
    return np.stack([table() for _ in range(_periods(changes))])


def _random_rewards(rng: Rng, n_actions: int, levels: tuple[int, ...], periods: int) -> Floats:
    """Return a table for each period, in which three features decide, each time drawn anew."""

    def table() -> Floats:
        n_features = len(levels)
        chosen = rng.choice(n_features, size=min(3, n_features), replace=False)
        places = sorted(chosen.tolist())
        return _over(_contrasted(rng, n_actions, [levels[i] for i in places]), places, levels)

    return np.stack([table() for _ in range(periods)])


def _xor(rng: Rng, pair: Sequence[int], levels: Sequence[int]) -> Floats:
    """Return mean rewards of two actions: which is better depends on whether the two agree."""
    differ = np.array([[0.15, 0.85], [0.85, 0.15]])
    return _over(rng.permutation(np.stack([differ, 1 - differ])), pair, levels)


def _contrasted(rng: Rng, n_actions: int, levels: Sequence[int]) -> Floats:
    """Return mean rewards (A, *levels): in each state one action is much better than the others.

    >>> table = _contrasted(np.random.default_rng(0), 3, (2, 3))
    >>> (table >= 0.7).sum(axis=0).tolist(), (table >= 0.7).sum(axis=(1, 2)).tolist()
    ([[1, 1, 1], [1, 1, 1]], [2, 2, 2])
    """
    shape = (n_actions, prod(levels))
    best = _one_hot(_best_actions(rng, *shape), n_actions)
    means = np.where(best, rng.uniform(0.7, 1, shape), rng.uniform(0, 0.4, shape))
    return means.reshape(n_actions, *levels)


def _best_actions(rng: Rng, n_actions: int, n_states: int) -> NDArray[np.int64]:
    """Return an action for each state, every action as often as any other if that is possible."""
    turn = rng.permutation(n_actions)[np.arange(n_states) % n_actions]
    return rng.permutation(turn)


def _one_hot(actions: NDArray[np.int64], n_actions: int) -> NDArray[np.bool_]:
    hot: NDArray[np.bool_] = np.arange(n_actions)[:, None] == actions
    return hot


def _over(table: Floats, places: Sequence[int], levels: Sequence[int]) -> Floats:
    """Return the table (A, levels of `places`) as one over all features.

    >>> _over(np.array([[0.1, 0.2]]), [1], (3, 2)).tolist()
    [[[0.1, 0.2], [0.1, 0.2], [0.1, 0.2]]]
    """
    shape = [n if i in places else 1 for i, n in enumerate(levels)]
    wide = table.reshape(len(table), *shape)
    return np.broadcast_to(wide, (len(table), *levels)).copy()
