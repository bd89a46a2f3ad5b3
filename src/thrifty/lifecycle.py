"""The life of a case: what was known, bought, done and told, and what is legal when.

A case is open until it has an action, acted until it has a reward, then closed. `Agent` and the
service keep their cases as `CaseRecord`s and check what they are told here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidField, OutOfTurn, RoundClosed, ThriftyError
from thrifty.parameters import as_float
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
class Bought:
    """What came of a purchase: codes of what could be had, and what was paid."""

    codes: Mapping[int, int]
    costs: Mapping[int, float]
    """Also of what could not be had."""


@dataclass(slots=True)
class Look:
    """One purchase of a case: what was asked for and why, and what came of it."""

    places: tuple[int, ...]
    purpose: int
    reasons: Reasons | None = field(default=None, repr=False, compare=False)
    bought: Bought | None = None


@dataclass(slots=True)
class CaseRecord:
    """A case from its first question to its end; features are positions, values are codes."""

    id: int | str
    free: Mapping[int, int]
    looks: list[Look] = field(default_factory=list)
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
        if self.action is not None or self.status == CLOSED or not self.looks:
            return ()
        return self.looks[-1].places

    def owned(self) -> list[int]:
        """Return the positions of what was bought so far."""
        return [i for look in self.looks if look.bought for i in look.bought.codes]

    def decide(self, decision: Decision) -> None:
        """Take the policy's decision: the next purchase, or the action."""
        if decision.purpose != self.purpose:
            self.purpose, self.seen = decision.purpose, None
        if decision.action is None or not self.looks:
            self.looks.append(Look(decision.places, decision.purpose, decision.reasons))
        if decision.action is not None:
            self.status, self.action = ACTED, decision.action
            self.action_values = decision.action_values

    def observe(self, bought: Bought) -> None:
        """Take what came of the purchase."""
        self.looks[-1].bought = bought
        self.seen = None

    def close(self, end: str) -> None:
        """End the case."""
        self.status, self.end, self.seen = CLOSED, end, None

    def observation(self, n_features: int) -> Observation:
        """Return all that is known: free features have no cost, bought ones theirs, in money."""
        if self.seen is None:
            self.seen = self.observing(n_features, None)
        return self.seen

    def observing(self, n_features: int, more: Bought | None) -> Observation:
        """Return what would be known if `more` came of the purchase."""
        codes, costs = [-1] * n_features, [math.nan] * n_features
        for i, code in self.free.items():
            codes[i] = code
        made = [look.bought for look in self.looks]
        for bought in (*made, more):
            if bought is not None:
                for i, cost in bought.costs.items():
                    costs[i] = cost
                for i, code in bought.codes.items():
                    codes[i] = code
        return Observation.trusted(np.array(codes), np.array(costs), self.purpose)

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

    def explained(self, problem: Problem) -> dict[str, Any]:
        """Return the case by names, as JSON values."""
        features, outcomes = problem.features, problem.outcomes
        return {
            "case": self.id,
            "status": self.status,
            "end": self.end,
            "free": {features[i].name: features[i].levels[k] for i, k in self.free.items()},
            "steps": [_explained(look, problem) for look in self.looks],
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
            "looks": [_plain_look(look) for look in self.looks],
            "action_values": finite_values(self.action_values),
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
            looks=[_look_of(it) for it in plain["looks"]],
            purpose=plain["purpose"],
            status=plain["status"],
            end=plain["end"],
            action=plain["action"],
            action_values=None if values is None else np.array(values, dtype=np.float64),
            reward=plain["reward"],
            outcome=plain["outcome"],
        )


def free_codes(problem: Problem, values: Mapping[str, Any] | None) -> dict[int, int]:
    """Return the codes of free values by position; None means that a value is not known."""
    codes: dict[int, int] = {}
    for name, value in (values or {}).items():
        feature = problem.features[problem_place(problem, name, f"free.{name}")]
        if value is not None or feature.missing is not None:
            codes[problem.feature_index(name)] = _code(problem, name, value, f"free.{name}")
    return dict(sorted(codes.items()))


def require_free(problem: Problem, names: Iterable[str], given: Mapping[str, Any] | None) -> None:
    """Refuse a case that comes without a value that its policy declares to be free."""
    for name in names:
        known = given is not None and name in given
        missing = problem.features[problem.feature_index(name)].missing
        if given is None or not known or (given[name] is None and missing is None):
            raise InvalidField(
                f"free.{name}",
                "policy.toml says that it is free, so it comes with every case and is never "
                "bought: give its value, or declare a level for missing values.",
            )


