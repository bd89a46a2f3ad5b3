"""The audit: every decision of a log made again, bit for bit."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import SaveError, ThriftyError
from thrifty.rounds import Observation
from thrifty.service import decisions
from thrifty.service.cases import CaseState
from thrifty.service.events import (
    OPENED,
    REWARDED,
    SETTLED,
    START,
    UNUSABLE,
    Event,
    Position,
)
from thrifty.service.model import Model
from thrifty.service.projection import Projection
from thrifty.service.snapshots import restore_snapshot
from thrifty.service.stores.base import Store
from thrifty.specification import PolicySpec

CHUNK = 2000


@dataclass(frozen=True)
class AuditDifference:
    """The first event that does not follow from the events before it."""

    seq: int
    case: str
    what: str
    logged: Any
    computed: Any

    def __str__(self) -> str:
        return (
            f"event {self.seq}, case {self.case}: {self.what} is {self.logged!r} in the log, and "
            f"{self.computed!r} follows from the events before it"
        )


@dataclass(frozen=True)
class AuditReport:
    """What was checked of a policy, and the first difference if there is one."""

    policy: str
    events: int
    decisions: int
    learnt: int
    snapshots: int
    state: str
    difference: AuditDifference | None


def audit(store: Store, spec: PolicySpec) -> AuditReport:
    """Fold a policy's log anew, make every decision again and compare the snapshots with it.

    The log may grow meanwhile: what is written after the first look at its end is not counted.
    """
    checked = _Checked(store, spec)
    difference = checked.first_difference()
    projection = fold_log(store, spec, until=checked.end)
    learnt, state = projection.model.learnt, projection.digest()
    snapshots = 0
    for data in store.snapshots(spec):
        short = _thawed(store, spec, data)
        if short is None:
            continue
        snapshots += 1
        difference = difference or _unlike(store, projection, short)
    return AuditReport(
        policy=spec.id,
        events=checked.events,
        decisions=checked.decisions,
        learnt=learnt,
        snapshots=snapshots,
        state=state,
        difference=difference,
    )


def fold_log(
    store: Store,
    spec: PolicySpec,
    projection: Projection | None = None,
    until: Position | None = None,
) -> Projection:
    """Return the projection of a policy, with the log up to there in it, or all of it."""
    projection = Projection(spec) if projection is None else projection
    for event in read_policy_log(store, spec, projection.position, until):
        projection.apply(event)
    return projection


def read_policy_log(
    store: Store, spec: PolicySpec, after: Position = START, until: Position | None = None
) -> Iterator[Event]:
    """Yield a policy's events in their order."""
    while chunk := store.read(after, CHUNK):
        for event in chunk:
            if until is not None and event.position > until:
                return
            if (event.tenant, event.policy) == (spec.tenant, spec.name):
                yield event
        after = chunk[-1].position


def _thawed(store: Store, spec: PolicySpec, data: bytes) -> Projection | None:
    try:
        return restore_snapshot(data, spec, store)
    except SaveError:
        return None


def _unlike(store: Store, projection: Projection, short: Projection) -> AuditDifference | None:
    """Compare a projection with the one of a snapshot at the same event."""
    seq = short.position.seq
    fold_log(store, projection.spec, projection, short.position)
    fold_log(store, projection.spec, short, projection.position)
    if short.digest() == projection.digest():
        return None
    return AuditDifference(seq, "any", "the state by snapshot", short.digest(), projection.digest())


@dataclass(frozen=True)
class _Round:
    """What a model is to learn next."""

    seen: Observation
    action: int
    reward: float
    outcome: int | None
    priced: NDArray[np.bool_] | None

    def teach(self, model: Model) -> None:
        model.learn(self.seen, self.action, self.reward, self.outcome, priced=self.priced)


