"""The entries of the log."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

OPENED, OBSERVED, REWARDED, ABANDONED, SETTLED = KINDS = (
    "opened",
    "observed",
    "rewarded",
    "abandoned",
    "settled",
)
FORMER_KINDS = {"acted": OBSERVED}
"""What release 0.1 called some kinds."""

CONTRACT = 2
"""Kept in every opening. Release 0.1 kept nothing there: in its cases free values were bought for
0, and the policy did not see them before it chose what to buy."""

LEARNT, NOTED, EXTRA, LATE, LATE_LEARNT = USES = ("learnt", "noted", "extra", "late", "late-learnt")
"""What became of a reward: learnt at once, kept until the deadline, one too many, late, or late and
learnt all the same."""

UNUSABLE = (AttributeError, LookupError, TypeError, ValueError)
"""What the body of an event raises that has another shape than we write."""


class Position(NamedTuple):
    """A place in the log; every reader sees events in this order."""

    transaction: int = 0
    seq: int = 0


START = Position()
"""Before the first event."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log.

    `step` counts the events of a case from 0, so that two writers cannot both take the same step.
    `at` is in microseconds. `basis` is the number of rounds that the policy had learnt when it
    decided. `key` and `request` are the idempotency key and the digest of what was asked for.
    """

    tenant: str
    policy: str
    case: str
    step: int
    kind: str
    at: int
    body: Mapping[str, Any]
    basis: int | None = None
    key: str | None = None
    request: str | None = None
    position: Position = START

    def same_as(self, other: Event) -> bool:
        """Whether it says the same, wherever in the log it stands."""
        mine = (self.case, self.step, self.kind, self.at, self.basis, self.key, self.request)
        return self.body == other.body and mine == (
            other.case,
            other.step,
            other.kind,
            other.at,
            other.basis,
            other.key,
            other.request,
        )


_counter = count(int.from_bytes(os.urandom(2)))


def new_case_id(at: int) -> str:
    """Return an id that nobody else has; later ids sort later, which keeps indexes compact.

    >>> new_case_id(1) < new_case_id(1_000_000_000)
    True
    """
    return f"{at // 1000:012x}{next(_counter) & 0xFFFF:04x}{os.urandom(6).hex()}"


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000
