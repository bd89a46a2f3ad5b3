"""What it pays to do something, by what turned out to be true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec
from thrifty.policy_file import PolicyFile


@dataclass(frozen=True, eq=False)
class Rewards:
    """A table (actions, outcomes) in the user's own money, and the range of rewards."""

    actions: tuple[str, ...]
    outcomes: tuple[str, ...]
    table: NDArray[np.float64]
    currency: str = ""
    given: bool = False
    """Whether the user gave it; otherwise it is 1 for the right action and 0 for others."""
    range: tuple[float, float] | None = None
    """The declared range of rewards; None means that of the table."""

    @property
    def low(self) -> float:
        """The least reward, which policies see as 0."""
        return float(self.table.min()) if self.range is None else self.range[0]

    @property
    def high(self) -> float:
        """The greatest reward, which policies see as 1."""
        return float(self.table.max()) if self.range is None else self.range[1]

    @property
    def span(self) -> float:
        """What 1 is in money: rewards and prices are divided by it inside."""
        return self.high - self.low

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The table as policies see it, in [0, 1]."""
        scaled: NDArray[np.float64] = (self.table - self.low) / self.span
        return scaled

    @property
    def by_action(self) -> dict[str, dict[str, float]]:
        """The table as `{action: {outcome: money}}`."""
        return {
            action: dict(zip(self.outcomes, row, strict=True))
            for action, row in zip(self.actions, self.table.tolist(), strict=True)
        }


def rewards_of(file: PolicyFile, outcomes: Sequence[str]) -> Rewards:
    """Return the file's rewards by action and outcome, or 1 for naming the outcome and 0 otherwise.

    Parameters
    ----------
    file : PolicyFile
        Its `[outcomes.rewards]`, `[actions]` and `[rewards]` are read.
    outcomes : sequence of str
        The values of the target.

    Returns
    -------
    Rewards

    Examples
    --------
    >>> from thrifty.policy_file import of_prices
    >>> given = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    >>> rewards = rewards_of(of_prices({}, rewards=given), ["default", "repaid"])
    >>> rewards.actions, rewards.table.tolist(), rewards.span
    (('approve', 'decline'), [[-900.0, 120.0], [0.0, 0.0]], 1020.0)
    """
    unit, given = file.rewards.unit, file.outcomes.rewards if file.outcomes else {}
    if not given:
        _require_guesses(file, outcomes)
        table = np.eye(len(outcomes))
        return Rewards(tuple(outcomes), tuple(outcomes), table, unit, range=_range(file, table))
    actions = tuple(given) if file.actions is None else file.actions.names
    if len(actions) < 2:
        raise InvalidSpec(
            f"rewards are given for {', '.join(map(repr, actions))} only: to decide there must be "
            "two actions or more; give each its rewards in [outcomes.rewards]."
        )
    table = np.array([_row(action, given[action], outcomes) for action in actions])
    if table.max() == table.min():
        raise InvalidSpec(
            f"every reward is {table.max():g}, so nothing depends on what is done: give each "
            "action its rewards by outcome."
        )
    return Rewards(actions, tuple(outcomes), table, unit, True, _range(file, table))


def _require_guesses(file: PolicyFile, outcomes: Sequence[str]) -> None:
    if file.actions is not None and sorted(file.actions.names) != sorted(outcomes):
        raise InvalidSpec(
            f"[actions] are {', '.join(map(repr, file.actions.names))}, and the target is one of "
            f"{', '.join(map(repr, outcomes))}: say in [outcomes.rewards] what each action pays."
        )


def _range(file: PolicyFile, table: NDArray[np.float64]) -> tuple[float, float] | None:
    declared = (file.rewards.low, file.rewards.high)
    if declared == (None, None):
        return None
    least, most = float(table.min()), float(table.max())
    low = least if declared[0] is None else declared[0]
    high = most if declared[1] is None else declared[1]
    if least < low or most > high:
        raise InvalidSpec(
            f"the rewards by outcome go from {least:g} to {most:g}, beyond low = {low:g} and "
            f"high = {high:g} in [rewards]: widen the range, or leave low and high out."
        )
    return low, high


def _row(action: str, row: float | Mapping[str, float], outcomes: Sequence[str]) -> list[float]:
    if not isinstance(row, Mapping):
        return [row] * len(outcomes)
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
    return [row[outcome] for outcome in outcomes]
