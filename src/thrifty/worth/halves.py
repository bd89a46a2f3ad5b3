"""What halves of the cases choose, and whether rules learnt earlier still hold later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats, LookSet, PastCases
from thrifty.plans.learning import Learnt, learn
from thrifty.seeds import generator
from thrifty.worth.selection import Estimate

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Halves:
    """Two random halves of the cases, and what was learnt on each.

    Parameters
    ----------
    which : array of int, shape (T,)
        Half of each case, 0 or 1.
    learnt : tuple of Learnt
        Plans learnt on each half.
    """

    which: NDArray[np.int64]
    learnt: tuple[Learnt, Learnt]

    def thinned(self, every: int) -> Halves:
        """Return the halves of every k-th case."""
        return Halves(self.which[::every], self.learnt)

    def outcomes_of(self, kind: str, cases: PastCases) -> tuple[Floats, Floats]:
        """Return rewards and costs by case of a plan learnt on the half without the case."""
        rewards, costs = np.zeros(cases.n_cases), np.zeros(cases.n_cases)
        for half, learnt in enumerate(self.learnt):
            rows = np.flatnonzero(self.which != half)
            unseen = cases.subset(rows)
            decisions = getattr(learnt, kind).decide(unseen.codes)
            costs[rows] = decisions.costs(unseen)
            rewards[rows] = unseen.rewards[decisions.actions, unseen.outcomes]
        return rewards, costs


@dataclass(frozen=True)
class SplitHalf:
    """Choices of one half of the cases, tested on the other half.

    Parameters
    ----------
    chosen : tuple
        For each half the names of the fixed set that it chooses. There are none if the set does
        not gain significantly more than buying nothing in the other half.
    first : tuple
        For each half the names of what its plan buys first.
    gain : Estimate
        Gain per case of the fixed sets, each carried out in the other half.
    plan_gain : Estimate
        Gain per case of the plans, each carried out in the other half.
    """

    chosen: tuple[Names, Names]
    first: tuple[Names, Names]
    gain: Estimate
    plan_gain: Estimate


def learn_halves(cases: PastCases, seed: int, on_half: Callable[[], None] = lambda: None) -> Halves:
    """Learn plans on each of two random halves."""
    # A spawned seed keeps the halves independent of the folds, which use `seed` itself.
    which = generator(np.random.SeedSequence(seed).spawn(1)[0]).permutation(cases.n_cases) % 2
    learnt = []
    for half in (0, 1):
        learnt.append(learn(cases.subset(np.flatnonzero(which == half)), seed=seed))
        on_half()
    return Halves(which, (learnt[0], learnt[1]))


def split_half(halves: Halves, cases: PastCases) -> SplitHalf:
    """Test what each half chooses on the other half."""
    gains = {}
    for kind in ("fixed", "plan", "nothing"):
        rewards, costs = halves.outcomes_of(kind, cases)
        gains[kind] = rewards - costs
    more = gains["fixed"] - gains["nothing"]
    chosen, first = [], []
    for half, learnt in enumerate(halves.learnt):
        is_shown = Estimate.from_values(more[halves.which != half]).is_above_zero
        chosen.append(_names(learnt, learnt.fixed.root.looks if is_shown else ()))
        first.append(_names(learnt, learnt.plan.root.looks))
    return SplitHalf(
        (chosen[0], chosen[1]),
        (first[0], first[1]),
        Estimate.from_values(gains["fixed"]),
        Estimate.from_values(gains["plan"]),
    )


def _names(learnt: Learnt, looks: LookSet) -> Names:
    return tuple(learnt.bank.cases.looks[k].name for k in looks)


@dataclass(frozen=True)
class LaterHalf:
    """Gain per case in the later half of the cases, with rules learnt from as many cases.

    Parameters
    ----------
    earlier_rules : Estimate
        Gain of rules learnt on the earlier half.
    mixed_rules : Estimate
        Gain of rules learnt on random halves without the case.
    difference : Estimate
        Gain of the earlier rules minus that of the mixed ones, case by case.
    """

    earlier_rules: Estimate
    mixed_rules: Estimate
    difference: Estimate


def compare_later_half(cases: PastCases, looks: LookSet, halves: Halves, seed: int) -> LaterHalf:
    """Compare rules learnt on the earlier half with rules learnt on random halves."""
    n_earlier = cases.n_cases // 2
    later = cases.subset(np.arange(n_earlier, cases.n_cases))
    which = halves.which[n_earlier:]
    bank = Bank(cases.subset(np.arange(n_earlier)), seed=seed)
    earlier_rules = _gains(bank, looks, later)
    mixed_rules = np.zeros(later.n_cases)
    for half, learnt in enumerate(halves.learnt):
        rows = np.flatnonzero(which != half)
        mixed_rules[rows] = _gains(learnt.bank, looks, later.subset(rows))
    return LaterHalf(
        Estimate.from_values(earlier_rules),
        Estimate.from_values(mixed_rules),
        Estimate.from_values(earlier_rules - mixed_rules),
    )


def _gains(bank: Bank, looks: LookSet, cases: PastCases) -> Floats:
    """Return the gains of a model of these looks in other cases."""
    actions = bank.rule(looks).action_values(cases.codes).argmax(axis=1)
    gains: Floats = cases.rewards[actions, cases.outcomes] - cases.cost(looks)
    return gains
