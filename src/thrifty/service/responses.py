"""JSON responses. They depend on the log alone, so a repeated request gets the same response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from thrifty.case_record import (
    action_values_in_money,
    describe_purchase,
    explain_action,
    explain_propensity,
    explain_reasons,
)
from thrifty.json_values import to_json_value
from thrifty.plans.files import plan_from_dict
from thrifty.plans.outline import plan_outline
from thrifty.service.cases import CaseState
from thrifty.service.events import (
    DEMOTED,
    LATE,
    LATE_LEARNT,
    OBSERVED,
    OPENED,
    PROMOTED,
    REWARDED,
    Event,
)
from thrifty.service.panel import Panel
from thrifty.service.projection import Projection
from thrifty.service.propensity_bodies import ACTION, BUY, logged_propensity
from thrifty.service.response_models import (
    AbandonResponse,
    ActivityResponse,
    CaseResponse,
    DecisionResponse,
    Explanation,
    Notice,
    PolicyResponse,
    PromotionResponse,
    PropensityView,
    RewardResponse,
    RewardView,
    ShadowView,
    StatusResponse,
    StepView,
)
from thrifty.specification import PolicySpec


def event_response(
    spec: PolicySpec, event: Event
) -> DecisionResponse | RewardResponse | AbandonResponse | PromotionResponse:
    """Return the response to the request that wrote an event."""
    body = event.body
    if event.kind in (OPENED, OBSERVED):
        deadline = body.get("deadline")  # missing in observations of release 0.1
        return {
            "case": event.case,
            "buy": body.get("buy", []),
            "action": body.get("action"),
            "expected_price": _expected_price(body),
            "unit": spec.unit,
            "deadline": None if deadline is None else format_time(deadline),
        }
    if event.kind in (PROMOTED, DEMOTED):
        return {"policy": spec.name, "acting": body["policy"], "former": body["former"]}
    if event.kind == REWARDED:
        late = body["use"] in (LATE, LATE_LEARNT)
        return {"case": event.case, "use": body["use"], "late": late}
    return {"case": event.case, "status": event.kind}


def _expected_price(body: Mapping[str, Any]) -> float | None:
    return body["price"] if body.get("buy") else None


def case_view(spec: PolicySpec, case: CaseState) -> CaseResponse:
    """Return the full history of a case, and the reasons for its decisions."""
    steps = _steps(spec, case)
    prices = [step["expected_price"] for step in steps if step["buy"]]
    known = [price for price in prices if price is not None]
    acted = case.acted
    return {
        "case": case.id,
        "policy": spec.name,
        "decided_by": case.decider or spec.name,
        "status": case.status,
        "end": case.end,
        "learnt": case.is_learnt,
        "learnt_reward": None if case.learnt_reward is None else case.learnt_reward.money,
        "opened": format_time(case.opened.at),
        "deadline": format_time(case.deadline),
        "free": dict(case.opened.body["free"]),
        "buy": list(case.chosen),
        "expected_price": sum(known) if known and len(known) == len(prices) else None,
        "unit": spec.unit,
        "values": {name: value for step in steps for name, value in step["values"].items()},
        "costs": {name: cost for step in steps for name, cost in step["costs"].items()},
        "unavailable": [name for step in steps for name in step["unavailable"]],
        "steps": steps,
        "action": None if acted is None else acted.body["action"],
        "outcome": _outcome(spec, case),
        "rewards": [_reward_view(event) for event in case.events if event.kind == REWARDED],
        "explain": _explain(spec, case),
        "history": [{"at": format_time(event.at), "event": event.kind} for event in case.events],
    }


def _steps(spec: PolicySpec, case: CaseState) -> list[StepView]:
    """Return the purchases of a case, each with its result."""
    requests = [event for event in case.decided if event.body.get("buy") or event.kind == OPENED]
    results: list[Mapping[str, Any]] = [
        event.body for event in case.decided if event.kind == OBSERVED
    ]
    results += [{}] * (len(requests) - len(results))  # the last purchase may not be reported yet
    return [
        {
            "buy": event.body["buy"],
            "expected_price": _expected_price(event.body),
            "values": result.get("values", {}),
            "costs": result.get("costs", {}),
            "unavailable": result.get("unavailable", []),
            "reasons": explain_reasons(
                spec.problem, event.body["reasons"], case.opened.body["free"]
            ),
            "propensity": _propensity(event.body, BUY, describe_purchase(event.body["buy"])),
        }
        for event, result in zip(requests, results, strict=True)
    ]


def _outcome(spec: PolicySpec, case: CaseState) -> str | None:
    outcomes, learnt = spec.problem.outcomes, case.learnt_reward
    if learnt is None or learnt.outcome is None or outcomes is None:
        return None
    return outcomes.names[learnt.outcome]


def _reward_view(event: Event) -> RewardView:
    body = event.body
    return {
        "reward": body["reward"],
        "outcome": body.get("outcome"),
        "use": body["use"],
        "at": format_time(event.at),
    }


def _explain(spec: PolicySpec, case: CaseState) -> Explanation:
    """Return the policy's reasons and the values of the actions, in money."""
    acted = case.acted
    logged = None if acted is None else acted.body["action_values"]
    values = action_values_in_money(spec.problem, logged)
    action = None if acted is None else str(acted.body["action"])
    return {
        "learnt_before_buying": _learnt_before(case.opened),
        "reasons": explain_reasons(
            spec.problem, case.opened.body["reasons"], case.opened.body["free"]
        ),
        "learnt_before_acting": None if acted is None else _learnt_before(acted),
        "action_values": values,
        "action_why": explain_action(action, values, spec.unit),
        "action_reasons": None
        if acted is None or acted is case.opened
        else explain_reasons(spec.problem, acted.body.get("reasons"), case.opened.body["free"]),
        "action_propensity": None if acted is None else _propensity(acted.body, ACTION, action),
        "stop_propensity": None
        if acted is None or acted is case.opened
        else _propensity(acted.body, BUY, "Buying nothing more"),
    }


