"""The events of a panel: which policies decide beside a policy, and which of them acts.

As the event of a fit, they belong to a policy and not to a case. They have the id of the policy's
panel instead of the id of a case, and their number as step, so that each is written only once.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from thrifty.service.events import Event
from thrifty.specification import PolicySpec, ShadowSettings


def panel_id(spec: PolicySpec) -> str:
    """Return what the events of a panel have instead of the id of a case."""
    return f"panel-{hashlib.blake2b(spec.id.encode(), digest_size=16).hexdigest()}"


def panel_event(
    spec: PolicySpec,
    kind: str,
    turn: int,
    body: Mapping[str, Any],
    at: int,
    key: str | None = None,
    request: str | None = None,
    basis: int | None = None,
) -> Event:
    """Return an event that changes the panel of a policy."""
    name = panel_id(spec)
    return Event(spec.tenant, spec.name, name, turn, kind, at, body, basis, key, request)


def settings_to_body(settings: ShadowSettings) -> dict[str, Any]:
    """Return the settings as JSON values; `settings_from_body` reverses it."""
    return {
        "shadows": [
            {
                "spec": spec.to_dict(),
                "agent": None
                if spec.agent is None
                else base64.b64encode(spec.agent).decode("ascii"),
            }
            for spec in settings.specs
        ],
        "traffic": settings.traffic,
        "promote": settings.promote,
        "margin": settings.margin,
    }


def settings_from_body(body: Mapping[str, Any]) -> ShadowSettings:
    """Return the settings that an event contains."""
    specs = [
        PolicySpec.from_dict(
            shadow["spec"],
            None if shadow["agent"] is None else base64.b64decode(shadow["agent"], validate=True),
        )
        for shadow in body["shadows"]
    ]
    return ShadowSettings(tuple(specs), body["traffic"], body["promote"], body["margin"])
