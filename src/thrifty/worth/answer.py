"""The whole answer: which features are worth their price, and what learning would have kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.tables.cases import Cases
from thrifty.worth.backtest import Stream, replay
from thrifty.worth.selection import (
    MOST_SEARCHED,
    Estimate,
    FeatureWorth,
    Honest,
    Judge,
    Places,
    Step,
    choose,
    feature_worth,
    frontier,
    honest_gain,
    out_of_time,
    places_of,
    searched,
)
from thrifty.worth.sets import Folded


@dataclass(frozen=True, eq=False)
class Answer:
    """Everything that was found out about a table of cases; money is the user's."""

    cases: Cases
    seed: int
    compared: int
    """How many sets were compared."""
    all_sets: bool
    """Whether they were all sets that the cases can tell anything about."""
    searched_on: int
    """On how many cases they were compared."""
    best: Places
    gain: Estimate
    """Of the best set, out of fold."""
    spend: float
    honest: Honest
    later: Estimate
    """The gain in the later half, learnt on the earlier half; only if cases have an order."""
    later_by_all: Estimate
    """The gain in the later half, learnt on cases of both halves."""
    worths: tuple[FeatureWorth, ...]
    steps: tuple[Step, ...]
    stream: Stream

    @property
    def bought(self) -> Places:
        """The best set without what is free."""
        return tuple(i for i in self.best if not self.cases.free[i])

    @property
    def best_subset(self) -> list[str]:
        """The names of the features to buy."""
        return self.named(self.bought)

    def named(self, places: Sequence[int]) -> list[str]:
        """Return the names of features that are not free."""
        return [self.cases.names[i] for i in places if not self.cases.free[i]]

    @property
    def ordered(self) -> bool:
        """Whether the cases stand in the order of time."""
        return not self.cases.order.startswith("shuffled")


def answer_of(cases: Cases, *, seed: int = 1) -> Answer:
    """Work out everything; the same cases and seed give the same answer."""
    values = searched(cases, seed)
    judge = Judge(Folded.of(cases, seed))
    best = choose(values, judge)
    worths = tuple(
        feature_worth(values, judge, i) for i in range(len(cases.features)) if not cases.free[i]
    )
    nothing, everything = places_of(cases.free), tuple(range(len(cases.features)))
    steps = frontier(values, judge, must=(nothing, best, everything))
    sets = [best, nothing, everything, *(step.features for step in steps)]
    sets += [it for worth in worths for it in (worth.best_with, worth.best_without)]
    gains = judge.gains(best)
    return Answer(
        cases=cases,
        seed=seed,
        compared=len(values.masks),
        all_sets=values.all_sets,
        searched_on=min(cases.number, MOST_SEARCHED),
        best=best,
        gain=Estimate.of(gains),
        spend=float(cases.mean_prices[list(best)].sum()),
        honest=honest_gain(judge, seed),
        later=out_of_time(cases, best),
        later_by_all=Estimate.of(gains[-(-cases.number // 2) :]),
        worths=tuple(sorted(worths, key=lambda it: -it.estimate.mean)),
        steps=tuple(steps),
        stream=replay(cases, list(dict.fromkeys(sets)), seed),
    )


def unsure(answer: Answer) -> bool:
    """Whether halves of the cases would choose other sets than all of them."""
    return any(set(it) != set(answer.best) for it in answer.honest.chosen)


def changed(answer: Answer) -> bool:
    """Whether what was learnt on the earlier half clearly serves worse in the later half."""
    return answer.ordered and bool(np.greater(answer.later_by_all.low, answer.later.mean))
