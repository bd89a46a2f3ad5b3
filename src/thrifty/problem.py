"""What there is to decide: features that can be bought, and actions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidProblem, UnknownName


def _as_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidProblem(
            f"{what} are {names!r}, which is not a list of names: give a tuple of strings."
        )
    return tuple(names)


def _require_distinct(names: Sequence[str], what: str) -> None:
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidProblem(
                f"{what} {name!r} is not a name: people and files refer to it by name, "
                "so give it a non-empty string."
            )
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InvalidProblem(
            f"{what} {repeated!r} stands twice: a name must mean one thing, rename one of them."
        )


@dataclass(frozen=True)
class Feature:
    """A feature i with its finite set of states X_i, here called levels.

    >>> health = Feature("health", ("not_recom", "recommended", "priority"))
    >>> health.code("priority")
    2
    """

    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        levels = _as_names(self.levels, f"the levels of feature {self.name!r}")
        object.__setattr__(self, "levels", levels)
        if not self.levels:
            raise InvalidProblem(
                f"feature {self.name!r} has no levels, so it can never be observed: "
                "give it at least one."
            )
        _require_distinct(self.levels, f"feature {self.name!r}: level")

    def code(self, level: str) -> int:
        """Return the position of `level`, counted from 0."""
        try:
            return self._codes[level]
        except (KeyError, TypeError):
            raise _unknown(f"feature {self.name!r} has no level", level, self.levels) from None

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {level: code for code, level in enumerate(self.levels)}


@dataclass(frozen=True)
class Problem:
    """The features 1..D and the actions 1..A of the paper, by name.

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

    def __post_init__(self) -> None:
        features = _as_names(self.features, "features")  # type: ignore[arg-type]
        for feature in features:
            if not isinstance(feature, Feature):
                raise InvalidProblem(f"{feature!r} is not a feature: give Feature(name, levels).")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "actions", _as_names(self.actions, "actions"))
        if not self.features:
            raise InvalidProblem("a problem needs at least one feature: there is nothing to buy.")
        if not self.actions:
            raise InvalidProblem("a problem needs at least one action: there is nothing to do.")
        _require_distinct([feature.name for feature in self.features], "feature")
        _require_distinct(self.actions, "action")

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

    @cached_property
    def _feature_positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.feature_names)}

    @cached_property
    def _action_positions(self) -> dict[str, int]:
        return {name: a for a, name in enumerate(self.actions)}

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain JSON values; `from_dict` is the way back."""
        return {
            "features": [{"name": f.name, "levels": list(f.levels)} for f in self.features],
            "actions": list(self.actions),
        }

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Problem:
        """Rebuild a problem from what `to_dict` returned."""
        return cls(
            features=tuple(Feature(f["name"], f["levels"]) for f in description["features"]),
            actions=tuple(description["actions"]),
        )


def _unknown(complaint: str, name: str, names: Iterable[str]) -> UnknownName:
    return UnknownName(f"{complaint} {name!r}: use one of {', '.join(map(repr, names))}.")
