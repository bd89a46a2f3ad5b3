"""Families of worlds in which one action is safe: it pays the same whatever the state.

There are two actions. Approving pays 60 or -90, declining pays 0. Approving is right in 90 % of the
rounds in which a feature has its good level, and in 20 % of the others. That feature costs 1.5. A
feature for .4 and one that is known for free are irrelevant. Rewards and costs are scaled by the
declared range of rewards.

>>> safe_action(0, rounds=500)
World(500 rounds, 3 features, 2 actions)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.family_tables import ROUNDS, moments, tables_stream
from thrifty.environments.schedule import Schedule
from thrifty.environments.world import World
from thrifty.errors import InvalidParameter
from thrifty.outcomes import RewardRange
from thrifty.parameters import Real, Whole, check_parameter
from thrifty.problem import Problem

Floats = NDArray[np.float64]

GAIN, LOSS = 60.0, -90.0
RIGHT, WRONG = 0.9, 0.2
"""Probability that approving is right at the good level, and at the others."""
PRICES = (0.4, 1.5)
LOW, HIGH = -90.0, 60.0


def safe_action(
    seed: int,
    *,
    turns: int = 3,
    noise: float = 0.0,
    low: float = LOW,
    high: float = HIGH,
    rounds: int = ROUNDS,
) -> World:
    """Decline for 0, or approve for 60 or -90; the good one of two levels changes with every turn.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    turns : int
        Number of evenly spaced turns.
    noise : float
        Declining pays this much more or less than 0, with equal probabilities.
    low, high : float
        Declared range of rewards in money.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> world = safe_action(0, turns=1, rounds=500)
    >>> (world.truth.rewards * 150 - 90).round(1).tolist()
    [[[0.0, 0.0], [-60.0, 45.0]], [[0.0, 0.0], [45.0, -60.0]]]
    """
    check_parameter("turns", turns, Whole(0), owner="safe_action")
    check_parameter("noise", noise, Real(0), owner="safe_action")
    rng = tables_stream(seed)
    first = int(rng.integers(2))
    good = [(first + k) % 2 for k in range(turns + 1)]
    return _world(seed, rng, 2, _chances(2, good), noise=noise, low=low, high=high, rounds=rounds)


def safe_action_wandering(seed: int, *, turns: int = 6, rounds: int = ROUNDS) -> World:
    """Decline or approve as in `safe_action`; another one of three levels is good after every turn.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    turns : int
        Number of evenly spaced turns.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> safe_action_wandering(0, turns=2, rounds=500).draw(0).reward_changes
    (167, 333)
    """
    check_parameter("turns", turns, Whole(0), owner="safe_action_wandering")
    rng = tables_stream(seed)
    good = [int(rng.integers(3))]
    for _ in range(turns):
        good.append((good[-1] + int(rng.integers(1, 3))) % 3)
    return _world(seed, rng, 3, _chances(3, good), rounds=rounds)


def winter(seed: int, *, turns: int = 3, wanders: bool = False, rounds: int = ROUNDS) -> World:
    """Decline or approve as in `safe_action`; one of three levels is good in every other period.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    turns : int
        Number of evenly spaced changes.
    wanders : bool
        True if it is another level each time.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> plan = winter(0, rounds=500).truth.oracle_plan
    >>> plan.masks.any(axis=1).tolist()
    [True, False, True, False]
    """
    check_parameter("turns", turns, Whole(0), owner="winter")
    rng = tables_stream(seed)
    good, step = int(rng.integers(3)), int(rng.integers(1, 3)) if wanders else 0
    periods = [(good + k // 2 * step) % 3 if k % 2 == 0 else None for k in range(turns + 1)]
    return _world(seed, rng, 3, _chances(3, periods), rounds=rounds)


def rare_outcomes(seed: int, *, turns: int = 1, rounds: int = ROUNDS) -> World:
    """Approving pays 5 or -120, blocking -1; the risky one of ten levels changes with every turn.

    A payment is fraud in a quarter of the rounds with the risky level and in .5 % of the others.

    Parameters
    ----------
    seed : int
        Random seed of the tables and the rounds.
    turns : int
        Number of evenly spaced turns.
    rounds : int
        Number of rounds.

    Returns
    -------
    World
        The world of this seed.

    Examples
    --------
    >>> world = rare_outcomes(0, turns=0, rounds=500)
    >>> (world.truth.rewards * 125 - 120).round(2).min(axis=(0, 2)).tolist()
    [-1.0, -26.25]
    """
    check_parameter("turns", turns, Whole(0), owner="rare_outcomes")
    rng = tables_stream(seed)
    good = np.full((turns + 1, 10), 0.995)
    good[np.arange(turns + 1), rng.permutation(10)[np.arange(turns + 1) % 10]] = 0.75
    return _world(
        seed,
        rng,
        10,
        good,
        gain=5.0,
        loss=-120.0,
        safe=-1.0,
        prices=(0.1, 0.3),
        low=-120.0,
        high=5.0,
        rounds=rounds,
    )


def _chances(n_levels: int, good: Sequence[int | None]) -> Floats:
    """Return the probability that approving is right, by period and level."""
    chances = np.full((len(good), n_levels), WRONG)
    for k, level in enumerate(good):
        if level is not None:
            chances[k, level] = RIGHT
    return chances


def _world(
    seed: int,
    rng: np.random.Generator,
    n_levels: int,
    chances: Floats,
    *,
    rounds: int,
    gain: float = GAIN,
    loss: float = LOSS,
    safe: float = 0.0,
    noise: float = 0.0,
    prices: tuple[float, float] = PRICES,
    low: float = LOW,
    high: float = HIGH,
) -> World:
    """Make a world from the probabilities that approving is right, by period and level."""
    pairs = np.array([[safe - noise, safe + noise], [loss, gain]])
    if not low <= pairs.min() <= pairs.max() <= high:
        raise InvalidParameter(
            f"the range of rewards is [{low:g}, {high:g}], but they lie between {pairs.min():g} "
            f"and {pairs.max():g}: give a range that contains them."
        )
    scale = RewardRange(low, high)
    means = np.empty((len(chances), 2, n_levels))
    means[:, 0] = safe
    means[:, 1] = loss + (gain - loss) * chances
    levels = (3, n_levels, 2)
    problem = Problem.anonymous(levels, 2)
    n_periods = len(chances)
    return World(
        Problem(problem.features, ("decline", "approve"), rewards=scale),
        probabilities=rng.dirichlet(np.full(n_levels, 50.0)),
        rewards=(means - low) / scale.span,
        costs=[[price / scale.span for price in (*prices, 0.0)]],
        rounds=rounds,
        reward_schedule=Schedule(moments([k / n_periods for k in range(1, n_periods)], rounds)),
        cost_noise="constant",
        reward_values=(pairs - low) / scale.span,
        irrelevant={0: np.full(3, 1 / 3), 2: np.full(2, 0.5)},
        free=[False, False, True],
        seed=seed,
    )