def bought_of(
    problem: Problem,
    record: CaseRecord,
    values: Mapping[str, Any] | None,
    costs: Mapping[str, Any] | None,
    *,
    unavailable: Sequence[str] = (),
    most_cost: float = math.inf,
) -> Bought:
    """Return what came of a purchase, or refuse it; nothing is changed.

    Parameters
    ----------
    problem : Problem
        Names, codes and list prices.
    record : CaseRecord
        The case, which must be open.
    values : mapping
        Values by feature; what could not be had is left out or None.
    costs : mapping
        What was paid, by feature or by bundle. A cost that is left out is the list price.
    unavailable : sequence of str
        Features that could not be had, named explicitly.
    most_cost : float
        A larger cost is refused.

    Returns
    -------
    Bought
    """
    record.require_open()
    asked = [problem.features[i].name for i in record.places]
    given = {name: it for name, it in (values or {}).items() if it is not None}
    if unavailable:
        _require_unavailable(problem, unavailable, given, asked)
    for name in values or {}:
        _require_asked(problem, name, asked, f"values.{name}")
    codes = {
        problem.feature_index(name): _code(problem, name, it, f"values.{name}")
        for name, it in given.items()
    }
    paid = _paid(problem, record, asked, given, costs or {}, most_cost)
    return Bought(codes, {problem.feature_index(name): it for name, it in paid.items()})


def action_mask(problem: Problem, available: Iterable[str] | None) -> NDArray[np.bool_] | None:
    """Return the mask of the available actions; None means all of them."""
    if available is None:
        return None
    mask = np.zeros(problem.n_actions, dtype=np.bool_)
    for name in (available,) if isinstance(available, str) else available:
        if name not in problem.actions:
            raise InvalidField("available", _unknown("action", problem.actions))
        mask[problem.action_index(name)] = True
    if not mask.any():
        raise InvalidField("available", "no action is available: name one, or abandon the case.")
    return mask


def reward_of(
    problem: Problem, action: int, reward: float | None, outcome: str | None
) -> tuple[float, int | None]:
    """Return the reward in money and the outcome, if it is known, or refuse them.

    Parameters
    ----------
    problem : Problem
        Declares outcomes, or only a range of rewards.
    action : int
        The action that was taken.
    reward : float or None
        In money. With declared outcomes it must be one that the action can pay.
    outcome : str or None
        From which the reward follows.

    Returns
    -------
    tuple
        The outcome is None if none is declared, or if several pay this reward.
    """
    if outcome is None:
        return _from_reward(problem, action, reward)
    outcomes = problem.outcomes
    if outcomes is None:
        raise InvalidField(
            "outcome", "the problem declares no outcomes: report the reward in money instead."
        )
    if outcome not in outcomes.names:
        raise InvalidField("outcome", _unknown("outcome", outcomes.names))
    k = outcomes.index(outcome)
    paid = outcomes.reward(action, k)
    if reward is not None and k not in _outcomes_of(problem, action, reward):
        raise InvalidField(
            "reward",
            f"{reward!r} is not what {problem.actions[action]!r} pays for {outcome!r}, {paid:g}: "
            "report one of the two.",
        )
    return paid, k


def _from_reward(problem: Problem, action: int, reward: float | None) -> tuple[float, int | None]:
    if reward is None:
        raise InvalidField("reward", "report the reward in money, or the outcome.")
    if problem.outcomes is not None:
        possible = _outcomes_of(problem, action, reward)
        paid = problem.outcomes.reward(action, possible[0])  # without the last digits of a sum
        return paid, possible[0] if len(possible) == 1 else None
    try:
        return problem.rewards.require(reward), None
    except ThriftyError as error:
        raise InvalidField("reward", str(error)) from error


def _outcomes_of(problem: Problem, action: int, reward: float) -> list[int]:
    assert problem.outcomes is not None
    try:
        return problem.outcomes.explaining(action, as_float(reward))
    except ThriftyError as error:
        raise InvalidField("reward", str(error)) from error


def finite_values(values: NDArray[np.float64] | None) -> list[float | None] | None:
    """Return values for JSON, which has no infinity: an action never tried gets None."""
    if values is None:
        return None
    return [value if math.isfinite(value) else None for value in values.tolist()]


def problem_place(problem: Problem, name: str, where: str) -> int:
    """Return the position of a feature, or say in which field it is unknown."""
    if name not in problem.feature_names:
        raise InvalidField(where, _unknown("feature", problem.feature_names))
    return problem.feature_index(name)


