"""Validate what callers report about a case, and convert it to codes and money.

These functions change nothing: they return a result or raise `InvalidField`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_record import CaseRecord, PurchaseResult
from thrifty.errors import InvalidField, ThriftyError
from thrifty.parameters import as_float
from thrifty.problem import Problem


def free_codes(problem: Problem, values: Mapping[str, Any] | None) -> dict[int, int]:
    """Return the codes of free values by position; None means that a value is not known."""
    codes: dict[int, int] = {}
    for name, value in _mapping(values, "free").items():
        if name not in problem.feature_names:
            raise InvalidField(f"free.{name}", _unknown("feature", problem.feature_names))
        place = problem.feature_index(name)
        if not _is_missing(value) or problem.features[place].missing is not None:
            codes[place] = _code(problem, place, value, "free")
    return dict(sorted(codes.items()))


def require_free(problem: Problem, names: Iterable[str], given: Mapping[str, Any] | None) -> None:
    """Raise `InvalidField` if a case lacks a value that the policy declares as free."""
    for name in names:
        known = given is not None and name in given
        missing = problem.features[problem.feature_index(name)].missing
        if given is None or not known or (_is_missing(given[name]) and missing is None):
            raise InvalidField(
                f"free.{name}",
                "policy.toml declares this feature as free, so every case needs its value: give "
                "the value, or null if the feature has a level for missing values.",
            )


def parse_purchase(
    problem: Problem,
    record: CaseRecord,
    values: Mapping[str, Any] | None,
    costs: Mapping[str, Any] | None,
    *,
    unavailable: Sequence[str] = (),
    max_cost: float = math.inf,
) -> PurchaseResult:
    """Return the result of a purchase, from reported values and costs.

    Parameters
    ----------
    problem : Problem
        Names, codes and list prices.
    record : CaseRecord
        The case, which must be open.
    values : mapping or None
        Values by feature. Features that could not be obtained are left out or None.
    costs : mapping or None
        Costs in money, by feature or by bundle. A cost that is left out is the list price.
    unavailable : sequence of str
        Features that could not be obtained, listed explicitly.
    max_cost : float
        Largest cost that is accepted.

    Returns
    -------
    PurchaseResult
        Codes and costs by position of the feature.
    """
    record.require_open()
    names = problem.feature_names
    asked = {names[i]: i for i in record.places}
    values, costs = _mapping(values, "values"), _mapping(costs, "costs")
    codes: dict[int, int] = {}
    for name, value in values.items():
        if name not in asked:
            raise _not_asked(problem, name, asked, f"values.{name}")
        if not _is_missing(value):
            codes[asked[name]] = _code(problem, asked[name], value, "values")
    if unavailable:
        _require_unavailable(problem, unavailable, codes, asked)
    return PurchaseResult(codes, _paid(problem, record, asked, codes, costs, max_cost))


def action_mask(problem: Problem, available: Iterable[str] | None) -> NDArray[np.bool_] | None:
    """Return the mask of the available actions; None means all of them."""
    if available is None:
        return None
    if not isinstance(available, Iterable):
        raise InvalidField("available", f"{available!r} is not a list of actions: name them.")
    mask = np.zeros(problem.n_actions, dtype=np.bool_)
    for name in (available,) if isinstance(available, str) else available:
        if name not in problem.actions:
            raise InvalidField("available", _unknown("action", problem.actions))
        mask[problem.action_index(name)] = True
    if not mask.any():
        raise InvalidField("available", "no action is available: name one, or abandon the case.")
    return mask


def parse_reward(
    problem: Problem, action: int, reward: float | None, outcome: str | None
) -> tuple[float, int | None]:
    """Return the reward in money and the outcome, if it is known.

    Parameters
    ----------
    problem : Problem
        Declares outcomes, or only a range of rewards.
    action : int
        Action taken.
    reward : float or None
        Reward in money. With declared outcomes, it must be one that the action can pay.
    outcome : str or None
        Name of the outcome, which determines the reward.

    Returns
    -------
    reward : float
        Reward in money.
    outcome : int or None
        Position of the outcome. None if no outcomes are declared, or several pay this reward.
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
            f"{reward!r} is reported, but {problem.actions[action]!r} pays {paid:g} for "
            f"{outcome!r}: report only one of the two.",
        )
    return paid, k


