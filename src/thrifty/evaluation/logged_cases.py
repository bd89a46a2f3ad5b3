"""`LoggedCases`: cases as another policy left them, with the probabilities of what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.problem import Problem

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int16]

REWARD_TOLERANCE = 1e-9
"""Rewards may leave the declared range by this share of it, because of rounding."""


@dataclass(frozen=True, eq=False)
class LoggedCases:
    """n cases of a log: what was bought, seen, paid, done and earned, and with which probability.

    Parameters
    ----------
    problem : Problem
        Features, actions and range of rewards.
    codes : array of int, shape (n, D)
        Code of each value, -1 where it was not seen.
    settled : array of bool, shape (n, D)
        True where a value is free, or was bought, also if it could not be obtained.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    actions : array of int, shape (n,)
        Actions taken.
    rewards : array of float, shape (n,)
        Rewards in money.
    costs : array of float, shape (n, D)
        What was paid for each feature, in money; 0 where nothing was paid.
    action_probabilities : array of float, shape (n,)
        Probability of the action, given everything that was seen.
    purchase_probabilities : array of float, shape (n,), optional
        Probability of all purchases of the case: the product over its steps, with the probability
        of stopping at the end. Give these or `feature_probabilities`.
    feature_probabilities : array of float, shape (n, D), optional
        Probability of each feature's purchase when it was decided, if features were decided one by
        one. Only those of bought features are used.
    trajectories : array of int, shape (n,), optional
        Number of the sequence of purchases: equal numbers mean equal purchases in equal order. By
        default the set of features that were bought.
    ids : sequence of str, optional
        Name of each case.
    notes : tuple of str
        What a reader should know about how the log was read.

    Raises
    ------
    InvalidTable
        If a probability is missing, 0 or above 1, a case appears twice, a reward is outside the
        range that the problem declares, or a cost is not finite.

    Examples
    --------
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> log = LoggedCases(
    ...     problem,
    ...     codes=[[1], [-1]],
    ...     settled=[[True], [False]],
    ...     free=[False],
    ...     actions=[0, 1],
    ...     rewards=[1.0, 0.0],
    ...     costs=[[0.25], [0.0]],
    ...     action_probabilities=[0.5, 0.5],
    ...     purchase_probabilities=[0.9, 0.1],
    ... )
    >>> log.n_cases, log.gains.tolist(), log.bought.tolist()
    (2, [0.75, 0.0], [[True], [False]])
    """

    problem: Problem
    codes: Codes
    settled: Bools
    free: Bools
    actions: Integers
    rewards: Floats
    costs: Floats
    action_probabilities: Floats
    purchase_probabilities: Floats | None = None
    feature_probabilities: Floats | None = None
    trajectories: Integers | None = None
    ids: Any = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.asarray(value).astype(kind, copy=False))
        self._require_shapes()
        self._require_known_codes()
        self._require_rewards()
        self._require_costs()
        self._require_probabilities()
        self._require_distinct()

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.actions)

    @property
    def bought(self) -> Bools:
        """True where a feature was bought, (n, D)."""
        bought: Bools = self.settled & ~self.free
        return bought

    @cached_property
    def spend(self) -> Floats:
        """What was paid in every case, (n,)."""
        spend: Floats = self.costs.sum(axis=1)
        return spend

    @property
    def gains(self) -> Floats:
        """Reward minus spend of every case, (n,)."""
        return self.rewards - self.spend

    @cached_property
    def purchase_classes(self) -> Integers:
        """Number of each case's sequence of purchases, (n,)."""
        if self.trajectories is not None:
            return self.trajectories
        return set_numbers(self.bought)

    def subset(self, rows: NDArray[np.integer] | Bools) -> LoggedCases:
        """Return some of the cases.

        Parameters
        ----------
        rows : array of int or bool
            Positions of the cases, or True for each case to keep.

        Returns
        -------
        LoggedCases
            The same problem with fewer cases.
        """
        taken = {
            name: None if value is None else value[rows]
            for name in _BY_CASE
            for value in [getattr(self, name)]
        }
        ids = None if self.ids is None else np.asarray(self.ids)[rows]
        return LoggedCases(
            self.problem, free=self.free, ids=ids, notes=self.notes, **_without_none(taken)
        )

    def _require_shapes(self) -> None:
        n, n_features = len(self.actions), self.problem.n_features
        wide = {"codes", "settled", "costs", "feature_probabilities"}
        for name in _BY_CASE:
            value = getattr(self, name)
            expected = (n, n_features) if name in wide else (n,)
            if value is not None and value.shape != expected:
                raise InvalidTable(
                    f"{name} of the log has the shape {value.shape}, but {n} actions and "
                    f"{n_features} features need {expected}: give one entry per case."
                )
        if n == 0:
            raise InvalidTable("the log has no cases, so there is nothing to estimate from.")
        if (self.purchase_probabilities is None) == (self.feature_probabilities is None):
            raise InvalidTable(
                "the log needs either the probability of all purchases of a case, or that of each "
                "feature: without it, no one can tell how often the log would have shown what the "
                "target looks at. Give one of the two."
            )

    def _require_known_codes(self) -> None:
        if ((self.codes >= 0) & ~self.settled & ~self.free).any():
            raise InvalidTable(
                "a value of the log is known but was neither bought nor free: mark it as bought."
            )
        n_actions = self.problem.n_actions
        if not ((self.actions >= 0) & (self.actions < n_actions)).all():
            raise InvalidTable(f"an action of the log is not among the {n_actions} of the problem.")

    def _require_rewards(self) -> None:
        scale = self.problem.rewards
        slack = REWARD_TOLERANCE * scale.span
        inside = (self.rewards >= scale.low - slack) & (self.rewards <= scale.high + slack)

        def describe(row: int) -> str:
            value = float(self.rewards[row])
            if np.isnan(value):
                return "a reward that is not a number: correct it, or leave it empty if it is lost"
            return (
                f"the reward {value:g}, outside the declared range from {scale.low:g} to "
                f"{scale.high:g}, which would distort every average: correct the reward, or widen "
                "the range in [rewards]"
            )

        self._require(inside, describe)

    def _require_costs(self) -> None:
        def describe(row: int) -> str:
            place = int(np.argmin(np.isfinite(self.costs[row])))
            return (
                f"the cost {self.costs[row, place]:g} for {self.problem.feature_names[place]!r}, "
                "which is not a finite amount: correct the cost"
            )

        self._require(np.isfinite(self.spend), describe)

    def _require_probabilities(self) -> None:
        self._require_probability(self.action_probabilities, "action")
        if self.purchase_probabilities is not None:
            self._require_probability(self.purchase_probabilities, "purchases")
        elif self.feature_probabilities is not None:
            for i, name in enumerate(self.problem.feature_names):
                used = np.where(self.bought[:, i], self.feature_probabilities[:, i], 1.0)
                self._require_probability(used, f"purchase of {name!r}")

    def _require_probability(self, values: Floats, what: str) -> None:
        def describe(row: int) -> str:
            value = float(values[row])
            given = "no probability" if np.isnan(value) else f"the probability {value:g}"
            return (
                f"{given} of its {what}: what happened has a probability above 0 and at most 1, "
                "and estimates divide by it. Log the probability with every decision, or leave "
                "out such cases if they were not decided by the policy"
            )

        self._require((values > 0) & (values <= 1), describe)

    def _require(self, good: Bools, describe: Callable[[int], str]) -> None:
        """Raise `InvalidTable` with the first bad case and the number of them."""
        if good.all():
            return
        row = int(np.argmin(good))
        name = f"case {row + 1}" if self.ids is None else f"case {self.ids[row]!s}"
        raise InvalidTable(
            f"{name} has {describe(row)}. {int((~good).sum()):,} of {len(good):,} cases have this "
            "mistake."
        )

    def _require_distinct(self) -> None:
        if self.ids is None:
            return
        names, counts = np.unique(np.asarray(self.ids), return_counts=True)
        if (counts > 1).any():
            raise InvalidTable(
                f"case {names[counts.argmax()]!s} appears {counts.max()} times, and "
                f"{int((counts > 1).sum()):,} cases appear more than once. Intervals would be too "
                "narrow, because copies bring no information: keep one row per case."
            )


