"""What Surveyor knows: plans learnt from its cases, and what they are expected to gain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, Integers, LookSet, PastCases
from thrifty.plans.cross_fitting import cross_fitted_gains
from thrifty.plans.files import plan_from_dict, plan_to_dict
from thrifty.plans.learning import Learnt
from thrifty.plans.search import search_sets
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Split
from thrifty.surveyor.completion import confirmed_share
from thrifty.surveyor.ladder import Rung, learn_ladder
from thrifty.surveyor.partial_bank import PartialBank, PartialCases

FREE_ACCEPTED = 1.5
"""Standard errors by which acting on free values must seem better than a constant action."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Plans learnt from cases.

    Parameters
    ----------
    nothing, plan, everything : PlanTree
        Act without buying; what to do; buy everything and act.
    candidate : PlanTree
        The best plan that was found, even if it does not seem good enough to be carried out.
    frequencies : array of float, shape (O,)
        Frequencies of the outcomes.
    leaf_frequencies : tuple of array
        The same in each leaf of the plan, in the order of `walk`.
    gain : float
        Expected gain of the plan per case, in money.
    gain_error : float
        Standard error of the difference to acting without buying.
    nothing_gain : float
        Expected gain of acting without buying.
    informed_gain : float
        How much more than the best constant action a model of all looks earns, prices aside.
    spend : float
        Mean price of what the plan buys.
    trust : float
        Share of the advantage over the best constant action that models claim and that unseen cases
        confirm, from 0 to 1. Models that learn from few cases claim too much.
    confidence : float
        Share of what a model of all looks says beyond the frequencies that unseen cases confirm.
    n_cases : int
        Number of complete cases that were learnt from.
    ladder : tuple of Rung
        Plans that spend less, by increasing spend, if the plan spends more than is allowed.
    """

    nothing: PlanTree
    plan: PlanTree
    everything: PlanTree
    candidate: PlanTree
    frequencies: Floats
    leaf_frequencies: tuple[Floats, ...]
    gain: float
    gain_error: float
    nothing_gain: float
    informed_gain: float
    spend: float
    trust: float
    confidence: float
    n_cases: int
    ladder: tuple[Rung, ...] = ()

    @property
    def buys(self) -> bool:
        """True if the plan buys anything."""
        return bool(self.plan.used)

    @property
    def clearness(self) -> float:
        """Standard errors by which the plan seems better than acting without buying."""
        return (self.gain - self.nothing_gain) / self.gain_error if self.gain_error > 0 else 0.0

    def without_purchases(self) -> Knowledge:
        """Return the same knowledge with a plan that buys nothing.

        Returns
        -------
        Knowledge
            The knowledge.
        """
        return replace(
            self,
            plan=self.nothing,
            gain=self.nothing_gain,
            gain_error=0.0,
            spend=0.0,
            trust=0.0,
            leaf_frequencies=(self.frequencies,),
            ladder=(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "nothing": plan_to_dict(self.nothing),
            "plan": plan_to_dict(self.plan),
            "everything": plan_to_dict(self.everything),
            "candidate": plan_to_dict(self.candidate),
            "frequencies": self.frequencies.tolist(),
            "leaf_frequencies": [row.tolist() for row in self.leaf_frequencies],
            "ladder": [rung.to_dict() for rung in self.ladder],
            **{name: getattr(self, name) for name in _NUMBERS},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Knowledge:
        """Return what `to_dict` described."""
        return cls(
            nothing=plan_from_dict(plain["nothing"]),
            plan=plan_from_dict(plain["plan"]),
            everything=plan_from_dict(plain["everything"]),
            candidate=plan_from_dict(plain["candidate"]),
            frequencies=np.array(plain["frequencies"]),
            leaf_frequencies=tuple(map(np.array, plain["leaf_frequencies"])),
            ladder=tuple(map(Rung.from_dict, plain.get("ladder", ()))),
            **{name: plain[name] for name in _NUMBERS},
        )


_NUMBERS = (
    *("gain", "gain_error", "nothing_gain", "informed_gain", "spend", "trust"),
    *("confidence", "n_cases"),
)


def learn_plans(
    cases: PastCases,
    partial: PartialCases,
    *,
    seed: int,
    one_purchase: bool = False,
    accepted: float = 1.0,
    present: PlanTree | None = None,
    budget: float | None = None,
) -> Knowledge:
    """Search for a plan from scratch.

    Parameters
    ----------
    cases : PastCases
        Complete cases.
    partial : PartialCases
        Cases in which some looks were bought.
    seed : int
        Random seed.
    one_purchase : bool
        True if a plan may buy only once per case.
    accepted : float
        Standard errors by which a plan must seem better than buying nothing.
    present : PlanTree, optional
        The best plan found before, which stays unless a better one is found.
    budget : float, optional
        Average spend per case that is allowed. If the plan spends more, plans that spend less are
        learnt too.

    Returns
    -------
    Knowledge
        The plan, if its expected gain exceeds that of buying nothing by enough; otherwise a plan
        that buys nothing.
    """
    bank = PartialBank(cases, partial, seed=seed)
    search_sets(bank)
    learnt = Learnt(bank, one_purchase=one_purchase)
    nothing = _without_buying(learnt)
    plain = _gains(nothing, bank)
    found = cross_fitted_gains(bank, bank.cases.costs, one_purchase=one_purchase)
    candidates = [(learnt.plan, found)]
    if present is not None and present.used:
        candidates.append((_refitted(present, bank), _gains(present, bank)))
    plan, planned = max(candidates, key=lambda candidate: float(candidate[1].mean()))
    mean, error = _mean(planned - plain)
    candidate, is_better = plan, bool(plan.used) and mean > accepted * error
    if not is_better:
        plan, planned, error = nothing, plain, 0.0
    every_look = tuple(range(len(cases.looks)))
    by_action = bank.cases.action_rewards.mean(axis=0)
    constant = int(by_action.argmax())
    confirmed = planned - bank.cases.action_rewards[:, constant] if is_better else plain * 0
    knowledge = Knowledge(
        nothing=nothing,
        plan=plan,
        everything=learnt.everything,
        candidate=candidate,
        frequencies=_frequencies(bank.cases.outcomes, cases.rewards.shape[1]),
        leaf_frequencies=tuple(_leaf_frequencies(plan, bank.cases)),
        gain=float(planned.mean()),
        gain_error=error,
        nothing_gain=float(plain.mean()),
        informed_gain=float(bank.rewards(every_look).mean() - by_action[constant]),
        spend=float(plan.decide(bank.cases.codes).costs(bank.cases).mean()),
        trust=_trust(plan, bank.cases, constant, confirmed),
        confidence=_confidence(bank.probabilities(every_look).mean(axis=0), bank.cases.outcomes),
        n_cases=cases.n_cases,
    )
    if budget is None or knowledge.spend <= budget:
        return knowledge
    ladder = learn_ladder(bank, knowledge.spend, budget=budget, one_purchase=one_purchase)
    return replace(knowledge, ladder=ladder)


def _gains(tree: PlanTree, bank: Bank) -> Floats:
    """Return the gain of each case in a plan, by models that have not seen the case."""
    cases, gains = bank.cases, np.zeros(bank.cases.n_cases)
    for leaf, owned, rows in _routes(tree, cases.codes):
        looks = tuple(sorted({*owned, *leaf.looks}))
        if isinstance(leaf.rule, ActionRule):
            rewards = cases.action_rewards[:, leaf.rule.action]
        else:
            rewards = bank.rewards(looks)
        gains[rows] = (rewards - cases.cost(looks))[rows]
    return gains


def _routes(
    tree: PlanTree, codes: NDArray[np.int16]
) -> Iterator[tuple[Leaf, LookSet, NDArray[np.intp]]]:
    """Yield each leaf in the order of `walk`, the looks bought before it, and its cases."""

    def routes(
        node: Node, owned: LookSet, rows: NDArray[np.intp]
    ) -> Iterator[tuple[Leaf, LookSet, NDArray[np.intp]]]:
        if isinstance(node, Leaf):
            yield node, owned, rows
            return
        bought, is_low = (*owned, *node.looks), node.is_low[codes[rows, node.feature]]
        yield from routes(node.low, bought, rows[is_low])
        yield from routes(node.high, bought, rows[~is_low])

    return routes(tree.root, (), np.arange(len(codes)))


def _mean(values: Floats) -> tuple[float, float]:
    """Return the mean of values, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))


