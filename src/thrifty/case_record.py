"""The life of a case: what was known, bought, done and told, and what is legal when.

A case is open until it has an action, acted until it has a reward, then closed. `Agent` and the
service keep their cases as `CaseRecord`s and check what they are told here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import OutOfTurn, RoundClosed
from thrifty.json_values import to_json_value
from thrifty.problem import Problem
from thrifty.rounds import Observation

OPEN, ACTED, CLOSED = "open", "acted", "closed"
REWARDED, ABANDONED, EXPIRED = "rewarded", "abandoned", "expired"
"""How a case was closed."""

Reasons = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next: buy the features at `places` or, if there are none, take `action`."""

    places: tuple[int, ...]
    purpose: int
    reasons: Reasons | None = field(default=None, repr=False, compare=False)
    action: int | None = None
    action_values: NDArray[np.float64] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PurchaseResult:
    """What came of a purchase: codes of what could be had, and what was paid."""

    codes: Mapping[int, int]
    costs: Mapping[int, float]
    """Also of what could not be had."""


@dataclass(slots=True)
class PurchaseStep:
    """One purchase of a case: what was asked for and why, and what came of it."""

    places: tuple[int, ...]
    purpose: int
    reasons: Reasons | None = field(default=None, repr=False, compare=False)
    bought: PurchaseResult | None = None


@dataclass(slots=True)
class CaseRecord:
    """A case from its first question to its end; features are positions, values are codes."""

    id: int | str
    free: Mapping[int, int]
    steps: list[PurchaseStep] = field(default_factory=list)
    purpose: int = 0
    status: str = OPEN
    end: str | None = None
    action: int | None = None
    action_values: NDArray[np.float64] | None = field(default=None, compare=False)
    reward: float | None = None
    outcome: int | None = None
    seen: Observation | None = field(default=None, repr=False, compare=False)
    """The observation, kept until more is bought."""

    @property
    def places(self) -> tuple[int, ...]:
        """The features to buy now."""
        if self.action is not None or self.status == CLOSED or not self.steps:
            return ()
        return self.steps[-1].places

    def owned(self) -> list[int]:
        """Return the positions of what was bought so far."""
        return [i for step in self.steps if step.bought for i in step.bought.codes]

    def decide(self, decision: Decision) -> None:
        """Take the policy's decision: the next purchase, or the action."""
        if decision.purpose != self.purpose:
            self.purpose, self.seen = decision.purpose, None
        if decision.action is None or not self.steps:
            self.steps.append(PurchaseStep(decision.places, decision.purpose, decision.reasons))
        if decision.action is not None:
            self.status, self.action = ACTED, decision.action
            self.action_values = decision.action_values

    def observe(self, bought: PurchaseResult) -> None:
        """Take what came of the purchase."""
        self.steps[-1].bought = bought
        self.seen = None

    def close(self, end: str) -> None:
        """End the case."""
        self.status, self.end, self.seen = CLOSED, end, None

    def observation(self, n_features: int) -> Observation:
        """Return all that is known: free features have no cost, bought ones theirs, in money."""
        if self.seen is None:
            self.seen = self.observation_after(n_features, None)
        return self.seen

    def observation_after(self, n_features: int, more: PurchaseResult | None) -> Observation:
        """Return what would be known if `more` came of the purchase."""
        codes, costs = [-1] * n_features, [math.nan] * n_features
        for i, code in self.free.items():
            codes[i] = code
        made = [step.bought for step in self.steps]
        for bought in (*made, more):
            if bought is not None:
                for i, cost in bought.costs.items():
                    costs[i] = cost
                for i, code in bought.codes.items():
                    codes[i] = code
        return Observation.unchecked(np.array(codes), np.array(costs), self.purpose)

    def require_open(self) -> None:
        """Refuse to observe anything in a case that has its action."""
        self.require_running()
        if self.status != OPEN:
            raise OutOfTurn(
                f"case {self.id} has its action already, and the action stands: ask for another "
                "case."
            )

    def require_acted(self) -> None:
        """Refuse a reward for a case without an action."""
        if self.action is None:
            raise OutOfTurn(
                f"case {self.id} has no action yet, so it cannot have a reward: observe what was "
                "to be bought first, or abandon the case."
            )

    def require_running(self) -> None:
        """Refuse anything in a case that is closed."""
        if self.status == CLOSED:
            raise RoundClosed(
                f"case {self.id} was closed before ({self.end}): a case ends once, so this changed "
                "nothing."
            )

    def explain(self, problem: Problem) -> dict[str, Any]:
        """Return the case by names, as JSON values."""
        features, outcomes = problem.features, problem.outcomes
        return {
            "case": self.id,
            "status": self.status,
            "end": self.end,
            "free": {features[i].name: features[i].levels[k] for i, k in self.free.items()},
            "steps": [_explain_step(step, problem) for step in self.steps],
            "action": None if self.action is None else problem.actions[self.action],
            "action_values": _named_values(problem, self.action_values),
            "reward": self.reward,
            "outcome": None
            if self.outcome is None or outcomes is None
            else outcomes.names[self.outcome],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values; `from_dict` reverses it."""
        plain = {k: getattr(self, k) for k in ("id", "purpose", "status", "end", "action")}
        return {
            **plain,
            "free": list(self.free.items()),
            "looks": [_step_to_dict(step) for step in self.steps],
            "action_values": to_json_value(self.action_values),
            "reward": self.reward,
            "outcome": self.outcome,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> CaseRecord:
        """Rebuild a record from what `to_dict` returned."""
        values = plain["action_values"]
        return cls(
            id=plain["id"],
            free={int(i): int(code) for i, code in plain["free"]},
            steps=[_step_from_dict(it) for it in plain["looks"]],
            purpose=plain["purpose"],
            status=plain["status"],
            end=plain["end"],
            action=plain["action"],
            action_values=None if values is None else np.array(values, dtype=np.float64),
            reward=plain["reward"],
            outcome=plain["outcome"],
        )


def _named_values(
    problem: Problem, values: NDArray[np.float64] | None
) -> dict[str, float | None] | None:
    finite = to_json_value(values)
    return None if finite is None else dict(zip(problem.actions, finite, strict=True))


def _explain_step(step: PurchaseStep, problem: Problem) -> dict[str, Any]:
    features, bought = problem.features, step.bought
    codes = {} if bought is None else bought.codes
    return {
        "buy": [features[i].name for i in step.places],
        "purpose": step.purpose,
        "reasons": None if step.reasons is None else step.reasons(),
        "values": {features[i].name: features[i].levels[code] for i, code in codes.items()},
        "costs": {} if bought is None else {features[i].name: c for i, c in bought.costs.items()},
        "unavailable": []
        if bought is None
        else [features[i].name for i in step.places if i not in codes],
    }


def _step_to_dict(step: PurchaseStep) -> dict[str, Any]:
    bought = step.bought
    return {
        "places": list(step.places),
        "purpose": step.purpose,
        "reasons": None if step.reasons is None else step.reasons(),
        "codes": None if bought is None else list(bought.codes.items()),
        "costs": None if bought is None else list(bought.costs.items()),
    }


def _step_from_dict(plain: Mapping[str, Any]) -> PurchaseStep:
    reasons, codes = plain["reasons"], plain["codes"]
    bought = None
    if codes is not None:
        bought = PurchaseResult(dict(codes), dict(plain["costs"]))
    return PurchaseStep(
        places=tuple(plain["places"]),
        purpose=plain["purpose"],
        reasons=None if reasons is None else partial(dict, reasons),
        bought=bought,
    )
