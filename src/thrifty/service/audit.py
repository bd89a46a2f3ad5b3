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
from thrifty.service.cases import Case
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
from thrifty.service.projection import Book
from thrifty.service.snapshots import thaw
from thrifty.service.stores.base import Store
from thrifty.specification import PolicySpec

CHUNK = 2000


@dataclass(frozen=True)
class Difference:
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
class Audit:
    """What was checked of a policy, and the first difference if there is one."""

    policy: str
    events: int
    decisions: int
    learnt: int
    snapshots: int
    state: str
    difference: Difference | None


def audit(store: Store, spec: PolicySpec) -> Audit:
    """Fold a policy's log anew, make every decision again and compare the snapshots with it.

    The log may grow meanwhile: what is written after the first look at its end is not counted.
    """
    checked = _Checked(store, spec)
    difference = checked.first_difference()
    book = folded(store, spec, until=checked.end)
    learnt, state = book.model.learnt, book.digest()
    snapshots = 0
    for data in store.snapshots(spec):
        short = _thawed(store, spec, data)
        if short is None:
            continue
        snapshots += 1
        difference = difference or _unlike(store, book, short)
    return Audit(
        policy=spec.id,
        events=checked.events,
        decisions=checked.decisions,
        learnt=learnt,
        snapshots=snapshots,
        state=state,
        difference=difference,
    )


def folded(
    store: Store, spec: PolicySpec, book: Book | None = None, until: Position | None = None
) -> Book:
    """Return the book of a policy, with the log up to there in it, or all of it."""
    book = Book(spec) if book is None else book
    for event in log_of(store, spec, book.position, until):
        book.apply(event)
    return book


def log_of(
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


def _thawed(store: Store, spec: PolicySpec, data: bytes) -> Book | None:
    try:
        return thaw(data, spec, store)
    except SaveError:
        return None


def _unlike(store: Store, book: Book, short: Book) -> Difference | None:
    """Take a book and the one of a snapshot to the same event, and say whether they differ."""
    seq = short.position.seq
    folded(store, book.spec, book, short.position)
    folded(store, book.spec, short, book.position)
    if short.digest() == book.digest():
        return None
    return Difference(seq, "any", "the state by snapshot", short.digest(), book.digest())


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
    """Keeps the rounds that a book would have learnt."""

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
        self.rule_broken: Difference | None = None

    def first_difference(self) -> Difference | None:
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
        both = [it for it in (found, self.rule_broken) if it is not None]
        return min(both, key=lambda it: it.seq, default=None)

    def _rounds(self) -> Iterator[_Round]:
        kept = _Rounds()
        book = Book(self.spec, kept)
        for event in log_of(self.store, self.spec):
            self.events, self.end = self.events + 1, event.position
            if self.rule_broken is None:
                self.rule_broken = self._ruled_otherwise(book, event)
            book.apply(event)
            while kept.waiting:
                yield kept.waiting.popleft()

    def _ruled_otherwise(self, book: Book, event: Event) -> Difference | None:
        if event.kind not in (REWARDED, SETTLED):
            return None
        try:
            return _compared(event, self._ruled(book, event).body)
        except (ThriftyError, *UNUSABLE) as error:
            return _unusable(event, error)

    def _ruled(self, book: Book, event: Event) -> Event:
        """Return what the rule makes of a reward or a deadline."""
        case = book.cases.get(event.case)
        if case is None:
            events = self.store.cases([event.case])[event.case]
            case = Case.of(self.spec.problem, events[: event.step])
        if event.kind == SETTLED:
            return decisions.settle(self.spec, case, event.at)
        told = event.body["reward"], event.body.get("outcome")
        return decisions.reward(self.spec, case, *told, decisions.Ticket(event.at))

    def _decided_otherwise(
        self, model: Model, event: Event, earlier: Sequence[Event]
    ) -> Difference | None:
        try:
            return _compared(event, self._decided(model, event, earlier))
        except (ThriftyError, *UNUSABLE) as error:
            return _unusable(event, error)

    def _decided(self, model: Model, event: Event, earlier: Sequence[Event]) -> Mapping[str, Any]:
        """Return what the policy decides, once more."""
        spec, body = self.spec, event.body
        if event.kind != OPENED:
            case = Case.of(spec.problem, earlier)
            return decisions.next_decision(spec, model, case, case.bought(body), body["available"])
        if "contract" not in body:
            return decisions.former_opening(spec, model, event.case, body["free"], event.at)
        given = decisions.Opening(body["free"], body["available"])
        return decisions.opening(spec, model, event.case, given, event.at)


def _compared(event: Event, again: Mapping[str, Any]) -> Difference | None:
    for name, value in json.loads(json.dumps(again)).items():
        if event.body.get(name) != value:
            return _difference(event, name, event.body.get(name), value)
    return None


def _unusable(event: Event, error: Exception) -> Difference:
    return _difference(event, "the event", "readable", f"not usable ({error!r})")


def _difference(event: Event, what: str, logged: Any, computed: Any) -> Difference:
    return Difference(event.position.seq, event.case, what, logged, computed)
