"""Turn a change of a panel into an event, or raise an error. All functions here are pure."""

from __future__ import annotations

from typing import Any

from thrifty.errors import InvalidSpec, OutOfTurn, UnknownName
from thrifty.service.decisions import RequestInfo
from thrifty.service.events import DEMOTED, PROMOTED, SHADOWED, Event
from thrifty.service.panel import Panel
from thrifty.service.panel_events import panel_event, settings_to_body
from thrifty.specification import PolicySpec, ShadowSettings


def declare(
    spec: PolicySpec, panel: Panel, settings: ShadowSettings, info: RequestInfo
) -> Event | None:
    """Return the event that gives a panel the shadows of a policy.toml; None if it has them."""
    if settings.digest == panel.settings.digest:
        return None
    wanted = {shadow.name: shadow.digest for shadow in settings.specs}
    for name, digest in wanted.items():
        if panel.digests.get(name, digest) != digest:
            raise InvalidSpec(
                f"{spec.name} had a shadow {name!r} with another specification, which decisions in "
                "the log depend on: give the changed policy another name in its policy.toml."
            )
    if panel.acting.name not in (spec.name, *wanted):
        raise InvalidSpec(
            f"the shadow {panel.acting.name!r} acts for {spec.name}, and policy.toml does not name "
            f"it any more: keep it in `shadow`, or go back first with `thrifty demote {spec.name}`."
        )
    return panel_event(spec, SHADOWED, panel.turn, settings_to_body(settings), info.at)


def promote(spec: PolicySpec, panel: Panel, name: str, info: RequestInfo) -> Event:
    """Return the event from which on a shadow acts."""
    if name == panel.acting.name:
        raise OutOfTurn(f"{name} acts for {spec.name} already: there is nothing to promote.")
    if panel.named(name) is None:
        known = ", ".join(member.name for member in panel.shadows) or "none"
        raise UnknownName(
            f"{spec.name} has no shadow {name!r}: its shadows are {known}. Add the policy to "
            "`shadow` in policy.toml, and restart the service."
        )
    body = {"policy": name, "former": panel.acting.name, "why": "request"}
    return panel_event(spec, PROMOTED, panel.turn, body, info.at, info.key, info.request)


def demote(spec: PolicySpec, panel: Panel, info: RequestInfo) -> Event:
    """Return the event from which on the policy acts that acted before the last promotion."""
    if not panel.former:
        raise OutOfTurn(
            f"{panel.acting.name} acts for {spec.name}, and no policy acted before it: there is "
            "nothing to go back to."
        )
    body = {"policy": panel.former[-1], "former": panel.acting.name, "why": "request"}
    return panel_event(spec, DEMOTED, panel.turn, body, info.at, info.key, info.request)


def promote_better(spec: PolicySpec, panel: Panel, at: int) -> Event | None:
    """Return the event with which a shadow takes over by itself, if one is better."""
    body = better_body(panel)
    if body is None:
        return None
    return panel_event(spec, PROMOTED, panel.turn, body, at, basis=panel.version)


def better_body(panel: Panel) -> dict[str, Any] | None:
    """Return the body of that event, which depends on the version of the panel alone."""
    member = panel.candidate()
    if member is None or member.comparison is None:
        return None
    return {
        "policy": member.name,
        "former": panel.acting.name,
        "why": "better",
        "estimate": member.comparison.view(),
    }
