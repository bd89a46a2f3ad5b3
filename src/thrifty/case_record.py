"""`CaseRecord`: everything known about a case, and which calls are allowed when.

A case is open until it has an action, acted until it has a reward, then closed. `Agent` and the
service both keep their cases as records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import OutOfTurn, RoundClosed
from thrifty.json_values import to_json_value
from thrifty.problem import Problem, RewardRange
from thrifty.propensities import Notes, Propensity
from thrifty.rounds import Observation

OPEN, ACTED, CLOSED = "open", "acted", "closed"
REWARDED, ABANDONED, EXPIRED = "rewarded", "abandoned", "expired"
"""The ways in which a case ends."""

Reasons = Callable[[], dict[str, Any]]

_TO_MONEY: Mapping[str, Callable[[RewardRange, float], float]] = {
    "reward": RewardRange.money,
    "value": RewardRange.money,  # a reward minus a price
    "price": RewardRange.price,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's decision: buy the features at `places` or, if there are none, take `action`.

    Parameters
    ----------
    places : tuple of int
        Positions of the features to buy.
    purpose : int
        The policy's note to itself.
    reasons : callable, optional
        Returns the policy's reasons (see `Policy.reasons`).
    action : int, optional
        The action.
    action_values : array of float, optional
        The policy's estimates for all actions, on its own scale.
    purchase_propensity : Propensity, optional
        Probability of the purchase, or of buying nothing, if the policy was asked and it is known.
    action_propensity : Propensity, optional
        Probability of the action, if it is known.
    """

    places: tuple[int, ...]
    purpose: int
    reasons: Reasons | None = field(default=None, repr=False, compare=False)
    action: int | None = None
    action_values: NDArray[np.float64] | None = field(default=None, compare=False)
    purchase_propensity: Propensity | None = field(default=None, compare=False)
    action_propensity: Propensity | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PurchaseResult:
    """The result of a purchase, by position of the feature.

    Parameters
    ----------
    codes : mapping
        Codes of the features that were obtained.
    costs : mapping
        Costs in money, also of features that were not obtained.
    """

    codes: Mapping[int, int]
    costs: Mapping[int, float]


@dataclass(slots=True)
class PurchaseStep:
    """One purchase of a case.

    Parameters
    ----------
    places : tuple of int
        Positions of the features to buy.
    purpose : int
        The policy's note to itself.
    reasons : callable, optional
        Returns the policy's reasons.
    bought : PurchaseResult, optional
        The result, once it has been reported.
    propensity : Propensity, optional
        Probability of the purchase.
    """

    places: tuple[int, ...]
    purpose: int
    reasons: Reasons | None = field(default=None, repr=False, compare=False)
    bought: PurchaseResult | None = None
    propensity: Propensity | None = field(default=None, compare=False)


