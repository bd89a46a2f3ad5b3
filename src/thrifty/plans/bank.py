"""Out-of-fold probabilities of the outcomes for every set of looks that is asked about.

The probabilities depend on neither prices nor rewards, so one bank serves any price list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.binning import Binning
from thrifty.plans.booster import (
    SMALL_TABLE,
    Booster,
    BoostingSettings,
    Draws,
    ModelRule,
    fit_booster,
)
from thrifty.plans.cases import Floats, LookSet, PastCases
from thrifty.plans.folds import stratified_folds
from thrifty.problem import Problem
from thrifty.seeds import generator

MAX_CASES = 10_000
"""Models are fitted to a sample of this size."""
VERY_SMALL_TABLE = 500
SMALLEST_PROBABILITY = 1e-6
"""Smaller probabilities count as this much in the log loss."""


class Bank:
    """Models of the outcome for sets of looks, cross-fitted.

    Parameters
    ----------
    cases : PastCases
        Cases to learn from; a random sample is used if there are very many.
    seed : int
        Random seed.
    effort : tuple of int, optional
        Number of folds, of repeats, and of models that a rule averages. By default more for small
        tables.
    fewest : int
        Levels of a category with fewer cases share one bin; see `Binning.learn`.

    Attributes
    ----------
    cases : PastCases
        The cases that models are fitted to.
    binning : Binning
        Bins of the levels.
    """

    def __init__(
        self,
        cases: PastCases,
        *,
        seed: int = 1,
        effort: tuple[int, int, int] | None = None,
        fewest: int = 0,
    ) -> None:
        rng = generator(seed)
        if cases.n_cases > MAX_CASES:
            rows = rng.choice(cases.n_cases, MAX_CASES, replace=False, shuffle=False)
            cases = cases.subset(np.sort(rows))
        self.cases = cases
        self.binning = Binning.learn(cases, fewest=fewest)
        self.bins = self.binning.apply(cases.codes)
        self._settings = BoostingSettings.for_cases(cases.n_cases)
        self._n_outcomes = cases.rewards.shape[1]
        n_folds, repeats, self._n_averaged = effort or _effort(cases.n_cases)
        self._folds = [stratified_folds(cases.outcomes, n_folds, rng) for _ in range(repeats)]
        self._draws = {
            (repeat, fold): self._draw(rng, int((folds != fold).sum()))
            for repeat, folds in enumerate(self._folds)
            for fold in range(n_folds)
        }
        self._final_draws = [self._draw(rng, cases.n_cases) for _ in range(self._n_averaged)]
        self._probabilities: dict[LookSet, Floats] = {}
        self._rewards: dict[LookSet, Floats] = {}
        self._losses: dict[LookSet, float] = {}
        self._rules: dict[LookSet, ModelRule] = {}

    def _draw(self, rng: np.random.Generator, n_cases: int) -> Draws:
        n_scores = 1 if self._n_outcomes == 2 else self._n_outcomes
        return Draws.make(rng, n_cases, self.bins.shape[1], n_scores, self._settings)

    @property
    def sets(self) -> tuple[LookSet, ...]:
        """The sets that were asked about, in that order."""
        return tuple(self._probabilities)

    def with_problem(self, problem: Problem) -> Bank:
        """Return a bank with other prices or rewards that shares the models fitted so far.

        Parameters
        ----------
        problem : Problem
            The same features, actions and outcomes with other prices or rewards.

        Returns
        -------
        Bank
            The other bank. Models that one of the two fits later serve both.
        """
        other = object.__new__(Bank)
        other.__dict__ |= self.__dict__
        other.cases = replace(self.cases, problem=problem)
        other._rewards, other._rules = {}, {}
        return other

    def add(self, sets: Iterable[LookSet]) -> None:
        """Fit models for sets that were not asked about before.

        Parameters
        ----------
        sets : iterable of tuple of int
            Sets of looks.
        """
        new = [looks for looks in dict.fromkeys(sets) if looks not in self._probabilities]
        if len(new) < 2:  # starting threads would take longer than it saves
            self._probabilities |= {looks: self._out_of_fold(looks) for looks in new}
            return
        # Fitting releases the GIL. Results do not depend on the number of threads.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for looks, found in zip(new, pool.map(self._out_of_fold, new), strict=True):
                self._probabilities[looks] = found

    def probabilities(self, looks: LookSet) -> Floats:
        """Return the probabilities of the outcomes from models that have not seen the case.

        Parameters
        ----------
        looks : tuple of int
            Set of looks.

        Returns
        -------
        array of float, shape (repeats, T, O)
            Probabilities.
        """
        self.add([looks])
        return self._probabilities[looks]

    def rewards(self, looks: LookSet) -> Floats:
        """Return the reward of every case if one acts by the model of a set of looks.

        Parameters
        ----------
        looks : tuple of int
            Set of looks.

        Returns
        -------
        array of float, shape (T,)
            Rewards in money, the mean over repeats; the model has not seen the case.
        """
        if looks not in self._rewards:
            table, every_case = self.cases.rewards, np.arange(self.cases.n_cases)
            found = [
                self.cases.action_rewards[every_case, (probabilities @ table.T).argmax(axis=1)]
                for probabilities in self.probabilities(looks)
            ]
            self._rewards[looks] = np.mean(found, axis=0)
        return self._rewards[looks]

    def loss(self, looks: LookSet) -> float:
        """Return the log loss of the model of a set of looks.

        Parameters
        ----------
        looks : tuple of int
            Set of looks.

        Returns
        -------
        float
            Mean over cases and repeats; the model has not seen the case.
        """
        if looks not in self._losses:
            found = self.probabilities(looks)
            own = found[:, np.arange(self.cases.n_cases), self.cases.outcomes]
            self._losses[looks] = -float(np.log(np.maximum(own, SMALLEST_PROBABILITY)).mean())
        return self._losses[looks]

    @property
    def informative_sets(self) -> tuple[LookSet, ...]:
        """The sets in which every look improves the model.

        A set is left out if the model of the set without one of its looks has a lower loss. Whether
        a look informs is seen more clearly in the loss than in money, so noise is not bought.
        """
        return tuple(looks for looks in self.sets if self._is_informative(looks))

    def _is_informative(self, looks: LookSet) -> bool:
        smaller = (tuple(k for k in looks if k != look) for look in looks)
        return all(
            self.loss(looks) < self.loss(fewer) for fewer in smaller if fewer in self._probabilities
        )

    def rule(self, looks: LookSet) -> ModelRule:
        """Return the rule that acts by the model of a set of looks, fitted to all cases.

        Parameters
        ----------
        looks : tuple of int
            Set of looks.

        Returns
        -------
        ModelRule
            The rule.
        """
        if looks not in self._rules:
            every_case = np.arange(self.cases.n_cases)
            boosters = tuple(self._fit(looks, every_case, draws) for draws in self._final_draws)
            self._rules[looks] = ModelRule(self.binning, boosters, self.cases.rewards)
        return self._rules[looks]

    def _fit(self, looks: LookSet, rows: NDArray[np.intp], draws: Draws) -> Booster:
        return fit_booster(
            self.bins[rows],
            self.cases.outcomes[rows],
            self._n_outcomes,
            self.cases.columns(looks),
            self.binning.n_bins,
            draws,
            self._settings,
        )

    def _out_of_fold(self, looks: LookSet) -> Floats:
        found = np.zeros((len(self._folds), self.cases.n_cases, self._n_outcomes))
        for (repeat, fold), draws in self._draws.items():
            inside = self._folds[repeat] == fold
            booster = self._fit(looks, np.flatnonzero(~inside), draws)
            found[repeat, inside] = booster.probabilities(self.bins[inside])
        return found


def _effort(n_cases: int) -> tuple[int, int, int]:
    """Return the number of folds, of repeats, and of models that a rule averages.

    >>> _effort(155), _effort(1_000), _effort(7_200)
    ((5, 4, 5), (5, 2, 5), (3, 1, 2))
    """
    if n_cases >= SMALL_TABLE:
        return 3, 1, 2
    return 5, (4 if n_cases < VERY_SMALL_TABLE else 2), 5
