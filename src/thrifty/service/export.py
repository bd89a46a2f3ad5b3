"""Export the log to a Parquet file for analysis, and read it back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from thrifty.errors import InvalidTable, UnknownName
from thrifty.files import atomic_write
from thrifty.json_values import compact_json
from thrifty.service.audit import CHUNK
from thrifty.service.events import (
    LATE_LEARNT,
    LEARNT,
    LEGACY_KINDS,
    OBSERVED,
    SETTLED,
    Event,
    Position,
)
from thrifty.service.propensity_bodies import ACTION, BUY, logged_propensity
from thrifty.service.stores.base import Store
from thrifty.specification import DEFAULT_TENANT

SCHEMA: dict[str, Any] = {
    "transaction": pl.Int64,
    "seq": pl.Int64,
    "at": pl.Datetime("us", "UTC"),
    "tenant": pl.String,
    "policy": pl.String,
    "case": pl.String,
    "step": pl.Int32,
    "kind": pl.String,
    "basis": pl.Int64,
    "buy": pl.List(pl.String),
    "expected_price": pl.Float64,
    "unavailable": pl.List(pl.String),
    "action": pl.String,
    "buy_probability": pl.Float64,
    "buy_probability_error": pl.Float64,
    "action_probability": pl.Float64,
    "action_probability_error": pl.Float64,
    "spend": pl.Float64,
    "reward": pl.Float64,
    "outcome": pl.String,
    "use": pl.String,
    "learnt": pl.Boolean,
    "body": pl.String,
}
"""Columns of the file, which has one row for each event.

`step` numbers the events of a case. `buy` and `expected_price` describe the purchase that an event
asks for; `spend` and `unavailable` the purchase that it reports. `buy_probability` is that of the
purchase, or of buying nothing (more), where the policy was asked; `action_probability` that of the
action. Their errors are 0 where they are exact. In the events of earlier releases they are null.
The product of all of them in a case is the probability of its decisions. `reward` was learnt where
`learnt` is true. `body` is the whole content of the event, as JSON.
"""
_REQUIRED = frozenset(
    ("transaction", "seq", "at", "tenant", "policy", "case", "step", "kind", "basis", "body")
)
"""Columns needed to read a log; files of release 0.1 have them too."""


def export(store: Store, path: Path) -> int:
    """Write the whole log to a Parquet file, and return the number of events."""
    frames, position, count = [pl.DataFrame(schema=SCHEMA)], Position(), 0
    while events := store.log.read(position, CHUNK):
        frames.append(pl.DataFrame([_row(event) for event in events], schema=SCHEMA))
        position, count = events[-1].position, count + len(events)
    with atomic_write(path) as draft:
        pl.concat(frames).write_parquet(draft)
    return count


def _row(event: Event) -> dict[str, Any]:
    body, use = event.body, event.body.get("use")
    settled = event.kind == SETTLED and body.get("reward") is not None
    buy = body.get("buy")
    return {
        "transaction": event.position.transaction,
        "seq": event.position.seq,
        "at": event.at,
        "tenant": event.tenant,
        "policy": event.policy,
        "case": event.case,
        "step": event.step,
        "kind": event.kind,
        "basis": event.basis,
        "buy": buy,
        "expected_price": body.get("price") if buy else None,
        "unavailable": body.get("unavailable"),
        "action": body.get("action"),
        **_probabilities(body),
        "spend": sum(body["costs"].values()) if event.kind == OBSERVED else None,
        "reward": body.get("reward"),
        "outcome": body.get("outcome"),
        "use": use,
        "learnt": settled or use in (LEARNT, LATE_LEARNT),
        "body": compact_json(body),
    }


def _probabilities(body: Mapping[str, Any]) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for name in (BUY, ACTION):
        found = logged_propensity(body, name)
        columns[f"{name}_probability"] = None if found is None else found.probability
        columns[f"{name}_probability_error"] = None if found is None else found.error
    return columns


def exported_events(path: Path, policy: str, tenant: str = DEFAULT_TENANT) -> Iterator[Event]:
    """Yield the events of a policy from an exported log, of which there must be some."""
    try:
        table = pl.read_parquet(path)
        missing = sorted(_REQUIRED - set(table.columns))
        if missing:
            raise InvalidTable(f"these columns are missing: {', '.join(missing)}")
    except (OSError, pl.exceptions.PolarsError, InvalidTable) as error:
        raise InvalidTable(
            f"{path} is not an exported log ({error}): give a file that `thrifty export` wrote."
        ) from error
    rows = table.filter(pl.col("tenant") == tenant, pl.col("policy") == policy)
    if rows.is_empty():
        known = table.select("tenant", "policy").unique().sort("tenant", "policy").rows()
        names = ", ".join("/".join(names) for names in known[:20]) or "no policy"
        raise UnknownName(
            f"{path} has no events of {tenant}/{policy}, so there is nothing to learn: its "
            f"policies are {names}. The tenant comes from policy.toml; choose the policy with --of."
        )
    for row in rows.sort("transaction", "seq").iter_rows(named=True):
        yield Event(
            tenant=row["tenant"],
            policy=row["policy"],
            case=row["case"],
            step=row["step"],
            kind=LEGACY_KINDS.get(row["kind"], row["kind"]),
            at=round(row["at"].timestamp() * 1e6),
            body=json.loads(row["body"]),
            basis=row["basis"],
            position=Position(row["transaction"], row["seq"]),
        )
