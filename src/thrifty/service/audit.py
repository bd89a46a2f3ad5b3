"""The audit: repeat every decision of a log and compare it bit for bit."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.errors import SaveError, ThriftyError
from thrifty.fits import describe_machine
from thrifty.service import decisions, panel_changes
from thrifty.service.cases import CaseState
from thrifty.service.events import (
    FITTED,
    INVALID_BODY_ERRORS,
    OPENED,
    PANEL_KINDS,
    PROMOTED,
    REWARDED,
    SETTLED,
    START,
    Event,
    Position,
)
from thrifty.service.fit_events import digest, fit_number, fit_owner, fit_result
from thrifty.service.model import Model
from thrifty.service.panel import LearntCase, Panel
from thrifty.service.projection import Projection
from thrifty.service.propensity_bodies import PROPENSITY
from thrifty.service.snapshots import restore_snapshot
from thrifty.service.stores.base import Store
from thrifty.specification import PolicySpec

CHUNK = 2000


@dataclass(frozen=True)
class AuditDifference:
    """The first event that does not follow from the events before it.

    Parameters
    ----------
    seq : int
        Number of the event.
    case : str
        Id of the case.
    what : str
        Name of the field that differs.
    logged, computed : Any
        The value in the log, and the value that the audit computed.
    """

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
class OtherMachines:
    """Fits that this machine runs with another result than the kind of machine that wrote the log.

    Parameters
    ----------
    fits : int
        Number of fits with another result.
    machines : tuple of str
        The kinds of machines that ran them for the log.
    here : str
        The kind of this machine.
    """

    fits: int
    machines: tuple[str, ...]
    here: str

    def __str__(self) -> str:
        return (
            f"{self.fits} fits have another result here, because another kind of machine ran them "
            f"for the log ({'; '.join(self.machines)}), and the arithmetic of this one "
            f"({self.here}) differs: audit the log on a machine of that kind to compare its fits"
        )


@dataclass(frozen=True)
class AuditReport:
    """Result of the audit of a policy.

    Parameters
    ----------
    policy : str
        Id of the policy.
    events, decisions, learnt, fits, snapshots : int
        Number of events read, decisions repeated, rounds learnt, fits run again and snapshots
        compared.
    state : str
        Fingerprint of the final state.
    difference : AuditDifference, optional
        The first difference, if any.
    other_machines : OtherMachines, optional
        Fits that differ because of the kind of machine, if any. They are not in `difference`.
    """

    policy: str
    events: int
    decisions: int
    learnt: int
    fits: int
    snapshots: int
    state: str
    difference: AuditDifference | None
    other_machines: OtherMachines | None

    @property
    def passed(self) -> bool:
        """True if everything that was repeated is the same, bit for bit."""
        return self.difference is None and self.other_machines is None


def audit(store: Store, spec: PolicySpec) -> AuditReport:
    """Repeat every decision and fit of a policy from its log alone, and check its snapshots.

    A service may write meanwhile; events after the end of the first pass are ignored.
    """
    auditor = _Auditor(store, spec)
    difference = auditor.first_difference()
    projection = fold_log(store, spec, until=auditor.end)
    learnt, state = projection.panel.rounds_learnt, projection.digest()
    snapshots = 0
    for data in store.snapshots.load(spec):
        restored = _restored(store, spec, data)
        if restored is None:
            continue
        snapshots += 1
        difference = difference or _compare_snapshot(store, projection, restored)
    return AuditReport(
        policy=spec.id,
        events=auditor.events,
        decisions=auditor.decisions,
        learnt=learnt,
        fits=auditor.fits,
        snapshots=snapshots,
        state=state,
        difference=difference,
        other_machines=auditor.other_machines(),
    )


def fold_log(
    store: Store,
    spec: PolicySpec,
    projection: Projection | None = None,
    until: Position | None = None,
) -> Projection:
    """Apply a policy's log up to a position, or all of it, and return the projection."""
    projection = Projection(spec) if projection is None else projection
    for event in read_policy_log(store, spec, projection.position, until):
        projection.apply(event)
    return projection


def read_policy_log(
    store: Store, spec: PolicySpec, after: Position = START, until: Position | None = None
) -> Iterator[Event]:
    """Yield a policy's events in the order of the log."""
    while chunk := store.log.read(after, CHUNK):
        for event in chunk:
            if until is not None and event.position > until:
                return
            if (event.tenant, event.policy) == (spec.tenant, spec.name):
                yield event
        after = chunk[-1].position


def _restored(store: Store, spec: PolicySpec, data: bytes) -> Projection | None:
    try:
        return restore_snapshot(data, spec, store)
    except SaveError:
        return None


def _compare_snapshot(
    store: Store, projection: Projection, restored: Projection
) -> AuditDifference | None:
    """Compare a projection with the one of a snapshot at the same event."""
    seq = restored.position.seq
    fold_log(store, projection.spec, projection, restored.position)
    fold_log(store, projection.spec, restored, projection.position)
    if restored.digest() == projection.digest():
        return None
    return AuditDifference(
        seq, "any", "the state of a snapshot", restored.digest(), projection.digest()
    )


class _CaseCollector:
    """A learner that only collects the cases."""

    def __init__(self) -> None:
        self.waiting: deque[LearntCase] = deque()

    def learn(self, case: LearntCase) -> None:
        self.waiting.append(case)

    def apply_fit(self, number: int, result: bytes, name: str | None = None) -> bool:
        del number, result, name  # the auditor takes them from the event
        return True

    def change(self, event: Event) -> None:
        del event  # the auditor applies it