def _code(problem: Problem, name: str, value: Any, where: str) -> int:
    feature = problem.features[problem.feature_index(name)]
    try:
        return feature.code(value)
    except ThriftyError as error:
        raise InvalidField(where, str(error)) from error


def _require_asked(problem: Problem, name: str, asked: Sequence[str], where: str) -> None:
    if name not in asked:
        problem_place(problem, name, where)
        raise InvalidField(
            where, f"this feature is not to be bought now: the case asks for {list(asked)}."
        )


def _require_unavailable(
    problem: Problem, names: Sequence[str], given: Mapping[str, Any], asked: Sequence[str]
) -> None:
    if len(set(names)) < len(names):
        raise InvalidField("unavailable", "a feature is named twice: name each once.")
    for name in names:
        _require_asked(problem, name, asked, f"unavailable.{name}")
        if name in given:
            raise InvalidField(
                f"values.{name}", "it has a value and is named as unavailable: keep one of the two."
            )


def _paid(
    problem: Problem,
    record: CaseRecord,
    asked: Sequence[str],
    given: Mapping[str, Any],
    costs: Mapping[str, Any],
    most: float,
) -> dict[str, float]:
    """Return what was paid for every feature that was asked for."""
    reported = _by_feature(problem, asked, costs)
    listed: dict[str, float | None] = {}
    if any(name not in reported for name in given):
        owned = [problem.features[i].name for i in record.owned()]
        had = [name for name in asked if name in given]
        listed = dict(zip(had, problem.list_prices(had, owned), strict=True))
    paid: dict[str, float] = {}
    for name in asked:
        cost: Any = reported.get(name)
        if cost is None:
            cost = listed.get(name) if name in given else 0.0
        if cost is None:
            raise InvalidField(
                f"costs.{name}", "say what it cost: 0 if nothing. It has no list price."
            )
        paid[name] = _cost(cost, f"costs.{name}", most)
    return paid


def _by_feature(problem: Problem, asked: Sequence[str], costs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reported costs by feature; that of a bundle is divided equally."""
    bundles = () if problem.prices is None else problem.prices.bundles
    whole = {bundle.name: bundle for bundle in bundles}
    reported: dict[str, Any] = {}
    for name, cost in costs.items():
        if cost is None:
            continue
        members = [it for it in whole[name].features if it in asked] if name in whole else []
        if members:
            share = _cost(cost, f"costs.{name}", math.inf) / len(members)
            reported |= dict.fromkeys(members, share)
        else:
            _require_asked(problem, name, asked, f"costs.{name}")
            reported[name] = cost
    return reported


def _cost(cost: Any, where: str, most: float) -> float:
    number = as_float(cost)
    if not (0 <= number < math.inf and number <= most):
        limit = "" if math.isinf(most) else f" and at most {most:g}, ten times the range of rewards"
        raise InvalidField(
            where,
            f"{cost!r} is not a cost: give a finite number of at least 0{limit}; a slip would "
            "spoil every later estimate.",
        )
    return number


def _named_values(
    problem: Problem, values: NDArray[np.float64] | None
) -> dict[str, float | None] | None:
    finite = finite_values(values)
    return None if finite is None else dict(zip(problem.actions, finite, strict=True))


def _explained(look: Look, problem: Problem) -> dict[str, Any]:
    features, bought = problem.features, look.bought
    codes = {} if bought is None else bought.codes
    return {
        "buy": [features[i].name for i in look.places],
        "purpose": look.purpose,
        "reasons": None if look.reasons is None else look.reasons(),
        "values": {features[i].name: features[i].levels[code] for i, code in codes.items()},
        "costs": {} if bought is None else {features[i].name: c for i, c in bought.costs.items()},
        "unavailable": []
        if bought is None
        else [features[i].name for i in look.places if i not in codes],
    }


def _plain_look(look: Look) -> dict[str, Any]:
    bought = look.bought
    return {
        "places": list(look.places),
        "purpose": look.purpose,
        "reasons": None if look.reasons is None else look.reasons(),
        "codes": None if bought is None else list(bought.codes.items()),
        "costs": None if bought is None else list(bought.costs.items()),
    }


def _look_of(plain: Mapping[str, Any]) -> Look:
    reasons, codes = plain["reasons"], plain["codes"]
    bought = None
    if codes is not None:
        bought = Bought({i: code for i, code in codes}, {i: cost for i, cost in plain["costs"]})  # noqa: C416
    return Look(
        places=tuple(plain["places"]),
        purpose=plain["purpose"],
        reasons=None if reasons is None else partial(dict, reasons),
        bought=bought,
    )


def _unknown(what: str, names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    return f"there is no such {what}: use one of {shown}."