class _Rounds:
    """Keeps the rounds that a projection would have learnt."""

    def __init__(self) -> None:
        self.waiting: deque[_Round] = deque()

    def learn(
        self,
        seen: Observation,
        action: int,
        reward: float,
        outcome: int | None = None,
        *,
        priced: NDArray[np.bool_] | None = None,
    ) -> None:
        self.waiting.append(_Round(seen, action, reward, outcome, priced))


class _Checked:
    """One pass over the log for what was learnt, beside one over the decisions."""

    def __init__(self, store: Store, spec: PolicySpec) -> None:
        self.store, self.spec = store, spec
        self.events = self.decisions = 0
        self.end = START
        self.rule_broken: AuditDifference | None = None

    def first_difference(self) -> AuditDifference | None:
        model, rounds = Model(self.spec), self._rounds()
        found = None
        for event, earlier in self.store.decisions(self.spec):
            while model.learnt < (event.basis or 0):
                lesson = next(rounds, None)
                if lesson is None:
                    return found or _difference(event, "basis", event.basis, model.learnt)
                lesson.teach(model)
            self.decisions += 1
            found = found or self._decided_otherwise(model, event, earlier)
        for lesson in rounds:
            lesson.teach(model)
        both = [difference for difference in (found, self.rule_broken) if difference is not None]
        return min(both, key=lambda difference: difference.seq, default=None)

    def _rounds(self) -> Iterator[_Round]:
        kept = _Rounds()
        projection = Projection(self.spec, kept)
        for event in read_policy_log(self.store, self.spec):
            self.events, self.end = self.events + 1, event.position
            if self.rule_broken is None:
                self.rule_broken = self._ruled_otherwise(projection, event)
            projection.apply(event)
            while kept.waiting:
                yield kept.waiting.popleft()

    def _ruled_otherwise(self, projection: Projection, event: Event) -> AuditDifference | None:
        if event.kind not in (REWARDED, SETTLED):
            return None
        try:
            return _compared(event, self._ruled(projection, event).body)
        except (ThriftyError, *UNUSABLE) as error:
            return _unusable(event, error)

    def _ruled(self, projection: Projection, event: Event) -> Event:
        """Return what the rule makes of a reward or a deadline."""
        case = projection.cases.get(event.case)
        if case is None:
            events = self.store.cases([event.case])[event.case]
            case = CaseState.from_events(self.spec.problem, events[: event.step])
        if event.kind == SETTLED:
            return decisions.settle(self.spec, case, event.at)
        told = event.body["reward"], event.body.get("outcome")
        return decisions.reward(self.spec, case, *told, decisions.RequestInfo(event.at))

    def _decided_otherwise(
        self, model: Model, event: Event, earlier: Sequence[Event]
    ) -> AuditDifference | None:
        try:
            return _compared(event, self._decided(model, event, earlier))
        except (ThriftyError, *UNUSABLE) as error:
            return _unusable(event, error)

    def _decided(self, model: Model, event: Event, earlier: Sequence[Event]) -> Mapping[str, Any]:
        """Return what the policy decides, once more."""
        spec, body = self.spec, event.body
        if event.kind != OPENED:
            case = CaseState.from_events(spec.problem, earlier)
            return decisions.next_decision(spec, model, case, case.bought(body), body["available"])
        if "contract" not in body:
            return decisions.former_opening(spec, model, event.case, body["free"], event.at)
        given = decisions.NewCase(body["free"], body["available"])
        return decisions.opening(spec, model, event.case, given, event.at)


def _compared(event: Event, again: Mapping[str, Any]) -> AuditDifference | None:
    for name, value in json.loads(json.dumps(again)).items():
        if event.body.get(name) != value:
            return _difference(event, name, event.body.get(name), value)
    return None


def _unusable(event: Event, error: Exception) -> AuditDifference:
    return _difference(event, "the event", "readable", f"not usable ({error!r})")


def _difference(event: Event, what: str, logged: Any, computed: Any) -> AuditDifference:
    return AuditDifference(event.position.seq, event.case, what, logged, computed)
