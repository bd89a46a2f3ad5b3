"""The projection: the current state of one policy, computed from its events."""

from __future__ import annotations

import hashlib
import json
from bisect import insort
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

from thrifty.errors import BrokenLog
from thrifty.service.cases import CLOSED, EXPIRED, CaseState, Reward
from thrifty.service.events import (
    ABANDONED,
    FITTED,
    INVALID_BODY_ERRORS,
    LATE,
    LATE_LEARNT,
    LEARNT,
    OBSERVED,
    OPENED,
    PANEL_KINDS,
    REWARDED,
    SETTLED,
    Event,
    Position,
)
from thrifty.service.fit_events import fit_number, fit_owner, fit_result
from thrifty.service.panel import LearntCase, Panel
from thrifty.service.totals import Totals
from thrifty.specification import PolicySpec

NOTICES_EVERY = 32
"""Number of rounds learnt between two looks at the changes that the policy detected."""
_SPARE_DEADLINES = 1000


class Learner(Protocol):
    """Anything that learns cases, uses the results of fits and follows changes of the panel."""

    def learn(self, case: LearntCase) -> None:
        """Learn from a case; see `Panel.learn`."""

    def apply_fit(self, number: int, result: bytes, name: str | None = None) -> bool:
        """Use the result of a fit unless it is stale; see `Panel.apply_fit`."""

    def change(self, event: Event) -> None:
        """Apply an event that changes the panel; see `Panel.change`."""


