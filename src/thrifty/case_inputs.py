"""What is reported about a case: checked, and turned into codes and money. Nothing is changed."""

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
        feature = problem.features[_feature_position(problem, name, f"free.{name}")]
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


def parse_purchase(
    problem: Problem,
    record: CaseRecord,
    values: Mapping[str, Any] | None,
    costs: Mapping[str, Any] | None,
    *,
    unavailable: Sequence[str] = (),
    max_cost: float = math.inf,
) -> PurchaseResult:
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
    max_cost : float
        A larger cost is refused.

    Returns
    -------
    PurchaseResult
    """
    record.require_open()
    asked = [problem.features[i].name for i in record.places]
    values, costs = _mapping(values, "values"), _mapping(costs, "costs")
    given = {name: it for name, it in values.items() if it is not None}
    if unavailable:
        _require_unavailable(problem, unavailable, given, asked)
    for name in values:
        _require_asked(problem, name, asked, f"values.{name}")
    codes = {
        problem.feature_index(name): _code(problem, name, it, f"values.{name}")
        for name, it in given.items()
    }
    paid = _paid(problem, record, asked, given, costs, max_cost)
    return PurchaseResult(codes, {problem.feature_index(name): it for name, it in paid.items()})


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


def _mapping(given: Any, field: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidField(field, f"{given!r} is not a mapping: give {{feature: ...}}.")
    return given


def _feature_position(problem: Problem, name: str, where: str) -> int:
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
        _feature_position(problem, name, where)
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
        members = [name]
        if name in whole:
            members = [it for it in whole[name].features if it in asked]
            cost = _cost(cost, f"costs.{name}", math.inf) / max(1, len(members))
        else:
            _require_asked(problem, name, asked, f"costs.{name}")
        if not members or any(it in reported for it in members):
            raise InvalidField(
                f"costs.{name}",
                f"it is reported twice, or is a bundle that is not to be bought now: the case asks "
                f"for {list(asked)}.",
            )
        reported |= dict.fromkeys(members, cost)
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


def _unknown(what: str, names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    return f"there is no such {what}: use one of {shown}."
