"""Mean reward of each action, and the frequencies of undeclared outcomes that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Problem
from thrifty.surveyor.frequencies import OPTIMISM, Frequencies
from thrifty.surveyor.labels import MAX_JOINT_ACTIONS, OutcomeTable
from thrifty.surveyor.reward_bounds import RewardBounds

Floats = NDArray[np.float64]


class RewardMeans(Frequencies):
    """Weighted means of the rewards of each action.

    An undeclared outcome says of each action whether it pays its upper or its lower bound. Nothing
    tells how the rewards of two actions depend on each other, so they count as independent.

    Parameters
    ----------
    wins : array of bool, shape (O, A)
        Which actions pay their upper bound, in each outcome.
    levels : array of float, shape (A, 2)
        Lower and upper bound of each action's rewards in money.

    Examples
    --------
    >>> wins = np.array([[False, False], [False, True], [True, False], [True, True]])
    >>> means = RewardMeans(wins, np.array([[-90.0, 10.0], [0.0, 0.0]]))
    >>> for _ in range(9):
    ...     means.add(0, 10.0)
    >>> means.frequencies.round(3).tolist()
    [0.0, 0.05, 0.0, 0.95]
    """

    def __init__(self, wins: NDArray[np.bool_], levels: Floats) -> None:
        n_actions = wins.shape[1]
        self._wins = wins
        self._weights, self._squared_weights = np.zeros(n_actions), np.zeros(n_actions)
        self._totals, self._squares = np.zeros(n_actions), np.zeros(n_actions)
        self.rescale(levels)

    def rescale(self, levels: Floats) -> None:
        """Use other bounds from now on."""
        self._levels = levels
        self._frequencies: Floats | None = None

    @property
    def frequencies(self) -> Floats:
        """The frequencies of the outcomes, with one more case in the middle of the bounds, (O,)."""
        if self._frequencies is None:
            self._frequencies = self._estimate()
        return self._frequencies

    @property
    def _means(self) -> Floats:
        means: Floats = (self._totals + self._levels.mean(axis=1)) / (self._weights + 1)
        return means

    def _estimate(self) -> Floats:
        low, high = self._levels.T
        varies = high > low
        share = (self._means - low) / np.where(varies, high - low, 1.0)
        upper = np.where(varies, np.clip(share, 0.0, 1.0), 1.0)
        frequencies: Floats = np.where(self._wins, upper, 1 - upper).prod(axis=1)
        return frequencies

    @property
    def n_effective(self) -> float:
        """Number of cases of equal weight that would tell as much."""
        seen = self._squared_weights > 0
        return float((self._weights[seen] ** 2 / self._squared_weights[seen]).sum())

    def add(self, action: int, reward: float, weight: float = 1.0) -> None:
        """Count a case.

        Parameters
        ----------
        action : int
            Action taken.
        reward : float
            Its reward in money.
        weight : float
            One divided by the probability of the action.
        """
        self._weights[action] += weight
        self._squared_weights[action] += weight**2
        self._totals[action] += weight * reward
        self._squares[action] += weight * reward**2
        self._frequencies = None

    def forget(self, kept: float) -> None:
        """Reduce the sums to those of at most this many cases, because the world has changed."""
        share = min(1.0, kept / max(self.n_effective, 1e-12))
        for sums in (self._weights, self._squared_weights, self._totals, self._squares):
            sums *= share
        self._frequencies = None

    def optimistic_values(self, rewards: Floats, information: Floats) -> Floats:
        """Return the means, with a bonus that vanishes with the number of rewards.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome; not used, because every reward is the action's own.
        information : array of float, shape (A,)
            Not used: a reward tells about its own action only.

        Returns
        -------
        array of float, shape (A,)
            Values.
        """
        del rewards, information
        values: Floats = self._means + OPTIMISM * np.sqrt(self._error_squares)
        return values

    def gap_errors(self, rewards: Floats, action: int) -> Floats:
        """Return the standard error of each constant action's distance to another one.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome; not used, because every reward is the action's own.
        action : int
            The other action.

        Returns
        -------
        array of float, shape (A,)
            Standard errors; 0 for the action itself.
        """
        del rewards
        errors: Floats = np.sqrt(self._error_squares + self._error_squares[action])
        errors[action] = 0.0
        return errors

    @property
    def _error_squares(self) -> Floats:
        """Squared standard errors of the means, (A,)."""
        spread = (self._levels[:, 1] - self._levels[:, 0]) ** 2 / 4
        centred = np.maximum(self._squares - self._totals**2 / np.maximum(self._weights, 1e-12), 0)
        counts = self._weights**2 / np.maximum(self._squared_weights, 1e-12)
        squares: Floats = (centred + spread) / (self._weights + 1) / (counts + 1)
        return squares

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values; not the bounds."""
        return {name: getattr(self, f"_{name}").tolist() for name in _SUMS}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Restore what `to_dict` returned."""
        for name in _SUMS:
            setattr(self, f"_{name}", np.array(plain[name]))
        self._frequencies = None


_SUMS = ("weights", "squared_weights", "totals", "squares")


@dataclass(frozen=True)
class RewardRecord:
    """Bounds and means of each action's rewards, where no outcomes are declared.

    Parameters
    ----------
    bounds : RewardBounds
        Smallest and largest reward of each action.
    means : RewardMeans
        Mean reward of each action.
    """

    bounds: RewardBounds
    means: RewardMeans

    @classmethod
    def of(cls, problem: Problem, table: OutcomeTable) -> RewardRecord | None:
        """Return an empty record, or None for declared outcomes or more than three actions."""
        if table.is_declared or problem.n_actions > MAX_JOINT_ACTIONS:
            return None
        bounds = RewardBounds(problem.rewards, problem.n_actions)
        return cls(bounds, RewardMeans(table.wins, bounds.levels))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {"bounds": self.bounds.to_dict(), "means": self.means.to_dict()}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Restore what `to_dict` returned."""
        self.bounds.restore(plain["bounds"])
        self.means.restore(plain["means"])
        self.means.rescale(self.bounds.levels)
