"""Answers: functions of the log, so that the same request gets the same answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from thrifty.case_record import action_values_in_money, reasons_in_money
from thrifty.service.cases import CaseState
from thrifty.service.events import LATE, LATE_LEARNT, OBSERVED, OPENED, REWARDED, Event
from thrifty.service.projection import Projection
from thrifty.specification import PolicySpec


def written(spec: PolicySpec, event: Event) -> dict[str, Any]:
    """Return the answer to the request that an event was written for."""
    body = event.body
    if event.kind in (OPENED, OBSERVED):
        deadline = body.get("deadline")  # observations of release 0.1 have none
        return {
            "case": event.case,
            "buy": body.get("buy", []),
            "action": body.get("action"),
            "expected_price": _expected(body),
            "unit": spec.unit,
            "deadline": None if deadline is None else moment(deadline),
        }
    if event.kind == REWARDED:
        late = body["use"] in (LATE, LATE_LEARNT)
        return {"case": event.case, "use": body["use"], "late": late}
    return {"case": event.case, "status": event.kind}


def _expected(body: Mapping[str, Any]) -> float | None:
    return body["price"] if body.get("buy") else None


def case_view(spec: PolicySpec, case: CaseState) -> dict[str, Any]:
    """Return everything known of a case, and why it was decided as it was.

    `buy`, `expected_price`, `values`, `costs` and `unavailable` are of all its purchases; `steps`
    has them one by one.
    """
    steps = _steps(spec, case)
    prices = [step["expected_price"] for step in steps if step["buy"]]
    acted = case.acted
    return {
        "case": case.id,
        "policy": spec.name,
        "status": case.status,
        "end": case.end,
        "learnt": case.learnt,
        "learnt_reward": None if case.taught is None else case.taught.money,
        "opened": moment(case.opened.at),
        "deadline": moment(case.deadline),
        "free": dict(case.opened.body["free"]),
        "buy": list(case.chosen),
        "expected_price": None if None in prices or not prices else sum(prices),
        "unit": spec.unit,
        "values": {name: value for step in steps for name, value in step["values"].items()},
        "costs": {name: cost for step in steps for name, cost in step["costs"].items()},
        "unavailable": [name for step in steps for name in step["unavailable"]],
        "steps": steps,
        "action": None if acted is None else acted.body["action"],
        "outcome": _outcome(spec, case),
        "rewards": [_reward(event) for event in case.events if event.kind == REWARDED],
        "explain": _explained(spec, case),
        "history": [{"at": moment(event.at), "event": event.kind} for event in case.events],
    }


def _steps(spec: PolicySpec, case: CaseState) -> list[dict[str, Any]]:
    """Return the purchases of a case, each with what came of it."""
    decided = case.decided
    asking = [event for event in decided if event.body.get("buy") or event.kind == OPENED]
    came: list[Mapping[str, Any]] = [event.body for event in decided if event.kind == OBSERVED]
    came += [{}] * (len(asking) - len(came))
    return [
        {
            "buy": event.body["buy"],
            "expected_price": _expected(event.body),
            "values": body.get("values", {}),
            "costs": body.get("costs", {}),
            "unavailable": body.get("unavailable", []),
            "reasons": reasons_in_money(spec.problem.rewards, event.body["reasons"]),
        }
        for event, body in zip(asking, came, strict=True)
    ]


def _outcome(spec: PolicySpec, case: CaseState) -> str | None:
    outcomes = spec.problem.outcomes
    if case.taught is None or case.taught.outcome is None or outcomes is None:
        return None
    return outcomes.names[case.taught.outcome]


def _reward(event: Event) -> dict[str, Any]:
    body = event.body
    return {
        "reward": body["reward"],
        "outcome": body.get("outcome"),
        "use": body["use"],
        "at": moment(event.at),
    }


def _explained(spec: PolicySpec, case: CaseState) -> dict[str, Any]:
    """Return the policy's own reasons and the actions' values, in money."""
    acted, scale = case.acted, spec.problem.rewards
    values = None if acted is None else acted.body["action_values"]
    return {
        "learnt_before_buying": case.opened.basis,
        "reasons": reasons_in_money(scale, case.opened.body["reasons"]),
        "learnt_before_acting": None if acted is None else acted.basis,
        "action_values": action_values_in_money(spec.problem, values),
    }


def policy_view(projection: Projection, *, leads: bool) -> dict[str, Any]:
    """Return what a policy is and what it has done so far."""
    spec, totals = projection.spec, projection.totals
    declared = spec.to_dict()
    return {
        "policy": spec.name,
        "kind": spec.policy,
        "unit": spec.unit,
        "actions": declared["actions"],
        "outcomes": declared.get("outcomes"),
        "features": [
            {
                "name": feature["name"],
                "levels": feature["levels"],
                "price": feature["price"],
                "free": feature["free"],
                "bought": totals.purchases[feature["name"]],
                "unavailable": totals.unavailable[feature["name"]],
                "spend": float(totals.spend_on[feature["name"]]),
            }
            for feature in declared["features"]
        ],
        "groups": declared.get("groups", []),
        "bundles": declared.get("bundles", []),
        "reward_rule": declared["reward_rule"],
        "learnt": projection.model.learnt,
        "open": len(projection.cases),
        "counts": dict(sorted(totals.counts.items())),
        "reward": totals.reward,
        "spend": totals.spend,
        "gain": totals.gain,
        "set_in_use": totals.set_in_use,
        "noticed": dict(sorted(totals.noticed.items())),
        "position": projection.position.seq,
        "leads": leads,
    }


def activity_view(projection: Projection) -> dict[str, Any]:
    """Return what the dashboard draws."""
    totals = projection.totals
    return {
        "policy": projection.spec.name,
        "seconds": totals.series.width / 1e6,
        "series": totals.series.plain(),
        "notices": list(totals.notices),
        "late": list(totals.late),
        "open": list(islice(reversed(projection.cases), 20)),
    }


def moment(at: int) -> str:
    """Return a time as ISO 8601, in UTC.

    >>> moment(0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
