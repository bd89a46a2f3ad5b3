"""Learn a plan, the best fixed set of looks, and what to do without buying, from past cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.plans.bank import Bank
from thrifty.plans.cases import LookSet, PastCases
from thrifty.plans.growth import Grower, Grown, Rows, Tip
from thrifty.plans.options import Option, Options, shortlist
from thrifty.plans.printed import with_printed_actions
from thrifty.plans.search import search_sets
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Split

KINDS = ("nothing", "everything", "fixed", "plan", "printed")
"""The plans that are learnt, as attributes of `Learnt`."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Plans learnt from past cases.

    Parameters
    ----------
    bank : Bank
        Models of all sets that were searched.
    one_purchase : bool
        True if the plan may buy only once per case.
    """

    bank: Bank
    one_purchase: bool = False

    @cached_property
    def nothing(self) -> PlanTree:
        """Buy nothing; act by the free features if that pays, otherwise always in the same way."""
        return self._single([()])

    @cached_property
    def everything(self) -> PlanTree:
        """Buy everything."""
        every_look = tuple(range(len(self.bank.cases.looks)))
        return self._tree(Leaf(every_look, self.bank.rule(every_look), self.bank.cases.n_cases))

    @cached_property
    def fixed(self) -> PlanTree:
        """Buy the same set of looks in every case: the best one."""
        return self._single(self.bank.informative_sets)

    @cached_property
    def plan(self) -> PlanTree:
        """Buy in steps, depending on what was seen."""
        return self._tree(self._node(self.grown, ()))

    @cached_property
    def printed(self) -> PlanTree:
        """The plan with comparisons instead of models, for people who carry it out by hand."""
        return self._tree(self._node(with_printed_actions(self.grown, self.bank), ()))

    @cached_property
    def grower(self) -> Grower:
        """Has the honest gains that the plan was grown on."""
        costs = self.bank.cases.costs
        options = Options.from_bank(self.bank, costs, shortlist(self.bank, costs))
        return Grower(self.bank, options, self.one_purchase)

    @cached_property
    def grown(self) -> Grown:
        """The plan as it was grown."""
        return self.grower.grow()

    def _single(self, sets: Iterable[LookSet]) -> PlanTree:
        """Return the best plan with a single leaf that buys one of these sets."""
        options = Options.from_bank(self.bank, self.bank.cases.costs, sets)
        rows = np.arange(self.bank.cases.n_cases)
        option = options.choose((), rows, np.arange(options.n_sets))
        gain = float(options.gains_of(option, rows).mean())
        return self._tree(self._leaf(option, (), rows, gain))

    def _tree(self, root: Node) -> PlanTree:
        return PlanTree(self.bank.cases.problem, self.bank.cases.free, root)

    def _node(self, grown: Grown, owned: LookSet) -> Node:
        if isinstance(grown, Tip):
            gain = float(self.grower.gains(grown, grown.rows).mean())
            return self._leaf(grown.option, owned, grown.rows, gain)
        return Split(
            looks=_new(grown.looks, owned),
            feature=grown.feature,
            is_low=self.bank.binning.lookups[grown.feature] <= grown.threshold,
            low=self._node(grown.low, grown.looks),
            high=self._node(grown.high, grown.looks),
            n_cases=len(grown.rows),
        )

    def _leaf(self, option: Option, owned: LookSet, rows: Rows, gain: float) -> Leaf:
        cases = self.bank.cases
        new = _new(option.looks, owned)
        if option.action is None:
            return Leaf(new, self.bank.rule(option.looks), len(rows), gain)
        values = cases.action_rewards[rows].mean(axis=0)
        # The chosen action may be a hair below the best one on these few cases.
        values[option.action] = values.max()
        return Leaf(new, ActionRule(option.action, values), len(rows), gain)


def _new(looks: LookSet, owned: LookSet) -> LookSet:
    return tuple(k for k in looks if k not in owned)


def learn(cases: PastCases, *, seed: int = 1, bank: Bank | None = None) -> Learnt:
    """Learn what to look at, in which order, and what to do.

    Parameters
    ----------
    cases : PastCases
        Past cases with known outcomes.
    seed : int
        Random seed; the same cases and seed give the same plans.
    bank : Bank, optional
        A bank of the same cases, whose models are used again. Its prices and rewards count.

    Returns
    -------
    Learnt
        The plans.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.problem import Feature, Problem
    >>> problem = Problem(
    ...     [Feature("test", ("low", "high"))],
    ...     ["treat", "wait"],
    ...     outcomes={"treat": {"ill": 50, "well": -20}, "wait": {"ill": -60, "well": 0}},
    ...     prices={"test": 2},
    ... )
    >>> test = np.arange(400) % 2
    >>> cases = PastCases(problem, test[:, None].astype(np.int16), 1 - test, np.array([False]))
    >>> plan = learn(cases).plan
    >>> plan.decide(cases.codes[:2]).actions.tolist(), plan.decide(cases.codes[:2]).bought.all()
    ([1, 0], np.True_)
    """
    if bank is None:
        bank = Bank(cases, seed=seed)
    search_sets(bank)
    return Learnt(bank)