class Projection:
    """The state of one policy, a function of its specification and its events in their order.

    Only open cases are kept in memory; closed ones are in the log.

    Parameters
    ----------
    spec : PolicySpec
        The policy.
    learner : Learner, optional
        What learns the rounds; by default a new `Panel`.
    """

    def __init__(self, spec: PolicySpec, learner: Learner | None = None) -> None:
        self.spec = spec
        self.learner = Panel(spec) if learner is None else learner
        self.cases: OrderedDict[str, CaseState] = OrderedDict()
        self._deadlines: list[tuple[int, str]] = []
        self.totals = Totals(looked=getattr(getattr(self.learner, "policy", None), "rounds", 0))
        self.position = Position()

    @property
    def panel(self) -> Panel:
        """The policies that decide. A projection with another learner has none."""
        if not isinstance(self.learner, Panel):
            raise AssertionError("this projection has no panel")
        return self.learner

    def apply(self, event: Event) -> None:
        """Apply the next event of the log."""
        if event.position <= self.position:
            raise BrokenLog(
                f"event {event.position.seq} comes after event {self.position.seq}: the log is out "
                "of order, restore a backup of the store."
            )
        try:
            self._apply(event)
        except INVALID_BODY_ERRORS as error:
            raise BrokenLog(
                f"event {event.position.seq} of case {event.case} is not valid ({error}): restore "
                "a backup of the store."
            ) from error
        self.position = event.position

    def _apply(self, event: Event) -> None:
        if event.kind == FITTED:
            self._fitted(event)
            return
        if event.kind in PANEL_KINDS:
            self._panel_changed(event)
            return
        case = self.cases.get(event.case)
        if case is not None or event.kind == OPENED:
            case = self._apply_to(case or CaseState.new(self.spec.problem, event.case), event)
        elif event.kind != REWARDED:
            raise BrokenLog(
                f"event {event.position.seq} belongs to case {event.case}, which is not open: "
                "restore a backup of the store."
            )
        self._count(event, case)

    def _fitted(self, event: Event) -> None:
        result = fit_result(event.body)
        is_used = self.learner.apply_fit(fit_number(event.body), result, fit_owner(event.body))
        self.totals.counts["fitted" if is_used else "fitted too late"] += 1

    def _panel_changed(self, event: Event) -> None:
        self.learner.change(event)
        self.totals.counts[event.kind] += 1
        self.totals.looked = getattr(getattr(self.learner, "policy", None), "rounds", 0)

    def _apply_to(self, case: CaseState, event: Event) -> CaseState:
        case.apply(event)
        if event.kind == OPENED:
            self.keep(case)
        elif case.status == CLOSED:
            self.cases.pop(case.id, None)
        return case

    def _count(self, event: Event, case: CaseState | None) -> None:
        totals, body = self.totals, event.body
        if event.kind == REWARDED:
            self._rewarded(event, case)
        elif case is None:
            return
        elif event.kind in (OPENED, OBSERVED):
            self._decided(event, case)
        elif event.kind == ABANDONED:
            totals.counts["abandoned"] += 1
        elif event.kind == SETTLED:
            totals.counts["expired"] += case.end == EXPIRED  # a case with rewards is not expired
            if body["reward"] is not None:
                self._learn(event.at, case, case.reward_in(body))

    def _decided(self, event: Event, case: CaseState) -> None:
        totals, body = self.totals, event.body
        if event.kind == OPENED:
            totals.opened(event.at)
            if case.is_legacy:  # it has only one purchase
                totals.recent.append(tuple(body["buy"]))
        else:
            totals.bought(event.at, body)
        if case.acted is event:
            totals.acted(event.at)
            if not case.is_legacy:
                totals.recent.append(case.chosen)
        elif event.kind == OBSERVED:
            totals.counts["bought more"] += 1

    def _rewarded(self, event: Event, case: CaseState | None) -> None:
        totals, body, use = self.totals, event.body, event.body["use"]
        totals.counts["rewarded"] += 1
        totals.counts[f"rewarded {use}"] += 1
        if case is not None and case.acted is not None:
            totals.waited((event.at - case.acted.at) / 1e6)
        elif "waited" in body:
            totals.waited(body["waited"] / 1e6)
        if use in (LATE, LATE_LEARNT):
            totals.late.append(event.case)
        if use == LATE_LEARNT:
            case = CaseState.from_late_reward(self.spec.problem, event)
        if use in (LEARNT, LATE_LEARNT) and case is not None:
            self._learn(event.at, case, case.reward_in(body))

    def _learn(self, at: int, case: CaseState, reward: Reward) -> None:
        self.learner.learn(case.learnt(reward))
        self.totals.learnt(at, reward.money)
        if self.totals.counts["learnt"] % NOTICES_EVERY == 0:
            self._note_changes(at)

    def _note_changes(self, at: int) -> None:
        """Record the changes that the policy has detected since the last look."""
        policy = getattr(self.learner, "policy", None)
        fresh = [
            notice for notice in getattr(policy, "events", ()) if notice.round >= self.totals.looked
        ]
        for notice in fresh:
            self.totals.noticed[notice.kind] += 1
            notice = {
                "at": at,
                "round": notice.round,
                "kind": notice.kind,
                "feature": notice.feature,
            }
            self.totals.notices.append(notice)
        self.totals.looked = getattr(policy, "rounds", 0)

    def keep(self, case: CaseState) -> None:
        """Keep an open case in memory; deadlines are sorted because clocks may go back."""
        self.cases[case.id] = case
        insort(self._deadlines, (case.deadline, case.id))
        if (
            len(self._deadlines) > 2 * len(self.cases) + _SPARE_DEADLINES
        ):  # most of them belong to closed cases
            self._deadlines = sorted((case.deadline, case.id) for case in self.cases.values())

    def overdue(self, at: int) -> Iterator[CaseState]:
        """Yield the cases whose deadline has passed, earliest first."""
        for deadline, name in self._deadlines:
            if deadline >= at:
                return
            if name in self.cases:
                yield self.cases[name]

    def digest(self) -> str:
        """Return a fingerprint of the whole state; states that differ in any bit differ here."""
        digest = hashlib.sha256()
        for name, array in sorted(self.panel.state().items()):
            digest.update(f"{name} {array.itemsize} {array.shape} ".encode())
            digest.update(array.tobytes())
        plain: dict[str, Any] = {
            "cases": sorted((case.id, case.step) for case in self.cases.values()),
            "totals": self.totals.to_dict(),
        }
        if (described := self.panel.describe()) is not None:
            plain["panel"] = described
        digest.update(json.dumps(plain, sort_keys=True).encode())
        return digest.hexdigest()
