"""What there is to decide: features that can be bought, actions, and what both are worth."""

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
    """The features 1..D and the actions 1..A of the paper, by name.

    Parameters
    ----------
    features : sequence of Feature
        What can be bought or may be known.
    actions : sequence of str
        What can be done.
    outcomes : Outcomes or mapping, optional
        What can turn out to be true, and what each action then pays:
        `{action: {outcome: money}}`.
    prices : PriceList or mapping, optional
        List prices in money. A policy may know them before it buys.
    rewards : RewardRange, optional
        The range of rewards in money. By default that of the outcomes' table, or [0, 1].

    Examples
    --------
    >>> problem = Problem(
    ...     features=(Feature("health", ("poor", "good")), Feature("form", ("a", "b", "c"))),
    ...     actions=("reject", "accept"),
    ... )
    >>> problem.n_features, problem.n_actions, problem.levels.tolist()
    (2, 2, [2, 3])

    Psi_tot, the number of partial states, is a product over features of (levels + 1):

    >>> round(np.exp(problem.log_psi_tot))
    12
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
        """Make a problem of features x1, x2, ... with levels "0", "1", ... and actions a1, a2, ...

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
        """The names of the features, in their order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """|X_i| for every feature, shape (D,)."""
        levels = np.array([len(feature.levels) for feature in self.features], dtype=np.int64)
        levels.flags.writeable = False
        return levels

    @cached_property
    def log_psi_tot(self) -> float:
        """Return log Psi_tot: Psi_tot itself overflows from a few hundred features on."""
        return math.fsum(math.log(len(feature.levels) + 1) for feature in self.features)

    def feature_index(self, name: str) -> int:
        """Return the position of the feature called `name`."""
        try:
            return self._feature_positions[name]
        except (KeyError, TypeError):
            known = self._feature_positions
            raise _unknown("the problem has no feature", name, known) from None

    def action_index(self, name: str) -> int:
        """Return the position of the action called `name`."""
        try:
            return self._action_positions[name]
        except (KeyError, TypeError):
            raise _unknown("the problem has no action", name, self.actions) from None

    def list_prices(self, names: Iterable[str], owned: Iterable[str] = ()) -> list[float | None]:
        """Return the list price of each feature if these are bought together (see `PriceList`)."""
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
                f"rewards by outcome are given for {given}, and the actions are "
                f"{list(self.actions)}: give every action its rewards, and no others."
            )
        if given == list(self.actions):
            return outcomes
        return Outcomes(outcomes.names, {it: outcomes.rewards[it] for it in self.actions})

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
                    f"every reward is {low:g}, so nothing depends on what is done: give each "
                    "action its rewards by outcome."
                )
            return RewardRange(low, high)
        if low < rewards.low or high > rewards.high:
            raise InvalidProblem(
                f"the rewards by outcome go from {low:g} to {high:g}, beyond the declared range "
                f"from {rewards.low:g} to {rewards.high:g}: widen the range, or leave it out."
            )
        return rewards

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON values; `from_dict` reverses it."""
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
        """Rebuild a problem from what `to_dict` returned."""
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
