"""`World`: synthetic environments with known probabilities and means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.drawn import DrawnEnvironment
from thrifty.environments.replay import Replay
from thrifty.environments.schedule import Schedule
from thrifty.environments.streams import seed_sequence, streams
from thrifty.environments.tables import free_mask, numbers_of
from thrifty.environments.truth import Truth
from thrifty.errors import InvalidParameter, InvalidTable
from thrifty.parameters import Choice, Real, Whole, check_parameter
from thrifty.problem import Problem
from thrifty.seeds import Seed

Floats = NDArray[np.float64]


def clipped_gaussian_mean(mean: float, sd: float) -> float:
    """Return the mean of a Gaussian clipped to [0, 1].

    Clipping at 0 raises a small mean:

    >>> round(clipped_gaussian_mean(0.0, 0.1), 6), round(0.1 / math.sqrt(2 * math.pi), 6)
    (0.039894, 0.039894)
    """
    if sd == 0:
        return min(max(mean, 0.0), 1.0)
    low, high = -mean / sd, (1 - mean) / sd
    inside = _normal_cdf(high) - _normal_cdf(low)
    return mean * inside + sd * (_normal_pdf(low) - _normal_pdf(high)) + 1 - _normal_cdf(high)


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _normal_pdf(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _constant(means: Floats, rng: np.random.Generator, shape: float) -> Floats:  # noqa: ARG001
    return means


def _bernoulli(means: Floats, rng: np.random.Generator, shape: float) -> Floats:  # noqa: ARG001
    return (rng.random(means.shape) < means).astype(np.float64)


def _gaussian(means: Floats, rng: np.random.Generator, sd: float) -> Floats:
    return np.clip(rng.normal(means, sd), 0, 1)


def _beta(means: Floats, rng: np.random.Generator, concentration: float) -> Floats:
    certain = (means <= 0) | (means >= 1)  # where a beta distribution does not exist
    inside = np.where(certain, 0.5, means)
    drawn = rng.beta(inside * concentration, (1 - inside) * concentration)
    return np.where(certain, means, drawn)


NOISES = MappingProxyType(
    {"bernoulli": _bernoulli, "beta": _beta, "constant": _constant, "gaussian": _gaussian}
)
N_STREAMS = 3


class World(DrawnEnvironment):
    """A synthetic environment: rounds drawn from tables of probabilities and means.

    Contexts are drawn independently in each round. The truth is known exactly.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    probabilities : array_like of float, shape levels
        Probability of each state, with one axis per feature. They sum to 1.
    rewards : array_like of float, shape (K, A, *levels)
        Mean rewards in [0, 1], one table for each period of `reward_schedule`.
    costs : array_like of float, shape (M, D)
        Mean costs in [0, 1], one row for each period of `cost_schedule`.
    rounds : int
        Number of rounds.
    reward_schedule : Schedule
        When mean rewards change.
    cost_schedule : Schedule
        When mean costs change.
    cost_noise : str
        "gaussian" (clipped to [0, 1]; the truth uses the mean after clipping), "bernoulli" or
        "constant".
    cost_sd : float
        Standard deviation of "gaussian" costs.
    reward_noise : str
        "bernoulli", "beta" or "constant".
    reward_concentration : float
        Concentration of "beta" rewards. With mean m their variance is m (1 - m) / (concentration
        + 1).
    reward_values : array_like of float, shape (A, 2), optional
        The lower and the higher reward of each action, with "bernoulli" rewards. By default 0 and
        1. If both are the same, the action is sure.
    irrelevant : mapping
        Features that are independent of everything else: their positions, each with the
        probabilities of its levels. The tables have no axes for them, so there may be very many.
    free : array_like of bool, shape (D,), optional
        True for each feature that is known before anything is bought.
    seed : int, SeedSequence, Generator or None
        Seed of the rounds that are played before the first `reset` with a seed.

    Examples
    --------
    >>> coin = World(
    ...     Problem.anonymous(levels=(2,), n_actions=2),
    ...     probabilities=[0.5, 0.5],
    ...     rewards=[[[1.0, 0.0], [0.0, 1.0]]],
    ...     costs=[[0.1]],
    ...     rounds=4,
    ...     cost_noise="constant",
    ...     seed=1,
    ... )
    >>> coin.truth.oracle_plan.gains.tolist()
    [0.9]
    >>> coin.draw(seed=1).costs.tolist()
    [[0.1], [0.1], [0.1], [0.1]]
    """

    allowed: ClassVar[MappingProxyType[str, Any]] = MappingProxyType(
        {
            "rounds": Whole(1),
            "cost_noise": Choice("gaussian", "bernoulli", "constant"),
            "cost_sd": Real(0),
            "reward_noise": Choice("bernoulli", "beta", "constant"),
            "reward_concentration": Real(0, open=True),
        }
    )

    def __init__(
        self,
        problem: Problem,
        *,
        probabilities: ArrayLike,
        rewards: ArrayLike,
        costs: ArrayLike,
        rounds: int,
        reward_schedule: Schedule = Schedule(),  # noqa: B008 (frozen, so it can be shared)
        cost_schedule: Schedule = Schedule(),  # noqa: B008
        cost_noise: str = "gaussian",
        cost_sd: float = 0.001,
        reward_noise: str = "bernoulli",
        reward_concentration: float = 4.0,
        reward_values: ArrayLike | None = None,
        irrelevant: Mapping[int, ArrayLike] = MappingProxyType({}),
        free: ArrayLike | None = None,
        seed: Seed = None,
    ) -> None:
        settings = {
            "rounds": rounds,
            "cost_noise": cost_noise,
            "cost_sd": cost_sd,
            "reward_noise": reward_noise,
            "reward_concentration": reward_concentration,
        }
        for name, value in settings.items():
            check_parameter(name, value, self.allowed[name], owner="World")
        self.problem = problem
        self.horizon = int(rounds)
        self._cost_sd, self._concentration = float(cost_sd), float(reward_concentration)
        self._draw_rewards, self._draw_costs = NOISES[reward_noise], NOISES[cost_noise]
        self._irrelevant = _irrelevant(irrelevant, problem)
        self.free = free_mask(free, problem.n_features)
        relevant = [i for i in range(problem.n_features) if i not in self._irrelevant]
        levels = tuple(problem.levels[relevant].tolist())
        joint = _probabilities("probabilities", probabilities, levels)
        reward_piece, reward_means = reward_schedule.pieces(
            _means("rewards", rewards, (problem.n_actions, *levels)), self.horizon
        )
        cost_piece, self._cost_means = cost_schedule.pieces(
            _means("costs", costs, (problem.n_features,)), self.horizon
        )
        self._reward_values = _reward_values(reward_values, reward_means, reward_noise)
        support = np.flatnonzero(joint)
        p = joint.ravel()[support]
        states = np.zeros((p.size, problem.n_features), dtype=np.int64)
        states[:, relevant] = np.argwhere(joint)
        self.truth = Truth(
            levels=problem.levels,
            states=states,
            probabilities=p,
            reward_piece=reward_piece,
            cost_piece=cost_piece,
            rewards=reward_means.reshape(*reward_means.shape[:2], -1)[..., support],
            within=np.tile(p, (len(reward_means), 1)),
            costs=np.where(self.free, 0.0, self._cost_truth(cost_noise)),
            irrelevant=np.array(list(self._irrelevant), dtype=np.int64),
        )
        super().__init__(seed_sequence(seed))

    @classmethod
    def random(
        cls,
        *,
        levels: Sequence[int] = (3, 3, 3),
        n_actions: int = 3,
        rounds: int = 10_000,
        reward_changes: Sequence[int] = (),
        cost_changes: Sequence[int] = (),
        ramp: int = 0,
        steps: int = 10,
        prices: tuple[float, float] = (0.03, 0.08),
        joint: bool = False,
        cost_noise: str = "gaussian",
        cost_sd: float = 0.001,
        reward_noise: str = "bernoulli",
        seed: Seed = None,
    ) -> World:
        """Make a world with random tables.

        Mean rewards are uniform on [0, 1] and mean costs are uniform on `prices`, with new tables
        after every change. Tables and rounds come from independent random streams.

        Parameters
        ----------
        levels : sequence of int
            Number of levels of each feature.
        n_actions : int
            Number of actions.
        rounds : int
            Number of rounds.
        reward_changes : sequence of int
            Rounds in which mean rewards change.
        cost_changes : sequence of int
            Rounds in which mean costs change.
        ramp : int
            Number of rounds that a change takes (see `Schedule`).
        steps : int
            Number of intermediate tables on a ramp.
        prices : pair of float
            Lowest and highest mean cost.
        joint : bool
            True draws one random distribution over all states. By default features are
            independent, each with its own random distribution.
        cost_noise : str
            Same as for `World`.
        cost_sd : float
            Same as for `World`.
        reward_noise : str
            Same as for `World`.
        seed : int, SeedSequence, Generator or None
            Source of all randomness.

        Returns
        -------
        World
            The world.

        Examples
        --------
        >>> World.random(levels=(2, 3), rounds=50, reward_changes=(20,), seed=3)
        World(50 rounds, 2 features, 3 actions)
        """
        problem = Problem.anonymous(levels, n_actions)
        _require_prices(prices)
        reward_schedule = Schedule(reward_changes, ramp=ramp, steps=steps)
        cost_schedule = Schedule(cost_changes, ramp=ramp, steps=steps)
        sequence = seed_sequence(seed)
        *_, rng = streams(sequence, N_STREAMS + 1)  # draw uses the first streams
        periods = len(reward_schedule.changes) + 1, len(cost_schedule.changes) + 1
        return cls(
            problem,
            probabilities=_random_probabilities(tuple(problem.levels), rng, joint=joint),
            rewards=rng.random((periods[0], n_actions, *problem.levels)),
            costs=rng.uniform(*prices, size=(periods[1], problem.n_features)),
            rounds=rounds,
            reward_schedule=reward_schedule,
            cost_schedule=cost_schedule,
            cost_noise=cost_noise,
            cost_sd=cost_sd,
            reward_noise=reward_noise,
            seed=sequence,
        )

    def draw(self, seed: Seed) -> Replay:
        """Draw all rounds: contexts, rewards of all actions, costs of all features.

        The three come from independent random streams.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            The same seed gives the same rounds.

        Returns
        -------
        Replay
            The rounds as tables, with the truth of this world.
        """
        contexts, rewards, costs = streams(seed, N_STREAMS)
        truth = self.truth
        state = contexts.choice(len(truth.states), size=self.horizon, p=truth.probabilities)
        codes = truth.states[state]
        for i, p in self._irrelevant.items():
            codes[:, i] = contexts.choice(p.size, size=self.horizon, p=p)
        reward_means = truth.rewards[truth.reward_piece, :, state]
        cost_means = self._cost_means[truth.cost_piece]
        return Replay(
            codes,
            self._rewards(reward_means, rewards),
            self._draw_costs(cost_means, costs, self._cost_sd),
            self.free,
            problem=self.problem,
            reward_changes=_changes(truth.reward_piece),
            cost_changes=_changes(truth.cost_piece),
            truth=truth,
        )

    def _rewards(self, means: Floats, rng: np.random.Generator) -> Floats:
        if self._reward_values is None:
            return self._draw_rewards(means, rng, self._concentration)
        low, high = self._reward_values.T
        chances = (means - low) / np.where(high > low, high - low, 1.0)
        is_high = self._draw_rewards(chances, rng, self._concentration) > 0
        drawn: Floats = np.where(is_high, high, low)
        return drawn

    def _cost_truth(self, noise: str) -> Floats:
        if noise != "gaussian":
            return self._cost_means
        rows = self._cost_means.tolist()
        return np.array([[clipped_gaussian_mean(m, self._cost_sd) for m in row] for row in rows])

    def __repr__(self) -> str:
        return (
            f"World({self.horizon} rounds, {self.problem.n_features} features, "
            f"{self.problem.n_actions} actions)"
        )


def _probabilities(name: str, values: ArrayLike, levels: tuple[int, ...]) -> Floats:
    table: Floats = numbers_of(name, values)
    if table.shape != levels:
        raise InvalidTable(
            f"{name} of shape {table.shape} for features of {levels} levels: give one axis "
            "per feature and one entry per level."
        )
    total = table.sum()
    if not ((table >= 0).all() and abs(total - 1) <= 1e-9):
        raise InvalidTable(
            f"{name} have minimum {table.min()} and sum {total}: they must be at least 0 "
            "and sum to 1, so divide them by their sum."
        )
    normalised: Floats = table / total
    return normalised


def _irrelevant(given: Mapping[int, ArrayLike], problem: Problem) -> dict[int, Floats]:
    place = Whole(0, problem.n_features - 1)
    for i in given:
        check_parameter("irrelevant", i, place, owner="World")
    return {
        i: _probabilities(f"probabilities of irrelevant feature {i}", p, (int(problem.levels[i]),))
        for i, p in sorted(given.items())
    }


def _means(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    tables: Floats = numbers_of(name, values)
    if tables.shape[1:] != shape or tables.ndim == 0:
        raise InvalidTable(
            f"{name} of shape {tables.shape}: give one table of shape {shape} per period, stacked "
            "along a first axis."
        )
    if not ((tables >= 0) & (tables <= 1)).all():
        raise InvalidTable(f"{name} contain a mean outside [0, 1]: rescale them.")
    return tables


def _reward_values(given: ArrayLike | None, means: Floats, noise: str) -> Floats | None:
    """Return the checked pairs of rewards; `means` has the axes period, action and features."""
    if given is None:
        return None
    pairs: Floats = numbers_of("reward_values", given)
    if pairs.shape != (means.shape[1], 2) or noise != "bernoulli":
        raise InvalidTable(
            f"reward_values of shape {pairs.shape} with {noise} rewards: give a lower and a higher "
            f"reward for each of the {means.shape[1]} actions, with bernoulli rewards."
        )
    per_action = np.moveaxis(means, 1, 0).reshape(len(pairs), -1)
    low, high = pairs.T
    if (per_action < low[:, None]).any() or (per_action > high[:, None]).any():
        raise InvalidTable(
            f"reward_values are {pairs.tolist()}, and a mean reward lies outside: give a lower "
            "and a higher reward between which all means of the action lie."
        )
    return pairs


def _require_prices(prices: tuple[float, float]) -> None:
    for price in prices:
        check_parameter("prices", price, Real(0, 1), owner="World.random")
    if prices[0] > prices[1]:
        raise InvalidParameter(
            f"World.random's prices are {prices!r}: give the lowest first, then the highest."
        )


def _changes(piece: NDArray[np.int64]) -> list[int]:
    return (np.flatnonzero(np.diff(piece)) + 1).tolist()


def _random_probabilities(
    levels: tuple[int, ...], rng: np.random.Generator, *, joint: bool
) -> Floats:
    if joint:
        return rng.dirichlet(np.ones(math.prod(levels))).reshape(levels)
    table = np.ones(())
    for n in levels:
        table = np.multiply.outer(table, rng.dirichlet(np.ones(n)))
    return table