def _trust(plan: PlanTree, cases: PastCases, constant: int, confirmed: Floats) -> float:
    """Return the share of the claimed advantage that the `confirmed` gains of cases support."""
    spend = float(plan.decide(cases.codes).costs(cases).mean())
    mean, error = _mean(confirmed)
    # Shrunk as by James and Stein: nothing is believed at one standard error, most of it at three.
    likely = (mean - error**2 / mean if mean > error else 0.0) + spend
    values = plan.expected_rewards(cases.codes)
    claimed = float((values.max(axis=1) - values[:, constant]).mean())
    return min(max(likely / max(claimed, 1e-12), 0.0), 1.0)


def _confidence(expected: Floats, outcomes: Integers) -> float:
    """Return the share of what a model says beyond the frequencies that the outcomes confirm."""
    known = np.eye(expected.shape[1], dtype=np.bool_)[outcomes]
    return confirmed_share(expected, known.mean(axis=0), known, doubt=0.0)


def refit_models(
    knowledge: Knowledge, cases: PastCases, partial: PartialCases, *, seed: int
) -> Knowledge:
    """Fit the models of the plans again, and keep what the plans buy.

    Parameters
    ----------
    knowledge : Knowledge
        Plans learnt before.
    cases : PastCases
        Complete cases.
    partial : PartialCases
        Cases in which some looks were bought.
    seed : int
        Random seed.

    Returns
    -------
    Knowledge
        The same plans with other models.
    """
    bank = PartialBank(cases, partial, seed=seed)
    return replace(
        knowledge,
        nothing=_refitted(knowledge.nothing, bank),
        plan=_refitted(knowledge.plan, bank),
        everything=_refitted(knowledge.everything, bank),
        frequencies=_frequencies(bank.cases.outcomes, cases.rewards.shape[1]),
        ladder=tuple(replace(rung, plan=_refitted(rung.plan, bank)) for rung in knowledge.ladder),
    )


