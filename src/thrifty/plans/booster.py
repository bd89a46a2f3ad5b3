"""Models of the outcome: gradient boosting on the columns of a set of looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.boosting import trees
from thrifty.plans.binning import Binning, Bins
from thrifty.plans.cases import Bools, Floats, Integers
from thrifty.plans.tree import Codes

SMALL_TABLE = 2_000
"""Tables with fewer cases get more cautious settings everywhere in this package."""
DECIMALS = 6
"""Leaf values are rounded, so that a saved model is short and equal to the model in memory."""


@dataclass(frozen=True)
class BoostingSettings:
    """Settings of the boosting.

    Parameters
    ----------
    rounds : int
        Number of trees per score.
    rate : float
        Share of each Newton step that is taken.
    depth : int
        Number of comparisons on the way to a leaf.
    min_cases : int
        Least number of cases on each side of a split.
    row_share, column_share : float
        Share of cases and of columns that each tree is fitted to.
    penalty : float
        Penalty on large leaf values.
    """

    rounds: int
    rate: float
    depth: int
    min_cases: int
    row_share: float
    column_share: float = 0.8
    penalty: float = 1.0

    @classmethod
    def for_cases(cls, n_cases: int) -> BoostingSettings:
        """Return the settings that suit a number of cases.

        Parameters
        ----------
        n_cases : int
            Number of cases to learn from.

        Returns
        -------
        BoostingSettings
            Shallow trees and small steps for small tables.
        """
        if n_cases < SMALL_TABLE:
            min_cases = max(3, min(20, n_cases // 60))
            return cls(rounds=60, rate=0.08, depth=2, min_cases=min_cases, row_share=0.7)
        return cls(rounds=40, rate=0.2, depth=3, min_cases=10, row_share=0.6)


@dataclass(frozen=True, eq=False)
class Draws:
    """The random choices of one fit, the same for every set of columns.

    Models of different sets then differ by their columns only, which makes them comparable.

    Parameters
    ----------
    bags : array of int, shape (rounds, n_bag)
        Cases that each round is fitted to, in increasing order.
    columns : array of bool, shape (rounds, scores, D)
        Columns that each tree may use.
    """

    bags: NDArray[np.int32]
    columns: NDArray[np.bool_]

    @classmethod
    def make(
        cls,
        rng: np.random.Generator,
        n_cases: int,
        n_columns: int,
        n_scores: int,
        settings: BoostingSettings,
    ) -> Draws:
        """Draw cases and columns for every round.

        Parameters
        ----------
        rng : Generator
            Source of randomness.
        n_cases, n_columns, n_scores : int
            Size of the table, and number of trees per round.
        settings : BoostingSettings
            Number of rounds and shares.

        Returns
        -------
        Draws
            The choices.
        """
        n_bag = max(1, round(settings.row_share * n_cases))
        bags = [
            np.sort(rng.choice(n_cases, n_bag, replace=False, shuffle=False))
            for _ in range(settings.rounds)
        ]
        columns = rng.random((settings.rounds, n_scores, n_columns)) < settings.column_share
        return cls(np.array(bags, dtype=np.int32), columns)


@dataclass(frozen=True, eq=False)
class Booster:
    """A fitted model: probabilities of the outcomes from the bins of some columns.

    Parameters
    ----------
    columns : tuple of int
        Positions of the columns.
    first : array of float, shape (K,)
        Scores before the first tree; one score for two outcomes, otherwise one per outcome.
    features : array of int, shape (rounds, K, nodes)
        Position in `columns` that each node compares, or -1.
    thresholds : array of int, shape (rounds, K, nodes)
        Largest bin that goes to the first child.
    values : array of float, shape (rounds, K, leaves)
        What each leaf adds to the score.
    importance : array of float
        How much the comparisons of each of `columns` lowered the loss in the fit; empty in a model
        that was loaded.
    """

    columns: tuple[int, ...]
    first: Floats
    features: NDArray[np.int16]
    thresholds: NDArray[np.uint8]
    values: Floats
    importance: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def n_outcomes(self) -> int:
        """The number of outcomes."""
        return max(2, len(self.first))

    def probabilities(self, bins: Bins) -> Floats:
        """Return the probability of every outcome.

        Parameters
        ----------
        bins : array of int, shape (n, D)
            Bins of all features; only those of `columns` are used.

        Returns
        -------
        array of float, shape (n, O)
            Probabilities.
        """
        found = np.zeros((len(bins), self.n_outcomes))
        own = np.ascontiguousarray(bins[:, list(self.columns)])
        trees.predict(own, self.first, self.features, self.thresholds, self.values, found)
        return found


def fit_booster(
    bins: Bins,
    outcomes: Integers | Bools,
    n_outcomes: int,
    columns: Sequence[int],
    n_bins: Integers,
    draws: Draws,
    settings: BoostingSettings,
) -> Booster:
    """Fit a model of the outcome to some columns.

    Parameters
    ----------
    bins : array of int, shape (n, D)
        Bins of all features.
    outcomes : array of int, shape (n,), or of bool, shape (n, O)
        Outcomes, or True for each outcome that is possible in a case.
    n_outcomes : int
        Number of outcomes.
    columns : sequence of int
        Columns to use; without any, the model knows the frequencies of the outcomes.
    n_bins : array of int, shape (D,)
        Number of bins of each feature.
    draws : Draws
        Random choices.
    settings : BoostingSettings
        Settings.

    Returns
    -------
    Booster
        The model.
    """
    own = list(columns)
    used = draws.columns[:, :, own]
    if own:
        used = used | ~used.any(axis=2, keepdims=True)
    else:
        draws = Draws(draws.bags[:0], draws.columns[:0])
        used = draws.columns[:, :, :0]
    first, features, thresholds, values, gains = trees.fit(
        np.ascontiguousarray(bins[:, own]),
        _bit_sets(outcomes),
        n_outcomes,
        n_bins[own] if own else np.ones(1, np.int64),
        draws.bags,
        used,
        settings.depth,
        settings.rate,
        settings.penalty,
        settings.min_cases,
    )
    return Booster(
        tuple(own),
        first.round(DECIMALS),
        features,
        thresholds,
        values.round(DECIMALS),
        importance=np.array([gains[features == k].sum() for k in range(len(own))]),
    )


def _bit_sets(outcomes: Integers | Bools) -> Integers:
    """Return the set of possible outcomes of each case, one bit per outcome."""
    if outcomes.ndim == 1:
        return np.left_shift(1, outcomes.astype(np.int64))
    bits: Integers = outcomes.astype(np.int64) @ np.left_shift(1, np.arange(outcomes.shape[1]))
    return bits


@dataclass(frozen=True, eq=False)
class ModelRule:
    """Take the action with the highest expected reward under a model of the outcome.

    Parameters
    ----------
    binning : Binning
        Bins of the levels.
    boosters : tuple of Booster
        Models of the same columns with different random choices; their probabilities are averaged.
    rewards : array of float, shape (A, O)
        Rewards in money by action and outcome.
    """

    binning: Binning
    boosters: tuple[Booster, ...]
    rewards: Floats

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the features that the models use."""
        return self.boosters[0].columns

    def probabilities(self, codes: Codes) -> Floats:
        """Return the probability of every outcome.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of all features; only those of `columns` are used.

        Returns
        -------
        array of float, shape (n, O)
            Probabilities.
        """
        bins = self.binning.apply(codes)
        total: Floats = sum(
            (booster.probabilities(bins) for booster in self.boosters),
            np.zeros((len(codes), self.boosters[0].n_outcomes)),
        )
        return total / len(self.boosters)

    def action_values(self, codes: Codes) -> Floats:
        """Return the expected reward of every action.

        Parameters
        ----------
        codes : array of int, shape (n, D)
            Codes of all features; only those of `columns` are used.

        Returns
        -------
        array of float, shape (n, A)
            Expected rewards in money.
        """
        return self.probabilities(codes) @ self.rewards.T
