"""Smallest and largest reward of each action, which are learnt if no outcomes are declared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import RewardRange

Floats = NDArray[np.float64]

FEWEST_REWARDS = 30
"""With fewer rewards of an action, the declared range counts."""
FEWEST_TRIES = 10
"""As long as an action has fewer rewards, nothing is known about it."""
OUTSIDE = 0.01
"""A reward moves a bound if it lies outside by this share of the declared range."""


class RewardBounds:
    """Between which rewards each action's reward lies.

    A safe action pays the same in every case, and a loan pays little or costs much. Two rewards
    describe an action well if they are its own, and badly if they are the ends of the range of all
    actions.

    Parameters
    ----------
    scale : RewardRange
        Declared range of rewards.
    n_actions : int
        Number of actions.

    Examples
    --------
    >>> bounds = RewardBounds(RewardRange(-900, 120), n_actions=2)
    >>> moved = [bounds.add(0, 0.0) for _ in range(30)]
    >>> bounds.levels.tolist(), moved.index(True)
    ([[0.0, 0.0], [-900.0, 120.0]], 29)
    >>> bounds.add(0, 0.0), bounds.add(0, -60.0)
    (False, True)
    """

    def __init__(self, scale: RewardRange, n_actions: int) -> None:
        self._scale = scale
        self._numbers = np.zeros(n_actions, np.int64)
        self._seen = np.tile([np.inf, -np.inf], (n_actions, 1))

    @property
    def levels(self) -> Floats:
        """Lower and upper bound of each action's rewards in money, (A, 2)."""
        declared = [self._scale.low, self._scale.high]
        is_learnt = self._numbers[:, None] >= FEWEST_REWARDS
        levels: Floats = np.where(is_learnt, self._seen, np.array(declared))
        return levels

    @property
    def untried(self) -> NDArray[np.bool_]:
        """True for each action that has hardly been taken yet, (A,)."""
        untried: NDArray[np.bool_] = self._numbers < FEWEST_TRIES
        return untried

    def add(self, action: int, reward: float) -> bool:
        """Take in a reward.

        Parameters
        ----------
        action : int
            Action taken.
        reward : float
            Its reward in money.

        Returns
        -------
        bool
            True if the bounds of the action have moved.
        """
        before = self.levels[action]
        reward = min(max(reward, self._scale.low), self._scale.high)
        low, high = self._seen[action].tolist()
        is_learnt = self._numbers[action] >= FEWEST_REWARDS
        margin = OUTSIDE * self._scale.span if is_learnt else 0.0
        self._numbers[action] += 1
        if not low - margin <= reward <= high + margin:
            self._seen[action] = min(low, reward), max(high, reward)
        return bool((self.levels[action] != before).any())

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        seen = [row.tolist() if np.isfinite(row).all() else None for row in self._seen]
        return {"numbers": self._numbers.tolist(), "seen": seen}

    def restore(self, plain: dict[str, Any]) -> None:
        """Restore what `to_dict` returned."""
        self._numbers = np.array(plain["numbers"], np.int64)
        empty = [np.inf, -np.inf]
        self._seen = np.array([empty if row is None else row for row in plain["seen"]])
