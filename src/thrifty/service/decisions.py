"""Turn a request into an event, or raise an error. All functions here are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_inputs import action_mask, free_codes, parse_purchase, parse_reward, require_free
from thrifty.case_record import Decision, PurchaseResult
from thrifty.errors import RoundClosed
from thrifty.json_values import to_json_value
from thrifty.propensities import Notes
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
from thrifty.service.imagined import imagine
from thrifty.service.model import Model, reasons_as_json
from thrifty.service.panel import Panel, PanelMember
from thrifty.service.propensity_bodies import propensity_body
from thrifty.specification import PolicySpec

Values = Mapping[str, str | float | None]


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Time, idempotency key and digest of a request.

    Parameters
    ----------
    at : int
        Time in microseconds.
    key : str, optional
        Idempotency key; None for events that the engine writes itself.
    request : str, optional
        Digest of path and body.
    """

    at: int
    key: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class NewCase:
    """What is known about a new case.

    Parameters
    ----------
    free : mapping
        Values that are known for free, by feature.
    available : sequence of str, optional
        The actions to choose from if nothing is bought. Default: all actions.
    case_key : str, optional
        Cases with the same key are decided by the same policy while a shadow has traffic.
    """

    free: Values
    available: Sequence[str] | None = None
    case_key: str | None = None


@dataclass(frozen=True, slots=True)
class ObservationReport:
    """The result of a purchase.

    Parameters
    ----------
    values : mapping
        Values by feature; one that is missing or null is unavailable.
    costs : mapping
        What was paid, by feature or by bundle. Default: the list prices.
    unavailable : sequence of str
        Features whose values are unavailable.
    available : sequence of str, optional
        The actions to choose from. Default: all actions.
    """

    values: Values
    costs: Mapping[str, float]
    unavailable: Sequence[str] = ()
    available: Sequence[str] | None = None


def open_case(spec: PolicySpec, panel: Panel, case: str, new: NewCase, info: RequestInfo) -> Event:
    """Choose what to buy for a new case or, if nothing, its action."""
    require_free(spec.problem, spec.free, new.free)
    body = opening_body(spec, panel, case, new, info.at)
    return _event(spec, case, 0, OPENED, info, body, panel)


def opening_body(
    spec: PolicySpec, panel: Panel, case: str, new: NewCase, at: int
) -> dict[str, Any]:
    """Return the body of an opening, which depends on the panel's version and the case alone."""
    known = Observation.from_free(spec.problem, free_codes(spec.problem, new.free))
    available = action_mask(spec.problem, new.available)
    decider = panel.decider(new.case_key or case)
    decision = decider.model.decide(known, step=0, available=available, case=case)
    body = {
        "contract": CONTRACT,
        "free": dict(new.free),
        "available": _as_list(new.available),
        **_purchase_body(spec, decider.model, decision.places, decision),
        "deadline": _deadline(spec, at),
        **({} if decision.action is None else _action_body(spec, decision)),
        **propensity_body(decision),
        **_fits_body(panel),
    }
    if new.case_key is not None:
        body["case_key"] = new.case_key
    if not panel.is_plain:
        body |= {"turn": panel.turn, "by": decider.name}
        situation = _Situation(case, known, available)
        body |= _shadows_body(spec, panel, decider, situation, decision)
    return body


def legacy_opening_body(
    spec: PolicySpec, panel: Panel, case: str, free: Values, at: int
) -> dict[str, Any]:
    """Return the body of an opening as release 0.1 wrote it.

    The policy did not see the free values; they were removed from its purchase afterwards.
    """
    model = panel.acting.model
    decision = model.decide(Observation.nothing(spec.problem), step=0, case=case)
    free_names = {*free, *spec.free}
    names = spec.problem.feature_names
    places = [i for i in decision.places if names[i] not in free_names]
    return {
        "free": dict(free),
        **_purchase_body(spec, model, places, decision),
        "deadline": _deadline(spec, at),
    }


def observe(
    spec: PolicySpec, panel: Panel, case: CaseState, report: ObservationReport, info: RequestInfo
) -> Event:
    """Choose what to buy next in a case or, if nothing, its action."""
    _require_running(case, info.at)
    bought = parse_purchase(
        spec.problem,
        case.record,
        report.values,
        report.costs,
        unavailable=report.unavailable,
        max_cost=spec.max_cost,
    )
    body = {
        **_report_body(case, report, bought),
        **next_decision(spec, panel, case, case.visible(bought), report.available),
    }
    return _event(spec, case.id, case.step, OBSERVED, info, body, panel)


