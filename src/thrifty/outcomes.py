"""Rewards in money: their range, and the table of rewards by action and outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidProblem, InvalidReward, UnknownName
from thrifty.features import as_names, require_distinct
from thrifty.parameters import as_float


@dataclass(frozen=True)
class RewardRange:
    """The range of rewards in money.

    A policy sees rewards in [0, 1] and costs as a share of this range. `Agent` and the service
    convert money to that scale and back.

    Parameters
    ----------
    low : float
        Smallest possible reward.
    high : float
        Largest possible reward.
    unit : str
        Currency, for display only.

    Examples
    --------
    >>> euros = RewardRange(-900.0, 100.0, "EUR")
    >>> euros.scaled_reward(100.0), euros.scaled_cost(5.0), euros.money(0.9)
    (1.0, 0.005, 0.0)
    """

    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        low, high = as_float(self.low), as_float(self.high)
        if not (math.isfinite(low) and math.isfinite(high) and high - low >= 1e-9):
            raise InvalidProblem(
                f"rewards range from {self.low!r} to {self.high!r}: the low end must be below the "
                "high end, and both must be finite."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @cached_property
    def span(self) -> float:
        """The difference between the largest and the smallest reward."""
        return self.high - self.low

    @cached_property
    def is_unit(self) -> bool:
        """True if the range is [0, 1], so that money needs no conversion."""
        return self.low == 0.0 and self.high == 1.0

    def scaled_reward(self, money: float) -> float:
        """Convert a reward from money to the policy's scale.

        Parameters
        ----------
        money : float
            Reward in money.

        Returns
        -------
        float
            Reward in [0, 1]; a reward outside the range is clipped.
        """
        return min(1.0, max(0.0, (money - self.low) / self.span))

    def scaled_cost(self, money: float) -> float:
        """Convert a cost from money to the policy's scale.

        Parameters
        ----------
        money : float
            Cost in money.

        Returns
        -------
        float
            Cost as a share of the range of rewards.
        """
        return money / self.span

    def money(self, reward: float) -> float:
        """Convert a reward from the policy's scale to money.

        Parameters
        ----------
        reward : float
            Reward in [0, 1].

        Returns
        -------
        float
            Reward in money.
        """
        return self.low + reward * self.span

    def price(self, cost: float) -> float:
        """Convert a cost from the policy's scale to money.

        Parameters
        ----------
        cost : float
            Cost as a share of the range of rewards.

        Returns
        -------
        float
            Cost in money.
        """
        return cost * self.span

    def require(self, reward: Any) -> float:
        """Return the reward as a float if it is inside the range.

        Parameters
        ----------
        reward : float
            Reward in money.

        Returns
        -------
        float
            The same reward.

        Raises
        ------
        InvalidReward
            If it is not a number inside the range.
        """
        number = as_float(reward)
        if not self.low <= number <= self.high:
            raise InvalidReward(
                f"reward {reward!r} is not a number in [{self.low:g}, {self.high:g}], the range "
                "that the problem declares: policies learn on that scale, so widen the range or "
                "correct the reward."
            )
        return number


@dataclass(frozen=True, eq=False, init=False)
class Outcomes:
    """The possible outcomes of a case, and the reward of each action for each outcome.

    Parameters
    ----------
    names : sequence of str
        Names of the outcomes, at least two.
    rewards : mapping
        `{action: {outcome: money}}`. Give one number instead of the inner mapping if the action
        pays the same for every outcome.

    Examples
    --------
    >>> outcomes = Outcomes(
    ...     names=("repaid", "default"),
    ...     rewards={"decline": 0, "approve": {"repaid": 120, "default": -900}},
    ... )
    >>> outcomes.table.tolist()
    [[0.0, 0.0], [120.0, -900.0]]
    """

    names: tuple[str, ...]
    rewards: Mapping[str, Mapping[str, float]]

    def __init__(
        self, names: Sequence[str], rewards: Mapping[str, Mapping[str, float] | float]
    ) -> None:
        object.__setattr__(self, "names", as_names(names, "outcomes"))
        require_distinct(self.names, "outcome")
        if len(self.names) < 2:
            raise InvalidProblem(
                f"outcomes are {list(self.names)}: with fewer than two there is nothing to find "
                "out, so name at least two."
            )
        if not isinstance(rewards, Mapping):
            raise InvalidProblem(
                f"rewards by outcome are {rewards!r}: give {{action: {{outcome: money}}}}."
            )
        table = {action: self._row(action, row) for action, row in rewards.items()}
        object.__setattr__(self, "rewards", table)

    @classmethod
    def of(cls, given: Any) -> Outcomes:
        """Make outcomes from any form that `Problem` accepts.

        Parameters
        ----------
        given : Outcomes, mapping or pair
            Outcomes, `{action: {outcome: money}}`, or a pair `(names, rewards)`.

        Returns
        -------
        Outcomes
            The outcomes.
        """
        if isinstance(given, Outcomes):
            return given
        if isinstance(given, Mapping):
            rows = [row for row in given.values() if isinstance(row, Mapping)]
            return cls(tuple(dict.fromkeys(name for row in rows for name in row)), given)
        if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
            return cls(*given)
        raise InvalidProblem(
            f"outcomes are {given!r}: give {{action: {{outcome: money}}}}, or Outcomes(names, "
            "rewards)."
        )

    def _row(self, action: str, row: Any) -> dict[str, float]:
        if not isinstance(row, Mapping):
            row = dict.fromkeys(self.names, row)
        unknown = [name for name in row if name not in self.names]
        lacking = [name for name in self.names if name not in row]
        if unknown or lacking:
            raise InvalidProblem(
                f"rewards of action {action!r} lack {lacking} and have unknown outcomes {unknown}: "
                f"give one amount for each of {list(self.names)}."
            )
        return {name: _amount(action, name, row[name]) for name in self.names}

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Rewards in money by action and outcome, shape (A, O)."""
        table = np.array([list(row.values()) for row in self.rewards.values()])
        table.flags.writeable = False
        return table

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest reward in the table."""
        return float(self.table.min()), float(self.table.max())

    def index(self, name: Any) -> int:
        """Return the position of an outcome.

        Parameters
        ----------
        name : str
            Name of the outcome.

        Returns
        -------
        int
            Position, counted from 0.

        Raises
        ------
        UnknownName
            If there is no outcome with this name.
        """
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(map(repr, self.names))
            raise UnknownName(f"there is no outcome {name!r}: use one of {known}.") from None

    def reward(self, action: int, outcome: int) -> float:
        """Return the reward of an action for an outcome.

        Parameters
        ----------
        action : int
            Position of the action.
        outcome : int
            Position of the outcome.

        Returns
        -------
        float
            Reward in money.
        """
        return float(self.table[action, outcome])

    def explaining(self, action: int, reward: float) -> list[int]:
        """Return the outcomes for which an action pays this reward.

        Parameters
        ----------
        action : int
            Position of the action.
        reward : float
            Reward in money. It may differ from the table by rounding errors.

        Returns
        -------
        list of int
            Positions of the outcomes, at least one.

        Raises
        ------
        InvalidReward
            If the action pays this reward for no outcome.
        """
        row = self.table[action]
        close = np.isclose(row, reward, rtol=1e-9, atol=1e-9 * float(np.ptp(self.table)))
        found: list[int] = np.flatnonzero(close).tolist()
        if not found:
            name = list(self.rewards)[action]
            payments = self.rewards[name].items()
            paid = ", ".join(f"{money:g} ({outcome})" for outcome, money in payments)
            raise InvalidReward(
                f"reward {reward!r} cannot come from action {name!r}, which pays {paid}: report "
                "the outcome, or correct the reward."
            )
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcomes) and self._rows() == other._rows()

    def __hash__(self) -> int:
        return hash(self._rows())

    def _rows(self) -> tuple[Any, ...]:
        return self.names, tuple((name, *row.values()) for name, row in self.rewards.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the outcomes as a dictionary of JSON values.

        Returns
        -------
        dict
            The arguments `names` and `rewards`.
        """
        return {"names": list(self.names), "rewards": {k: dict(v) for k, v in self.rewards.items()}}


def _amount(action: str, outcome: str, value: Any) -> float:
    number = as_float(value)
    if not math.isfinite(number):
        raise InvalidProblem(
            f"the reward of action {action!r} for {outcome!r} is {value!r}: give a finite number."
        )
    return number
