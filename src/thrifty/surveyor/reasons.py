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


def explain_caution(
    loss: float,
    more: float,
    limit: float,
    baseline: tuple[PlanTree, Step] | None,
    known: Observation,
) -> dict[str, Any]:
    """Explain a case after the largest loss was reached."""
    what = "Buys nothing and takes the best constant action"
    if baseline is not None:
        what = "Carries out the baseline"
    why = (
        f"{what}: the loss against it is {loss:,.2f}, another case may lose {more:,.2f}, and at "
        f"most {limit:,.2f} is allowed in all."
    )
    told: dict[str, Any] = {} if baseline is None else explain_step(*baseline, known)
    return {**told, "kind": "caution", "why": " ".join(filter(None, [why, told.get("why")]))}


def explain_baseline(tree: PlanTree, steps: Step, known: Observation) -> dict[str, Any]:
    """Explain a step of the baseline as long as no better plan is known."""
    told = explain_step(tree, steps, known)
    why = f"Carries out the baseline, because no better plan is known yet. {told['why']}"
    return {**told, "kind": "follow", "why": why}


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
