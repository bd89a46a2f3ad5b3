"""Choosing parameters on one world, and what the choice is worth on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from thrifty.experiments.measures import totals
from thrifty.experiments.spec import Entry, Experiment


@dataclass(frozen=True)
class Choice:
    """A policy's best parameters on the tuning world, the first of equally good ones."""

    policy: str
    params: Mapping[str, Any]
    gain: float
    candidates: int
    runner_up: float | None


def choices(experiment: Experiment, table: pl.DataFrame) -> list[Choice]:
    """Return the parameters with the highest mean gain, for every policy of the experiment."""
    rows = totals(table).group_by("policy", maintain_order=True).agg(pl.col("gain").mean())
    gains: dict[str, float] = dict(rows.iter_rows())
    found = []
    for policy in dict.fromkeys(entry.policy for entry in experiment.entries):
        entries = [entry for entry in experiment.entries if entry.policy == policy]
        ranked = sorted(entries, key=lambda entry: -gains[entry.label])
        best, *others = ranked
        second = gains[others[0].label] if others else None
        found.append(Choice(policy, best.params, gains[best.label], len(entries), second))
    return found


def evaluation(chosen: list[Choice], evaluated: Experiment) -> Experiment:
    """Return the experiment with the chosen parameters beside its own, for the same policies.

    Labels of the chosen ones begin with "tuned ".
    """
    policies = {choice.policy for choice in chosen}
    own = tuple(entry for entry in evaluated.entries if entry.policy in policies)
    tuned = tuple(Entry(f"tuned {it.policy}", it.policy, it.params) for it in chosen)
    return replace(evaluated, id=f"{evaluated.id}-tuned", entries=own + tuned)
