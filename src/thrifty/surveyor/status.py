"""What Surveyor does and has found so far, as the dashboard shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thrifty.plans.files import plan_to_dict
from thrifty.plans.printing import format_plan
from thrifty.surveyor.budget import Account, budget_status
from thrifty.surveyor.exploration import Exploration
from thrifty.surveyor.knowledge import Knowledge


def plan_status(knowledge: Knowledge | None, spend: float) -> dict[str, Any]:
    """Return the plan in use, and what it is expected to gain and to spend."""
    return {
        "plan": None if knowledge is None else plan_to_dict(knowledge.plan),
        "plan_text": [] if knowledge is None else format_plan(knowledge.plan).splitlines(),
        "gain_expected": None if knowledge is None else knowledge.gain,
        "spend_expected": spend,
    }


def spending_status(
    exploration: Exploration, account: Account | None, shadow_price: float | None
) -> dict[str, Any]:
    """Return what exploring has cost, and the budget."""
    return {
        "explored": {"cases": exploration.n_cases, "cost": exploration.total},
        "budget": None if account is None else budget_status(account, shadow_price),
    }


def loss_status(
    changes: Sequence[int], max_loss: float, surplus: float, is_cautious: bool
) -> dict[str, Any]:
    """Return what was lost or gained against the best constant action, and the limit."""
    return {
        "changes": list(changes),
        "max_loss": max_loss,
        "surplus": surplus,
        "cautious": is_cautious,
    }
