"""Columns of made-up tables with known distributions, and their joint distributions.

A number carries its level by known thresholds: it is drawn evenly between two of them,
independently of everything else, so knowing the number is knowing its level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.features import Feature

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MAX_BINS = 60
"""Largest number of intervals of a number."""


@dataclass(frozen=True)
class Column:
    """A column of a made-up table: a category, or a number that is cut by thresholds.

    Parameters
    ----------
    name : str
        Name of the column.
    price : float, optional
        Its price; None if it is free.
    levels : sequence of str
        Names of the levels, if the column is a category.
    ends : sequence of float
        Ends of the levels, if it is a number: level k lies between ends k and k + 1.
    has_missing : bool
        True if the last level of a number means that the value is missing.

    Examples
    --------
    >>> score = Column("score", 2.0, ends=(0, 95, 100))
    >>> score.n_levels, len(score.feature().levels)
    (2, 60)
    """

    name: str
    price: float | None
    levels: Sequence[str] = ()
    ends: Sequence[float] = ()
    has_missing: bool = False

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels) or len(self.ends) - 1 + self.has_missing

    def draw(self, levels: Integers, rng: np.random.Generator) -> Floats:
        """Draw the values of cases with these levels.

        Parameters
        ----------
        levels : array of int, shape (n,)
            Level of every case.
        rng : Generator
            Source of all randomness.

        Returns
        -------
        array of float, shape (n,)
            Values; nan is a missing one. The value of a category is its level.
        """
        if self.levels:
            return levels.astype(np.float64)
        ends = np.array([*self.ends, np.nan, np.nan])
        return np.asarray(
            ends[levels] + rng.random(len(levels)) * (ends[levels + 1] - ends[levels])
        )

    def feature(self) -> Feature:
        """Return the column as a feature of a problem.

        Returns
        -------
        Feature
            A category; or a number with up to 60 intervals, of which the thresholds are edges, so
            that the code of a value tells its level.
        """
        if self.levels:
            return Feature(self.name, tuple(self.levels))
        thresholds = list(self.ends[1:-1])
        grid = np.linspace(self.ends[0], self.ends[-1], MAX_BINS + 1 - len(thresholds))[1:-1]
        edges = sorted({*thresholds, *grid.tolist()})
        return Feature.number(self.name, edges, missing=self.has_missing)


def encode(feature: Feature, values: Floats) -> NDArray[np.int16]:
    """Return the codes of drawn values.

    Parameters
    ----------
    feature : Feature
        The feature of a column.
    values : array of float, shape (n,)
        Values that the column drew.

    Returns
    -------
    array of int, shape (n,)
        Their codes; a missing value has the last one.
    """
    if not feature.ordered:
        return values.astype(np.int16)
    codes = np.searchsorted(feature.edges, values)
    return np.where(np.isnan(values), len(feature.levels) - 1, codes).astype(np.int16)


def joint_from_outcome(
    shares: Sequence[float] | Floats, *likelihoods: Sequence[Sequence[float]] | Floats
) -> Floats:
    """Return the joint distribution of columns that are independent given the outcome.

    Parameters
    ----------
    shares : sequence of float
        Probability of each outcome.
    *likelihoods : sequence of sequence of float
        For each column one row of probabilities of its levels for every outcome.

    Returns
    -------
    array of float, shape (levels of each column..., O)
        Probability of each combination of levels and outcome.

    Examples
    --------
    >>> joint_from_outcome([0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]]).tolist()
    [[0.4, 0.2], [0.1, 0.3]]
    """
    joint = np.array(shares)
    for likelihood in likelihoods:
        joint = joint[..., None, :] * np.array(likelihood).T
    return joint


def joint_from_levels(
    shares: Sequence[Sequence[float] | Floats], event: Callable[..., Floats]
) -> Floats:
    """Return the joint distribution of independent columns and an outcome that depends on them.

    Parameters
    ----------
    shares : sequence of sequence of float
        Probabilities of each column's levels.
    event : callable
        Gets an array of levels for every column, and returns the probability of the second of two
        outcomes.

    Returns
    -------
    array of float, shape (levels of each column..., 2)
        Probability of each combination of levels and outcome.

    Examples
    --------
    >>> joint_from_levels([[0.5, 0.5]], lambda x: 0.25 + 0.5 * x).tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """
    sizes = [np.arange(len(row)) for row in shares]
    grid = np.meshgrid(*sizes, indexing="ij")
    weight = np.ones([len(row) for row in shares])
    for row, levels in zip(shares, grid, strict=True):
        weight = weight * np.array(row)[levels]
    chance = np.broadcast_to(event(*grid), weight.shape)
    return np.stack((weight * (1 - chance), weight * chance), axis=-1)
