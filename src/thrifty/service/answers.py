"""What the service says: a function of the log, so that the same question gets the same answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from thrifty.service.books import Book
from thrifty.service.cases import Case
from thrifty.service.events import ACTED, LATE, LATE_LEARNT, OPENED, REWARDED, Event
from thrifty.service.specification import PolicySpec, Scale

_AMOUNTS: Mapping[str, Callable[[Scale, float], float]] = {
    "reward": Scale.money,
    "value": Scale.money,  # a reward less a price
    "price": Scale.price,
}


def written(spec: PolicySpec, event: Event) -> dict[str, Any]:
    """Return the answer to the request that an event was written for."""
    body = event.body
    if event.kind == OPENED:
        return {
            "case": event.case,
            "buy": body["buy"],
            "expected_price": body["price"],
            "unit": spec.scale.unit,
            "deadline": moment(body["deadline"]),
        }
    if event.kind == ACTED:
        return {"case": event.case, "action": body["action"]}
    if event.kind == REWARDED:
        late = body["use"] in (LATE, LATE_LEARNT)
        return {"case": event.case, "use": body["use"], "late": late}
    return {"case": event.case, "status": event.kind}


def case_view(spec: PolicySpec, case: Case) -> dict[str, Any]:
    """Return everything known of a case, and why it was decided as it was."""
    opened, acted = case.opened, case.acted
    rewards = [it for it in case.events if it.kind == REWARDED]
    return {
        "case": case.id,
        "policy": spec.name,
        "status": case.status,
        "end": case.end,
        "learnt": case.learnt,
        "learnt_reward": case.taught,
        "opened": moment(opened.at),
        "deadline": moment(case.deadline),
        "free": dict(case.free),
        "buy": case.buy,
        "expected_price": opened.body["price"],
        "unit": spec.scale.unit,
        "values": {} if acted is None else acted.body["values"],
        "costs": {} if acted is None else acted.body["costs"],
        "unavailable": [] if acted is None else acted.body["unavailable"],
        "action": None if acted is None else acted.body["action"],
        "rewards": [
            {"reward": it.body["reward"], "use": it.body["use"], "at": moment(it.at)}
            for it in rewards
        ],
        "explain": _explained(spec, case),
        "history": [{"at": moment(it.at), "event": it.kind} for it in case.events],
    }


def _explained(spec: PolicySpec, case: Case) -> dict[str, Any]:
    """Return the policy's own reasons and the actions' values, in money."""
    acted = case.acted
    values = None if acted is None else acted.body["action_values"]
    return {
        "learnt_before_buying": case.opened.basis,
        "reasons": _in_money(spec.scale, case.opened.body["reasons"]),
        "learnt_before_acting": None if acted is None else acted.basis,
        "action_values": None
        if values is None
        else {
            name: None if value is None else spec.scale.money(value)
            for name, value in zip(spec.actions, values, strict=True)
        },
    }


def _in_money(scale: Scale, reasons: Any) -> Any:
    """Return reasons with the amounts in them in money; `Policy.reasons` says what they are called.

    >>> _in_money(Scale("EUR", -900.0, 100.0), {"certainty": 0.9, "reward": 0.9, "price": 0.005})
    {'certainty': 0.9, 'reward': 0.0, 'price': 5.0}
    """
    if isinstance(reasons, list):
        return [_in_money(scale, it) for it in reasons]
    if not isinstance(reasons, dict):
        return reasons
    return {
        name: _AMOUNTS[name](scale, it)
        if name in _AMOUNTS and isinstance(it, float)
        else _in_money(scale, it)
        for name, it in reasons.items()
    }


def policy_view(book: Book, *, leads: bool) -> dict[str, Any]:
    """Return what a policy is and what it has done so far."""
    spec, totals = book.spec, book.totals
    return {
        "policy": spec.name,
        "kind": spec.policy,
        "unit": spec.scale.unit,
        "actions": list(spec.actions),
        "features": [
            {
                "name": feature.name,
                "levels": list(feature.levels),
                "price": feature.price,
                "free": feature.free,
                "bought": totals.bought[feature.name],
                "unavailable": totals.unavailable[feature.name],
                "spend": float(totals.spend_on[feature.name]),
            }
            for feature in spec.features
        ],
        "reward_rule": spec.to_dict()["reward_rule"],
        "learnt": book.model.learnt,
        "open": len(book.cases),
        "counts": dict(sorted(totals.counts.items())),
        "reward": totals.reward,
        "spend": totals.spend,
        "gain": totals.gain,
        "set_in_use": totals.set_in_use,
        "noticed": dict(sorted(totals.noticed.items())),
        "position": book.position.seq,
        "leads": leads,
    }


def activity_view(book: Book) -> dict[str, Any]:
    """Return what the dashboard draws."""
    totals = book.totals
    return {
        "policy": book.spec.name,
        "seconds": totals.series.width / 1e6,
        "series": totals.series.plain(),
        "notices": list(totals.notices),
        "late": list(totals.late),
        "open": list(islice(reversed(book.cases), 20)),
    }


def moment(at: int) -> str:
    """Return a time as ISO 8601, in UTC.

    >>> moment(0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
