"""The plan that is carried out, and the cheaper ones that a budget mixes with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.steps import Step
from thrifty.plans.tree import Leaf, PlanTree
from thrifty.surveyor.budget import Account, CheaperPlans, ladder_leaves
from thrifty.surveyor.knowledge import Knowledge

Floats = NDArray[np.float64]
Place = int | None
"""Position of a cheaper plan; None for the plan itself."""


@dataclass(frozen=True, eq=False)
class PlansInUse:
    """Plans that are ready to be followed.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    step : Step
        Its first step.
    spend : float
        Mean spend per case, at most the ceiling of a budget.
    cheaper : CheaperPlans or None
        Plans that spend less; None without a budget.
    leaf_frequencies : dict
        Frequencies of the outcomes in each leaf of these plans, by the id of the leaf.
    """

    tree: PlanTree
    step: Step
    spend: float
    cheaper: CheaperPlans | None
    leaf_frequencies: dict[int, Floats]

    @classmethod
    def of(cls, knowledge: Knowledge, account: Account | None) -> PlansInUse:
        """Return the plans that follow from what was learnt.

        Parameters
        ----------
        knowledge : Knowledge
            What was learnt.
        account : Account or None
            What was spent, if there is a budget.

        Returns
        -------
        PlansInUse
            The plans.
        """
        plan, spend, cheaper = knowledge.plan, knowledge.spend, None
        leaves = list(zip(plan.leaves, knowledge.leaf_frequencies, strict=True))
        if account is not None:
            cheaper, spend = CheaperPlans.of(knowledge), min(spend, account.ceiling)
            leaves += ladder_leaves(knowledge)
        frequencies = {id(leaf): found for leaf, found in leaves}
        return cls(plan, Step.of(plan, plan.root), spend, cheaper, frequencies)

    def choose(self, account: Account | None, draw: Callable[[], float]) -> Place:
        """Return which plan to follow in a new case; `draw` returns a random number in [0, 1)."""
        if account is None or self.cheaper is None:
            return None
        return self.cheaper.choose(account, draw)

    def chances(self, account: Account | None) -> list[tuple[Place, float]]:
        """Return the results of `choose`, each with its probability."""
        if account is None or self.cheaper is None:
            return [(None, 1.0)]
        return self.cheaper.chances(account)

    def shadow_price(self, account: Account | None) -> float | None:
        """Return what another unit of spend would gain; None without a budget."""
        if account is None or self.cheaper is None:
            return None
        return self.cheaper.mix(account).shadow_price

    def at(self, place: Place) -> tuple[PlanTree, Step]:
        """Return a plan and its first step; plans may have changed since a case began."""
        if place is None or self.cheaper is None or not self.cheaper.trees:
            return self.tree, self.step
        place = self.cheaper.place(place)
        return self.cheaper.trees[place], self.cheaper.steps[place]

    def leaf(self, place: Place, codes: list[int]) -> Leaf:
        """Return the leaf of a plan that decides in a case with these codes."""
        node = self.at(place)[1].leaf(codes).node
        assert isinstance(node, Leaf)
        return node
