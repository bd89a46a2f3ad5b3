"""What follows from a request: the event to write, or a refusal. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidField, InvalidInput, OutOfTurn, RoundClosed, UnknownName
from thrifty.service.cases import CLOSED, OPEN, Case, observation
from thrifty.service.events import (
    ABANDONED,
    ACTED,
    EXTRA,
    LATE,
    LATE_LEARNT,
    LEARNT,
    NOTED,
    OPENED,
    REWARDED,
    SETTLED,
    Event,
)
from thrifty.service.model import Model
from thrifty.service.specification import PolicySpec

Values = Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class Ticket:
    """When something was asked for, and under which idempotency key."""

    at: int
    key: str | None = None
    request: str | None = None


def open_case(spec: PolicySpec, model: Model, case: str, free: Values, ticket: Ticket) -> Event:
    """Choose what to buy for a new case."""
    _require_values(spec, free, "free")
    for feature in spec.features:
        if feature.free and feature.name not in free:
            raise InvalidField(
                f"free.{feature.name}",
                "policy.toml says that it is free, so it must come with the case: give its value.",
            )
    return _event(spec, case, 0, OPENED, ticket, chosen(spec, model, case, free, ticket.at), model)


def chosen(spec: PolicySpec, model: Model, case: str, free: Values, at: int) -> dict[str, Any]:
    """Return what an opening says: a function of the rounds learnt and the case alone."""
    purchase, reasons = model.choose_features(case)
    places = [
        i
        for i in np.flatnonzero(purchase.mask).tolist()
        if spec.features[i].name not in free and not spec.features[i].free
    ]
    prices = model.expected_prices(places)
    return {
        "free": dict(free),
        "buy": [spec.features[i].name for i in places],
        "purpose": int(purchase.purpose),
        "price": None if None in prices else float(sum(prices)),  # type: ignore[arg-type]
        "deadline": at + round(spec.rule.deadline * 1e6),
        "reasons": reasons,
    }


@dataclass(frozen=True)
class Seen:
    """What came of a purchase: values and costs of what was bought, and what was not to be had."""

    values: Values
    costs: Mapping[str, float]
    unavailable: Sequence[str] = ()
    available: Sequence[str] | None = None


def act(spec: PolicySpec, model: Model, case: Case, seen: Seen, ticket: Ticket) -> Event:
    """Choose the action of a case."""
    _require_running(case, ticket.at)
    if case.status != OPEN:
        raise OutOfTurn(
            f"case {case.id} has acted already, and its action stands: open another case."
        )
    _require_bought(spec, case, seen)
    given = {
        "values": dict(seen.values),
        "costs": {
            name: spec.require_cost(f"costs.{name}", cost) for name, cost in seen.costs.items()
        },
        "unavailable": list(seen.unavailable),
        "available": None if seen.available is None else list(seen.available),
    }
    _action_mask(spec, seen.available)
    decided = decided_action(spec, model, case.id, case.opened.body, given)
    return _event(spec, case.id, case.step, ACTED, ticket, given | decided, model)


def decided_action(
    spec: PolicySpec,
    model: Model,
    case: str,
    opened: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the action and the values that it rests on."""
    available = _action_mask(spec, given["available"])
    seen = observation(spec, opened, given)
    action, values = model.choose_action(case, seen, available)
    return {"action": spec.actions[action], "action_values": values}


def reward(spec: PolicySpec, case: Case, money: float, ticket: Ticket) -> Event:
    """Take a reward, and say what becomes of it."""
    money = spec.require_reward("reward", money)
    if case.acted is None:
        raise OutOfTurn(
            f"case {case.id} never acted, so it cannot have a reward: report what was observed "
            "first, or abandon it."
        )
    if case.end == ABANDONED:
        raise RoundClosed(f"case {case.id} was abandoned: it takes no rewards any more.")
    use = _use(spec, case, ticket.at)
    body: dict[str, Any] = {"reward": money, "use": use}
    if case.status == CLOSED:  # it is no longer in memory, so the reward itself says how late it is
        body["waited"] = ticket.at - case.acted.at
    if use == LATE_LEARNT:  # the case itself is no longer in memory when this is learnt
        body |= {"opened": dict(case.opened.body), "acted": dict(case.acted.body)}
    return _event(spec, case.id, case.step, REWARDED, ticket, body)


