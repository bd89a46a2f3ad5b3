"""Families of synthetic worlds: each seed gives another world of the same kind.

Unless a family says otherwise, a world has 10,000 rounds, four changes of rewards and two of prices
at fixed shares of the rounds, mean prices from U(.03, .08) with very little noise, rewards of 0 or
1, and independent features with random distributions of levels. In a table of mean rewards, every
state has one action that pays U(.7, 1) while the others pay U(0, .4). Each action is the best one
in equally many states (or one more), so features are always informative.

>>> FAMILIES["xor-of-two"](0, rounds=500)
World(500 rounds, 8 features, 2 actions)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from thrifty.environments.family_tables import (
    CHEAP,
    MODEST,
    PRICES,
    ROUNDS,
    Floats,
    best_actions,
    contrasted,
    distribution,
    few_relevant,
    independent,
    irrelevant_levels,
    levels_in_turn,
    make_world,
    n_periods,
    one_hot,
    over_features,
    random_rewards,
    stacked,
    tables_stream,
    xor_table,
)
from thrifty.environments.safe_families import (
    rare_outcomes,
    safe_action,
    safe_action_wandering,
    winter,
)
from thrifty.environments.world import World
from thrifty.parameters import Whole, check_parameter


def random_tables(
    seed: int,
    *,
    n_features: int = 5,
    n_actions: int = 3,
    changes: int | None = None,
    rounds: int = ROUNDS,
) -> World:
    """Three features are relevant; after every change, other features and a new table.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    n_features : int
        Number of features, from 1 to 10.
    n_actions : int
        Number of actions.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> random_tables(0, n_features=8, rounds=500).problem.levels.tolist()
    [3, 2, 4, 3, 2, 4, 3, 2]
    """
    check_parameter("n_features", n_features, Whole(1, 10), owner="random_tables")
    check_parameter("n_actions", n_actions, Whole(1), owner="random_tables")
    rng = tables_stream(seed)
    levels = levels_in_turn(n_features)
    rewards = random_rewards(rng, n_actions, levels, n_periods(changes))
    return make_world(seed, rng, independent(rng, levels), rewards, changes=changes, rounds=rounds)


def one_relevant(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """One of five features is relevant, always the same one.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> one_relevant(0, rounds=500).truth.relevant.sum()
    np.int64(1)
    """
    rng = tables_stream(seed)
    return few_relevant(
        seed, rng, n_features=5, n_relevant=1, n_levels=3, changes=changes, rounds=rounds
    )


def all_relevant(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """All four binary features are relevant together; prices are U(.02, .05).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> all_relevant(0, rounds=500).truth.rewards.shape
    (5, 2, 16)
    """
    rng = tables_stream(seed)
    levels = (2, 2, 2, 2)
    rewards = stacked(lambda: contrasted(rng, 2, levels), changes)
    joint = independent(rng, levels)
    return make_world(
        seed, rng, joint, rewards, changes=changes, rounds=rounds, prices=(0.02, 0.05)
    )


def additive(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Each of five features adds its share to the reward.

    For each level of a feature, one action gains its share and the others lose it. The shares are
    .15, .14, .12, .06 and .03, in random order, around a mean of .5. Prices are U(.01, .04).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> table = additive(0, rounds=500).truth.rewards
    >>> bool(table.min() >= 0), bool(table.max() <= 1)
    (True, True)
    """
    rng = tables_stream(seed)
    levels, n_actions = (3,) * 5, 3
    shares = rng.permutation([0.15, 0.14, 0.12, 0.06, 0.03])

    def table() -> Floats:
        means = np.full((n_actions, *levels), 0.5)
        for i, share in enumerate(shares):
            best = one_hot(best_actions(rng, n_actions, levels[i]), n_actions)
            means += over_features((best * 2 - 1) * share, [i], levels)
        return means.clip(0, 1)  # the shares add up to .5 up to rounding errors

    joint = independent(rng, levels)
    return make_world(
        seed, rng, joint, stacked(table, changes), changes=changes, rounds=rounds, prices=MODEST
    )


