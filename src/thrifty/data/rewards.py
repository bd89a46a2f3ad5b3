"""What it pays to do something, by what turned out to be true."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec
from thrifty.parameters import as_float


@dataclass(frozen=True, eq=False)
class Rewards:
    """A table (actions, outcomes) in the user's own money."""

    actions: tuple[str, ...]
    outcomes: tuple[str, ...]
    table: NDArray[np.float64]
    currency: str = ""
    given: bool = False
    """Whether the user gave it; otherwise it is 1 for the right action and 0 for others."""

    @property
    def low(self) -> float:
        """The least reward, which policies see as 0."""
        return float(self.table.min())

    @property
    def high(self) -> float:
        """The greatest reward, which policies see as 1."""
        return float(self.table.max())

    @property
    def span(self) -> float:
        """What 1 is in money: rewards and prices are divided by it inside."""
        return self.high - self.low

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The table as policies see it, in [0, 1]."""
        scaled: NDArray[np.float64] = (self.table - self.low) / self.span
        return scaled


def rewards_of(
    given: Mapping[str, Any] | None,
    outcomes: Sequence[str],
    *,
    actions: Sequence[str] | None = None,
    currency: str = "",
) -> Rewards:
    """Return the user's table, or 1 for the action that is named like the outcome and 0 otherwise.

    >>> given = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    >>> rewards = rewards_of(given, ["default", "repaid"])
    >>> rewards.actions, rewards.table.tolist(), rewards.span
    (('approve', 'decline'), [[-900.0, 120.0], [0.0, 0.0]], 1020.0)
    """
    if given is None:
        return Rewards(tuple(outcomes), tuple(outcomes), np.eye(len(outcomes)), currency)
    for action in given:
        if actions is not None and action not in actions:
            raise InvalidSpec(
                f"rewards are given for action {action!r}, which is not among `actions`, "
                f"{', '.join(map(repr, actions))}: correct the name, or add it."
            )
    for action in actions or ():
        if action not in given:
            raise InvalidSpec(f"action {action!r} has no rewards: add it under [rewards].")
    if len(given) < 2:
        raise InvalidSpec(
            f"rewards are given for {', '.join(map(repr, given)) or 'no action'} only: to decide "
            "there must be two actions or more; give each its rewards by outcome."
        )
    table = np.array([_row(action, row, outcomes) for action, row in given.items()])
    if table.max() == table.min():
        raise InvalidSpec(
            f"every reward is {table.max()}: then nothing depends on what is done. Give each "
            "action its rewards by outcome."
        )
    return Rewards(tuple(given), tuple(outcomes), table, currency, given=True)


def _row(action: str, row: Any, outcomes: Sequence[str]) -> list[float]:
    if not isinstance(row, Mapping):
        return [_number(action, "every outcome", row)] * len(outcomes)
    for outcome in row:
        if outcome not in outcomes:
            raise InvalidSpec(
                f"action {action!r} has a reward for outcome {outcome!r}, which the target never "
                f"takes: its values are {', '.join(map(repr, outcomes))}."
            )
    for outcome in outcomes:
        if outcome not in row:
            raise InvalidSpec(
                f"action {action!r} has no reward for outcome {outcome!r}: a past case can only be "
                "judged if every action has one; add it."
            )
    return [_number(action, repr(outcome), row[outcome]) for outcome in outcomes]


def _number(action: str, outcome: str, value: Any) -> float:
    number = as_float(value)
    if not math.isfinite(number):
        raise InvalidSpec(
            f"the reward of action {action!r} for {outcome} is {value!r}: give a finite number."
        )
    return number