def _use(spec: PolicySpec, case: Case, at: int) -> str:
    if at > case.deadline:
        return LATE_LEARNT if spec.rule.learn_late and not _taught(spec, case) else LATE
    if case.status == CLOSED:
        return EXTRA
    return LEARNT if spec.rule.rule == "first" else NOTED


def _taught(spec: PolicySpec, case: Case) -> bool:
    """Whether the deadline brings something to learn, whenever the watch comes to close it."""
    return case.learnt or (case.status != CLOSED and _settled(spec, case) is not None)


def abandon(spec: PolicySpec, case: Case, ticket: Ticket) -> Event:
    """Give a case up: it teaches nothing."""
    _require_running(case, ticket.at)
    return _event(spec, case.id, case.step, ABANDONED, ticket, {})


def settle(spec: PolicySpec, case: Case, at: int) -> Event:
    """Close a case whose deadline has passed, with the reward that counts, if any does."""
    return _event(spec, case.id, case.step, SETTLED, Ticket(at), {"reward": _settled(spec, case)})


def _settled(spec: PolicySpec, case: Case) -> float | None:
    if case.acted is None or case.learnt:
        return None
    if not case.noted:
        return spec.rule.default
    if spec.rule.rule == "last":
        return case.noted[-1]
    return min(spec.scale.high, max(spec.scale.low, sum(case.noted)))


def _event(
    spec: PolicySpec,
    case: str,
    step: int,
    kind: str,
    ticket: Ticket,
    body: Mapping[str, Any],
    model: Model | None = None,
) -> Event:
    return Event(
        tenant=spec.tenant,
        policy=spec.name,
        case=case,
        step=step,
        kind=kind,
        at=ticket.at,
        body=body,
        basis=None if model is None else model.learnt,
        key=ticket.key,
        request=ticket.request,
    )


def _require_running(case: Case, at: int) -> None:
    if case.status == CLOSED:
        raise RoundClosed(f"case {case.id} was closed before ({case.end}): nothing was changed.")
    if at > case.deadline:
        raise RoundClosed(f"case {case.id} is past its deadline: open another case.")


def _require_values(spec: PolicySpec, values: Values, what: str) -> None:
    for name, value in values.items():
        if name not in spec.by_name:
            raise InvalidField(f"{what}.{name}", _unknown("feature", spec.by_name))
        try:
            spec.by_name[name].level(value)
        except (InvalidInput, UnknownName) as error:
            raise InvalidField(f"{what}.{name}", str(error)) from error


def _require_bought(spec: PolicySpec, case: Case, seen: Seen) -> None:
    _require_values(spec, seen.values, "values")
    to_buy, missing = set(case.buy), set(seen.unavailable)
    if len(missing) < len(seen.unavailable):
        raise InvalidField("unavailable", "a feature stands twice: name each once.")
    for what, names in (("values", seen.values), ("unavailable", missing), ("costs", seen.costs)):
        for name in names:
            if name not in to_buy:
                raise InvalidField(
                    f"{what}.{name}",
                    f"this feature was not to be bought: the case asked for {case.buy}.",
                )
    for name in case.buy:
        if (name in seen.values) == (name in missing):
            raise InvalidField(
                f"values.{name}", "give its value, or name it in unavailable: one of the two."
            )
        if name in seen.values and name not in seen.costs:
            raise InvalidField(f"costs.{name}", "say what it cost: 0 if it was free.")


def _action_mask(spec: PolicySpec, available: Iterable[str] | None) -> NDArray[np.bool_] | None:
    if available is None:
        return None
    mask = np.zeros(len(spec.actions), dtype=np.bool_)
    for name in available:
        if name not in spec.actions:
            raise InvalidField("available", _unknown("action", spec.actions))
        mask[spec.actions.index(name)] = True
    if not mask.any():
        raise InvalidField("available", "no action is available: name one, or abandon the case.")
    return mask


def _unknown(what: str, names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    return f"there is no such {what}: use one of {shown}."