def xor_of_two(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Two of eight binary features are relevant, and only together; a new pair after every change.

    One action pays .85 where the two differ and .15 where they agree, the other action the reverse.
    All features are fair coins, so a single one carries no information. The same one of the 28
    pairs may be drawn again, even with the same table.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> plan = xor_of_two(0, rounds=500).truth.oracle_plan
    >>> plan.masks.sum(axis=1).tolist()
    [2, 2, 2, 2, 2, 2, 2]
    """
    rng = tables_stream(seed)
    levels = (2,) * 8

    def table() -> Floats:
        return xor_table(rng, sorted(rng.choice(8, size=2, replace=False).tolist()), levels)

    joint = np.full(levels, 0.5**8)
    return make_world(seed, rng, joint, stacked(table, changes), changes=changes, rounds=rounds)


def nothing_worth_buying(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """None of five features is relevant: mean rewards, from U(.1, .9), depend on the action alone.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> nothing_worth_buying(0, rounds=500).truth.oracle_plan.masks.any()
    np.False_
    """
    rng = tables_stream(seed)
    rewards = stacked(lambda: rng.uniform(0.1, 0.9, size=3), changes)
    nothing = irrelevant_levels(rng, (3,) * 5, [])
    return make_world(
        seed, rng, np.ones(()), rewards, changes=changes, rounds=rounds, irrelevant=nothing
    )


def flipping_prices(seed: int, *, rounds: int = ROUNDS) -> World:
    """Two of five features are relevant and always agree; their prices alternate.

    One costs .02 and the other .12. They swap prices four times, and rewards change twice.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> masks = flipping_prices(0, rounds=500).truth.oracle_plan.masks
    >>> len(np.unique(masks, axis=0))
    2
    """
    rng = tables_stream(seed)
    twins = sorted(rng.choice(5, size=2, replace=False).tolist())
    changes = (0.2, 0.4, 0.6, 0.8)
    costs = rng.uniform(*PRICES, size=(len(changes) + 1, 5))
    costs[:, twins] = [(0.02, 0.12) if k % 2 else (0.12, 0.02) for k in range(len(costs))]
    alone = stacked(lambda: contrasted(rng, 3, (3,)), 2)
    return make_world(
        seed,
        rng,
        np.diag(distribution(rng, 3)),
        np.repeat(alone[..., None], 3, axis=-1),
        rounds=rounds,
        costs=costs,
        reward_changes=(0.3, 0.7),
        cost_changes=changes,
        irrelevant=irrelevant_levels(rng, (3,) * 5, twins),
    )


def dear_noisy_prices(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Random tables of five features; mean prices are U(0, .3) with standard deviation .1.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> bool(dear_noisy_prices(0, rounds=500).truth.costs.max() > 0.2)
    True
    """
    rng = tables_stream(seed)
    levels = levels_in_turn(5)
    rewards = random_rewards(rng, 3, levels, n_periods(changes))
    joint = independent(rng, levels)
    return make_world(
        seed, rng, joint, rewards, changes=changes, rounds=rounds, prices=(0.0, 0.3), cost_sd=0.1
    )


def gradual_drift(seed: int, *, rounds: int = ROUNDS) -> World:
    """Random tables of five features; rewards drift four times, for a fifth of the rounds each.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> len(gradual_drift(0, rounds=500).truth.rewards)
    45
    """
    rng = tables_stream(seed)
    levels, changes = levels_in_turn(5), (0.05, 0.3, 0.55, 0.8)
    return make_world(
        seed,
        rng,
        independent(rng, levels),
        random_rewards(rng, 3, levels, len(changes) + 1),
        rounds=rounds,
        reward_changes=changes,
        ramp=rounds // 5,
    )


def stationary(seed: int, *, rounds: int = ROUNDS) -> World:
    """Three of five features are relevant; neither rewards nor prices ever change.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> stationary(0, rounds=500).draw(0).reward_changes
    ()
    """
    rng = tables_stream(seed)
    levels = levels_in_turn(5)
    return make_world(
        seed,
        rng,
        independent(rng, levels),
        random_rewards(rng, 3, levels, 1),
        rounds=rounds,
        reward_changes=(),
        cost_changes=(),
    )


def recurring_regimes(seed: int, *, rounds: int = ROUNDS) -> World:
    """Three random tables of five features alternate, each three times.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> tables = recurring_regimes(0, rounds=500).truth.rewards
    >>> len(tables), bool((tables[0] == tables[3]).all()), bool((tables[0] == tables[1]).all())
    (9, True, False)
    """
    rng = tables_stream(seed)
    levels, periods = levels_in_turn(5), 9
    return make_world(
        seed,
        rng,
        independent(rng, levels),
        random_rewards(rng, 3, levels, 3)[np.arange(periods) % 3],
        rounds=rounds,
        reward_changes=[k / periods for k in range(1, periods)],
    )


def graded_rewards(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Random tables of five features; rewards lie anywhere in [0, 1], with beta noise.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> len(np.unique(graded_rewards(0, rounds=500).draw(0).rewards)) > 1000
    True
    """
    rng = tables_stream(seed)
    levels = levels_in_turn(5)
    rewards = random_rewards(rng, 3, levels, n_periods(changes))
    joint = independent(rng, levels)
    return make_world(
        seed, rng, joint, rewards, changes=changes, rounds=rounds, reward_noise="beta"
    )


def correlated_features(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Five features are noisy views of one hidden class, on which the rewards depend.

    Each feature has one level for each of the three classes. It shows the right one with a
    probability of .5 to .9, otherwise a random one. So features are dependent, one can replace
    another, and each additional one adds a little information. Prices are U(.01, .04).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> world = correlated_features(0, rounds=500)
    >>> world.truth.states.shape
    (243, 5)
    """
    rng = tables_stream(seed)
    classes, n_features = 3, 5
    joint = distribution(rng, classes)  # of the class; each pass adds the axis of one feature
    for sharpness in rng.uniform(0.5, 0.9, size=n_features):
        shown = np.eye(classes)[rng.permutation(classes)] * sharpness + (1 - sharpness) / classes
        view = shown.reshape(classes, *(1,) * (joint.ndim - 1), classes)
        joint = joint[..., None] * view
    states = joint.sum(axis=0)
    hidden = stacked(lambda: contrasted(rng, 3, (classes,)), changes)
    rewards = np.einsum("kac,c...->ka...", hidden, joint / states)
    return make_world(
        seed, rng, states, rewards.clip(0, 1), changes=changes, rounds=rounds, prices=MODEST
    )


def rare_states(seed: int, *, changes: int | None = None, rounds: int = ROUNDS) -> World:
    """Two of five features are relevant; each has one level in 90 % of the rounds.

    The other two levels have 7 % and 3 %. Prices are U(.005, .02).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> rare_states(0, rounds=500).truth.probabilities.max().round(2)
    np.float64(0.81)
    """
    rng = tables_stream(seed)
    uneven = [rng.permutation([0.9, 0.07, 0.03]) for _ in range(2)]
    return few_relevant(
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
    """Many features, of which the same few are always relevant; prices are U(.005, .03).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    n_features : int
        Number of features.
    n_relevant : int
        Number of relevant features.
    n_levels : int
        Number of levels of each feature.
    changes : int, optional
        Number of evenly spaced reward changes (default: four).
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> world = many_features(0, rounds=500)
    >>> world.problem.n_features, len(world.truth.states)
    (30, 27)
    """
    check_parameter("n_relevant", n_relevant, Whole(0, n_features), owner="many_features")
    return few_relevant(
        seed,
        tables_stream(seed),
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
    """Two of many fair coins are relevant, and only together; a new pair after every change.

    Same as `xor_of_two` with more features and lower prices, U(.005, .03).

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    n_features : int
        Number of features.
    changes : int
        Number of evenly spaced reward changes, from 0 to 7.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> world = xor_among_many(0, rounds=500)
    >>> world.problem.n_features, world.truth.oracle_plan.masks.sum(axis=1).tolist()
    (30, [2, 2, 2, 2, 2, 2])
    """
    check_parameter("n_features", n_features, Whole(2), owner="xor_among_many")
    check_parameter("changes", changes, Whole(0, 7), owner="xor_among_many")
    rng = tables_stream(seed)
    pairs = [rng.choice(n_features, size=2, replace=False) for _ in range(changes + 1)]
    places = np.unique(pairs).tolist()
    levels = (2,) * len(places)
    rewards = [xor_table(rng, sorted(map(places.index, pair.tolist())), levels) for pair in pairs]
    return make_world(
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
            safe_action,
            safe_action_wandering,
            winter,
            rare_outcomes,
        )
    }
)
"""Functions that make a world from a seed, by the names used in experiments."""
