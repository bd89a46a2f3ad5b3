"""A case from its opening to its end, as its events tell it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thrifty.errors import BrokenLog
from thrifty.rounds import Observation
from thrifty.service.events import (
    ABANDONED,
    ACTED,
    LATE_LEARNT,
    LEARNT,
    NOTED,
    OPENED,
    REWARDED,
    SETTLED,
    Event,
)
from thrifty.service.specification import PolicySpec

OPEN, CLOSED = "open", "closed"
EXPIRED = "expired"


@dataclass(slots=True)
class Case:
    """The fold of one case's events.

    `status` goes from open to acted to closed; `end` says how it was closed: rewarded, abandoned
    or expired. `taught` is the reward that the policy has learnt from it, if it has learnt any.
    """

    id: str
    events: list[Event] = field(default_factory=list)
    status: str = OPEN
    end: str | None = None
    taught: float | None = None
    acted: Event | None = None
    noted: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Case:
        """Return the case that these events tell of; there must be at least one."""
        first, *others = events
        case = cls(first.case)
        for event in (first, *others):
            case.apply(event)
        return case

    @property
    def learnt(self) -> bool:
        """Whether the policy has learnt from it."""
        return self.taught is not None

    @property
    def opened(self) -> Event:
        """The event that opened it."""
        return self.events[0]

    @property
    def step(self) -> int:
        """The number of the step that comes next."""
        return len(self.events)

    @property
    def deadline(self) -> int:
        """When it ends, in microseconds."""
        return int(self.opened.body["deadline"])

    @property
    def free(self) -> Mapping[str, str | float]:
        """The values that were known from the start."""
        return self.opened.body["free"]  # type: ignore[no-any-return]

    @property
    def buy(self) -> list[str]:
        """The features that were to be bought."""
        return self.opened.body["buy"]  # type: ignore[no-any-return]

    def apply(self, event: Event) -> None:
        """Take the next event."""
        if event.step != self.step or (event.kind == OPENED) != (self.step == 0):
            raise _impossible(event, f"step {self.step} of it comes next")
        if event.kind == ACTED:
            self._require(event, OPEN)
            self.status, self.acted = ACTED, event
        elif event.kind == REWARDED:
            self._rewarded(event)
        elif event.kind == ABANDONED:
            self._require(event, OPEN, ACTED)
            self.status, self.end = CLOSED, ABANDONED
        elif event.kind == SETTLED:
            self._require(event, OPEN, ACTED)
            self.status, self.end = CLOSED, REWARDED if self.noted else EXPIRED
            if event.body["reward"] is not None:
                self.taught = event.body["reward"]
        elif event.kind != OPENED:
            raise _impossible(event, "there is no such kind")
        self.events.append(event)

    def _rewarded(self, event: Event) -> None:
        use = event.body["use"]
        if use == LEARNT:
            self._require(event, ACTED)
            self.status, self.end, self.taught = CLOSED, REWARDED, event.body["reward"]
        elif use == NOTED:
            self._require(event, ACTED)
            self.noted.append(event.body["reward"])
        elif use == LATE_LEARNT:
            if self.acted is None or self.learnt:
                raise _impossible(event, "it has not acted or was learnt before")
            self.taught = event.body["reward"]

    def _require(self, event: Event, *statuses: str) -> None:
        if self.status not in statuses:
            raise _impossible(event, f"the case is {self.status}")

    def observation(self, spec: PolicySpec) -> Observation:
        """Return what was seen in it, with costs in money; it must have acted."""
        if self.acted is None:
            raise AssertionError("asked for an observation before there was one")
        return observation(spec, self.opened.body, self.acted.body)


def observation(
    spec: PolicySpec, opened: Mapping[str, Any], acted: Mapping[str, Any]
) -> Observation:
    """Return what was seen: free values at no cost, bought ones at theirs, in money."""
    n = spec.problem.n_features
    codes, costs = [-1] * n, [math.nan] * n
    for name, value in opened["free"].items():
        i = spec.place(name)
        codes[i], costs[i] = spec.code(name, value), 0.0
    for name, value in acted["values"].items():
        i = spec.place(name)
        codes[i], costs[i] = spec.code(name, value), acted["costs"][name]
    return Observation.trusted(np.array(codes), np.array(costs), opened["purpose"])


def _impossible(event: Event, why: str) -> BrokenLog:
    return BrokenLog(
        f"event {event.position.seq} ({event.kind}, step {event.step} of case {event.case}) cannot "
        f"have happened: {why}. The log was changed or damaged: restore a copy of the store."
    )