def _from_reward(problem: Problem, action: int, reward: float | None) -> tuple[float, int | None]:
    if reward is None:
        raise InvalidField("reward", "report the reward in money, or the outcome.")
    if problem.outcomes is not None:
        possible = _outcomes_of(problem, action, reward)
        # The amount of the table: the reported one may contain rounding errors.
        paid = problem.outcomes.reward(action, possible[0])
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


def _mapping(given: Any, field: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidField(field, f"{given!r} is not a mapping: give {{feature: ...}}.")
    return given


def _is_missing(value: Any) -> bool:
    """Return True for None and NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _code(problem: Problem, place: int, value: Any, field: str) -> int:
    try:
        return problem.features[place].code(value)
    except ThriftyError as error:
        raise InvalidField(f"{field}.{problem.feature_names[place]}", str(error)) from error


def _not_asked(problem: Problem, name: str, asked: Iterable[str], field: str) -> InvalidField:
    if name not in problem.feature_names:
        return InvalidField(field, _unknown("feature", problem.feature_names))
    return InvalidField(
        field, f"the case does not ask for this feature now: it asks for {list(asked)}."
    )


def _require_unavailable(
    problem: Problem, names: Sequence[str], codes: Mapping[int, int], asked: Mapping[str, int]
) -> None:
    if len(set(names)) < len(names):
        raise InvalidField("unavailable", "a feature is listed twice: list each feature once.")
    for name in names:
        if name not in asked:
            raise _not_asked(problem, name, asked, f"unavailable.{name}")
        if asked[name] in codes:
            raise InvalidField(
                f"values.{name}",
                "the feature has a value and is also listed as unavailable: remove one of the two.",
            )


def _paid(
    problem: Problem,
    record: CaseRecord,
    asked: Mapping[str, int],
    codes: Mapping[int, int],
    costs: Mapping[str, Any],
    max_cost: float,
) -> dict[int, float]:
    """Return the cost of every feature that was asked for, by position.

    A cost that was not reported is the list price if there is a value, otherwise 0.
    """
    reported = _costs_by_feature(problem, asked, costs)
    obtained = [name for name, i in asked.items() if i in codes]
    listed: dict[str, float | None] = {}
    if [name for name in obtained if name not in reported]:
        owned = [problem.feature_names[i] for i in record.owned()]
        listed = dict(zip(obtained, problem.list_prices(obtained, owned), strict=True))
    paid: dict[int, float] = {}
    for name, i in asked.items():
        cost: Any = reported.get(name)
        if cost is None:
            cost = listed.get(name) if i in codes else 0.0
        if cost is None:
            raise InvalidField(
                f"costs.{name}",
                "the feature has no list price, so its cost is not known: report what it cost, 0 "
                "if nothing.",
            )
        paid[i] = _cost(cost, name, max_cost)
    return paid


def _costs_by_feature(
    problem: Problem, asked: Mapping[str, int], costs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the reported costs by feature: the cost of a bundle is divided equally."""
    reported = {name: cost for name, cost in costs.items() if cost is not None}
    others = [name for name in reported if name not in asked]
    if not others:
        return reported
    bundles = () if problem.prices is None else problem.prices.bundles
    members_of = {bundle.name: bundle.features for bundle in bundles}
    for name in others:
        if name not in members_of:
            raise _not_asked(problem, name, asked, f"costs.{name}")
        cost = _cost(reported.pop(name), name, math.inf)
        members = [feature for feature in members_of[name] if feature in asked]
        if not members or not reported.keys().isdisjoint(members):
            raise InvalidField(
                f"costs.{name}",
                "it is reported twice, or it is a bundle that the case does not ask for now: the "
                f"case asks for {list(asked)}.",
            )
        reported |= dict.fromkeys(members, cost / len(members))
    return reported


def _cost(cost: Any, name: str, max_cost: float) -> float:
    number = as_float(cost)
    if not (0 <= number < math.inf and number <= max_cost):
        limit = ""
        if not math.isinf(max_cost):
            limit = f" and at most {max_cost:g}, ten times the range of rewards"
        raise InvalidField(
            f"costs.{name}",
            f"{cost!r} is not a cost: give a finite number of at least 0{limit}, since a wrong "
            "amount would distort every later estimate.",
        )
    return number


def _unknown(what: str, names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    return f"this {what} does not exist: use one of {shown}."
