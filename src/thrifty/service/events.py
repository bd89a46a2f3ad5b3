"""Events: the entries of the log."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

OPENED, OBSERVED, REWARDED, ABANDONED, SETTLED = CASE_KINDS = (
    "opened",
    "observed",
    "rewarded",
    "abandoned",
    "settled",
)
FITTED = "fitted"
SHADOWED, PROMOTED, DEMOTED = PANEL_KINDS = ("shadowed", "promoted", "demoted")
KINDS = (*CASE_KINDS, FITTED, *PANEL_KINDS)
"""Kinds of events. Those that belong to no case are described in `fit_events` and
`panel_events`."""
LEGACY_KINDS = {"acted": OBSERVED}
"""Names of kinds in release 0.1."""

CONTRACT = 2
"""Version in every opening. Release 0.1 wrote no version. In its cases free values were treated as
bought for 0, and the policy did not see them before it chose what to buy."""

LEARNT, NOTED, EXTRA, LATE, LATE_LEARNT = USES = ("learnt", "noted", "extra", "late", "late-learnt")
"""Uses of a reward: learnt at once, kept until the deadline, ignored because one was learnt before,
ignored because it is late, or learnt although it is late."""

INVALID_BODY_ERRORS = (AttributeError, LookupError, TypeError, ValueError)
"""Errors that reading the body of an event raises if the body does not have the expected form."""


class Position(NamedTuple):
    """A position in the log; all readers see events in this order.

    Parameters
    ----------
    transaction : int
        Number of the transaction; always 0 in SQLite.
    seq : int
        Number of the event.
    """

    transaction: int = 0
    seq: int = 0


START = Position()
"""The position before the first event."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log.

    Parameters
    ----------
    tenant, policy, case : str
        Names of the tenant, the policy and the case.
    step : int
        Number of the event within its case, from 0. Two writers cannot both write the same step.
        For the event of a fit, the number of the fit.
    kind : str
        One of `KINDS`.
    at : int
        Time in microseconds.
    body : mapping
        Content, as JSON values.
    basis : int, optional
        Version of the model that decided: the number of rounds learnt and fits applied before.
    key : str, optional
        Idempotency key.
    request : str, optional
        Digest of the request.
    position : Position
        Position in the log; `START` for a draft.
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
        """Return True if two events are equal apart from their positions."""
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
    """Return a unique id; later ids sort later, which keeps database indexes compact.

    >>> new_case_id(1) < new_case_id(1_000_000_000)
    True
    """
    return f"{at // 1000:012x}{next(_counter) & 0xFFFF:04x}{os.urandom(6).hex()}"


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000
