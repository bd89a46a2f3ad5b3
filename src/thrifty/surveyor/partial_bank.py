"""Models for sets of looks that also learn from cases in which only some looks were bought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.booster import Booster, BoostingSettings, Draws, fit_booster
from thrifty.plans.cases import Bools, Integers, LookSet, PastCases
from thrifty.seeds import generator

EFFORT = (4, 1, 2)
"""Folds, repeats and averaged models: less than for a single table, because it is done often."""
FEWEST_CASES = 15
"""Levels of a category with fewer cases share one bin."""


@dataclass(frozen=True, eq=False)
class PartialCases:
    """Cases with known outcomes in which some looks were bought.

    Parameters
    ----------
    codes : array of int, shape (n, D)
        Codes, -1 where a value is not known.
    outcomes : array of int, shape (n,)
        Outcomes.
    bought : array of bool, shape (n, L)
        Looks that were bought.
    is_selected : bool
        True if the action decided whether the outcome became known. A case is then used only for
        the set of looks that its action was chosen by: given these values, the outcome does not
        depend on the action. Otherwise a case serves every part of its set.
    """

    codes: NDArray[np.int16]
    outcomes: Integers
    bought: Bools
    is_selected: bool

    def usable(self, looks: LookSet) -> NDArray[np.intp]:
        """Return the cases that the model of a set of looks may learn from."""
        wanted = np.zeros(self.bought.shape[1], np.bool_)
        wanted[list(looks)] = True
        if self.is_selected:
            return np.flatnonzero((self.bought == wanted).all(axis=1))
        return np.flatnonzero((self.bought >= wanted).all(axis=1))


class PartialBank(Bank):
    """A bank whose models also learn from partial cases.

    Gains are measured on the complete cases only.

    Parameters
    ----------
    cases : PastCases
        Complete cases.
    partial : PartialCases
        Cases in which some looks were bought.
    seed : int
        Random seed.

    Attributes
    ----------
    partial : PartialCases
        The partial cases.
    """

    def __init__(self, cases: PastCases, partial: PartialCases, *, seed: int = 1) -> None:
        super().__init__(cases, seed=seed, effort=EFFORT, fewest=FEWEST_CASES)
        self.partial = partial
        self._partial_bins = self.binning.apply(partial.codes)
        self._seed = seed

    def _fit(self, looks: LookSet, rows: NDArray[np.intp], draws: Draws) -> Booster:
        more = self.partial.usable(looks)
        if not more.size:
            return super()._fit(looks, rows, draws)
        bins = np.concatenate([self.bins[rows], self._partial_bins[more]])
        outcomes = np.concatenate([self.cases.outcomes[rows], self.partial.outcomes[more]])
        settings = BoostingSettings.for_cases(len(outcomes))
        n_scores = 1 if self._n_outcomes == 2 else self._n_outcomes
        rng = generator(np.random.SeedSequence([self._seed, int(draws.bags.sum()), *looks]))
        own = Draws.make(rng, len(outcomes), bins.shape[1], n_scores, settings)
        return fit_booster(
            bins,
            outcomes,
            self._n_outcomes,
            self.cases.columns(looks),
            self.binning.n_bins,
            own,
            settings,
        )
