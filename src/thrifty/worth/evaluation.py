"""The complete evaluation of a table: what to buy, what it gains, and a backtest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thrifty.tables.cases import Cases
from thrifty.worth.backtest import Backtest, Strategy, block_mean, run_backtest
from thrifty.worth.selection import (
    MAX_SEARCHED,
    Estimate,
    Evaluator,
    FeatureSet,
    FeatureWorth,
    FrontierPoint,
    SplitHalfGain,
    choose_set,
    feature_worth,
    frontier,
    indices_of,
    out_of_time_gain,
    search_sets,
    split_half_gain,
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results of evaluating a table of cases; amounts are in the table's own money.

    Sets of features are tuples of indices into `cases.features` and include the free features.

    Parameters
    ----------
    cases : Cases
        The evaluated cases.
    seed : int
        Random seed.
    n_sets : int
        Number of sets that were compared.
    n_skipped_sets : int or None
        Number of sets that were left out because they leave too few cases per combination of
        values; None if there are too many sets to try them all.
    n_cases_searched : int
        Number of cases that the sets were compared on.
    best_set : tuple of int
        The set to buy.
    gain : Estimate
        Cross-validated gain of the best set, per case.
    gain_over_nothing : Estimate
        How much more the best set gains than buying nothing, per case.
    spend : float
        Mean price of the best set.
    split_half : SplitHalfGain
        Gain of sets chosen on one half of the cases and tested on the other half.
    later_half : Estimate
        Gain of the best set in the later half of the cases, with rules learnt on the earlier half.
    later_half_all : Estimate
        The same with rules learnt on cases of both halves.
    feature_worths : tuple of FeatureWorth
        What each feature that has a price is worth, the most valuable first.
    frontier : tuple of FrontierPoint
        The best set at each spend.
    backtest : Backtest
        Policies replayed on the cases.
    scout_over_best : Estimate
        How much more Scout gains in the backtest than the best set does (cross-validated, on the
        same cases), per case.
    """

    cases: Cases
    seed: int
    n_sets: int
    n_skipped_sets: int | None
    n_cases_searched: int
    best_set: FeatureSet
    gain: Estimate
    gain_over_nothing: Estimate
    spend: float
    split_half: SplitHalfGain
    later_half: Estimate
    later_half_all: Estimate
    feature_worths: tuple[FeatureWorth, ...]
    frontier: tuple[FrontierPoint, ...]
    backtest: Backtest
    scout_over_best: Estimate

    @property
    def all_sets(self) -> bool:
        """True if every set of features was compared."""
        return self.n_skipped_sets == 0

    @property
    def is_learning_worse(self) -> bool:
        """True if Scout gains significantly less in the backtest than the recommended set."""
        return self.scout_over_best.is_below_zero

    @property
    def best_subset(self) -> list[str]:
        """The names of the features to buy."""
        return self.priced_names(self.best_set)

    def priced_names(self, features: Sequence[int]) -> list[str]:
        """Return the names of those features that are not free.

        Parameters
        ----------
        features : sequence of int
            Indices of features.

        Returns
        -------
        list of str
            Names in the same order.
        """
        return [self.cases.names[i] for i in features if not self.cases.free[i]]

    @property
    def is_uncertain(self) -> bool:
        """True if halves of the cases would choose other sets than all cases do."""
        return any(set(chosen) != set(self.best_set) for chosen in self.split_half.chosen)

    @property
    def has_drifted(self) -> bool:
        """True if rules learnt on the earlier half are clearly worse in the later half."""
        return self.cases.order.is_chronological and (
            self.later_half_all.low > self.later_half.mean
        )


def evaluate(cases: Cases, *, seed: int = 1) -> Evaluation:
    """Find out which features are worth their price, and backtest policies on the cases.

    The same cases and seed give the same result.

    Parameters
    ----------
    cases : Cases
        Past cases, from `thrifty.tables.read_cases`.
    seed : int
        Random seed.

    Returns
    -------
    Evaluation
        The best set of features, the worth of each feature, and the backtest.
    """
    sets = search_sets(cases, seed)
    evaluator = Evaluator.stratified(cases, seed)
    best = choose_set(sets, evaluator)
    worths = [feature_worth(sets, evaluator, i) for i in indices_of(~cases.free)]
    nothing, everything = indices_of(cases.free), tuple(range(len(cases.features)))
    points = frontier(sets, evaluator, include=(nothing, best, everything))
    # Hindsight chooses among every set that the report mentions.
    candidates = [best, nothing, everything, *(point.features for point in points)]
    for worth in worths:
        candidates += [worth.best_with, worth.best_without]
    gains = evaluator.gains(best)
    backtest = run_backtest(cases, list(dict.fromkeys(candidates)), seed)
    scout_gains = backtest.result(Strategy.SCOUT).gains
    return Evaluation(
        cases=cases,
        seed=seed,
        n_sets=len(sets.masks),
        n_skipped_sets=sets.n_skipped,
        n_cases_searched=min(cases.n_cases, MAX_SEARCHED),
        best_set=best,
        gain=Estimate.from_values(gains),
        gain_over_nothing=Estimate.from_values(gains - evaluator.gains(nothing)),
        spend=float(cases.mean_prices[list(best)].sum()),
        split_half=split_half_gain(evaluator, seed),
        later_half=out_of_time_gain(cases, best),
        later_half_all=Estimate.from_values(gains[-(-cases.n_cases // 2) :]),
        feature_worths=tuple(sorted(worths, key=lambda worth: -worth.estimate.mean)),
        frontier=tuple(points),
        backtest=backtest,
        scout_over_best=block_mean(scout_gains - gains[:: backtest.every]),
    )