class _Auditor:
    """One pass over the changes of the log, in step with one over its decisions.

    Decisions come in the order of the changes before them, so the panel learns exactly the rounds,
    uses exactly the fits and has exactly the members that each decision was based on.
    """

    def __init__(self, store: Store, spec: PolicySpec) -> None:
        self.store, self.spec = store, spec
        self.events = self.decisions = self.fits = 0
        self.end = START
        self.rule_broken: AuditDifference | None = None
        self.fit_differs: AuditDifference | None = None
        self._elsewhere: Counter[str] = Counter()

    def first_difference(self) -> AuditDifference | None:
        panel, changes = Panel(self.spec), self._changes()
        found = None
        for event, earlier in self.store.index.decisions(self.spec):
            while panel.version < (event.basis or 0):
                change = next(changes, None)
                if change is None:
                    return found or _difference(event, "basis", event.basis, panel.version)
                self._apply(panel, change)
            self.decisions += 1
            found = found or self._check_decision(panel, event, earlier)
        for change in changes:
            self._apply(panel, change)
        possible = (found, self.rule_broken, self.fit_differs)
        differences = [difference for difference in possible if difference is not None]
        return min(differences, key=lambda difference: difference.seq, default=None)

    def other_machines(self) -> OtherMachines | None:
        if not self._elsewhere:
            return None
        machines = tuple(sorted(self._elsewhere))
        return OtherMachines(self._elsewhere.total(), machines, describe_machine())

    def _apply(self, panel: Panel, change: LearntCase | Event) -> None:
        if isinstance(change, LearntCase):
            panel.learn(change)
            return
        if change.kind in PANEL_KINDS:
            panel.change(change)
            return
        number, result = fit_number(change.body), fit_result(change.body)
        owner = panel.named(fit_owner(change.body))
        if owner is not None and owner.model.is_due(number):
            self._check_fit(owner.model, change, result)
        # as written, so that later differences show as well
        panel.apply_fit(number, result, fit_owner(change.body))

    def _check_fit(self, model: Model, event: Event, result: bytes) -> None:
        fit = model.due_fit
        assert fit is not None
        self.fits += 1
        computed = fit.run()
        if computed == result:
            return
        machine = str(event.body.get("machine"))
        if machine != describe_machine():
            self._elsewhere[machine] += 1
        elif self.fit_differs is None:
            what = f"the result of fit {fit.number}"
            self.fit_differs = _difference(event, what, digest(result), digest(computed))

    def _changes(self) -> Iterator[LearntCase | Event]:
        collector = _CaseCollector()
        projection = Projection(self.spec, collector)
        for event in read_policy_log(self.store, self.spec):
            self.events, self.end = self.events + 1, event.position
            if self.rule_broken is None:
                self.rule_broken = self._check_rule(projection, event)
            projection.apply(event)
            if event.kind == FITTED or event.kind in PANEL_KINDS:
                yield event
            while collector.waiting:
                yield collector.waiting.popleft()

    def _check_rule(self, projection: Projection, event: Event) -> AuditDifference | None:
        if event.kind not in (REWARDED, SETTLED):
            return None
        try:
            return _compare(event, self._apply_rule(projection, event).body)
        except (ThriftyError, *INVALID_BODY_ERRORS) as error:
            return _invalid(event, error)

    def _apply_rule(self, projection: Projection, event: Event) -> Event:
        """Return the event that the reward rule gives for a reward or a deadline."""
        case = projection.cases.get(event.case)
        if case is None:
            events = self.store.index.cases([event.case])[event.case]
            case = CaseState.from_events(self.spec.problem, events[: event.step])
        if event.kind == SETTLED:
            return decisions.settle(self.spec, case, event.at)
        amounts = event.body["reward"], event.body.get("outcome")
        return decisions.reward(self.spec, case, *amounts, decisions.RequestInfo(event.at))

    def _check_decision(
        self, panel: Panel, event: Event, earlier: Sequence[Event]
    ) -> AuditDifference | None:
        try:
            return _compare(event, self._decide(panel, event, earlier))
        except (ThriftyError, *INVALID_BODY_ERRORS) as error:
            return _invalid(event, error)

    def _decide(self, panel: Panel, event: Event, earlier: Sequence[Event]) -> Mapping[str, Any]:
        """Repeat a decision, as far as the release that made it described it."""
        again = self._repeat(panel, event, earlier)
        if PROPENSITY in event.body:
            return again
        return {name: value for name, value in again.items() if name != PROPENSITY}

    def _repeat(self, panel: Panel, event: Event, earlier: Sequence[Event]) -> Mapping[str, Any]:
        spec, body = self.spec, event.body
        if event.kind == PROMOTED:
            return panel_changes.better_body(panel) or {"policy": panel.acting.name}
        if event.kind != OPENED:
            case = CaseState.from_events(spec.problem, earlier)
            again = decisions.next_decision(spec, panel, case, case.bought(body), body["available"])
            # Earlier versions did not log why a policy that buys in steps stopped.
            is_unexplained = "action" in again and "reasons" not in body
            return {k: value for k, value in again.items() if k != "reasons" or not is_unexplained}
        if "contract" not in body:
            return decisions.legacy_opening_body(spec, panel, event.case, body["free"], event.at)
        new = decisions.NewCase(body["free"], body["available"], body.get("case_key"))
        return decisions.opening_body(spec, panel, event.case, new, event.at)


def _compare(event: Event, computed: Mapping[str, Any]) -> AuditDifference | None:
    for name, value in json.loads(json.dumps(computed)).items():
        if event.body.get(name) != value:
            return _difference(event, name, event.body.get(name), value)
    return None


def _invalid(event: Event, error: Exception) -> AuditDifference:
    return _difference(event, "the event", "readable", f"not valid ({error!r})")


def _difference(event: Event, what: str, logged: Any, computed: Any) -> AuditDifference:
    return AuditDifference(event.position.seq, event.case, what, logged, computed)