def next_decision(
    spec: PolicySpec,
    panel: Panel,
    case: CaseState,
    bought: PurchaseResult,
    available: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the decision in the body of an observation."""
    record, allowed = case.record, action_mask(spec.problem, available)
    decider = panel.named(case.decider) or panel.acting
    known, notes = _known_to(decider, case, bought)
    decision = decider.model.decide(
        known, step=len(record.steps), available=allowed, case=case.id, notes=notes
    )
    if decision.action is None:
        owned = [*record.owned(), *bought.codes]
        body = _purchase_body(spec, decider.model, decision.places, decision, owned)
    elif case.is_legacy:
        return _action_body(spec, decision)
    else:
        body = {**_action_body(spec, decision), "purpose": decision.purpose}
        if decision.reasons is not None:
            body["reasons"] = reasons_as_json(decision)
    if not panel.is_plain:
        situation = _Situation(case.id, known, allowed, notes)
        body |= {"by": decider.name}
        body |= _shadows_body(spec, panel, decider, situation, decision)
    return {**body, "deadline": case.deadline, **propensity_body(decision), **_fits_body(panel)}


@dataclass(frozen=True, slots=True)
class _Situation:
    """What a policy decides about.

    Parameters
    ----------
    case : str
        Id of the case.
    known : Observation
        What is known about it.
    available : array of bool, optional
        Actions to choose from; None means all.
    notes : mapping, optional
        Probabilities of the policy's notes; None before its first decision.
    """

    case: str
    known: Observation
    available: NDArray[np.bool_] | None
    notes: Notes | None = None


def _known_to(
    decider: PanelMember, case: CaseState, bought: PurchaseResult
) -> tuple[Observation, Notes | None]:
    """Return what is known about a case, without the notes of a policy that has left."""
    known = case.record.observation_after(case.problem.n_features, bought)
    if case.decider in (None, decider.name):
        return known, case.record.notes
    return Observation.unchecked(known.codes, known.costs, 0), None


def _shadows_body(
    spec: PolicySpec, panel: Panel, decider: PanelMember, situation: _Situation, decision: Decision
) -> dict[str, Any]:
    """Return what the other policies of a panel would have done, once a case has its action."""
    if decision.action is None or len(panel.members) == 1:
        return {}
    shadows = {}
    for member in panel.members:
        if member is not decider:
            imagined = imagine(member.model, situation.case, situation.known, situation.available)
            body = imagined.to_body(spec.problem)
            if imagined.action is not None and spec.problem.outcomes is None:
                body["chance"] = _chance(decider, situation, decision, imagined.action)
            shadows[member.name] = body
    return {"shadows": shadows}


def _chance(
    decider: PanelMember, situation: _Situation, decision: Decision, action: int
) -> float | None:
    """Return the probability with which a policy takes an action; None if it cannot say it."""
    if action == decision.action:
        found = decision.action_propensity
        return None if found is None else found.probability
    if not decider.model.policy.random_actions:
        return 0.0
    asked = decision.purchase_propensity
    notes = situation.notes if asked is None else asked.notes
    seed = f"{situation.case}/{action}"
    found = decider.model.propensity(
        situation.known, action, notes=notes, available=situation.available, seed=seed
    )
    return None if found is None else found.probability


def reward(
    spec: PolicySpec, case: CaseState, money: float | None, outcome: str | None, info: RequestInfo
) -> Event:
    """Take a reward or an outcome, and determine its use."""
    case.record.require_acted()
    if case.end == ABANDONED:
        raise RoundClosed(
            f"case {case.id} was abandoned, so it takes no more rewards: report a reward before "
            "abandoning its case."
        )
    paid, which = parse_reward(spec.problem, case.action, money, outcome)
    use = _use(spec, case, info.at)
    body = {**_reward_body(spec, Reward(paid, which)), "use": use}
    assert case.acted is not None
    if case.status == CLOSED:  # closed cases are not in memory, so the event records the delay
        body["waited"] = info.at - case.acted.at
    if use == LATE_LEARNT:
        body |= _case_bodies(case)
    return _event(spec, case.id, case.step, REWARDED, info, body)


def _case_bodies(case: CaseState) -> dict[str, Any]:
    """Return the case for the event of a late reward, because closed cases are not in memory."""
    opened, *observed = [dict(event.body) for event in case.decided]
    if case.is_legacy and len(observed) == 1:
        return {"opened": opened, "acted": observed[0]}
    return {"opened": opened, "observed": observed}


def _use(spec: PolicySpec, case: CaseState, at: int) -> str:
    if at > case.deadline:
        return LATE_LEARNT if spec.rule.learn_late and not _will_be_learnt(spec, case) else LATE
    if case.status == CLOSED:
        return EXTRA
    return LEARNT if spec.rule.rule == "first" else NOTED


def _will_be_learnt(spec: PolicySpec, case: CaseState) -> bool:
    """Return True if the case is learnt, or will be when it is closed at its deadline."""
    return case.is_learnt or (case.status != CLOSED and _reward_at_deadline(spec, case) is not None)


def abandon(spec: PolicySpec, case: CaseState, info: RequestInfo) -> Event:
    """Close a case without a reward; the policy learns nothing from it."""
    _require_running(case, info.at)
    return _event(spec, case.id, case.step, ABANDONED, info, {})


def settle(spec: PolicySpec, case: CaseState, at: int) -> Event:
    """Close a case whose deadline has passed, with the reward that the rule selects, if any."""
    due = _reward_at_deadline(spec, case)
    body = {"reward": None} if due is None else _reward_body(spec, due)
    return _event(spec, case.id, case.step, SETTLED, RequestInfo(at), body)


def _reward_at_deadline(spec: PolicySpec, case: CaseState) -> Reward | None:
    if case.acted is None or case.is_learnt:
        return None
    if not case.noted:
        return None if spec.rule.default is None else Reward(spec.rule.default)
    if spec.rule.rule == "last" or len(case.noted) == 1:
        return case.noted[-1]
    scale = spec.problem.rewards
    return Reward(min(scale.high, max(scale.low, sum(reward.money for reward in case.noted))))


def _purchase_body(
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
        "reasons": reasons_as_json(decision),
    }


def _action_body(spec: PolicySpec, decision: Decision) -> dict[str, Any]:
    assert decision.action is not None
    return {
        "action": spec.problem.actions[decision.action],
        "action_values": to_json_value(decision.action_values),
    }


def _fits_body(panel: Panel) -> dict[str, int]:
    """Return how many changes before were not rounds, if any: fits, and changes of the panel."""
    others = panel.fits_applied + panel.turn
    return {"fits": others} if others else {}


def _report_body(
    case: CaseState, report: ObservationReport, bought: PurchaseResult
) -> dict[str, Any]:
    """Return the result of a purchase for the log, with all costs and unavailable features."""
    names = case.problem.feature_names
    return {
        "values": {name: value for name, value in report.values.items() if value is not None},
        "costs": {names[i]: cost for i, cost in bought.costs.items()},
        "unavailable": [names[i] for i in case.record.places if i not in bought.codes],
        "available": _as_list(report.available),
    }


def _reward_body(spec: PolicySpec, reward: Reward) -> dict[str, Any]:
    outcomes = spec.problem.outcomes
    known = None if reward.outcome is None or outcomes is None else outcomes.names[reward.outcome]
    return {"reward": float(reward.money), "outcome": known}


def _as_list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _deadline(spec: PolicySpec, at: int) -> int:
    return at + round(spec.rule.deadline * 1e6)


def _event(
    spec: PolicySpec,
    case: str,
    step: int,
    kind: str,
    info: RequestInfo,
    body: Mapping[str, Any],
    panel: Panel | None = None,
) -> Event:
    return Event(
        tenant=spec.tenant,
        policy=spec.name,
        case=case,
        step=step,
        kind=kind,
        at=info.at,
        body=body,
        basis=None if panel is None else panel.version,
        key=info.key,
        request=info.request,
    )


def _require_running(case: CaseState, at: int) -> None:
    case.record.require_running()
    if at > case.deadline:
        raise RoundClosed(f"the deadline of case {case.id} has passed: open another case.")
