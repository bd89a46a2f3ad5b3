"""The probabilities of a decision in the body of its event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thrifty.case_record import Decision
from thrifty.propensities import Notes, Propensity

PROPENSITY = "propensity"
"""Key in the bodies of openings and observations. Events of earlier releases do not have it."""
BUY, ACTION = "buy", "action"


def propensity_body(decision: Decision) -> dict[str, Any]:
    """Return the probabilities of a decision as a part of the body of its event.

    Parameters
    ----------
    decision : Decision
        The decision.

    Returns
    -------
    dict
        Under the key `propensity`: `buy` is the probability of the purchase, or of buying nothing,
        `action` that of the action; `buy_error` and `action_error` are left out where they are
        exact. `notes` are the probabilities of the purposes, if several are possible.
    """
    bought, acted = decision.purchase_propensity, decision.action_propensity
    plain: dict[str, Any] = {**_part(BUY, bought), **_part(ACTION, acted)}
    if not plain:
        return {}
    if bought is not None and list(bought.notes) != [decision.purpose]:
        plain["notes"] = [[note, chance] for note, chance in bought.notes.items()]
    return {PROPENSITY: plain}


def logged_propensity(body: Mapping[str, Any], name: str) -> Propensity | None:
    """Return a probability from the body of an event, if it has one.

    Parameters
    ----------
    body : mapping
        Body of an opening or an observation.
    name : str
        `buy` or `action`.

    Returns
    -------
    Propensity or None
        The probability, with the notes of a purchase.
    """
    plain = body.get(PROPENSITY) or {}
    if name not in plain:
        return None
    notes = _notes(body, plain) if name == BUY else {}
    return Propensity(plain[name], plain.get(f"{name}_error", 0.0), notes)


def _notes(body: Mapping[str, Any], plain: Mapping[str, Any]) -> Notes:
    pairs = plain.get("notes", [[body["purpose"], 1.0]])
    return {int(note): float(chance) for note, chance in pairs}


def _part(name: str, propensity: Propensity | None) -> dict[str, float]:
    if propensity is None:
        return {}
    error = {f"{name}_error": propensity.error} if propensity.error else {}
    return {name: propensity.probability, **error}
