"""The event of a fit: its result, from which on the policy uses new models.

The event belongs to a policy and not to a case. It has the id of the policy's fits instead of the
id of a case, and the number of the fit as its step, so that a fit is written only once.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thrifty.fits import describe_machine
from thrifty.service.events import FITTED, Event
from thrifty.specification import PolicySpec


@dataclass(frozen=True)
class FitOwner:
    """A shadow that has fits of its own.

    Parameters
    ----------
    name : str
        Name of the shadow.
    joined : int
        When it joined the panel; a shadow that joins again starts again with fit 0.
    """

    name: str
    joined: int


def fits_id(spec: PolicySpec, owner: FitOwner | None = None) -> str:
    """Return what the events of a policy's fits have instead of the id of a case."""
    whose = spec.id if owner is None else f"{spec.id}/{owner.name}/{owner.joined}"
    return f"fits-{hashlib.blake2b(whose.encode(), digest_size=16).hexdigest()}"


def fitted(
    spec: PolicySpec, number: int, result: bytes, at: int, owner: FitOwner | None = None
) -> Event:
    """Return the event with the result of a fit that was run on this machine."""
    body: dict[str, Any] = {
        "fit": number,
        "sha256": digest(result),
        "machine": describe_machine(),
        "result": base64.b64encode(zlib.compress(result)).decode("ascii"),
    }
    if owner is not None:
        body["policy"] = owner.name
    return Event(spec.tenant, spec.name, fits_id(spec, owner), number, FITTED, at, body)


def fit_owner(body: Mapping[str, Any]) -> str | None:
    """Return the name of the shadow whose fit it is; None for the policy of the events."""
    owner: str | None = body.get("policy")
    return owner


def fit_number(body: Mapping[str, Any]) -> int:
    """Return the number of the fit of an event."""
    return int(body["fit"])


def fit_result(body: Mapping[str, Any]) -> bytes:
    """Return the result of a fit, or raise `ValueError` if it does not match its checksum."""
    try:
        result = zlib.decompress(base64.b64decode(body["result"], validate=True))
    except zlib.error as error:
        raise ValueError(f"the result of the fit cannot be unpacked: {error}") from error
    if digest(result) != body["sha256"]:
        raise ValueError("the result of the fit does not match its checksum")
    return result


def digest(result: bytes) -> str:
    """Return the checksum of a result."""
    return hashlib.sha256(result).hexdigest()
