"""The event that a request leads to, or a refusal. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.case_inputs import action_mask, free_codes, parse_purchase, parse_reward, require_free
from thrifty.case_record import Decision, PurchaseResult
from thrifty.errors import RoundClosed
from thrifty.json_values import to_json_value
from thrifty.rounds import Observation
from thrifty.service.cases import CLOSED, CaseState, Reward
from thrifty.service.events import (
    ABANDONED,
    CONTRACT,
    EXTRA,
    LATE,
    LATE_LEARNT,
    LEARNT,
    NOTED,
    OBSERVED,
    OPENED,
    REWARDED,
    SETTLED,
    Event,
)
from thrifty.service.model import Model, reasons_of
from thrifty.specification import PolicySpec

Values = Mapping[str, str | float | None]


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """When something was asked for, and under which idempotency key."""

    at: int
    key: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class NewCase:
    """What is known of a new case, and the actions to choose from if nothing is to be bought."""

    free: Values
    available: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class ObservationReport:
    """What came of a purchase: what is None or left out of `values` could not be had."""

    values: Values
    costs: Mapping[str, float]
    unavailable: Sequence[str] = ()
    available: Sequence[str] | None = None


def open_case(
    spec: PolicySpec, model: Model, case: str, given: NewCase, ticket: RequestInfo
) -> Event:
    """Choose what to buy for a new case or, if nothing, its action."""
    require_free(spec.problem, spec.free, given.free)
    body = opening(spec, model, case, given, ticket.at)
    return _event(spec, case, 0, OPENED, ticket, body, model)


def opening(spec: PolicySpec, model: Model, case: str, given: NewCase, at: int) -> dict[str, Any]:
    """Return the body of an opening: a function of the rounds learnt and the case alone."""
    known = Observation.from_free(spec.problem, free_codes(spec.problem, given.free))
    available = action_mask(spec.problem, given.available)
    decision = model.decide(known, step=0, available=available, case=case)
    return {
        "contract": CONTRACT,
        "free": dict(given.free),
        "available": _listed(given.available),
        **_purchase(spec, model, decision.places, decision),
        "deadline": _deadline(spec, at),
        **({} if decision.action is None else _action(spec, decision)),
    }


def former_opening(
    spec: PolicySpec, model: Model, case: str, free: Values, at: int
) -> dict[str, Any]:
    """Return the body of an opening as release 0.1 wrote it.

    The policy did not see the free values; they were taken out of its purchase afterwards.
    """
    decision = model.decide(Observation.nothing(spec.problem), step=0, case=case)
    free_names = {*free, *spec.free}
    names = spec.problem.feature_names
    places = [i for i in decision.places if names[i] not in free_names]
    return {
        "free": dict(free),
        **_purchase(spec, model, places, decision),
        "deadline": _deadline(spec, at),
    }


def observe(
    spec: PolicySpec, model: Model, case: CaseState, seen: ObservationReport, ticket: RequestInfo
) -> Event:
    """Choose what to buy next in a case or, if nothing, its action."""
    _require_running(case, ticket.at)
    bought = parse_purchase(
        spec.problem,
        case.record,
        seen.values,
        seen.costs,
        unavailable=seen.unavailable,
        max_cost=spec.max_cost,
    )
    body = {
        **_reported(case, seen, bought),
        **next_decision(spec, model, case, case.kept(bought), seen.available),
    }
    return _event(spec, case.id, case.step, OBSERVED, ticket, body, model)


def next_decision(
    spec: PolicySpec,
    model: Model,
    case: CaseState,
    bought: PurchaseResult,
    available: Sequence[str] | None,
) -> dict[str, Any]:
    """Return what the body of an observation says about the decision."""
    record = case.record
    decision = model.decide(
        record.observation_after(spec.problem.n_features, bought),
        step=len(record.steps),
        available=action_mask(spec.problem, available),
        case=case.id,
    )
    if decision.action is None:
        owned = [*record.owned(), *bought.codes]
        body = _purchase(spec, model, decision.places, decision, owned)
    elif case.former:
        return _action(spec, decision)
    else:
        body = {**_action(spec, decision), "purpose": decision.purpose}
    return {**body, "deadline": case.deadline}


def reward(
    spec: PolicySpec, case: CaseState, money: float | None, outcome: str | None, ticket: RequestInfo
) -> Event:
    """Take a reward or an outcome, and say what becomes of it."""
    case.record.require_acted()
    if case.end == ABANDONED:
        raise RoundClosed(f"case {case.id} was abandoned: it takes no more rewards.")
    paid, which = parse_reward(spec.problem, case.action, money, outcome)
    use = _use(spec, case, ticket.at)
    body = {**_rewarded(spec, Reward(paid, which)), "use": use}
    assert case.acted is not None
    if case.status == CLOSED:  # it is no longer in memory, so the reward itself says how late it is
        body["waited"] = ticket.at - case.acted.at
    if use == LATE_LEARNT:
        body |= _embedded(case)
    return _event(spec, case.id, case.step, REWARDED, ticket, body)


def _embedded(case: CaseState) -> dict[str, Any]:
    """Return what a late reward brings along: its case is no longer in memory when it is learnt."""
    opened, *observed = [dict(event.body) for event in case.decided]
    if case.former and len(observed) == 1:
        return {"opened": opened, "acted": observed[0]}
    return {"opened": opened, "observed": observed}


def _use(spec: PolicySpec, case: CaseState, at: int) -> str:
    if at > case.deadline:
        return LATE_LEARNT if spec.rule.learn_late and not _taught(spec, case) else LATE
    if case.status == CLOSED:
        return EXTRA
    return LEARNT if spec.rule.rule == "first" else NOTED


def _taught(spec: PolicySpec, case: CaseState) -> bool:
    """Whether the deadline brings something to learn, whenever the watch comes to close it."""
    return case.learnt or (case.status != CLOSED and _settled(spec, case) is not None)


def abandon(spec: PolicySpec, case: CaseState, ticket: RequestInfo) -> Event:
    """Close a case without a reward: it teaches nothing."""
    _require_running(case, ticket.at)
    return _event(spec, case.id, case.step, ABANDONED, ticket, {})


def settle(spec: PolicySpec, case: CaseState, at: int) -> Event:
    """Close a case whose deadline has passed, with the reward that counts, if any does."""
    due = _settled(spec, case)
    body = {"reward": None} if due is None else _rewarded(spec, due)
    return _event(spec, case.id, case.step, SETTLED, RequestInfo(at), body)


def _settled(spec: PolicySpec, case: CaseState) -> Reward | None:
    if case.acted is None or case.learnt:
        return None
    if not case.noted:
        return None if spec.rule.default is None else Reward(spec.rule.default)
    if spec.rule.rule == "last" or len(case.noted) == 1:
        return case.noted[-1]
    scale = spec.problem.rewards
    return Reward(min(scale.high, max(scale.low, sum(reward.money for reward in case.noted))))


def _purchase(
    spec: PolicySpec,
    model: Model,
    places: Sequence[int],
    decision: Decision,
    owned: Sequence[int] = (),
) -> dict[str, Any]:
    return {
        "buy": [spec.problem.feature_names[i] for i in places],
        "purpose": int(decision.purpose),
        "price": model.expected_price(places, owned),
        "reasons": reasons_of(decision),
    }


def _action(spec: PolicySpec, decision: Decision) -> dict[str, Any]:
    assert decision.action is not None
    return {
        "action": spec.problem.actions[decision.action],
        "action_values": to_json_value(decision.action_values),
    }


def _reported(case: CaseState, seen: ObservationReport, bought: PurchaseResult) -> dict[str, Any]:
    """Return the purchase for the log: all costs, and the names of what could not be had."""
    names = case.problem.feature_names
    return {
        "values": {name: value for name, value in seen.values.items() if value is not None},
        "costs": {names[i]: cost for i, cost in bought.costs.items()},
        "unavailable": [names[i] for i in case.record.places if i not in bought.codes],
        "available": _listed(seen.available),
    }


def _rewarded(spec: PolicySpec, reward: Reward) -> dict[str, Any]:
    outcomes = spec.problem.outcomes
    known = None if reward.outcome is None or outcomes is None else outcomes.names[reward.outcome]
    return {"reward": float(reward.money), "outcome": known}


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _deadline(spec: PolicySpec, at: int) -> int:
    return at + round(spec.rule.deadline * 1e6)


def _event(
    spec: PolicySpec,
    case: str,
    step: int,
    kind: str,
    ticket: RequestInfo,
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


def _require_running(case: CaseState, at: int) -> None:
    case.record.require_running()
    if at > case.deadline:
        raise RoundClosed(f"case {case.id} is past its deadline: open another case.")