def _propensity(body: Mapping[str, Any], name: str, what: str | None) -> PropensityView | None:
    found = explain_propensity(logged_propensity(body, name), what)
    return None if found is None else cast(PropensityView, found)


def _learnt_before(event: Event) -> int | None:
    """Return the number of rounds learnt before a decision; its basis counts fits as well."""
    return None if event.basis is None else event.basis - int(event.body.get("fits", 0))


def policy_view(projection: Projection, *, leads: bool) -> PolicyResponse:
    """Return a policy as declared, and its totals so far."""
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
        "learnt": projection.panel.rounds_learnt,
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


@dataclass(frozen=True)
class _PlanContent:
    """A plan as JSON values, identified by its checksum."""

    checksum: str
    content: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=32)
def _outline(plan: _PlanContent) -> dict[str, Any]:
    """Return the boxes of a plan; reading its models takes time, so the result is kept."""
    return plan_outline(plan_from_dict(plan.content))


def panel_view(panel: Panel) -> dict[str, Any]:
    """Return which policy acts, and the estimated gain of each shadow."""
    shadows: list[ShadowView] = []
    for place, member in enumerate(panel.shadows):
        assert member.comparison is not None
        estimate = member.comparison.view()
        shadows.append(
            {
                "name": member.name,
                "kind": member.spec.policy,
                "learnt": member.model.rounds_learnt,
                "traffic": 0.0 if place else panel.settings.traffic,
                **estimate,  # type: ignore[typeddict-item]
            }
        )
    return {"acting": panel.acting.name, "shadows": shadows, "promotes": panel.is_automatic}


def status_view(
    spec: PolicySpec, status: Mapping[str, Any], beside: Mapping[str, Any]
) -> StatusResponse:
    """Return what a policy does at the moment.

    `status` is what its method `status` returned, and `beside` comes from `panel_view`.
    """
    plan = status.get("plan")
    # The plan with its models may be large, and the boxes say what a page can show.
    others = {name: value for name, value in status.items() if name != "plan"}
    boxes = None if plan is None else _outline(_PlanContent(plan["checksum"], plan))
    return {
        "policy": spec.name,
        "unit": spec.unit,
        "status": to_json_value(others),
        "plan": to_json_value(boxes),
        "acting": beside["acting"],
        "shadows": to_json_value(beside["shadows"]),
        "promotes": beside["promotes"],
    }


def activity_view(projection: Projection) -> ActivityResponse:
    """Return the data that the dashboard draws."""
    totals = projection.totals
    return {
        "policy": projection.spec.name,
        "seconds": totals.series.width / 1e6,
        "series": totals.series.rows(),
        "notices": cast(list[Notice], list(totals.notices)),
        "late": list(totals.late),
        "open": list(islice(reversed(projection.cases), 20)),
    }


def format_time(at: int) -> str:
    """Return a time in microseconds as ISO 8601, in UTC.

    >>> format_time(0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
