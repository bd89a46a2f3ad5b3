"""The problem: features that can be bought, actions, outcomes, prices and rewards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidProblem, UnknownName
from thrifty.features import Feature, as_names, require_distinct
from thrifty.outcomes import Outcomes, RewardRange
from thrifty.prices import Bundle, Group, PriceList

__all__ = ["Bundle", "Feature", "Group", "Outcomes", "PriceList", "Problem", "RewardRange"]


@dataclass(frozen=True, init=False)
class Problem:
    """The features that can be bought, the actions, and what they cost and pay.

    Prices may contain bundles (features that are sold together) and groups (features that share a
    fee): give a `PriceList` with `Bundle` and `Group`. In the paper, the features are 1..D and the
    actions 1..A.

    Parameters
    ----------
    features : sequence of Feature
        Features that can be bought, or that may be known for free.
    actions : sequence of str
        Names of the actions.
    outcomes : Outcomes or mapping, optional
        Possible outcomes of a case and the reward of each action: `{action: {outcome: money}}`.
    prices : PriceList or mapping, optional
        List prices in money. They are public: a policy may use them before it buys.
    rewards : RewardRange, optional
        Range of rewards in money. By default the range of the outcomes' rewards, or [0, 1].

    Examples
    --------
    A lender may buy two features of an applicant before it decides:

    >>> problem = Problem(
    ...     features=(
    ...         Feature.number("income", edges=(20_000, 50_000)),
    ...         Feature("history", ("defaults", "none", "good")),
    ...     ),
    ...     actions=("approve", "reject"),
    ...     outcomes={"approve": {"repaid": 300, "default": -1500}, "reject": 0},
    ...     prices={"income": 5, "history": 12},
    ...     rewards=RewardRange(-1500, 300, unit="EUR"),
    ... )
    >>> problem.feature_names, problem.levels.tolist()
    (('income', 'history'), [3, 3])
    >>> problem.list_prices(["income", "history"])
    [5.0, 12.0]
    """

    features: tuple[Feature, ...]
    actions: tuple[str, ...]
    outcomes: Outcomes | None
    prices: PriceList | None
    rewards: RewardRange

    def __init__(
        self,
        features: Sequence[Feature],
        actions: Sequence[str],
        outcomes: Outcomes | Mapping[str, Any] | None = None,
        prices: PriceList | Mapping[str, float] | None = None,
        rewards: RewardRange | None = None,
    ) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("features", as_names(features, "features"))
        put("actions", as_names(actions, "actions"))
        self._require_features_and_actions()
        put("outcomes", None if outcomes is None else self._ordered(Outcomes.of(outcomes)))
        put("prices", self._checked(prices))
        put("rewards", self._range(rewards))

    @classmethod
    def anonymous(cls, levels: Sequence[int], n_actions: int) -> Problem:
        """Make a problem with generated names.

        Parameters
        ----------
        levels : sequence of int
            Number of levels of each feature. Features are called x1, x2, ..., levels "0", "1", ...
        n_actions : int
            Number of actions. They are called a1, a2, ...

        Returns
        -------
        Problem
            The problem, without outcomes and prices.

        Examples
        --------
        >>> Problem.anonymous((2,), 2).features[0].levels
        ('0', '1')
        """
        return cls(
            features=tuple(
                Feature(f"x{i}", tuple(str(code) for code in range(n)))
                for i, n in enumerate(levels, start=1)
            ),
            actions=tuple(f"a{k}" for k in range(1, n_actions + 1)),
        )

    @property
    def n_features(self) -> int:
        """D, the number of features."""
        return len(self.features)

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return len(self.actions)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """Number of levels of each feature, |X_i|, shape (D,)."""
        levels = np.array([len(feature.levels) for feature in self.features], dtype=np.int64)
        levels.flags.writeable = False
        return levels

    @cached_property
    def log_psi_tot(self) -> float:
        """The logarithm of Psi_tot, which itself overflows from a few hundred features on."""
        return math.fsum(math.log(len(feature.levels) + 1) for feature in self.features)

    def feature_index(self, name: str) -> int:
        """Return the position of a feature.

        Parameters
        ----------
        name : str
            Name of the feature.

        Returns
        -------
        int
            Position, counted from 0.

        Raises
        ------
        UnknownName
            If there is no feature with this name.
        """
        try:
            return self._feature_positions[name]
        except (KeyError, TypeError):
            known = self._feature_positions
            raise _unknown("the problem has no feature", name, known) from None

    def action_index(self, name: str) -> int:
        """Return the position of an action.

        Parameters
        ----------
        name : str
            Name of the action.

        Returns
        -------
        int
            Position, counted from 0.

        Raises
        ------
        UnknownName
            If there is no action with this name.
        """
        try:
            return self._action_positions[name]
        except (KeyError, TypeError):
            raise _unknown("the problem has no action", name, self.actions) from None

    def list_prices(self, names: Iterable[str], owned: Iterable[str] = ()) -> list[float | None]:
        """Return the list price of each feature when these are bought together.

        Parameters
        ----------
        names : iterable of str
            Features to buy now, in the order of the problem.
        owned : iterable of str
            Features bought earlier in the case.

        Returns
        -------
        list of float or None
            Costs as in `PriceList.costs`, in the order of `names`.
        """
        wanted = list(names)
        if self.prices is None:
            return [None] * len(wanted)
        costs = self.prices.costs(wanted, owned)
        return [costs[name] for name in wanted]

    @cached_property
    def _feature_positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.feature_names)}

    @cached_property
    def _action_positions(self) -> dict[str, int]:
        return {name: a for a, name in enumerate(self.actions)}

    def _require_features_and_actions(self) -> None:
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise InvalidProblem(f"{feature!r} is not a feature: give Feature(name, levels).")
        if not self.features:
            raise InvalidProblem("a problem needs at least one feature: there is nothing to buy.")
        if not self.actions:
            raise InvalidProblem("a problem needs at least one action: there is nothing to do.")
        require_distinct([feature.name for feature in self.features], "feature")
        require_distinct(self.actions, "action")

    def _ordered(self, outcomes: Outcomes) -> Outcomes:
        """Return the outcomes with their rows in the order of the actions."""
        given = list(outcomes.rewards)
        if sorted(given) != sorted(self.actions):
            raise InvalidProblem(
                f"rewards by outcome are given for {given}, but the actions are "
                f"{list(self.actions)}: give rewards for exactly these actions."
            )
        if given == list(self.actions):
            return outcomes
        rewards = {action: outcomes.rewards[action] for action in self.actions}
        return Outcomes(outcomes.names, rewards)

    def _checked(self, prices: PriceList | Mapping[str, float] | None) -> PriceList | None:
        if prices is None:
            return None
        listed = prices if isinstance(prices, PriceList) else PriceList(prices)
        listed.require_features(self.feature_names)
        return listed

    def _range(self, rewards: RewardRange | None) -> RewardRange:
        if self.outcomes is None:
            return RewardRange() if rewards is None else rewards
        low, high = self.outcomes.range
        if rewards is None:
            if low == high:
                raise InvalidProblem(
                    f"every reward is {low:g}, so all actions are equal: give each action its "
                    "rewards by outcome."
                )
            return RewardRange(low, high)
        if low < rewards.low or high > rewards.high:
            raise InvalidProblem(
                f"the rewards by outcome go from {low:g} to {high:g}, outside the declared range "
                f"from {rewards.low:g} to {rewards.high:g}: widen the range, or leave it out."
            )
        return rewards

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as a dictionary of JSON values.

        Returns
        -------
        dict
            Input for `from_dict`.
        """
        plain: dict[str, Any] = {
            "features": [feature.to_dict() for feature in self.features],
            "actions": list(self.actions),
        }
        if self.outcomes is not None:
            plain["outcomes"] = self.outcomes.to_dict()
        if self.prices is not None:
            plain["prices"] = self.prices.to_dict()
        if self.outcomes is not None or self.rewards != RewardRange():
            scale = self.rewards
            plain["rewards"] = {"low": scale.low, "high": scale.high, "unit": scale.unit}
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Problem:
        """Make a problem from the output of `to_dict`.

        Parameters
        ----------
        plain : mapping
            Output of `to_dict`.

        Returns
        -------
        Problem
            An equal problem.
        """
        outcomes, prices, rewards = (plain.get(k) for k in ("outcomes", "prices", "rewards"))
        return cls(
            features=tuple(map(Feature.from_dict, plain["features"])),
            actions=tuple(plain["actions"]),
            outcomes=None if outcomes is None else Outcomes(**outcomes),
            prices=None if prices is None else PriceList.from_dict(prices),
            rewards=None if rewards is None else RewardRange(**rewards),
        )


def _unknown(complaint: str, name: str, names: Iterable[str]) -> UnknownName:
    return UnknownName(f"{complaint} {name!r}: use one of {', '.join(map(repr, names))}.")
