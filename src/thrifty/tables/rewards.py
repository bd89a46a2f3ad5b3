"""Rewards of actions by outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec
from thrifty.policy_file import PolicyFile


@dataclass(frozen=True, eq=False)
class Rewards:
    """Rewards by action and outcome, in money.

    Parameters
    ----------
    actions, outcomes : tuple of str
        Names of the rows and columns of the table.
    table : ndarray
        Rewards, (actions, outcomes).
    currency : str
        Unit of the rewards.
    is_custom : bool
        True if the user gave the rewards. Otherwise a correct prediction of the outcome earns 1.
    range : tuple of float, optional
        The declared range of rewards; that of the table by default.
    """

    actions: tuple[str, ...]
    outcomes: tuple[str, ...]
    table: NDArray[np.float64]
    currency: str = ""
    is_custom: bool = False
    range: tuple[float, float] | None = None

    @property
    def low(self) -> float:
        """The lowest reward, which policies see as 0."""
        return float(self.table.min()) if self.range is None else self.range[0]

    @property
    def high(self) -> float:
        """The highest reward, which policies see as 1."""
        return float(self.table.max()) if self.range is None else self.range[1]

    @property
    def span(self) -> float:
        """The range of rewards; policies see rewards and prices divided by it."""
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


def build_rewards(file: PolicyFile, outcomes: Sequence[str]) -> Rewards:
    """Return the rewards of a policy file, or 1 for a correct prediction and 0 otherwise.

    Parameters
    ----------
    file : PolicyFile
        A file with or without `[outcomes.rewards]`, `[actions]` and `[rewards]`.
    outcomes : sequence of str
        The values of the target.

    Returns
    -------
    Rewards
        Rewards of every action for every outcome.

    Examples
    --------
    >>> from thrifty.policy_file import from_prices
    >>> given = {"approve": {"repaid": 120, "default": -900}, "decline": 0}
    >>> rewards = build_rewards(from_prices({}, rewards=given), ["default", "repaid"])
    >>> rewards.actions, rewards.table.tolist(), rewards.span
    (('approve', 'decline'), [[-900.0, 120.0], [0.0, 0.0]], 1020.0)
    """
    unit, given = file.rewards.unit, file.outcomes.rewards if file.outcomes else {}
    if not given:
        _require_predictions(file, outcomes)
        table = np.eye(len(outcomes))
        return Rewards(tuple(outcomes), tuple(outcomes), table, unit, range=_range(file, table))
    actions = tuple(given) if file.actions is None else file.actions.names
    if len(actions) < 2:
        raise InvalidSpec(
            f"{', '.join(map(repr, actions))} is the only action with rewards; a decision needs at "
            "least two: add another one to [outcomes.rewards], such as `decline = 0`."
        )
    table = np.array([_row(action, given[action], outcomes) for action in actions])
    if table.max() == table.min():
        raise InvalidSpec(
            f"every reward is {table.max():g}, so all actions are equally good: give each action "
            "its rewards by outcome in [outcomes.rewards]."
        )
    return Rewards(actions, tuple(outcomes), table, unit, True, _range(file, table))


def _require_predictions(file: PolicyFile, outcomes: Sequence[str]) -> None:
    if file.actions is not None and sorted(file.actions.names) != sorted(outcomes):
        raise InvalidSpec(
            f"[actions] are {', '.join(map(repr, file.actions.names))}, but the outcomes are "
            f"{', '.join(map(repr, outcomes))} and no rewards link the two: add [outcomes.rewards] "
            "with the reward of each action for each outcome."
        )


def _range(file: PolicyFile, table: NDArray[np.float64]) -> tuple[float, float] | None:
    declared = (file.rewards.low, file.rewards.high)
    if declared == (None, None):
        return None
    lowest, highest = float(table.min()), float(table.max())
    low = lowest if declared[0] is None else declared[0]
    high = highest if declared[1] is None else declared[1]
    if lowest < low or highest > high:
        raise InvalidSpec(
            f"the rewards range from {lowest:g} to {highest:g}, outside low = {low:g} and "
            f"high = {high:g} in [rewards]: widen the range, or remove low and high."
        )
    return low, high


def _row(action: str, row: float | Mapping[str, float], outcomes: Sequence[str]) -> list[float]:
    if not isinstance(row, Mapping):
        return [row] * len(outcomes)
    for outcome in row:
        if outcome not in outcomes:
            raise InvalidSpec(
                f"action {action!r} has a reward for outcome {outcome!r}, which does not occur in "
                f"the target: use its values, {', '.join(map(repr, outcomes))}."
            )
    for outcome in outcomes:
        if outcome not in row:
            raise InvalidSpec(
                f"action {action!r} has no reward for outcome {outcome!r}, which occurs in the "
                f"target: add `{outcome} = ...` to its rewards in [outcomes.rewards]."
            )
    return [row[outcome] for outcome in outcomes]