def _refitted(tree: PlanTree, bank: PartialBank) -> PlanTree:
    """Return the plan with models, and constant actions, chosen by the cases of the bank."""
    complete, partial = bank.cases, bank.partial

    def node(old: Node, owned: LookSet, rows: _Routed) -> Node:
        bought = tuple(sorted({*owned, *old.looks}))
        if isinstance(old, Split):
            low, high = rows.divided(old, complete.codes, partial.codes)
            return replace(old, low=node(old.low, bought, low), high=node(old.high, bought, high))
        if not isinstance(old.rule, ActionRule):
            return replace(old, rule=bank.rule(bought))
        usable = np.intersect1d(rows.partial, partial.usable(bought))
        outcomes = [complete.outcomes[rows.complete], partial.outcomes[usable]]
        frequencies = _frequencies(np.concatenate(outcomes), complete.rewards.shape[1])
        values = complete.rewards @ frequencies
        return replace(old, rule=ActionRule(int(values.argmax()), values))

    every = _Routed(np.arange(complete.n_cases), np.arange(len(partial.outcomes)))
    return replace(tree, root=node(tree.root, (), every))


class _Routed(NamedTuple):
    """Complete and partial cases that come to a node of a plan."""

    complete: NDArray[np.intp]
    partial: NDArray[np.intp]

    def divided(
        self, split: Split, complete: NDArray[np.int16], partial: NDArray[np.int16]
    ) -> tuple[_Routed, _Routed]:
        """Return the cases that go to each side; a value that was not bought goes to neither."""
        is_low = split.is_low[complete[self.complete, split.feature]]
        codes = partial[self.partial, split.feature]
        low, known = split.is_low[codes], codes >= 0
        return (
            _Routed(self.complete[is_low], self.partial[low & known]),
            _Routed(self.complete[~is_low], self.partial[~low & known]),
        )


def _without_buying(learnt: Learnt) -> PlanTree:
    """Return a plan that acts by the free values, or in the same way if that is not clearly worse.

    Nothing shows later that a model of the free values is wrong if its action hides the outcome.
    """
    rewards = learnt.bank.cases.action_rewards
    by_action = rewards.mean(axis=0)
    constant = int(by_action.argmax())
    mean, error = _mean(_gains(learnt.nothing, learnt.bank) - rewards[:, constant])
    if mean > FREE_ACCEPTED * error:
        return learnt.nothing
    leaf = Leaf((), ActionRule(constant, by_action), len(rewards), float(by_action[constant]))
    return replace(learnt.nothing, root=leaf)


def _frequencies(outcomes: Integers, n_outcomes: int) -> Floats:
    counts = np.bincount(outcomes, minlength=n_outcomes)
    frequencies: Floats = (counts + 0.5) / (counts.sum() + 0.5 * n_outcomes)
    return frequencies


def _leaf_frequencies(tree: PlanTree, cases: PastCases) -> Iterator[Floats]:
    """Yield the frequencies of the outcomes in each leaf, in the order of `walk`."""
    for _, _, rows in _routes(tree, cases.codes):
        yield _frequencies(cases.outcomes[rows], cases.rewards.shape[1])
