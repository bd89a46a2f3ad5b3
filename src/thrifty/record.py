"""What an agent keeps of one round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.problem import Problem
from thrifty.rounds import Observation


@dataclass(slots=True)
class Record:
    """A round from the question to its end; features by position, so that files stay small."""

    id: int
    chosen: tuple[bool, ...]
    purpose: int
    free: Mapping[int, int]
    bought: Mapping[int, int] = field(default_factory=dict)
    costs: Mapping[int, float] = field(default_factory=dict)
    status: str = "asked"
    action: int | None = None
    action_values: NDArray[np.float64] | None = field(default=None, compare=False)
    reward: float | None = None
    reasons: Callable[[], dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    seen: Observation | None = field(default=None, repr=False, compare=False)
    places_to_buy: list[int] = field(init=False, repr=False, compare=False)
    """The positions of the features that were chosen and are not free."""

    def __post_init__(self) -> None:
        free = self.free
        self.places_to_buy = [i for i, it in enumerate(self.chosen) if it and i not in free]

    def to_buy(self, problem: Problem) -> tuple[str, ...]:
        """Return the names of the features that were chosen and are not free."""
        names = problem.feature_names
        return tuple([names[i] for i in self.places_to_buy])

    def observation(self) -> Observation:
        """Return what the policy saw; a record from a file makes it anew."""
        if self.seen is None:
            self.seen = self.observing(self.bought, self.costs)
        return self.seen

    def observing(self, bought: Mapping[int, int], costs: Mapping[int, float]) -> Observation:
        """Return what the policy sees: free features at no cost, bought ones at theirs."""
        codes = [-1] * len(self.chosen)
        paid = [math.nan] * len(self.chosen)
        for i, code in self.free.items():
            codes[i], paid[i] = code, 0.0
        for i, code in bought.items():
            codes[i], paid[i] = code, costs[i]
        return Observation.trusted(np.array(codes), np.array(paid), self.purpose)

    def explained(self, problem: Problem) -> dict[str, Any]:
        """Return the round by names, as plain JSON values."""
        features, actions = problem.features, problem.actions
        values = self._finite_values()
        return {
            "id": self.id,
            "status": self.status,
            "purpose": self.purpose,
            "reasons": self._told_reasons(),
            "to_buy": list(self.to_buy(problem)),
            "bought": {
                features[i].name: {"level": features[i].levels[code], "cost": self.costs[i]}
                for i, code in self.bought.items()
            },
            "free": {features[i].name: features[i].levels[k] for i, k in self.free.items()},
            "action": None if self.action is None else actions[self.action],
            "action_values": None if values is None else dict(zip(actions, values, strict=True)),
            "reward": self.reward,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values; `from_dict` is the way back."""
        return {
            **{name: getattr(self, name) for name in ("id", "purpose", "status", "action")},
            "chosen": [i for i, chosen in enumerate(self.chosen) if chosen],
            "features": len(self.chosen),
            "free": list(self.free.items()),
            "bought": [(i, code, self.costs[i]) for i, code in self.bought.items()],
            "action_values": self._finite_values(),
            "reward": self.reward,
            "reasons": self._told_reasons(),
        }

    def _told_reasons(self) -> dict[str, Any] | None:
        return None if self.reasons is None else self.reasons()

    def _finite_values(self) -> list[float | None] | None:
        """Return the values for JSON, which has no infinity: an action never tried gets None."""
        if self.action_values is None:
            return None
        return [value if math.isfinite(value) else None for value in self.action_values.tolist()]

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Record:
        """Rebuild a record from what `to_dict` returned."""
        chosen, values = set(description["chosen"]), description["action_values"]
        reasons = description["reasons"]
        return cls(
            id=description["id"],
            chosen=tuple(i in chosen for i in range(description["features"])),
            purpose=description["purpose"],
            free={i: code for i, code in description["free"]},  # noqa: C416 (pairs are lists)
            bought={i: code for i, code, _ in description["bought"]},
            costs={i: cost for i, _, cost in description["bought"]},
            status=description["status"],
            action=description["action"],
            action_values=None if values is None else np.array(values, dtype=np.float64),
            reward=description["reward"],
            reasons=None if reasons is None else partial(dict, reasons),
        )
