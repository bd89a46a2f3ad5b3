"""Why Surveyor bought what it bought, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thrifty.plans.steps import Step, explain_step
from thrifty.plans.tree import PlanTree
from thrifty.rounds import Observation
from thrifty.surveyor.budget import Account, budget_status, describe_budget


def explain_exploring(buys: bool, spent: float, more: float) -> dict[str, Any]:
    """Explain a case in which everything is bought."""
    what = "Buys everything to learn" if buys else "Bought everything to learn"
    why = (
        f"{what}: better plans may gain up to {more:,.2f} more per case, and exploring has cost "
        f"{spent:,.2f} in this phase."
    )
    return {"kind": "explore", "why": why}


def explain_caution(loss: float, more: float, limit: float) -> dict[str, Any]:
    """Explain a case after the largest loss was reached."""
    why = (
        f"Buys nothing and takes the best constant action: the loss against it is {loss:,.2f}, "
        f"another case may lose {more:,.2f}, and at most {limit:,.2f} is allowed in all."
    )
    return {"kind": "caution", "why": why}


def explain_start(rounds: int) -> dict[str, Any]:
    """Explain a case before anything was learnt."""
    why = f"Buys nothing: after {rounds:,} cases there is no plan yet."
    return {"kind": "follow", "why": why, "path": []}


def explain_following(tree: PlanTree, steps: Step, known: Observation) -> dict[str, Any]:
    """Explain a step of a plan."""
    return {"kind": "follow", **explain_step(tree, steps, known)}


def explain_budget(
    explain: Callable[[], dict[str, Any]], account: Account, shadow_price: float | None
) -> dict[str, Any]:
    """Add the budget to an explanation."""
    told = explain()
    why = f"{told['why']} {describe_budget(account, shadow_price)}"
    return {**told, "why": why, "budget": budget_status(account, shadow_price)}