_KINDS: dict[str, Any] = {
    "codes": np.int16,
    "settled": np.bool_,
    "free": np.bool_,
    "actions": np.int64,
    "rewards": np.float64,
    "costs": np.float64,
    "action_probabilities": np.float64,
    "purchase_probabilities": np.float64,
    "feature_probabilities": np.float64,
    "trajectories": np.int64,
}
_BY_CASE = tuple(name for name in _KINDS if name != "free")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def set_numbers(masks: Bools) -> Integers:
    """Return a number for each row of a table of flags; equal rows have equal numbers.

    Parameters
    ----------
    masks : array of bool, shape (n, D)
        The rows.

    Returns
    -------
    array of int, shape (n,)
        Numbers, counted from 0.

    Examples
    --------
    >>> set_numbers(np.array([[True, False], [False, True], [True, False]])).tolist()
    [0, 1, 0]
    """
    numbers = np.zeros(len(masks), np.int64)
    for start in range(0, masks.shape[1], 32):
        part = masks[:, start : start + 32]
        bits = part @ np.left_shift(1, np.arange(part.shape[1], dtype=np.int64))
        kinds, ranks = np.unique(bits, return_inverse=True)
        numbers = np.unique(numbers * len(kinds) + ranks, return_inverse=True)[1]
    return numbers