@dataclass(slots=True)
class CaseRecord:
    """A case from opening to closing, with positions of features and codes of values.

    Parameters
    ----------
    id : int or str
        Identifies the case.
    free : mapping
        Codes of the free values.
    steps : list of PurchaseStep
        Purchases, oldest first.
    purpose : int
        The purpose of the latest purchase.
    status : str
        `open`, `acted` or `closed`.
    end : str or None
        How the case ended, once it is closed.
    action : int or None
        Action taken.
    action_values : array of float or None
        The policy's estimates when it chose the action.
    action_reasons : callable or None
        Returns the reasons of a policy that buys in steps for buying nothing more.
    action_propensity : Propensity or None
        Probability of the action.
    stop_propensity : Propensity or None
        Probability with which a policy that buys in steps bought nothing more.
    notes : mapping or None
        Probabilities of the policy's notes after the latest decision, if they are known.
    reward : float or None
        Reward in money.
    outcome : int or None
        Position of the outcome.
    seen : Observation or None
        The current observation, kept until more is bought.
    """

    id: int | str
    free: Mapping[int, int]
    steps: list[PurchaseStep] = field(default_factory=list)
    purpose: int = 0
    status: str = OPEN
    end: str | None = None
    action: int | None = None
    action_values: NDArray[np.float64] | None = field(default=None, compare=False)
    action_reasons: Reasons | None = field(default=None, repr=False, compare=False)
    action_propensity: Propensity | None = field(default=None, compare=False)
    stop_propensity: Propensity | None = field(default=None, compare=False)
    notes: Notes | None = field(default=None, repr=False, compare=False)
    reward: float | None = None
    outcome: int | None = None
    seen: Observation | None = field(default=None, repr=False, compare=False)

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of the features to buy now."""
        if self.action is not None or self.status == CLOSED or not self.steps:
            return ()
        return self.steps[-1].places

    def owned(self) -> list[int]:
        """Return the positions of the features obtained so far."""
        return [i for step in self.steps if step.bought for i in step.bought.codes]

    def decide(self, decision: Decision) -> None:
        """Record the policy's decision: the next purchase, or the action."""
        if decision.purpose != self.purpose:
            self.purpose, self.seen = decision.purpose, None
        is_first, bought = not self.steps, decision.purchase_propensity
        if bought is not None:
            self.notes, bought = dict(bought.notes), bought.without_notes()
        if decision.action is None or is_first:
            step = PurchaseStep(decision.places, decision.purpose, decision.reasons)
            step.propensity = bought
            self.steps.append(step)
        if decision.action is not None:
            self.status, self.action = ACTED, decision.action
            self.action_values = decision.action_values
            self.action_reasons = None if is_first else decision.reasons
            self.action_propensity = decision.action_propensity
            self.stop_propensity = None if is_first else bought

    def observe(self, bought: PurchaseResult) -> None:
        """Record the result of the purchase."""
        self.steps[-1].bought = bought
        self.seen = None

    def close(self, end: str) -> None:
        """Close the case."""
        self.status, self.end, self.seen = CLOSED, end, None

    def observation(self, n_features: int) -> Observation:
        """Return what is known about the case; costs are in money."""
        if self.seen is None:
            self.seen = self.observation_after(n_features, None)
        return self.seen

    def observation_after(self, n_features: int, more: PurchaseResult | None) -> Observation:
        """Return what would be known with one more result; nothing is recorded."""
        codes, costs = [-1] * n_features, [math.nan] * n_features
        for i, code in self.free.items():
            codes[i] = code
        for bought in (*[step.bought for step in self.steps], more):
            if bought is not None:
                for i, cost in bought.costs.items():
                    costs[i] = cost
                for i, code in bought.codes.items():
                    codes[i] = code
        return Observation.unchecked(np.array(codes), np.array(costs), self.purpose)

    def require_open(self) -> None:
        """Raise unless the case still waits for an observation."""
        self.require_running()
        if self.status != OPEN:
            raise OutOfTurn(
                f"case {self.id} has its action already, which is final: ask for another case."
            )

    def require_acted(self) -> None:
        """Raise unless the case has an action."""
        if self.action is None:
            raise OutOfTurn(
                f"case {self.id} has no action yet, so it cannot have a reward: report its "
                "purchase with observe first, or abandon the case."
            )

    def require_running(self) -> None:
        """Raise if the case is closed."""
        if self.status == CLOSED:
            raise RoundClosed(
                f"case {self.id} is closed already ({self.end}), so this call changed nothing: ask "
                "for another case."
            )

    def explain(self, problem: Problem) -> dict[str, Any]:
        """Return the case with names, amounts in money, as JSON values."""
        features, outcomes = problem.features, problem.outcomes
        action = None if self.action is None else problem.actions[self.action]
        values = action_values_in_money(problem, to_json_value(self.action_values))
        return {
            "case": self.id,
            "status": self.status,
            "end": self.end,
            "free": {features[i].name: features[i].levels[k] for i, k in self.free.items()},
            "steps": [_explain_step(step, problem, self.free) for step in self.steps],
            "action": action,
            "action_values": values,
            "action_why": explain_action(action, values, problem.rewards.unit),
            "action_reasons": None
            if self.action_reasons is None
            else explain_reasons(
                problem, self.action_reasons(), {features[i].name for i in self.free}
            ),
            "action_propensity": explain_propensity(self.action_propensity, action),
            "stop_propensity": explain_propensity(self.stop_propensity, "Buying nothing more"),
            "reward": self.reward,
            "outcome": None
            if self.outcome is None or outcomes is None
            else outcomes.names[self.outcome],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values, the input for `from_dict`."""
        plain = {k: getattr(self, k) for k in ("id", "purpose", "status", "end", "action")}
        return {
            **plain,
            "free": list(self.free.items()),
            "looks": [_step_to_dict(step) for step in self.steps],
            "action_values": to_json_value(self.action_values),
            "action_reasons": None if self.action_reasons is None else self.action_reasons(),
            "action_propensity": _propensity_to_list(self.action_propensity),
            "stop_propensity": _propensity_to_list(self.stop_propensity),
            "notes": None if self.notes is None else list(self.notes.items()),
            "reward": self.reward,
            "outcome": self.outcome,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> CaseRecord:
        """Make a record from the output of `to_dict`."""
        values, reasons = plain["action_values"], plain.get("action_reasons")
        notes = plain.get("notes")
        return cls(
            id=plain["id"],
            free={int(i): int(code) for i, code in plain["free"]},
            steps=[_step_from_dict(step) for step in plain["looks"]],
            purpose=plain["purpose"],
            status=plain["status"],
            end=plain["end"],
            action=plain["action"],
            action_values=None if values is None else np.array(values, dtype=np.float64),
            action_reasons=None if reasons is None else partial(dict, reasons),
            action_propensity=_propensity_from_list(plain.get("action_propensity")),
            stop_propensity=_propensity_from_list(plain.get("stop_propensity")),
            notes=None if notes is None else dict(notes),
            reward=plain["reward"],
            outcome=plain["outcome"],
        )


def action_values_in_money(
    problem: Problem, values: Sequence[float | None] | None
) -> dict[str, float | None] | None:
    """Return the policy's estimates by action, in money; None for an action never tried."""
    if values is None:
        return None
    named = zip(problem.actions, values, strict=True)
    return {name: None if v is None else problem.rewards.money(v) for name, v in named}


def explain_action(
    action: str | None, values: Mapping[str, float | None] | None, unit: str = ""
) -> str | None:
    """Return in words why an action was chosen, as far as its estimated value says.

    Parameters
    ----------
    action : str or None
        The action.
    values : mapping or None
        The policy's estimates by action, in money.
    unit : str
        Currency of the estimates.

    Returns
    -------
    str or None
        A sentence; None if there is no action or no estimate of it.

    Examples
    --------
    >>> explain_action("treat", {"treat": 31.2, "wait": -4.0})
    'treat has the highest estimated reward, 31.20; next is wait with -4.00.'
    >>> explain_action("wait", {"treat": 31.2, "wait": -4.0})
    'wait has an estimated reward of -4.00, and treat 31.20: it was taken to learn, or because \
treat was not available.'
    """
    known = {name: value for name, value in (values or {}).items() if value is not None}
    if action is None or action not in known:
        return None

    def money(name: str) -> str:
        return f"{known[name]:,.2f} {unit}".rstrip()

    others = sorted((name for name in known if name != action), key=lambda name: -known[name])
    if not others:
        return f"{action} has an estimated reward of {money(action)}."
    best = others[0]
    if known[best] > known[action]:
        return (
            f"{action} has an estimated reward of {money(action)}, and {best} {money(best)}: it "
            f"was taken to learn, or because {best} was not available."
        )
    if known[best] == known[action]:
        return f"{action} and {best} have the same estimated reward, {money(action)}."
    return (
        f"{action} has the highest estimated reward, {money(action)}; next is {best} with "
        f"{money(best)}."
    )


def explain_propensity(propensity: Propensity | None, what: str | None) -> dict[str, Any] | None:
    """Return the probability of a choice, its error and a sentence.

    Parameters
    ----------
    propensity : Propensity or None
        The probability, if it is known.
    what : str or None
        The choice.

    Returns
    -------
    dict or None
        `probability`, `error` and `words`.

    Examples
    --------
    >>> explain_propensity(Propensity(0.5), "treat")["words"]
    'treat had a probability of 50%, given what was known.'
    """
    if propensity is None or what is None:
        return None
    return {
        "probability": propensity.probability,
        "error": propensity.error,
        "words": propensity.in_words(what),
    }


def reasons_in_money(scale: RewardRange, reasons: Any) -> Any:
    """Return a policy's reasons with their amounts in money (see `Policy.reasons`).

    >>> scale = RewardRange(-900.0, 100.0)
    >>> reasons_in_money(scale, {"certainty": 0.9, "reward": 0.9, "price": 0.005})
    {'certainty': 0.9, 'reward': 0.0, 'price': 5.0}
    """
    if isinstance(reasons, list):
        return [reasons_in_money(scale, reason) for reason in reasons]
    if not isinstance(reasons, dict):
        return reasons
    return {
        name: _TO_MONEY[name](scale, reason)
        if name in _TO_MONEY and isinstance(reason, float)
        else reasons_in_money(scale, reason)
        for name, reason in reasons.items()
    }


def explain_reasons(problem: Problem, reasons: Any, free: Collection[str]) -> Any:
    """Return a policy's reasons in money, with each purchase listed once.

    Parameters
    ----------
    problem : Problem
        Declares the range of rewards.
    reasons : dict or None
        Reasons on the policy's scale (see `Policy.reasons`).
    free : collection of str
        Features of the case that are known without paying.

    Returns
    -------
    dict or None
        The reasons. Sets that differ only in free features are one purchase: they are merged, and
        their weights are added up.
    """
    shown = reasons_in_money(problem.rewards, reasons)
    # Merged here and not by the policy, because the service's log keeps the reasons as they were
    # given, and an audit compares them.
    rows = shown.get("considered") if isinstance(shown, dict) else None
    if rows and all({"features", "weight"} <= row.keys() for row in rows):
        return {**shown, "considered": _merge_purchases(rows, free)}
    return shown


def _merge_purchases(
    rows: Iterable[Mapping[str, Any]], free: Collection[str]
) -> list[dict[str, Any]]:
    merged: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        bought = tuple(name for name in row["features"] if name not in free)
        if bought in merged:
            merged[bought]["weight"] += row["weight"]
        else:
            merged[bought] = {**row, "features": list(bought)}
    return list(merged.values())


def _explain_step(step: PurchaseStep, problem: Problem, free: Mapping[int, int]) -> dict[str, Any]:
    features, bought = problem.features, step.bought
    codes = {} if bought is None else bought.codes
    known = {features[i].name for i in free}
    return {
        "buy": [features[i].name for i in step.places],
        "reasons": None
        if step.reasons is None
        else explain_reasons(problem, step.reasons(), known),
        "propensity": explain_propensity(
            step.propensity, describe_purchase([features[i].name for i in step.places])
        ),
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
        "propensity": _propensity_to_list(step.propensity),
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
        propensity=_propensity_from_list(plain.get("propensity")),
    )


def describe_purchase(names: Sequence[str]) -> str:
    """Return a purchase in words, to begin a sentence.

    >>> describe_purchase(["age", "income"]), describe_purchase([])
    ('Buying age, income', 'Buying nothing')
    """
    return f"Buying {', '.join(names) or 'nothing'}"


def _propensity_to_list(propensity: Propensity | None) -> list[float] | None:
    return None if propensity is None else [propensity.probability, propensity.error]


def _propensity_from_list(plain: Sequence[float] | None) -> Propensity | None:
    return None if plain is None else Propensity(plain[0], plain[1])
