"""Why Surveyor bought what it bought, in words."""

from __future__ import annotations

from typing import Any

from thrifty.plans.steps import Step, explain_step
from thrifty.rounds import Observation
from thrifty.surveyor.knowledge import Knowledge


def explain_exploring(buys: bool, spent: float, more: float) -> dict[str, Any]:
    """Explain a case in which everything is bought."""
    what = "Buys everything to learn" if buys else "Bought everything to learn"
    why = (
        f"{what}: better plans may gain up to {more:,.2f} more per case, and exploring has cost "
        f"{spent:,.2f} in this phase."
    )
    return {"kind": "explore", "why": why}


def explain_caution(loss: float, limit: float) -> dict[str, Any]:
    """Explain a case after the largest loss was reached."""
    why = (
        f"Buys nothing and takes the best constant action: the loss against it has reached "
        f"{loss:,.2f}, and at most {limit:,.2f} is allowed."
    )
    return {"kind": "caution", "why": why}


def explain_start(rounds: int) -> dict[str, Any]:
    """Explain a case before anything was learnt."""
    why = f"Buys nothing: after {rounds:,} cases there is no plan yet."
    return {"kind": "follow", "why": why, "path": []}


def explain_following(knowledge: Knowledge, steps: Step, known: Observation) -> dict[str, Any]:
    """Explain a step of the plan."""
    return {"kind": "follow", **explain_step(knowledge.plan, steps, known)}
